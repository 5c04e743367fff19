package web_test

import (
	"bytes"
	"io/fs"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/web"
)

// TestADeletedThreadLeavesNothingOnTheDisk: its words are in no file of the data folder,
// its name is in no path, while a neighbour keeps all of it.
func TestADeletedThreadLeavesNothingOnTheDisk(t *testing.T) {
	dir := t.TempDir()
	s := start(t, "", func(o *web.Options) { o.Data = dir })
	const word, gone, kept = "xylophone-of-the-thread", "thread-to-delete", "thread-to-keep"
	for _, thread := range []string{gone, kept} {
		body := `{"input": {"messages": [{"type": "human", "content": "write a file notes.md about ` + word + ` of ` +
			thread + `"}]}, "metadata": {"note": "` + word + ` ` + thread + `"}}`
		if a := s.send(t, "POST", "/threads/"+thread+"/runs/wait", body); a.status != http.StatusOK {
			t.Fatalf("run: %d %s", a.status, a.body)
		}
		var form bytes.Buffer
		w := multipart.NewWriter(&form)
		part, err := w.CreateFormFile("files", "up.txt")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write([]byte(word + " of " + thread)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		a := s.send(t, "POST", "/api/threads/"+thread+"/uploads", form.String(), "Content-Type",
			w.FormDataContentType())
		if a.status != http.StatusOK {
			t.Fatalf("upload: %d %s", a.status, a.body)
		}
		if a := s.send(t, "POST", "/threads/"+thread+"/state",
			`{"values": {"title": "`+word+` of `+thread+`"}}`); a.status != http.StatusOK {
			t.Fatalf("title: %d %s", a.status, a.body)
		}
	}
	keyed := func() answer {
		return s.send(t, "POST", "/threads/thread-with-key/runs/wait", human("hello", `"if_not_exists":"create"`), "Idempotency-Key", "k")
	}
	a := keyed()
	if a.status != http.StatusOK {
		t.Fatalf("a request with a key: %d %s", a.status, a.body)
	}
	if a := s.send(t, "DELETE", "/threads/thread-with-key", ""); a.status != http.StatusNoContent {
		t.Fatalf("delete: %d %s", a.status, a.body)
	}
	if a := keyed(); a.status != http.StatusGone {
		t.Errorf("the request once more: %d %s", a.status, a.body)
	}
	a = s.send(t, "POST", "/v1/chat/completions", `{"model": "lead_agent", "messages": [{"role": "user", "content": "hello"}]}`)
	of := a.header.Get("X-Thread-Id")
	if a.status != http.StatusOK || of == "" || len(mentions(t, dir, of)) == 0 {
		t.Fatalf("a conversation of OpenAI's API: %d %s", a.status, a.body)
	}
	if a := s.send(t, "DELETE", "/threads/"+of, ""); a.status != http.StatusNoContent {
		t.Fatalf("delete: %d %s", a.status, a.body)
	}
	if found := mentions(t, dir, word+" of "+gone); len(found) == 0 {
		t.Fatal("the words cannot be found where they must be: this test proves nothing")
	}
	if a := s.send(t, "DELETE", "/threads/"+gone, ""); a.status != http.StatusNoContent {
		t.Fatalf("delete: %d %s", a.status, a.body)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	return found
}
