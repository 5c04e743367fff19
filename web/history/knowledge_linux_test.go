package history_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/web/e2e/gate"
	"fawn/web/webtest"
)

// TestACollectionIsReadByTheServersThatLive: the one that reads a folder is killed again and again, or stands still until
// it's evicted. In the end each document is indexed once, no source is left being read, and every server finds all.
func TestACollectionIsReadByTheServersThatLive(t *testing.T) {
	gate.In(t, gate.Cluster, "make test has TestHistory alone of the tests of real servers")
	folder := t.TempDir()
	const documents = 1500
	for i := range documents {
		text := fmt.Sprintf("# Sheet\n\nThe alpha%d is described here.\n", i)
		must.Do(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("d%04d.md", i)), []byte(text), 0o600))
	}
	c := newClusterWith(t, "notify", lease, fmt.Sprintf("knowledge: {folders: [%q]}\n", folder))
	ask := func(base, method, path, body string, into any) {
		t.Helper()
		c.wait(method+" "+path, func() bool { // servers are killed meanwhile
			req, err := http.NewRequest(method, base+path, strings.NewReader(body))
			must.Do(t, err)
			req.Header.Set("Content-Type", "application/json")
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				return false
			}
			defer res.Body.Close()
			b, err := io.ReadAll(res.Body)
			return err == nil && res.StatusCode < 300 && json.Unmarshal(b, into) == nil
		})
	}
	var made struct {
		ID string `json:"knowledge_id"`
	}
	ask(c.url, "POST", "/api/knowledge", `{"name":"K"}`, &made)
	at := "/api/knowledge/" + made.ID
	var source struct {
		ID string `json:"source_id"`
	}
	ask(c.url, "POST", at+"/sources", fmt.Sprintf(`{"kind":"folder","address":%q}`, folder), &source)
	count := func(query string, args ...any) int64 {
		t.Helper()
		return c.ask(query, args...)[0][0].(int64)
	}
	read := func() int64 { return count(`SELECT count(*) FROM knowledge_doc WHERE knowledge = $1`, made.ID) }
	hits := 0
	for n := range 4 {
		c.wait("more of the folder is read", func() bool { return read() > documents*int64(n)/5 })
		list := c.ask(`SELECT node.pid FROM duty JOIN node ON node.id = duty.node WHERE duty.name = 'caretaker'`)
		for _, s := range c.servers {
			if len(list) == 0 || int64(s.process()) != list[0][0].(int64) {
				continue
			}
			hits++
			if n == 2 { // it goes on after it was evicted
				s.signal(syscall.SIGSTOP, 0)
				time.AfterFunc(3*lease, func() { s.signal(syscall.SIGCONT, 0) })
				continue
			}
			s.signal(syscall.SIGKILL, time.Duration(n)*time.Second)
		}
	}
	if hits == 0 {
		t.Error("no server that reads was hit")
	}
	state := ""
	c.wait("the source is read", func() bool {
		state = c.ask(`SELECT state FROM knowledge_source WHERE id = $1`, source.ID)[0][0].(string)
		return state != "pending"
	})
	time.Sleep(lease) // the one that stood still may go on
	c.up()
	webtest.Same(t, "the source", state, "ready")
	for what, got := range map[string]int64{
		"documents": read(),
		"passages":  count(`SELECT count(*) FROM passage WHERE thread LIKE 'project.knowledge-%'`),
		"texts":     count(`SELECT count(*) FROM knowledge_text`),
		"converted": count(`SELECT count(*) FROM knowledge_doc WHERE state = 'converted'`),
		"passages of documents": count(`SELECT count(DISTINCT p.id) FROM passage p JOIN knowledge_doc d ON p.file = d.id::text
			WHERE p.thread LIKE 'project.knowledge-%'`),
	} {
		webtest.Same(t, fmt.Sprintf("%s of", what), got, documents)
	}
	for _, s := range c.servers {
		for i := 0; i < documents; i += 149 {
			var found struct{ Passages []struct{ Name string } }
			ask("http://"+s.where(), "GET", at+"/search?query="+url.QueryEscape(fmt.Sprintf("alpha%d", i)), "", &found)
			if len(found.Passages) != 1 || found.Passages[0].Name != fmt.Sprintf("d%04d.md", i) {
				t.Errorf("server %s finds alpha%d in %+v", s.name, i, found.Passages)
			}
		}
	}
	t.Logf("the server that reads was hit %d times", hits)
	c.check()
}
