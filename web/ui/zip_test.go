package ui_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/web/ui"
	"fawn/web/webtest"
)

// unzip gets an archive and returns its files.
func (w *world) unzip(path string) map[string]string {
	w.Helper()
	a := w.get(path)
	if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != "application/zip" ||
		!strings.HasPrefix(a.Header.Get("Content-Disposition"), "attachment; ") {
		w.Fatalf("GET %s = %d %v", path, a.StatusCode, a.Header)
	}
	z, err := zip.NewReader(bytes.NewReader([]byte(a.body)), int64(len(a.body)))
	must.Do(w, err)
	out := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		must.Do(w, err)
		b, err := io.ReadAll(r)
		must.Do(w, err)
		out[f.Name] = string(b)
	}
	return out
}

func TestAllFilesComeInOneArchive(t *testing.T) {
	w := open(t, &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("Hello.")}})
	w.begin("t1", "Hi")
	w.settle("t1")
	w.get("/ui/threads/t1/files.zip").want(t, "nothing to download", http.StatusNotFound)
	webtest.Holds(t, "an archive of nothing is offered", w.page("/workspace/chats/t1/files"), "!files.zip")
	data := filepath.Join(w.dirs.Root, "threads", "t1", "user-data")
	secret := filepath.Join(t.TempDir(), "secret")
	must.Do(t, os.WriteFile(secret, []byte("secret"), 0o600))
	must.Do(t, os.MkdirAll(filepath.Join(data, "outputs", "charts"), 0o700))
	w.writeFile("t1", "outputs/report.md", "# Report")
	w.writeFile("t1", "outputs/charts/a.png", "\x89PNG")
	w.writeFile("t1", "outputs/empty", "")
	w.writeFile("t1", "uploads/in.csv", "a,b")
	w.writeFile("t1", "workspace/draft.txt", "draft")
	for link, target := range map[string]string{"out": secret, "up": "../../..", "in": "report.md"} {
		must.Do(t, os.Symlink(target, filepath.Join(data, "outputs", link)))
	}
	made := map[string]string{"report.md": "# Report", "charts/a.png": "\x89PNG", "empty": ""}
	equal := func(path string, want map[string]string) {
		t.Helper()
		got := w.unzip(path)
		if len(got) != len(want) {
			t.Errorf("%s has %v", path, got)
		}
		for name, text := range want {
			if body, ok := got[name]; !ok || body != text {
				t.Errorf("%s: %s is %q", path, name, body)
			}
		}
	}
	equal("/ui/threads/t1/files.zip", made)
	equal("/ui/threads/t1/files.zip?from=all", map[string]string{"outputs/report.md": "# Report",
		"outputs/charts/a.png": "\x89PNG", "outputs/empty": "", "uploads/in.csv": "a,b",
		"workspace/draft.txt": "draft"})
	webtest.Holds(t, "the page does not offer the archives", w.page("/workspace/chats/t1/files"), `href="/ui/threads/t1/files.zip"`, "files.zip?from=all")
	for _, path := range []string{"/ui/threads/none/files.zip", "/ui/threads/..%2ft1/files.zip"} {
		w.get(path).want(t, "GET "+path, http.StatusNotFound)
	}
}

func TestTooMuchForAnArchiveIsSaidBeforeItBegins(t *testing.T) {
	w := open(t, &agenttest.Script{})
	w.begin("t1", "Hi")
	w.settle("t1")
	w.writeFile("t1", "outputs/sparse", "")
	err := os.Truncate(filepath.Join(w.dirs.Root, "threads", "t1", "user-data", "outputs", "sparse"), 5<<30)
	must.Do(t, err)
	w.get("/ui/threads/t1/files.zip").want(t, "the answer", http.StatusRequestEntityTooLarge, "too large for one archive")
}

func TestNamesInAnArchiveAreHarmlessEverywhere(t *testing.T) {
	for in, want := range map[string]string{
		"a/b.txt":             "a/b.txt",
		`..\..\evil.exe`:      ".._.._evil.exe",
		"C:evil":              "C_evil",
		"dir./x ":             "dir_/x_",
		"...":                 "_",
		"new\nline\u202etxt.": "new_line_txt_",
		"\xff.md":             "_.md",
		"报告.md":               "报告.md",
	} {
		webtest.Same(t, fmt.Sprintf("%q becomes", in), ui.ZipName(in), want)
		if got := ui.ZipName(in); slices.Contains(strings.Split(got, "/"), "..") {
			t.Errorf("%q leaves the folder", got)
		}
	}
}
