package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// collectedJSON is the object of fawn knowledge add and refresh.
type collectedJSON struct {
	Knowledge struct {
		ID, Name, Description string
		Documents             int `json:"document_count"`
	}
	Sources []struct {
		Kind, Address, State, Problem string
		Total                         int
	}
	Uploaded []string
	Failed   []struct{ Name, Reason string }
}

func jsonOf[T any](t *testing.T, r result) (out T) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	return out
}

// TestKnowledgeOnTheCommandLine: the data folder is enough; what is added is read when the command ends, and files that
// can't be read are told by name and by exit code.
func TestKnowledgeOnTheCommandLine(t *testing.T) {
	t.Parallel()
	data, folder, work := t.TempDir(), t.TempDir(), t.TempDir()
	conf := file(t, "config.yaml", "knowledge: {folders: ["+folder+"]}\n")
	for name, text := range map[string]string{filepath.Join(work, "guide.md"): "# Meals\n\nA lunch may cost 30 francs.",
		filepath.Join(work, "notice.txt"): "放假通知：办公室关闭两个星期。", filepath.Join(work, "broken.pdf"): "no document",
		filepath.Join(folder, "deep/rules.md"): "Trains are booked by the office.", filepath.Join(folder, "deep/again/guide.md"): "x"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	do := func(args ...string) result {
		t.Helper()
		cmd := program(t, nil, append([]string{"knowledge"}, append(args, "--data", data, "--config", conf)...)...)
		cmd.Dir = work
		return finished(t, cmd)
	}
	if r := do("list"); r.code != exitOK || r.stdout != "" || !strings.Contains(r.stderr, "no collections") {
		t.Errorf("an empty list: %+v", r)
	}
	r := do("add", "Hand book", "guide.md", "notice.txt", "--description", "Rules of the house")
	if r.code != exitOK || r.stderr != "" || !strings.Contains(r.stdout, "ok      guide.md\nok      notice.txt\nHand book  2 documents  owner  Rules of the house\n") {
		t.Errorf("files: %+v", r)
	}
	r = do("search", "hand book", "lunch francs")
	if r.code != exitOK || !strings.Contains(r.stdout, "[Hand book/guide.md, l. 1] Meals\n") || !strings.Contains(r.stdout, "30 francs") {
		t.Errorf("search: %+v", r)
	}
	if r = do("search", "hand book", "通知"); !strings.Contains(r.stdout, "notice.txt") {
		t.Errorf("search in Chinese: %+v", r)
	}
	if r = do("search", "Hand book", "zebra"); r.code != exitOK || r.stdout != "" || !strings.Contains(r.stderr, "nothing in Hand book fits") {
		t.Errorf("nothing: %+v", r)
	}
	r = do("add", "Hand book", "broken.pdf", folder, "--json", "--every", "1h")
	got := jsonOf[collectedJSON](t, r)
	if r.code != exitError || len(got.Failed) != 1 || got.Failed[0].Name != "broken.pdf" || got.Failed[0].Reason == "" ||
		got.Knowledge.Documents != 5 || len(got.Sources) != 2 || got.Sources[1].Kind != "folder" || got.Sources[1].Total != 2 {
		t.Errorf("a broken file and a folder: %+v", r)
	}
	r = do("show", "Hand book")
	for _, want := range []string{"Rules of the house", "uploaded files", folder + ": 2 documents", "FAILED  broken.pdf: it is damaged", "ok      deep/rules.md"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("show has no %q: %+v", want, r)
		}
	}
	if r = do("show", "Hand book", "deep/rules.md"); r.code != exitOK || r.stdout != "Trains are booked by the office.\n" {
		t.Errorf("a document: %+v", r)
	}
	if err := os.WriteFile(filepath.Join(folder, "deep/rules.md"), []byte("Flights need a permit."), 0o600); err != nil {
		t.Fatal(err)
	}
	if r = do("refresh", "Hand book", folder); r.code != exitOK || !strings.Contains(r.stdout, "ok      "+folder) {
		t.Errorf("refresh: %+v", r)
	}
	found := jsonOf[struct {
		Passages []struct{ Name, Cite string }
	}](t, do("search", "Hand book", "permit", "--json"))
	if len(found.Passages) != 1 || found.Passages[0].Name != "deep/rules.md" {
		t.Errorf("after refresh: %+v", found)
	}
	// Mistakes are told before anything is changed.
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"show", "none"}, exitUsage, "there are: Hand book"},
		{[]string{"show", "Hand book", "none.md"}, exitUsage, `no document "none.md"`},
		{[]string{"refresh", "Hand book", "none"}, exitUsage, "it has: " + folder},
		{[]string{"remove", "Hand book", "none.md"}, exitUsage, "no source"},
		{[]string{"add", "New", "none.md"}, exitError, "none.md"},
		{[]string{"add", "New", "ftp://x.org/y"}, exitUsage, "ftp://x.org/y: only http and https addresses and git repositories"},
		{[]string{"add", "New", "/etc"}, exitError, "doesn't allow this folder"},
		{[]string{"add", "New", "guide.md", filepath.Join(folder, "deep/again/guide.md")}, exitUsage, "same name"},
		{[]string{"add", "New", "guide.md", "--every", "1h"}, exitUsage, "--every"},
		{[]string{"add", "New", "guide.md", "--kind", "book"}, exitUsage, "must be upload, folder, web or git"},
		{[]string{"add"}, exitUsage, "needs the argument NAME"},
		{[]string{"add", "a/b", "guide.md"}, exitError, "must not begin with a dot"},
		{[]string{"search", "Hand book", " "}, exitUsage, "empty"},
		{[]string{"remove", "Hand book"}, exitError, "--yes"}, // nobody says y
	} {
		if r := do(c.args...); r.code != c.code || r.stdout != "" || !strings.Contains(r.stderr, c.says) {
			t.Errorf("%q: %+v", c.args, r)
		}
	}
	if r = do("list"); strings.Count(r.stdout, "\n") != 1 {
		t.Errorf("a refused source made a collection: %+v", r)
	}
	if r = do("remove", "Hand book", "broken.pdf"); r.code != exitOK || r.stdout != "removed broken.pdf\n" {
		t.Errorf("remove a document: %+v", r)
	}
	if r = do("show", "Hand book"); !strings.Contains(r.stdout, "ok      uploaded files: 2 documents\n") {
		t.Errorf("without a document: %+v", r)
	}
	if r = do("remove", "Hand book", folder); r.code != exitOK || r.stdout != "removed "+folder+"\n" {
		t.Errorf("remove a source: %+v", r)
	}
	list := jsonOf[struct {
		Knowledge []struct {
			Name      string
			Documents int `json:"document_count"`
		}
	}](t, do("list", "--json"))
	if len(list.Knowledge) != 1 || list.Knowledge[0].Documents != 2 {
		t.Errorf("list: %+v", list)
	}
	if r = do("remove", "Hand book", "--yes", "--json"); r.code != exitOK || !strings.Contains(r.stdout, `{"removed":"Hand book"}`) {
		t.Errorf("remove: %+v", r)
	}
	if r = do("show", "Hand book"); r.code != exitUsage || !strings.Contains(r.stderr, "there are no collections") {
		t.Errorf("after that: %+v", r)
	}
}

