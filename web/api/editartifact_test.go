package api_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/files"
)

func TestATextArtifactIsReplacedByItsHash(t *testing.T) {
	w := open(t, sayAgent("hi"))
	w.ok(t, "POST", "/threads", `{"thread_id":"t1"}`)
	must.Do(t, w.dirs.Create("t1"))
	at := filepath.Join(w.dirs.Root, "threads", "t1", "user-data", "outputs", "a.md")
	must.Do(t, os.WriteFile(at, []byte("one"), 0o600))
	body := func(text, was string) string {
		return fmt.Sprintf(`{"content":%q,"expected_sha256":%q}`, text, files.Sum([]byte(was)))
	}
	const path = "/api/threads/t1/artifacts/mnt/user-data/outputs/a.md"
	want := fmt.Sprintf(`{"path":"/mnt/user-data/outputs/a.md","sha256":%q,"size":5}`, files.Sum([]byte("zwei\n")))
	if a := w.send(t, "PUT", path, body("zwei\n", "one")); a.status != 200 || a.body != want {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for _, c := range []struct {
		path, body string
		status     int
	}{
		{path, body("three", "one"), 412},
		{path, `{"content":"x"}`, 422},
		{path, `{"expected_sha256":"` + strings.Repeat("0", 64) + `"}`, 422},
		{path, body(strings.Repeat("x", files.MaxEdit+1), "zwei\n"), 413},
		{"/threads/t1/artifacts/mnt/user-data/outputs/none.md", body("x", "y"), 404},
		{"/threads/t1/artifacts/mnt/user-data/workspace/a.md", body("x", "y"), 400},
		{"/threads/t1/artifacts/mnt/user-data/outputs/x.skill", body("x", "y"), 415},
		{"/threads/t1/artifacts/mnt/user-data/outputs/%2e%2e/%2e%2e/%2e%2e/secret", body("x", "y"), 403},
		{"/threads/none/artifacts/mnt/user-data/outputs/a.md", body("x", "y"), 404},
	} {
		w.send(t, "PUT", c.path, c.body).want(t, fmt.Sprintf("%s %.60s", c.path, c.body), c.status)
	}
	if b, err := os.ReadFile(at); err != nil || string(b) != "zwei\n" {
		t.Errorf("%q %v", b, err)
	}
}
