package web_test

import (
	"bytes"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web"
)

// TestADeletedThreadLeavesNothingOnTheDisk: its words are in no file of the data folder,
// its name is in no path, while a neighbour keeps all of it.
func TestADeletedThreadLeavesNothingOnTheDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, "", func(o *web.Options) { o.Data = dir })
	const word, gone, kept = "xylophone-of-the-thread", "thread-to-delete", "thread-to-keep"
	for _, thread := range []string{gone, kept} {
		body := `{"input": {"messages": [{"type": "human", "content": "write a file notes.md about ` + word + ` of ` +
			thread + `"}]}, "metadata": {"note": "` + word + ` ` + thread + `"}}`
		s.send(t, "POST", "/threads/"+thread+"/runs/wait", body).must(t, "run", http.StatusOK)
		s.sendFile(t, "/api/threads/"+thread+"/uploads", word+" of "+thread).must(t, "upload", http.StatusOK)
		s.send(t, "POST", "/threads/"+thread+"/state", `{"values": {"title": "`+word+` of `+thread+`"}}`).must(t, "title", http.StatusOK)
	}
	keyed := func() answer {
		return s.send(t, "POST", "/threads/thread-with-key/runs/wait", human("hello", `"if_not_exists":"create"`), "Idempotency-Key", "k")
	}
	a := keyed()
	a.must(t, "a request with a key", http.StatusOK)
	s.send(t, "DELETE", "/threads/thread-with-key", "").must(t, "delete", http.StatusNoContent)
	keyed().want(t, "the request once more", http.StatusGone)
	a = s.send(t, "POST", "/v1/chat/completions", `{"model": "lead_agent", "messages": [{"role": "user", "content": "hello"}]}`)
	of := a.header.Get("X-Thread-Id")
	if a.status != http.StatusOK || of == "" || len(mentions(t, dir, of)) == 0 {
		t.Fatalf("a conversation of OpenAI's API: %d %s", a.status, a.body)
	}
	s.send(t, "DELETE", "/threads/"+of, "").must(t, "delete", http.StatusNoContent)
	if found := mentions(t, dir, word+" of "+gone); len(found) == 0 {
		t.Fatal("the words cannot be found where they must be: this test proves nothing")
	}
	s.send(t, "DELETE", "/threads/"+gone, "").must(t, "delete", http.StatusNoContent)
	must.Do(t, s.stop())
	for _, what := range []string{word + " of " + gone, gone, "thread-with-key", of} {
		if found := mentions(t, dir, what); len(found) > 0 {
			t.Errorf("%q is still in %s", what, strings.Join(found, ", "))
		}
	}
	if found := mentions(t, dir, word+" of "+kept); len(found) == 0 {
		t.Error("the neighbour is gone too")
	}
}

// mentions are the files below dir which have a text in their content or path.
func mentions(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if strings.Contains(rel, text) {
			found = append(found, rel)
		}
		if !d.Type().IsRegular() {
			return nil
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(text)) {
			found = append(found, rel)
		}
		return err
	})
	must.Do(t, err)
	return found
}
