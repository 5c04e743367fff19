package providers_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fawn/sandbox"
	"fawn/sandbox/providers"
)

const denied = "Permission denied"

const (
	roleVariable = "FAWN_SANDBOX_TEST_ROLE"
	initVariable = "FAWN_SANDBOX_TEST_INIT"
)

// world is a provider with a data folder of its own.
type world struct {
	t        testing.TB
	cfg      sandbox.Config
	provider sandbox.Provider
}

// sleeper leaves one process in the background, sure to have started.
const sleeper = "sleep 300 >/dev/null 2>&1 & until pgrep -x sleep >/dev/null; do :; done"

// newWorld opens the provider with namespaces, or skips where the host has none.
func newWorld(t testing.TB, change ...func(*sandbox.Config)) *world {
	t.Helper()
	cfg := sandbox.DefaultConfig()
	cfg.Provider = sandbox.ProviderNamespace
	cfg.Dirs.Root = filepath.Join(t.TempDir(), "data")
	cfg.Log = slog.New(slog.NewTextHandler(logWriter{t}, nil))
	cfg.TestOnly.Init = initProgram
	cfg.TestOnly.KillTime = time.Minute
	for _, c := range change {
		c(&cfg)
	}
	p, err := providers.New(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if p.Name() != sandbox.ProviderNamespace {
		unavailable(t, p.Probe(context.Background()).String())
	}
	return &world{t, cfg, p}
}

// unavailable skips, except where everything must be tested.
func unavailable(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("FAWN_CI") == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// needs skips a test whose command calls for a program that not every machine has.
func needs(t testing.TB, command string) {
	t.Helper()
	for _, name := range programs.FindAllString(command, -1) {
		if _, err := exec.LookPath(name); err != nil {
			unavailable(t, err.Error())
		}
	}
}

var programs = regexp.MustCompile(`\b(python3|pgrep|ps)\b`)

type logWriter struct{ t testing.TB }

func (w logWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// thread returns the sandbox of a thread.
func (w *world) thread(id string, change ...func(*sandbox.Policy)) sandbox.Sandbox {
	w.t.Helper()
	policy := sandbox.DefaultPolicy()
	policy.Network = sandbox.NetworkNone
	policy.Timeout = time.Minute
	for _, c := range change {
		c(&policy)
	}
	s, err := w.provider.Acquire(context.Background(), sandbox.ThreadRef{ID: id}, policy)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// bash runs a command that must run, whatever it answers.
func bash(t testing.TB, s sandbox.Sandbox, command string) sandbox.ExecResult {
	t.Helper()
	return do(t, s, sandbox.ExecReq{Command: command})
}

// do has all that the command wrote as output, its errors last: tests look at both.
func do(t testing.TB, s sandbox.Sandbox, req sandbox.ExecReq) sandbox.ExecResult {
	t.Helper()
	needs(t, req.Command)
	res, err := s.Exec(context.Background(), req)
	if err != nil {
		t.Fatalf("Exec(%.80q): %v", req.Command, err)
	}
	res.Output = append(res.Output, res.Errors...)
	return res
}

func mustWrite(t testing.TB, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// stateOf is a status with what the sandbox itself says, for which a busy one may lack the time.
func stateOf(t testing.TB, s sandbox.Sandbox) (st sandbox.Status) {
	t.Helper()
	waitFor(t, "an answer of the sandbox", func() bool { st = s.Status(); return st.MemBytes > 0 })
	return st
}

// waitFor asks until it is so, or for a minute.
func waitFor(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// readFile reads a file of a thread as the server does.
func readFile(w *world, thread, name string) ([]byte, error) {
	tree, err := w.cfg.Dirs.Open(thread)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	return tree.ReadFile(context.Background(), name, 1<<20)
}

// kill ends processes of the host that a test found to be its own.
func kill(t testing.TB, pids []string) {
	t.Helper()
	for _, pid := range pids {
		n, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(n, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Error(err)
		}
	}
}

func ownerOf(t testing.TB, name string) uint32 {
	t.Helper()
	info, err := os.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Uid
}
