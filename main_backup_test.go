package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/store"
	"fawn/web/e2e/gate"
)

// streams is how many runs stream while a backup is made.
func streams() int { return gate.Pick(20, 20, 200) }

// putFile uploads a file to a thread.
func putFile(t *testing.T, s *server, thread, name, content string) {
	t.Helper()
	body, kind := form(t, name, content)
	res := must.Get(s.client.Post(s.url+"/api/threads/"+thread+"/uploads", kind, body))(t)
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
}

// whole is all that the API says of a thread that nothing runs on.
func whole(t *testing.T, s *server, thread string) string {
	t.Helper()
	return page(t, s, "/threads/"+thread+"/state") + page(t, s, "/threads/"+thread+"/history") +
		page(t, s, "/threads/"+thread+"/runs") + page(t, s, "/api/threads/"+thread+"/messages")
}

// TestABackupUnderLoadComesBack: runs stream while it is made; elsewhere everything is there, whole
// threads to the byte and those that were being written as far as they had come.
func TestABackupUnderLoadComesBack(t *testing.T) {
	t.Parallel()
	conf, dir, n := configured(t, "runs: {resume: mark}", "title: {enabled: false}"), t.TempDir(), streams()
	s := serve(t, nil, "--data", dir, "--config", conf)
	for i := range 3 {
		id := fmt.Sprint("done", i)
		call[any](t, s, "POST", "/threads/"+id+"/runs/wait", input(fmt.Sprintf("echo %d tokens at 0 tok/s", 10+i)))
		putFile(t, s, id, "notes.txt", "notes of "+id)
	}
	for i := range n {
		follow(t, s, fmt.Sprint("live", i), speaking, "lorem ", 3)
	}
	at := filepath.Join(t.TempDir(), "a backup.tar.gz")
	if r := finished(t, program(t, nil, "backup", at, "--data", dir, "--config", conf)); r.code != exitOK ||
		r.stderr != "" || !strings.Contains(r.stdout, fmt.Sprintf("%d chats and ", 3+n)) {
		t.Fatalf("%+v", r)
	}
	r := finished(t, program(t, nil, "backup", at, "--data", dir))
	if r.code != exitError || !strings.Contains(r.stderr, "exists") {
		t.Errorf("over another: %+v", r)
	}
	before, later := map[string]string{}, map[string]string{}
	for i := range 3 {
		id := fmt.Sprint("done", i)
		before[id] = whole(t, s, id)
	}
	files := tree(t, filepath.Join(dir, "threads"))
	s.end(t, os.Kill)
	s = serve(t, nil, "--data", dir, "--config", conf)
	for i := range n {
		id := fmt.Sprint("live", i)
		until(t, func() bool { return status(t, s, id) == "interrupted" })
		later[id] = messages(t, s, id)
	}

	if r := finished(t, program(t, nil, "backup", "verify", at)); r.code != exitOK ||
		!strings.Contains(r.stdout, "is intact") {
		t.Errorf("%+v", r)
	}
	to := filepath.Join(t.TempDir(), "elsewhere")
	if r := finished(t, program(t, nil, "restore", at, "--data", to)); r.code != exitOK || r.stderr != "" ||
		!strings.Contains(r.stdout, fmt.Sprintf("Restored %d chats", 3+n)) {
		t.Fatalf("%+v", r)
	}
	if r := finished(t, program(t, nil, "fsck", "--data", to)); r.code != exitOK {
		t.Errorf("fsck: %+v", r)
	}
	other := serve(t, nil, "--data", to, "--config", conf)
	for id, want := range before {
		if got := whole(t, other, id); got != want {
			t.Errorf("%s is\n%s\nand was\n%s", id, got, want)
		}
		name := id + "/user-data/uploads/notes.txt"
		if got := tree(t, filepath.Join(to, "threads"))[name]; got != files[name] || got == "" {
			t.Errorf("%s has %q", name, got)
		}
	}
	for id, want := range later {
		until(t, func() bool { return status(t, other, id) == "interrupted" })
		got := messages(t, other, id)
		if text := strings.TrimSuffix(got, "\n"); !strings.HasPrefix(want, text) || strings.Count(got, "lorem ") < 3 {
			t.Errorf("%s has %d bytes that the original, of %d bytes, does not begin with:\n%.300s\n%.300s", id,
				len(got), len(want), got, want)
		}
	}
}

