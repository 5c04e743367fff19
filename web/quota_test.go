package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestAFullThreadSaysSoToTheModelAndToTheUser: one limit holds for tools, commands and
// uploads, also a changed one.
func TestAFullThreadSaysSoToTheModelAndToTheUser(t *testing.T) {
	t.Parallel()
	limit := func(size string) string { return fmt.Sprintf("sandbox: {limits: {disk: %s}}\n", size) }
	conf := scripted(t)
	s := start(t, conf+limit("400KiB"))
	write := func(name string, size int) string {
		t.Helper()
		return s.tool(t, "full", "write_file", fmt.Sprintf(`{"path":"/mnt/user-data/workspace/%s","content":%q}`, name,
			strings.Repeat("x", size)))
	}
	if got := write("a.txt", 70_000); !strings.HasPrefix(got, "OK") {
		t.Fatalf("with room: %q", got)
	}
	got := ""
	for i := 0; i < 40 && !strings.Contains(got, "full"); i++ {
		got = write(fmt.Sprintf("b%d.txt", i), 70_000)
	}
	if !strings.HasPrefix(got, "Error: ") || !strings.Contains(got, "Thread storage is full (") ||
		!strings.Contains(got, "of 0.4 MiB). Delete files under /mnt/user-data") {
		t.Errorf("the model reads %q", got)
	}
	s.sendFile(t, "/api/threads/full/uploads", strings.Repeat("y", 2<<20)).holds(t, "an upload", `!"success":true`, "storage is full")
	storage := func() (limit, full int64) {
		t.Helper()
		h := decoded[struct {
			Storage map[string]int64 `json:"storage"`
		}](t, s.send(t, "GET", "/health", ""))
		return h.Storage["thread_limit"], h.Storage["full_threads"]
	}
	if limit, _ := storage(); limit != 400<<10 {
		t.Errorf("health tells a limit of %d", limit)
	}

	s.configure(t, conf+limit("64MiB"))
	until(t, func() bool { limit, _ := storage(); return limit == 64<<20 })
	if got := write("c.txt", 70_000); !strings.HasPrefix(got, "OK") {
		t.Errorf("with a greater limit: %q", got)
	}
	if a := s.send(t, "GET", "/api/threads/full/artifacts/mnt/user-data/workspace/c.txt",
		""); a.status != http.StatusOK || len(a.body) != 70_000 {
		t.Errorf("the file: %d, %d bytes", a.status, len(a.body))
	}
}
