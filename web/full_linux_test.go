package web_test

import (
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/webtest"
)

// TestAFullDiskIsToldAndGoesAway lets no file grow past its size, which the database takes
// for a full disk. The limit is that of a whole process, so it gets one of its own: others
// would be refused the files that go test keeps about them.
func TestAFullDiskIsToldAndGoesAway(t *testing.T) {
	t.Parallel()
	const own = "FAWN_TEST_FULL_DISK"
	if os.Getenv(own) == "" {
		child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		child.Env = append(os.Environ(), own+"=1")
		if out, err := child.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	dir := t.TempDir()
	s := start(t, scripted(t), func(o *web.Options) { o.Data = dir })
	decoded[any](t, s.send(t, "POST", "/threads", `{"thread_id": "t1"}`))
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Skip(err)
	}
	wal, err := os.Stat(filepath.Join(dir, "fawn.db-wal"))
	must.Do(t, err)
	for wal.Size() < 1<<20 { // others, such as logs, must stay shorter
		decoded[any](t, s.send(t, "POST", "/threads", `{"metadata": {"a": "`+strings.Repeat("x", 60_000)+`"}}`))
		if wal, err = os.Stat(filepath.Join(dir, "fawn.db-wal")); err != nil {
			t.Fatal(err)
		}
	}
	signal.Ignore(syscall.SIGXFSZ)
	limit := func(l syscall.Rlimit) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() { limit(was); signal.Reset(syscall.SIGXFSZ) })
	limit(syscall.Rlimit{Cur: uint64(wal.Size()), Max: was.Max})
	for _, path := range []string{"/threads", "/threads/t1/runs", "/threads/t1/runs/stream"} {
		body := human("hi")
		if path == "/threads" {
			body = `{"metadata": {"a": "` + strings.Repeat("x", 10_000) + `"}}`
		}
		// A log that was copied into the database in the meantime begins anew and has room left.
		var a answer
		webtest.UntilSeen(t, func() bool {
			s.send(t, "POST", "/threads", `{"metadata": {"a": "`+strings.Repeat("x", 60_000)+`"}}`)
			a = s.send(t, "POST", path, body)
			return a.status == http.StatusInsufficientStorage
		}, func() string { return a.body })
		a.holds(t, path, "free some space")
	}
	for path, sentence := range map[string]string{"/threads/t1/uploads": "free some space",
		"/ui/threads/t1/uploads": "data folder"} {
		s.sendFile(t, path, strings.Repeat("x", int(wal.Size())+1), "X-Fawn", "1").want(t, path, http.StatusInsufficientStorage, sentence)
	}
	s.send(t, "GET", "/health", "").want(t, "health", http.StatusServiceUnavailable, `"unhealthy"`, "full")
	s.send(t, "GET", "/threads/t1/state", "").want(t, "reading", http.StatusOK)
	limit(was)
	until(t, func() bool { return s.send(t, "GET", "/health", "").status == http.StatusOK })
	s.send(t, "POST", "/threads/t1/runs/wait", human(`SCRIPT{"turns": [{"text": "room again"}]}`)).want(t, "after", http.StatusOK, "room again")
	s.works(t)
}