// TestKnowledgeOfARunningServer: the server that has the data folder reads what is added, also web pages, and one at an
// address is used with its token.
func TestKnowledgeOfARunningServer(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/animals" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<html><head><title>On wombats</title></head><body><article><h1>On wombats</h1><p>Wombats dig burrows at night.</p><p>%s</p></article></body></html>",
			strings.Repeat("There is more to say about them. ", 20))
	}))
	defer site.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(site.URL, "http://"), ":")
	data := t.TempDir()
	s := serve(t, nil, "--data", data, "--config", file(t, "config.yaml", "web: {allow_private: [127.0.0.1], ports: ["+port+"]}\n"))
	r := finished(t, program(t, nil, "knowledge", "add", "Web", site.URL+"/animals", site.URL+"/gone", "--data", data))
	if r.code != exitError || !strings.Contains(r.stdout, "ok      "+site.URL+"/animals: 1 document\n") ||
		!strings.Contains(r.stdout, "FAILED  "+site.URL+"/gone: it can't be read") {
		t.Errorf("add: %+v", r)
	}
	front := s.url
	if r = finished(t, program(t, nil, "knowledge", "search", "Web", "burrows", "--server", front, "--json")); r.code != exitOK ||
		!strings.Contains(r.stdout, "Wombats dig") {
		t.Errorf("search: %+v", r)
	}
	if r = finished(t, program(t, nil, "knowledge", "remove", "Web", site.URL+"/gone", "--server", front)); r.code != exitOK {
		t.Errorf("remove: %+v", r)
	}
	if r = finished(t, program(t, nil, "knowledge", "add", "Web", "--kind", "git", site.URL+"/none", "--no-wait", "--server", front)); r.code != exitOK ||
		!strings.Contains(r.stdout, site.URL+"/none") {
		t.Errorf("without waiting: %+v", r)
	}
	if r = finished(t, program(t, nil, "knowledge", "list", "--server", "http://127.0.0.1:1")); r.code != exitError || r.stdout != "" {
		t.Errorf("no server: %+v", r)
	}
	if page := call[any](t, s, "GET", "/api/knowledge", ""); !strings.Contains(fmt.Sprint(page), "Web") {
		t.Errorf("the server has %v", page)
	}
}

// TestRunSearchesTheCollectionsItNames: by name, and a wrong one is told before a chat is made.
func TestRunSearchesTheCollectionsItNames(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	data, conf := t.TempDir(), file(t, "config.yaml", webtest.Model(model)+"\n")
	do := func(args ...string) result {
		t.Helper()
		return finished(t, program(t, nil, append(args, "--data", data, "--config", conf)...))
	}
	if r := do("knowledge", "add", "Hand book", file(t, "guide.md", "A lunch may cost 30 francs.")); r.code != exitOK {
		t.Fatalf("add: %+v", r)
	}
	task := script(t, calls("search_documents", map[string]any{"query": "lunch"}), says("See the guide."))
	if r := do("run", task, "--knowledge", "none"); r.code != exitUsage || !strings.Contains(r.stderr, `no collection "none"; there are: Hand book`) {
		t.Errorf("a wrong name: %+v", r)
	}
	model.Forget()
	r := do("run", task, "--knowledge", "hand book", "--json")
	if r.code != exitOK || object(t, r).Answer != "See the guide." {
		t.Fatalf("%+v", r)
	}
	found := false
	for _, sent := range model.Requests() {
		found = found || strings.Contains(string(sent.Body), "30 francs")
	}
	if !found {
		t.Error("the collection isn't searched")
	}
}
