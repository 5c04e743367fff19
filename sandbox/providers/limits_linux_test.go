package providers_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"fawn/sandbox"
	"fawn/sandbox/files"
	"fawn/web/e2e/gate"
)

func TestForkBombEndsWithTheCommand(t *testing.T) {
	w := newWorld(t)
	s := w.thread("a", func(p *sandbox.Policy) { p.Limits.Pids = 64 })
	bash(t, s, sleeper)
	start := time.Now()
	res := do(t, s, sandbox.ExecReq{Command: ":(){ :|:& };: ; wait; sleep 60", Timeout: 4 * time.Second})
	if took := time.Since(start); !res.TimedOut || took > 60*time.Second {
		t.Errorf("took %v, %+v", took, res)
	}
	if !strings.Contains(string(res.Output), "Resource temporarily unavailable") {
		t.Errorf("the limit of processes did not hold: %.200q", res.Output)
	}
	// Jobs of earlier commands live on, unless all had to be ended.
	if after := bash(t, s, "pgrep -c sleep"); !res.SandboxRestarted && string(after.Output) != "1\n" {
		t.Errorf("earlier job: %q", after.Output)
	}
	if n := strays(t, w); n > 3 {
		t.Errorf("%d processes are left", n)
	}
}

func TestMemoryHogIsEnded(t *testing.T) {
	for name, command := range map[string]string{
		"private":      `python3 -c 'b = bytearray(600 << 20); import time; time.sleep(20)'`,
		"in steps":     `python3 -c 'a = []; [a.append(bytearray(4 << 20)) for _ in range(500)]; import time; time.sleep(20)'`,
		"in parallel":  `for i in 1 2 3 4; do python3 -c 'b = bytearray(150 << 20); import time; time.sleep(20)' & done; wait -n; exit $?`,
		"shared":       `python3 -c 'import mmap, time; m = mmap.mmap(-1, 600 << 20); [m.__setitem__(i, 1) for i in range(0, 600 << 20, 4096)]; time.sleep(20)'`,
		"shared often": `for i in 1 2 3 4; do python3 -c 'import mmap, time; m = mmap.mmap(-1, 150 << 20); [m.__setitem__(i, 1) for i in range(0, 150 << 20, 4096)]; time.sleep(20)' & done; wait -n; exit $?`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := w.thread("a", func(p *sandbox.Policy) { p.Limits.Memory = 256 << 20 })
			bash(t, s, sleeper)
			start := time.Now()
			res := bash(t, s, command)
			if !res.OOM || res.ExitCode == 0 || time.Since(start) > 90*time.Second {
				t.Errorf("took %v: %+v %s", time.Since(start), res, res.Output)
			}
			if !strings.Contains(strings.Join(res.Notes, "\n"), "memory limit exceeded") {
				t.Errorf("notes: %q", res.Notes)
			}
			if res := bash(t, s, "pkill python3; pgrep -c sleep"); string(res.Output) != "1\n" &&
				!res.SandboxRestarted {
				t.Errorf("the next command: %+v %s", res, res.Output)
			}
		})
	}
}

func TestMemoryThatNoProcessHoldsIsBounded(t *testing.T) {
	w := newWorld(t)
	s := w.thread("a", func(p *sandbox.Policy) {
		p.Limits.Memory, p.Limits.Tmp, p.Limits.Shm = 512<<20, 32<<20, 16<<20
	})
	for name, c := range map[string]struct{ command, want string }{
		"/tmp":         {"dd if=/dev/zero of=/tmp/x bs=1M count=64 2>&1; ls -s --block-size=1M /tmp/x | cut -d' ' -f1; rm /tmp/x", "32"},
		"/dev/shm":     {"dd if=/dev/zero of=/dev/shm/x bs=1M count=64 2>&1; ls -s --block-size=1M /dev/shm/x | cut -d' ' -f1; rm /dev/shm/x", "16"},
		"unnamed file": {`python3 -c 'import os; os.memfd_create("x")' 2>&1`, "PermissionError"},
		"/dev":         {"dd if=/dev/zero of=/dev/x 2>&1", "Read-only"},
		"/run":         {"dd if=/dev/zero of=/run/x 2>&1", "Read-only"},
	} {
		if res := bash(t, s, c.command); !strings.Contains(string(res.Output), c.want) {
			t.Errorf("%s: %q", name, res.Output)
		}
	}
	// Root limits segments from the start; else the guard finds them.
	res := bash(t, s, `python3 -c '
import ctypes, time
l = ctypes.CDLL(None, use_errno=True)
l.shmat.restype = ctypes.c_void_p
for i in range(20):
    n = l.shmget(0, 64 << 20, 0o1600)
    if n < 0: raise SystemExit("no segment")
    p = l.shmat(n, None, 0)
    ctypes.memset(p, 1, 64 << 20)
    l.shmdt(ctypes.c_void_p(p))
time.sleep(20)' 2>&1`)
	if out := string(res.Output); out != "no segment\n" && !res.OOM && !res.SandboxRestarted {
		t.Errorf("System V segments: %+v %s", res, out)
	}
	if res := bash(t, s, "sleep 0.3; echo ok"); string(res.Output) != "ok\n" || s.Status().MemBytes > 512<<20 {
		t.Errorf("after it: %+v %s", s.Status(), res.Output)
	}
}

