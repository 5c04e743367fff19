package main

import (
	"archive/zip"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// unpacked are the files of an archive.
func unpacked(t *testing.T, path string) map[string]string {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	all := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := all[f.Name]; twice || !filepath.IsLocal(f.Name) {
			t.Errorf("%q is there twice, or leads out", f.Name)
		}
		all[f.Name] = string(b)
	}
	return all
}

// TestEverythingLeaves: with a server or without, chats with their files, agents, profile and memory.
func TestEverythingLeaves(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	conf := configured(t, "agents_api: {enabled: true}", "title: {enabled: false}")
	s := serve(t, nil, "--data", data, "--config", conf)
	call[any](t, s, "POST", "/threads/one/runs/wait", input(script(t, says("the first answer"))))
	putFile(t, s, "one", "notes 笔记.txt", "my notes")
	for _, title := range []string{"../../Plan: a/b", "../../Plan: a/b"} {
		id := call[struct {
			ID string `json:"thread_id"`
		}](t, s, "POST", "/threads", "{}").ID
		call[any](t, s, "POST", "/threads/"+id+"/state", `{"values": {"title": `+quoted(t, title)+`}}`)
	}
	call[any](t, s, "PUT", "/api/user-profile", `{"content": "I like tea."}`)
	call[any](t, s, "POST", "/api/memory/facts",
		`{"content": "Prefers tea", "category": "preference", "confidence": 0.9}`)
	if err := os.MkdirAll(filepath.Join(data, "agents"), 0o700); err != nil {
		t.Fatal(err)
	}
	check := func(path string) {
		t.Helper()
		all := unpacked(t, path)
		var list []struct {
			ThreadID string `json:"thread_id"`
			Folder   string
		}
		if err := json.Unmarshal([]byte(all["chats.json"]), &list); err != nil || len(list) != 3 {
			t.Fatalf("%v: %v", err, all["chats.json"])
		}
		for _, c := range list {
			if all[c.Folder+"/chat.md"] == "" || !strings.Contains(all[c.Folder+"/chat.json"], c.ThreadID) {
				t.Errorf("%+v is not there", c)
			}
			if c.ThreadID == "one" && (all[c.Folder+"/files/uploads/notes 笔记.txt"] != "my notes" ||
				!strings.Contains(all[c.Folder+"/chat.md"], "the first answer")) {
				t.Errorf("of the first chat there is %q", all)
			}
		}
		if all["USER.md"] != "I like tea." || !strings.Contains(all["memory.json"], "Prefers tea") {
			t.Errorf("of the person there is %q %q", all["USER.md"], all["memory.json"])
		}
	}
	dir := t.TempDir()
	do := func(args ...string) result {
		return finished(t, program(t, nil, append([]string{"export", "--data", data, "--config", conf}, args...)...))
	}
	at := filepath.Join(dir, "by the server.zip")
	if r := do(at); r.code != exitOK || r.stderr != "" {
		t.Fatalf("%+v", r)
	}
	check(at)
	if r := do(at); r.code != exitError || !strings.Contains(r.stderr, "exists") {
		t.Errorf("over another: %+v", r)
	}
	res, err := s.client.Get(s.url + "/api/export?lang=zh-CN")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "application/zip" ||
		!strings.Contains(res.Header.Get("Content-Disposition"), "fawn-export-") {
		t.Errorf("%s %v %v", res.Status, err, res.Header)
	}
	check(file(t, "by hand.zip", string(b)))
	if body := page(t, s, "/workspace/settings/data"); !strings.Contains(body, "/api/export?lang=en") ||
		!strings.Contains(body, "fawn backup FILE") {
		t.Errorf("the page: %s", body)
	}
	s.end(t, os.Interrupt)

	at = filepath.Join(dir, "alone.zip")
	if r := do(at); r.code != exitOK || r.stderr != "" {
		t.Fatalf("%+v", r)
	}
	check(at)
	for name, want := range map[string]string{"one.md": "the first answer", "one.json": `"thread_id": "one"`} {
		if r := do(filepath.Join(dir, name), "--thread", "one"); r.code != exitOK {
			t.Fatalf("%+v", r)
		}
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %s %v", name, b, err)
		}
	}
	if r := do(filepath.Join(dir, "one.zip"), "--thread", "one"); r.code != exitOK {
		t.Fatalf("%+v", r)
	}
	if all := unpacked(t, filepath.Join(dir, "one.zip")); all["files/uploads/notes 笔记.txt"] != "my notes" ||
		all["chat.md"] == "" || all["chat.json"] == "" {
		t.Errorf("one chat: %q", all)
	}
	r := do(filepath.Join(dir, "none.zip"), "--thread", "none")
	if r.code != exitError || !strings.Contains(r.stderr, "404") {
		t.Errorf("%+v", r)
	}
	if r := do("all.md"); r.code != exitUsage {
		t.Errorf("%+v", r)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".fawn*")); err != nil || len(left) > 0 {
		t.Errorf("left are %v %v", left, err)
	}
}

func quoted(t *testing.T, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
