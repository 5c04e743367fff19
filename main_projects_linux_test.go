package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/web/e2e/gate"
)

type projectFiles struct {
	Files []struct{ Filename string }
	Count int
}

func madeProject(t *testing.T, s *server, files int) string {
	t.Helper()
	res := must.Get(s.client.Post(s.url+"/api/projects", "application/json", strings.NewReader(`{"name":"P"}`)))(t)
	var made struct {
		ID string `json:"project_id"`
	}
	err := json.NewDecoder(res.Body).Decode(&made)
	res.Body.Close()
	if err != nil || res.StatusCode != http.StatusCreated {
		t.Fatalf("%s %v", res.Status, err)
	}
	id := made.ID
	var list []string
	for i := range files {
		list = append(list, fmt.Sprintf("f%02d.txt", i), "text")
	}
	body, kind := form(t, list...)
	res = must.Get(s.client.Post(s.url+"/api/projects/"+id+"/files", kind, body))(t)
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	return id
}

// TestAProjectOutlivesKills in the middle of an upload, which leaves nothing, and of its deletion, which is done or not.
func TestAProjectOutlivesKills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, nil, "--data", dir)
	id := madeProject(t, s, 3)
	shelf := filepath.Join(dir, "projects", id)
	unfinished := func() []string {
		list, err := filepath.Glob(filepath.Join(shelf, "user-data", "uploads", ".upload-*"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}

	// An upload of which the last file never ends.
	from, to := io.Pipe()
	form := multipart.NewWriter(to)
	go func() {
		for _, name := range []string{"f00.txt", "new.txt"} {
			if part, err := form.CreateFormFile("files", name); err == nil {
				_, _ = part.Write(bytes.Repeat([]byte("x"), 1<<20))
			}
		}
	}()
	go func() {
		if res, err := s.client.Post(s.url+"/api/projects/"+id+"/files", form.FormDataContentType(), from); err == nil {
			res.Body.Close()
		}
	}()
	until(t, func() bool { return len(unfinished()) == 2 })
	s.end(t, syscall.SIGKILL)
	from.CloseWithError(io.ErrClosedPipe)
	s = serve(t, nil, "--data", dir)
	if got := call[projectFiles](t, s, "GET", "/api/projects/"+id+"/files", ""); got.Count != 3 {
		t.Errorf("after the upload: %+v", got)
	}
	if text := page(t, s, "/api/projects/"+id+"/files/f00.txt"); text != "text" {
		t.Errorf("a file that was being replaced: %.20q", text)
	}
	until(t, func() bool { return len(unfinished()) == 0 })

	for n := range gate.Pick(3, 20, 200) {
		id := madeProject(t, s, 10)
		shelf := filepath.Join(dir, "projects", id)
		call[any](t, s, "POST", "/threads", fmt.Sprintf(`{"thread_id":"t%d","project_id":"%s"}`, n, id))
		done := make(chan struct{})
		go func() {
			defer close(done)
			req, err := http.NewRequest("DELETE", s.url+"/api/projects/"+id, nil)
			if err != nil {
				return
			}
			if res, err := s.client.Do(req); err == nil {
				res.Body.Close()
			}
		}()
		time.Sleep(time.Duration(n) * 2 * time.Millisecond) // a place to be killed at, whichever it is
		s.end(t, syscall.SIGKILL)
		<-done
		s = serve(t, nil, "--data", dir)
		chat := page(t, s, fmt.Sprintf("/threads/t%d", n))
		res, err := s.client.Get(s.url + "/api/projects/" + id + "/files")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		_, left := os.Stat(shelf)
		switch {
		case err != nil:
			t.Fatal(err)
		case res.StatusCode == http.StatusOK && (!strings.Contains(string(body), `"count":10`) || !strings.Contains(chat, id)):
			t.Errorf("kill %d: half of it is there: %.200s %s", n, body, chat)
		case res.StatusCode == http.StatusNotFound && (!os.IsNotExist(left) || strings.Contains(chat, id)):
			t.Errorf("kill %d: something of it is left: %v, %s", n, left, chat)
		}
	}
}

// TestRunInAProject makes its chat in the project that a command line names.
func TestRunInAProject(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, nil, "--data", dir)
	id := madeProject(t, s, 1)
	run := func(args ...string) result {
		t.Helper()
		return finished(t, program(t, nil, append([]string{"run", "hello", "--model", "offline", "--data", dir}, args...)...))
	}
	if r := run("--project", "p"); r.code != exitOK {
		t.Errorf("by its name: %d %s", r.code, r.stderr)
	}
	if r := run("--project", id); r.code != exitOK {
		t.Errorf("by its id: %d %s", r.code, r.stderr)
	}
	if list := call[[]any](t, s, "GET", "/threads?project_id="+id, ""); len(list) != 2 {
		t.Errorf("%d chats are in it", len(list))
	}
	if r := run("--project", "none"); r.code == exitOK || !strings.Contains(r.stderr, "there are: P") {
		t.Errorf("one that isn't there: %d %s", r.code, r.stderr)
	}
}