// TestABackupLeavesSecretsOut unless it is asked for them.
func TestABackupLeavesSecretsOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"config.yaml":            "models: [{name: a, use: openai, api_key: sk-very-secret}]\n",
		"extensions_config.json": `{"mcpServers": {"a": {"command": "x", "env": {"A": "sk-very-secret"}}}}`,
		"secrets.env":            "KEY=sk-very-secret\n",
		"USER.md":                "I like tea.\n",
		"skills/mine/SKILL.md":   "---\nname: mine\n---\n",
		"shown/cache":            "made anew",
		"threads/nobody/x":       "of no thread",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, with := range []bool{false, true} {
		at, to := filepath.Join(t.TempDir(), "b"), filepath.Join(t.TempDir(), "to")
		args := []string{"backup", at, "--data", dir}
		if with {
			args = append(args, "--secrets")
		}
		if r := finished(t, program(t, nil, args...)); r.code != exitOK || r.stderr != "" {
			t.Fatalf("%+v", r)
		}
		if info, err := os.Stat(at); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("others may read it: %v %v", info.Mode(), err)
		}
		r := finished(t, program(t, nil, "restore", at, "--data", to))
		if r.code != exitOK || strings.Contains(r.stdout, "Secrets were not in the backup") == with {
			t.Errorf("%+v", r)
		}
		got := tree(t, to)
		for name, text := range got {
			if strings.Contains(text, "very-secret") != (with &&
				(strings.HasSuffix(name, ".env") || strings.Contains(name, "config"))) {
				t.Errorf("with secrets %v: %s has %q", with, name, text)
			}
		}
		if got["USER.md"] != "I like tea.\n" || got["skills/mine/SKILL.md"] == "" || got["config.yaml"] == "" ||
			got["extensions_config.json"] == "" || got["shown/cache"] != "" || got["threads/nobody/x"] != "" {
			t.Errorf("restored: %q", got)
		}
		if r := finished(t, program(t, nil, "doctor", "--data", to)); !with &&
			!strings.Contains(r.stdout, "SECRET_NOT_IN_BACKUP is not set") {
			t.Errorf("doctor: %+v", r)
		}
	}
}

// TestARestoreTakesNothingAway: what is there is refused, or put aside.
func TestARestoreTakesNothingAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, nil, "--data", dir)
	call[any](t, s, "POST", "/threads", `{"thread_id": "old"}`)
	at := filepath.Join(t.TempDir(), "b.tar.gz")
	if r := finished(t, program(t, nil, "backup", at, "--data", dir)); r.code != exitOK {
		t.Fatalf("%+v", r)
	}
	call[any](t, s, "POST", "/threads", `{"thread_id": "new"}`)
	if r := finished(t, program(t, nil, "restore", at, "--data", dir, "--force")); r.code != exitError ||
		!strings.Contains(r.stderr, "in use by process") {
		t.Errorf("under a running server: %+v", r)
	}
	s.end(t, os.Interrupt)
	was := tree(t, dir)
	if r := finished(t, program(t, nil, "restore", at, "--data", dir)); r.code != exitError ||
		!strings.Contains(r.stderr, "--force") {
		t.Errorf("into a folder with data: %+v", r)
	}
	broken := file(t, "broken", "no backup")
	if r := finished(t, program(t, nil, "restore", broken, "--data", dir, "--force")); r.code != exitError ||
		!strings.Contains(r.stderr, "not a valid backup") {
		t.Errorf("a broken one: %+v", r)
	}
	for name, text := range tree(t, dir) {
		if name != "lock" && was[name] != text {
			t.Errorf("a refused restore changed %s", name)
		}
	}
	r := finished(t, program(t, nil, "restore", at, "--data", dir, "--force"))
	if r.code != exitOK || !strings.Contains(r.stdout, "What was there is in ") {
		t.Fatalf("%+v", r)
	}
	s = serve(t, nil, "--data", dir)
	if list := call[[]struct {
		ID string `json:"thread_id"`
	}](t, s, "GET", "/threads", ""); len(list) != 1 || list[0].ID != "old" {
		t.Errorf("threads: %+v", list)
	}
	aside, err := filepath.Glob(filepath.Join(dir, "before-restore-*"))
	if err != nil || len(aside) != 1 {
		t.Fatal(aside, err)
	}
	s = serve(t, nil, "--data", aside[0])
	if list := call[[]any](t, s, "GET", "/threads", ""); len(list) != 2 {
		t.Errorf("aside are %d threads", len(list))
	}
}

