package providers_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/sandbox"
)

// Somebody slow who is shown the output does not cost the result its end, although a
// process in the background holds the output open.
func TestSlowWatchersLoseNothing(t *testing.T) {
	w := newWorld(t)
	s := w.thread("a")
	res := do(t, s, sandbox.ExecReq{
		Command:  `printf '%10000s' x; sleep 0.2; sleep 300 & printf '%50000s' y; echo end`,
		OnOutput: func(sandbox.Stream, []byte) { time.Sleep(600 * time.Millisecond) },
	})
	if res.TotalBytes != 60_004 || !strings.HasSuffix(string(res.Output), "yend\n") || res.Background != 1 {
		t.Errorf("%d bytes, %q at the end, %+v", res.TotalBytes, res.Output[max(0, len(res.Output)-30):], res.Notes)
	}
}

// Process 1 watches over commands for days; only those have a limit of their time.
func TestTimeOfTheProcessorIsLimitedForCommandsOnly(t *testing.T) {
	w := newWorld(t)
	s := w.thread("a", func(p *sandbox.Policy) { p.Limits.CPUTime = time.Second })
	res := bash(t, s, "grep -h 'Max cpu time' /proc/1/limits /proc/self/limits | tr -s ' '; bash -c 'while :; do :; done'; echo $?")
	want := "Max cpu time unlimited unlimited seconds \nMax cpu time 1 1 seconds \n137\n"
	if !strings.HasPrefix(string(res.Output), want) {
		t.Errorf("%q", res.Output)
	}
}

// TestNestingHidesNothingFromTheQuota: where counting takes long, the answer may be of a moment ago.
func TestNestingHidesNothingFromTheQuota(t *testing.T) {
	w := newWorld(t)
	s := w.thread("a", func(p *sandbox.Policy) { p.Limits.Disk = 32 << 20 })
	res := bash(t, s, "for i in $(seq 400); do mkdir d && cd d; done; head -c 1M /dev/zero > x; true")
	told := func() bool { return strings.Contains(strings.Join(res.Notes, "\n"), "nested too deeply") }
	for end := time.Now().Add(time.Minute); !told() && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		res = bash(t, s, "true")
	}
	if !told() {
		t.Errorf("deep folders: %q", res.Notes)
	}
}

func TestUsageCountsBlocksOfEverything(t *testing.T) {
	w := newWorld(t)
	s := w.thread("a")
	bash(t, s, "head -c 1000000 /dev/zero > a; head -c 1000000 /dev/zero > ~/b; head -c 1000000 /dev/zero > ../outputs/c; truncate -s 10G sparse; ln a hard; ln -s /usr link")
	n, err := w.cfg.Dirs.Usage(context.Background(), "a")
	if err != nil || n < 3_000_000 || n > 4_500_000 {
		t.Errorf("%d, %v", n, err)
	}
	bash(t, w.thread("empty"), "mkdir d && cd d && touch $(seq 5000)")
	if n, err := w.cfg.Dirs.Usage(context.Background(), "empty"); err != nil || n < 5_000_000 {
		t.Errorf("empty files: %d, %v", n, err)
	}
	if n, err := w.cfg.Dirs.Usage(context.Background(), "none"); n != 0 || err != nil {
		t.Errorf("a thread without files: %d, %v", n, err)
	}
}

// strays counts processes on the host that see files of the world's threads, and
// nothing else of its data.
func strays(t testing.TB, w *world) int {
	t.Helper()
	return len(insideOf(t, filepath.Join(w.cfg.Dirs.Root, "threads")))
}

// insideOf lists processes whose view of files has a mount of the folder.
func insideOf(t testing.TB, dir string) (pids []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(dir, os.TempDir())
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join("/proc", e.Name(), "mountinfo"))
		if err == nil && bytes.Contains(b, []byte(rest)) {
			pids = append(pids, e.Name())
		}
	}
	return pids
}

func TestASandboxGetsHalfOfTheMachineAtMost(t *testing.T) {
	w := newWorld(t, func(c *sandbox.Config) { c.TestOnly.Machine = 256 << 20 })
	policy := sandbox.DefaultPolicy()
	policy.Limits.Memory = 64 << 30
	box, err := w.provider.Acquire(t.Context(), sandbox.ThreadRef{ID: "a"}, policy)
	if err != nil {
		t.Fatal(err)
	}
	const command = `python3 -c 'b = bytearray(200 << 20); import time; time.sleep(60)'`
	needs(t, command)
	res, err := box.Exec(t.Context(), sandbox.ExecReq{Command: command})
	notes := strings.Join(res.Notes, "\n")
	if err != nil || !res.OOM || !strings.Contains(notes, "> 128 MiB") && !strings.Contains(notes, "(128 MiB)") {
		t.Errorf("%v %v %q", err, res.OOM, notes)
	}
}

func TestAllowedSystemCallsWorkInSandboxes(t *testing.T) {
	w := newWorld(t)
	s := w.thread("a", func(p *sandbox.Policy) { p.SeccompAllow = []string{"ptrace"} })
	res := bash(t, s, `python3 -c 'import ctypes; print(ctypes.CDLL(None).ptrace(0, 0, 0, 0))'`)
	if string(res.Output) != "0\n" {
		t.Errorf("%q", res.Output)
	}
}
