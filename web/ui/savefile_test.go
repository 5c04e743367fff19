package ui_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/sandbox/files"
	"fawn/web/webtest"
)

// TestATextIsEditedInItsForm: what a form brings replaces the text that was read, and never one
// that came meanwhile.
func TestATextIsEditedInItsForm(t *testing.T) {
	w := open(t, &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("Hello.")}})
	w.begin("t1", "Hi")
	w.settle("t1")
	base := filepath.Join(w.dirs.Root, "threads", "t1", "user-data")
	at := filepath.Join(base, "outputs", "a.txt")
	write := func(name, text string) {
		t.Helper()
		must.Do(t, os.WriteFile(filepath.Join(base, name), []byte(text), 0o600))
	}
	content := func() string {
		t.Helper()
		b, err := os.ReadFile(at)
		must.Do(t, err)
		return string(b)
	}
	const path, page = "/ui/threads/t1/save/mnt/user-data/outputs/a.txt",
		"/workspace/chats/t1/files/mnt/user-data/outputs/a.txt"
	form := func(text, was string) url.Values {
		return url.Values{"text": {text}, "sum": {files.Sum([]byte(was))}}
	}
	write("outputs/a.txt", "\n<one>\n")
	webtest.Holds(t, "there is no way to edit it", w.page(page), page+"?edit=1")
	webtest.Holds(t, "the form has another text", w.page(page+"?edit=1"), ">\n\n&lt;one&gt;\n</textarea>", files.Sum([]byte("\n<one>\n")))
	a := w.post(path, form("two\r\nlines\r\n", "\n<one>\n"))
	if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != page || content() != "two\nlines\n" {
		t.Errorf("%d %s %q", a.StatusCode, a.Header.Get("Location"), content())
	}
	write("outputs/a.txt", "from\r\nelsewhere\r\n")
	for _, header := range [][]string{nil, {"X-Fawn", "1"}} {
		a = w.post(path, form("mine\r\nelsewhere\r\n", "two\nlines\n"), header...)
		for _, want := range []string{"<del>- from</del>", "<ins>+ mine</ins>", ">\nmine\r\nelsewhere\r\n</textarea>",
			files.Sum([]byte("from\r\nelsewhere\r\n")), "Save anyway"} {
			a.want(t, fmt.Sprintf("without %q", want), http.StatusConflict, want)
		}
	}
	webtest.Same(t, "it was overwritten", content(), "from\r\nelsewhere\r\n")
	if a = w.post(path, form("mine\r\n", "from\r\nelsewhere\r\n"), "X-Fawn", "1"); a.StatusCode != http.StatusOK ||
		content() != "mine\r\n" {
		t.Errorf("%d %q", a.StatusCode, content())
	}
	write("workspace/w.txt", "w")
	write("outputs/b.bin", "a\x00")
	for path, status := range map[string]int{
		"/ui/threads/t1/save/mnt/user-data/workspace/w.txt":  http.StatusBadRequest,
		"/ui/threads/t1/save/mnt/user-data/outputs/b.bin":    http.StatusUnsupportedMediaType,
		"/ui/threads/t1/save/mnt/user-data/outputs/none.txt": http.StatusNotFound,
		"/ui/threads/t2/save/mnt/user-data/outputs/a.txt":    http.StatusNotFound,
	} {
		w.post(path, form("x", "w"), "X-Fawn", "1").want(t, path, status)
	}
	webtest.Holds(t, "a working file can be edited", w.page("/workspace/chats/t1/files/mnt/user-data/workspace/w.txt"), "!?edit=1")
}

// TestNoTextIsSavedDuringARun: what was written stays in the form.
func TestNoTextIsSavedDuringARun(t *testing.T) {
	gate := make(chan struct{})
	held := agenttest.Say("Later.")
	held.Before = gate
	w := open(t, &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("Hello."), held}})
	w.begin("t1", "Hi")
	w.settle("t1")
	at := filepath.Join(w.dirs.Root, "threads", "t1", "user-data", "outputs", "a.txt")
	must.Do(t, os.WriteFile(at, []byte("one"), 0o600))
	w.post("/ui/threads/t1/messages", url.Values{"text": {"more"}})
	a := w.post("/ui/threads/t1/save/mnt/user-data/outputs/a.txt",
		url.Values{"text": {"two"}, "sum": {files.Sum([]byte("one"))}}, "X-Fawn", "1")
	if b, err := os.ReadFile(at); err != nil || string(b) != "one" || a.StatusCode != http.StatusConflict ||
		!strings.Contains(a.body, "A run is in progress") || !strings.Contains(a.body, ">\ntwo</textarea>") {
		t.Errorf("%d %q %v %s", a.StatusCode, b, err, a.body)
	}
	close(gate)
	w.settle("t1")
}