func TestOutputIsCappedAndNeverBlocks(t *testing.T) {
	w := newWorld(t)
	s := w.thread("a")
	size := gate.Pick(int64(50<<20), 200<<20, 10<<30)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res := do(t, s, sandbox.ExecReq{Command: fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x; echo; echo end", size),
		Timeout: time.Duration(5+3*(size>>30)) * time.Minute})
	runtime.ReadMemStats(&after)
	if res.TotalBytes != size+5 || !res.Truncated || res.ExitCode != 0 {
		t.Errorf("total %d, truncated %v, exit %d, notes %q", res.TotalBytes, res.Truncated, res.ExitCode, res.Notes)
	}
	want := fmt.Sprintf("%s\n... [middle truncated: %d chars skipped] ...\n%s\nend\n", strings.Repeat("x", 10000),
		size+5-20000, strings.Repeat("x", 9995))
	if string(res.Output) != want {
		t.Errorf("output has %d bytes: %.30q ... %q", len(res.Output), res.Output, res.Output[len(res.Output)-60:])
	}
	if grown := int64(after.HeapInuse) - int64(before.HeapInuse); grown > 32<<20 {
		t.Errorf("%d MiB of memory for the output", grown>>20)
	}
}

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

func TestEndlessOutputStopsAtTheTimeLimit(t *testing.T) {
	w := newWorld(t)
	s := w.thread("a")
	var streamed int
	res := do(t, s, sandbox.ExecReq{Command: "yes endless", Timeout: 6 * time.Second, // a busy machine may take some
		OnOutput: func(_ sandbox.Stream, b []byte) { streamed += len(b) }})
	if !res.TimedOut || !res.Truncated || res.Signal != "SIGKILL" || res.SandboxRestarted || res.TotalBytes < 1<<20 ||
		streamed > 1<<20 || streamed < 1<<19 {
		t.Errorf("streamed %d, total %d: %v", streamed, res.TotalBytes, res.Notes)
	}
	if len(res.Notes) != 1 ||
		!strings.HasPrefix(res.Notes[0], "Command timed out after 6 seconds and was terminated. To run") {
		t.Errorf("notes: %q", res.Notes)
	}
}

func TestFilesAndDescriptorsAreLimited(t *testing.T) {
	w := newWorld(t)
	s := w.thread("a", func(p *sandbox.Policy) { p.Limits.FileSize, p.Limits.OpenFiles = 8<<20, 64 })
	res := bash(t, s, "(dd if=/dev/zero of=big bs=1M count=5000) >/dev/null 2>&1; stat -c %s big; ulimit -n; ulimit -c")
	if want := fmt.Sprintf("%d\n64\n0\n", 8<<20); !strings.HasPrefix(string(res.Output), want) {
		t.Errorf("%q, want %q at the start", res.Output, want)
	}
	res = bash(t, s, `python3 -c '
import os
n = 0
try:
    while True: os.open("/dev/null", 0); n += 1
except OSError: print("stopped", n < 64)'; ulimit -n 1000000 2>/dev/null || echo hard`)
	if string(res.Output) != "stopped True\nhard\n" {
		t.Errorf("%q", res.Output)
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

func TestDiskQuotaEndsTheWriterAndLetsItDelete(t *testing.T) {
	w := newWorld(t, func(c *sandbox.Config) { c.Dirs.Quota = files.NewQuota(32 << 20) })
	s := w.thread("a", func(p *sandbox.Policy) { p.Limits.Disk = 32 << 20 })
	start := time.Now()
	res := bash(t, s, "i=0; while :; do head -c 1048576 /dev/zero > f$i; i=$((i+1)); [ $i -lt 100 ] || sleep 20; done")
	if !res.Quota || res.TimedOut || time.Since(start) > 60*time.Second {
		t.Errorf("took %v: %+v", time.Since(start), res)
	}
	notes := strings.Join(res.Notes, "\n")
	if !strings.Contains(notes, "Thread storage is full (") ||
		!strings.Contains(notes, "of 32.0 MiB). Delete files under /mnt/user-data") {
		t.Errorf("notes: %q", res.Notes)
	}
	tree, err := w.cfg.Dirs.Open("a")
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if err := tree.WriteFile(t.Context(), "x", []byte("x"), false); !isQuota(err) {
		t.Errorf("WriteFile on a full thread: %v", err)
	}
	if _, err := tree.Create("y"); !isQuota(err) {
		t.Errorf("Create on a full thread: %v", err)
	}
	// A little more than before is what a disk may still write down for the command that was ended.
	if res := bash(t, s, "head -c 65536 /dev/zero > late; sleep 2.5; rm f* late"); res.ExitCode != 0 || res.Quota ||
		len(res.Notes) > 0 {
		t.Errorf("deleting: %+v", res)
	}
	if err := tree.WriteFile(t.Context(), "x", []byte("x"), false); err != nil {
		t.Errorf("WriteFile after deleting: %v", err)
	}
	// Nesting does not hide anything. Where counting takes long, the answer may be of a moment ago.
	res = bash(t, s, "for i in $(seq 400); do mkdir d && cd d; done; head -c 1M /dev/zero > x; true")
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