// TestAnOlderProgramSaysHowToGoBack: to the copy that the newer one made before it changed the database.
func TestAnOlderProgramSaysHowToGoBack(t *testing.T) {
	t.Parallel()
	dir := newer(t)
	db, err := store.Open(t.Context(), store.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	old := filepath.Join(dir, fmt.Sprintf("fawn-v%d-20260101T000000.000.db", store.Schema()))
	if err := db.Backup(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	r := finished(t, program(t, nil, "serve", "--addr", "127.0.0.1:0", "--data", dir))
	_, line, ok := strings.Cut(strings.TrimSpace(r.stderr), "fawn restore ")
	if r.code != exitError || !ok || !strings.Contains(line, old) {
		t.Fatalf("%+v", r)
	}
	if r := finished(t, program(t, nil, append([]string{"restore"}, strings.Fields(line)...)...)); r.code != exitOK ||
		!strings.Contains(r.stdout, "the database, with 0 chats") {
		t.Errorf("%s: %+v", line, r)
	}
	s := serve(t, nil, "--data", dir)
	call[any](t, s, "POST", "/threads", "{}")

	backup := filepath.Join(t.TempDir(), "b")
	if r := finished(t, program(t, nil, "backup", backup, "--data", newer(t))); r.code != exitOK {
		t.Fatalf("%+v", r)
	}
	if r := finished(t, program(t, nil, "restore", backup, "--data", t.TempDir())); r.code != exitError ||
		!strings.Contains(r.stderr, "schema version 99") {
		t.Errorf("a newer backup: %+v", r)
	}
}

// TestAChangedByteIsNoticed anywhere in a backup, before anything is written.
func TestAChangedByteIsNoticed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, nil, "--data", dir)
	call[any](t, s, "POST", "/threads", `{"thread_id": "t"}`)
	putFile(t, s, "t", "notes.txt", "these are my notes")
	s.end(t, os.Interrupt)
	at := filepath.Join(t.TempDir(), "b.tar.gz")
	if r := finished(t, program(t, nil, "backup", at, "--data", dir)); r.code != exitOK {
		t.Fatalf("%+v", r)
	}
	refused := func(name string, b []byte, says string) {
		t.Helper()
		to := filepath.Join(t.TempDir(), "to")
		for _, args := range [][]string{{"backup", "verify"}, {"restore", "--data", to}} {
			r := finished(t, program(t, nil, append(args, file(t, "changed", string(b)))...))
			if r.code != exitError || !strings.Contains(r.stderr, "not a valid backup") ||
				!strings.Contains(r.stderr, says) {
				t.Errorf("%s: %s: %+v", name, args[0], r)
			}
		}
		if got := tree(t, to); len(got) > 1 || len(got) == 1 && got["lock"] == "" {
			t.Errorf("%s: written: %v", name, got)
		}
	}
	b, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	refused("cut off", b[:len(b)/2], "")
	changed := bytes.Clone(b)
	changed[len(b)/2] ^= 1
	refused("a changed byte", changed, "")
	refused("changed notes", repacked(t, b, func(h *tar.Header, body []byte) []byte {
		if strings.HasSuffix(h.Name, "notes.txt") {
			return []byte("these are no notes")
		}
		return body
	}), "uploads/notes.txt isn't what was written")
	refused("without its manifest", repacked(t, b, func(h *tar.Header, body []byte) []byte {
		if h.Name == "manifest.json" {
			return nil
		}
		return body
	}), "its end is missing")
	refused("a file less", repacked(t, b, func(h *tar.Header, body []byte) []byte {
		if strings.HasSuffix(h.Name, "notes.txt") {
			return nil
		}
		return body
	}), "")
	refused("another format", repacked(t, b, func(h *tar.Header, body []byte) []byte {
		if h.Name == "manifest.json" {
			var m map[string]any
			if err := json.Unmarshal(body, &m); err != nil {
				t.Fatal(err)
			}
			m["format"] = 2
			body, _ = json.Marshal(m)
		}
		return body
	}), "a newer program")
}

// repacked is a backup whose files are changed; nil leaves one out.
func repacked(t *testing.T, b []byte, change func(h *tar.Header, body []byte) []byte) []byte {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	from, to := tar.NewReader(zip), tar.NewWriter(packed)
	for {
		h, err := from.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if body = change(h, body); body == nil {
				continue
			}
			h.Size = int64(len(body))
		}
		if err := to.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := to.Write(body); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestTheServerBacksItselfUp again and again, and keeps as many as it should.
func TestTheServerBacksItselfUp(t *testing.T) {
	t.Parallel()
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "mine")
	s := serve(t, nil, "--data", dir, "--config",
		file(t, "c.yaml", "backup: {every: 1, keep: 2, dir: "+strconv.Quote(to)+"}\n"))
	call[any](t, s, "POST", "/threads", `{"thread_id": "t"}`)
	kept := func() []string {
		names, err := filepath.Glob(filepath.Join(to, "fawn-*.tar.gz"))
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	until(t, func() bool { return len(kept()) > 0 })
	newest := kept()[len(kept())-1] // which may be from before there was a chat
	for _, name := range []string{"fawn-mine.tar.gz", "other"} {
		if err := os.WriteFile(filepath.Join(to, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	until(t, func() bool { _, err := os.Stat(newest); return os.IsNotExist(err) })
	s.end(t, os.Interrupt)
	names := kept()
	if len(names) < 2 || len(names) > 4 || names[len(names)-1] != filepath.Join(to, "fawn-mine.tar.gz") {
		t.Errorf("kept are %q", names)
	}
	must.Try(os.Stat(filepath.Join(to, "other")))(t)
	last := names[len(names)-2]
	r := finished(t, program(t, nil, "restore", last, "--data", filepath.Join(t.TempDir(), "x")))
	if r.code != exitOK || !strings.Contains(r.stdout, "Restored 1 chats") {
		t.Errorf("%+v", r)
	}
}
