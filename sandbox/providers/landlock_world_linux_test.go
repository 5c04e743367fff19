package providers_test

import (
	"bytes"
	"context"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"fawn/sandbox"
	"fawn/sandbox/jail"
	"fawn/sandbox/providers"
)

// openDir is a temporary folder that other users can pass through.
func openDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fawn-plain-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// newPlainWorld opens the landlock provider, or skips where the kernel has none.
func newPlainWorld(t testing.TB, change ...func(*sandbox.Config)) *world {
	t.Helper()
	if abi := jail.LandlockABI(); abi == 0 {
		t.Skip("the kernel has no Landlock")
	} else if abi < 3 {
		unavailable(t, "the kernel has version "+strconv.Itoa(abi)+" of Landlock")
	}
	dir := openDir(t)
	cfg := sandbox.DefaultConfig()
	cfg.Provider = sandbox.ProviderLandlock
	cfg.Dirs.Root = filepath.Join(dir, "data")
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
	if p.Name() != sandbox.ProviderLandlock {
		unavailable(t, p.Probe(context.Background()).String())
	}
	return &world{t, cfg, p}
}

// mark is a number by which a test knows its processes.
func mark() string { return strconv.Itoa(100_000_000 + rand.IntN(900_000_000)) }

// withMark gives commands a variable MARK.
func withMark(m string) func(*sandbox.Policy) {
	return func(p *sandbox.Policy) { p.Env = map[string]string{"MARK": m} }
}

// marked lists processes that have the mark in their arguments or environment.
func marked(t testing.TB, m string) (pids []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		for _, name := range []string{"cmdline", "environ"} {
			// A process may end, or hide its environment.
			b, err := os.ReadFile(filepath.Join("/proc", e.Name(), name))
			if err == nil && bytes.Contains(b, []byte(m)) {
				pids = append(pids, e.Name())
				break
			}
		}
	}
	return pids
}

// noneLeft waits for the end of the processes with a mark.
func noneLeft(t testing.TB, m string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		pids := marked(t, m)
		if len(pids) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Errorf("processes %v are left", pids)
			kill(t, pids)
			return
		}
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}
