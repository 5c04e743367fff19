package web_test

import (
	"database/sql"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/cli"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// disk is one that can stand still: commits wait for it.
type disk struct {
	mu     sync.Mutex
	frozen chan struct{}
}

func (d *disk) wait() {
	d.mu.Lock()
	frozen := d.frozen
	d.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
}

// freeze lets it stand still until thaw is called.
func (d *disk) freeze() (thaw func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	frozen := make(chan struct{})
	d.frozen = frozen
	return sync.OnceFunc(func() {
		d.mu.Lock()
		d.frozen = nil
		d.mu.Unlock()
		close(frozen)
	})
}

// TestADiskThatStandsStillIsTold, to pages, to programs that ask for custom events, also to those who come later, and
// by the metrics. When it goes on, so does the run, and nobody is told any more.
func TestADiskThatStandsStillIsTold(t *testing.T) {
	t.Parallel()
	model, disk := scriptmodel.Start(t), &disk{}
	s := start(t, scriptedBy(model)+"metrics: {enabled: true}\n", web.Commits(disk.wait))
	thaw := func() {}
	defer func() { thaw() }()
	run := s.stream(t, t.Context(), "/threads/t1/runs/stream",
		human(`SCRIPT{"turns": [{"text": "first words, ", "chunk": 6, "gate": "still", "tokens": 10}]}`,
			`"stream_mode": ["messages-tuple", "custom"]`))
	run.until(t, "first words")
	at := run.res.Header.Get("Content-Location") + "/stream"
	thaw = disk.freeze()
	model.Open("still")
	const told, over = `{"type": "storage_waiting", "waiting": true}`, `{"type": "storage_waiting", "waiting": false}`
	run.until(t, told)
	late := map[string]*stream{"a page": s.join(t, "/ui/threads/t1/stream"),
		"a program": s.join(t, at+"?stream_mode=custom")}
	late["a page"].until(t, "event: wait")
	late["a page"].until(t, `{"waiting":true}`)
	late["a program"].until(t, told)
	if n := s.metric(t, "fawn_store_waiting_seconds"); n < 2 {
		t.Errorf("the metrics say that a commit waits for %v s", n)
	}
	thaw()
	late["a page"].until(t, `{"waiting":false}`)
	late["a program"].until(t, over)
	for _, word := range []string{over, "event: end"} {
		run.until(t, word)
	}
	webtest.Same(t, "the metrics say that a commit still waits for … s", s.metric(t, "fawn_store_waiting_seconds"), 0)
	if n := s.metric(t, "fawn_store_slow_commits"); n < 1 {
		t.Errorf("the metrics say that %v commits were slow", n)
	}
	s.send(t, "GET", strings.TrimSuffix(at, "/stream"), "").holds(t, "the run", `"success"`)
	for path, words := range map[string]string{"/ui/threads/t1/stream": "waiting", at + "?stream_mode=custom": "storage_waiting"} {
		s.send(t, "GET", path, "").want(t, fmt.Sprintf("%s still tells of it", path), http.StatusOK, "!"+words)
	}
}

// join follows what is there already.
func (s *server) join(t *testing.T, path string) *stream {
	t.Helper()
	res, err := s.request(t.Context(), "GET", path, nil)
	must.Do(t, err)
	t.Cleanup(func() { res.Body.Close() })
	return newStream(res)
}

// TestARunWhoseEndIsLostStillEnds for those who replay it, as it ended, and fsck finds what is missing and what is
// there twice.
func TestARunWhoseEndIsLostStillEnds(t *testing.T) {
	t.Parallel()
	dir, model := t.TempDir(), scriptmodel.Start(t)
	conf := scriptedBy(model)
	s := start(t, conf, func(o *web.Options) { o.Data = dir })
	var paths []string
	for id, script := range map[string]string{"good": `SCRIPT{"turns": [{"text": "well"}]}`,
		"bad": `SCRIPT{"turns": [{"status": 400}]}`} {
		s.send(t, "POST", "/threads/"+id+"/runs/wait", human(script, `"if_not_exists": "create"`))
		a := s.send(t, "GET", "/threads/"+id+"/runs", "")
		found := regexp.MustCompile(`"run_id":\s*"([^"]+)"`).FindStringSubmatch(a.body)
		if found == nil {
			t.Fatal(a.body)
		}
		paths = append(paths, "/threads/"+id+"/runs/"+found[1]+"/stream?stream_mode=values&stream_mode=updates")
	}
	must.Do(t, s.stop())
	damage := func(query string) {
		t.Helper()
		db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "fawn.db"))
		must.Do(t, err)
		defer db.Close()
		if r, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		} else if n, err := r.RowsAffected(); err != nil || n == 0 {
			t.Fatalf("%d rows, %v", n, err)
		}
	}
	fsck := func(want string) {
		t.Helper()
		var out agenttest.Log
		ok, err := cli.Fsck(t.Context(), web.Options{Data: dir, Config: s.conf, Out: &out, Log: slog.New(slog.DiscardHandler)}, false, false)
		if err != nil || ok != (want == "") || !strings.Contains(out.String(), want) {
			t.Errorf("fsck: %v, %v: %s; want %q", ok, err, out.String(), want)
		}
	}
	fsck("")
	damage(`DELETE FROM event WHERE kind = 'end'`)
	fsck("missing")
	s = start(t, conf, func(o *web.Options) { o.Data = dir })
	for _, path := range paths {
		a := s.send(t, "GET", path, "", "Last-Event-ID", "-1")
		if a.status != http.StatusOK || strings.Count(a.body, "event: end") != 1 ||
			strings.Contains(path, "/bad/") != strings.Contains(a.body, "event: error") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	must.Do(t, s.stop())
	damage(`UPDATE event SET seq = 1 WHERE seq = (SELECT max(seq) FROM event)`)
	fsck("given twice")
}
