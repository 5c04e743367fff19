package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fawn/web/e2e/gate"
)

type readDocuments struct {
	Documents []struct{ Name, State string }
	Count     int
}

type readSources struct {
	Sources []struct {
		State string
		Total int
	}
}

type foundDocuments struct {
	Passages []struct{ Name string }
}

// made is what a request made.
func made(t *testing.T, s *server, path, body string) (out map[string]any) {
	t.Helper()
	res, err := s.client.Post(s.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil || res.StatusCode != http.StatusCreated {
		t.Fatalf("%s: %s %v", path, res.Status, err)
	}
	return out
}

// TestACollectionIsReadOnAfterKills in the middle of reading a folder, of reading it again after changes, and of deleting
// it: in the end each document is there once, as it is in the folder.
func TestACollectionIsReadOnAfterKills(t *testing.T) {
	t.Parallel()
	dir, folder := t.TempDir(), t.TempDir()
	const documents = 600
	edition := func(word string) {
		t.Helper()
		for i := range documents {
			text := fmt.Sprintf("# Sheet\n\nThe %s%d is described here.\n", word, i)
			if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("d%03d.md", i)), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	conf := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(conf, []byte("knowledge: {folders: ["+folder+"]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func() *server { return serve(t, nil, "--data", dir, "--config", conf) }
	s := run()
	edition("alpha")
	id := made(t, s, "/api/knowledge", `{"name":"K"}`)["knowledge_id"].(string)
	at := "/api/knowledge/" + id
	made(t, s, at+"/sources", `{"kind":"folder","address":"`+folder+`"}`)
	// kill ends the server at a place that is later each time, until all is read.
	kill := func(least int) {
		t.Helper()
		for n := range gate.Pick(3, 10, 40) {
			time.Sleep(time.Duration(n*7) * time.Millisecond) // a place to be killed at, whichever it is
			s.end(t, syscall.SIGKILL)
			s = run()
		}
		until(t, func() bool {
			src := call[readSources](t, s, "GET", at+"/sources", "").Sources
			return src[1].State == "ready" && src[1].Total >= least
		})
	}
	whole := func(word, gone string) {
		t.Helper()
		list := call[readDocuments](t, s, "GET", at+"/documents?limit=1000", "")
		if list.Count != documents || len(list.Documents) != documents {
			t.Errorf("%d documents, and %d listed", list.Count, len(list.Documents))
		}
		for _, d := range list.Documents {
			if d.State != "converted" {
				t.Errorf("%s is %s", d.Name, d.State)
			}
		}
		for i := 0; i < documents; i += 37 {
			hits := call[foundDocuments](t, s, "GET", fmt.Sprintf("%s/search?query=%s%d", at, word, i), "").Passages
			if len(hits) != 1 || hits[0].Name != fmt.Sprintf("d%03d.md", i) {
				t.Errorf("%s%d is in %+v", word, i, hits)
			}
		}
		if gone == "" {
			return
		}
		if hits := call[foundDocuments](t, s, "GET", fmt.Sprintf("%s/search?query=%s7", at, gone), "").Passages; len(hits) != 0 {
			t.Errorf("what was there before is found: %+v", hits)
		}
	}
	kill(documents)
	whole("alpha", "")
	edition("omega")
	update, err := http.NewRequest("POST", s.url+at+"/update", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.client.Do(update)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	kill(documents)
	whole("omega", "alpha")

	remove, err := http.NewRequest("DELETE", s.url+at, nil)
	if err == nil {
		res, err = s.client.Do(remove)
	}
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	s.end(t, syscall.SIGKILL)
	s = run()
	if text := page(t, s, "/api/knowledge"); strings.Contains(text, id) {
		t.Errorf("it is there after it was deleted: %s", text)
	}
	s.end(t, syscall.SIGTERM)
}
