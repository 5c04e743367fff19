package attack_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/sandbox"
	"fawn/web/e2e/gate"
)

// hog is a command that takes more than it may have. want is what the model is told in
// plain words.
type hog struct {
	name, shell, want string
	next              string // the next command, if not a plain one
	endless           bool   // only the time limit ends it
	// after waits for what becomes of the processes that the command left behind.
	after func(t *testing.T, w *world, thread string)
	told  string // what the next command is told besides
	lines int    // how many lines that may have, if more than usual
	plain bool   // it is tried without namespaces too
}

// waits orders hogs by how long they take.
func (h hog) waits() (n int) {
	if h.endless {
		n++
	}
	if h.after != nil {
		n += 2
	}
	return n
}

// outputSize is what one command writes, in bytes.
func outputSize() int64 { return gate.Pick[int64](50<<20, 100<<20, 10<<30) }

// forks is a command that needs some processes.
const forks = `(ls /usr; id) | sort | wc -l > n; [ -s n ] && echo next`

func hogs() []hog {
	const tooLong = `Command timed out after ` + quickTime + ` seconds and was terminated\.`
	size := outputSize()
	return []hog{
		{name: "fork bomb", plain: true, shell: `:(){ :|:& };:; wait; sleep 600`, endless: true, want: `Resource temporarily unavailable(.|\n)*` + tooLong},
		{name: "fork bomb of sessions", shell: `f() { setsid bash -c "$(declare -f f); f & f & sleep 600" & }; f; f; sleep 600`, endless: true, want: `Resource temporarily unavailable(.|\n)*` + tooLong},
		{name: "threads", shell: python(`
import threading, time
for i in range(10000): threading.Thread(target=time.sleep, args=(6,)).start()`),
			want: `can't start new thread(.|\n)*process limit 64 reached: no more processes or threads could start`},
		{name: "dead children", shell: python(`
import os, time
try:
    while True:
        if os.fork() == 0: os._exit(0)
except OSError as e: print(e.strerror)
time.sleep(6)`), want: `Resource temporarily unavailable(.|\n)*process limit 64 reached`},
		{name: "memory", plain: true, shell: `python3 -c 'b = bytearray(600 << 20); import time; time.sleep(600)'`, want: `Exit Code: 137\nmemory limit exceeded \(\d+ MiB > 128 MiB\): killed python3`},
		{name: "memory of many", shell: `for i in 1 2 3 4; do python3 -c 'b = bytearray(90 << 20); import time; time.sleep(600)' & done; wait -n; kill $(jobs -p)`, want: `memory limit exceeded \(`},
		{name: "memory that is shared", shell: python(`
import mmap, time
m = mmap.mmap(-1, 600 << 20)
for i in range(0, 600 << 20, 4096): m[i] = 1
time.sleep(600)`), want: `memory limit exceeded \(`},
		{name: "memory that many share", shell: `for i in 1 2 3 4; do python3 -c 'import mmap, time; m = mmap.mmap(-1, 90 << 20); [m.__setitem__(i, 1) for i in range(0, 90 << 20, 4096)]; time.sleep(600)' & done; wait -n; kill $(jobs -p)`, want: `memory limit exceeded \(`},
		{name: "page tables", plain: true, shell: python(`
import mmap, time
m = mmap.mmap(-1, 120 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, prot=mmap.PROT_READ)
m.madvise(15)  # no huge pages
for i in range(0, 120 << 30, 2 << 20): m[i]
print("read all")
time.sleep(600)`), want: `memory limit exceeded \(`},
		{name: "socket buffers", plain: true, shell: python(`
import os, socket, time
for n in range(12):
    if os.fork() == 0:
        held = []
        for i in range(55):
            pair = socket.socketpair()
            held.append(pair)
            for s in pair:
                s.setblocking(False)
                try:
                    while True: s.send(b"x" * 65536)
                except BlockingIOError: pass
        time.sleep(600)
os.wait()`) + "wait", want: `memory limit exceeded \(`},
		{name: "large socket buffers", plain: true, shell: python(`
import socket
a, b = socket.socketpair()
for s in a, b:
    for option in socket.SO_SNDBUF, socket.SO_RCVBUF: s.setsockopt(socket.SOL_SOCKET, option, 64 << 20)
a.setblocking(False)
n = 0
try:
    while n < 64 << 20: n += a.send(b"x" * 65536)
except BlockingIOError: pass
print("held", n <= 256 << 10)`), want: `^held True`},
		{name: "socket buffers of processes that hide", plain: true, shell: python(`
import ctypes, os, socket, time
for n in range(12):
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(4, 0)
        held = []
        for i in range(55):
            pair = socket.socketpair()
            held.append(pair)
            for s in pair:
                s.setblocking(False)
                try:
                    while True: s.send(b"x" * 65536)
                except BlockingIOError: pass
        time.sleep(600)
os.wait()`) + "wait", want: `memory limit exceeded \(`},
		{name: "sockets in sockets", shell: python(`
import socket
carrier = socket.socketpair()
try:
    while True:
        a, b = socket.socketpair()
        socket.send_fds(carrier[0], [b"x"], [a.fileno(), b.fileno()])
        a.close(); b.close()
except OSError as e: print(e.strerror)`), want: `^Too many references: cannot splice$`},
		{name: "recursion", shell: `python3 -c 'import sys; sys.setrecursionlimit(1 << 30); f = lambda: f(); f()'`, want: `(Segmentation fault|memory limit exceeded)`},
		{name: "a file of 5 GB", shell: `exec head -c 5G /dev/zero > big`, want: `(?s)file size limit reached: one file can have at most 16\.0 MiB`},
		{name: "a file of 5 GB by a program", shell: `python3 -c 'open("big", "wb").write(b"x" * (64 << 20))'; ls -l big | cut -d' ' -f5`, want: `File too large\n16777216`},
		{name: "a file with holes", shell: `truncate -s 8E big; truncate -s 1T big; python3 -c 'import os; os.posix_fallocate(os.open("x", os.O_CREAT | os.O_RDWR), 0, 1 << 40)'; du -s . | cut -f1`, want: `File too large(.|\n)*\n\d{1,3}\n?`},
		{name: "all of the disk", plain: true, shell: `i=0; while :; do head -c 8M /dev/zero > f$i; i=$((i+1)); sleep 0.02; done`, want: `Thread storage is full \(\d+\.\d MiB of 96\.0 MiB\)\. Delete files under /mnt/user-data before writing\.`, next: `rm -f f*; echo next`},
		{name: "a full thread", shell: `for i in 1 2 3 4 5 6 7; do head -c 15M /dev/zero > f$i; done; sleep 600`, want: `Thread storage is full`, next: `rm -f f*; echo next`},
		// It writes 8 MB/s: how much passes before its end is seen depends on how busy the machine is.
		{name: "a writer in the background", plain: true,
			shell: `(i=0; while :; do head -c 4M /dev/zero > f$i; i=$((i+1)); sleep 0.5; done) >/dev/null 2>&1 & echo started`, want: `^started\n`,
			after: storage, next: `rm -f f*; echo next`,
			told: `Processes in the background \((bash|head|sleep|, )+\) were ended because the thread's storage was full\.`},
		{name: "files without a name", plain: true, shell: python(`
import time
held = [open(f"f{i}", "wb") for i in range(12)]
import os
for i in range(12): os.unlink(f"f{i}")
for f in held: f.write(b"x" * (12 << 20)); f.flush()
time.sleep(600)`), want: `The command was terminated because the thread's storage is full`},
		{name: "files without a name in the background", plain: true, shell: `cat > w.py <<'END'
import os, time
held = []
for i in range(40):
    f = open(f"f{i}", "wb"); os.unlink(f"f{i}"); held.append(f)
    f.write(b"x" * (8 << 20)); f.flush(); time.sleep(0.1)
time.sleep(600)
END
setsid -f python3 w.py >/dev/null 2>&1 </dev/null; echo started`, want: `^started\n`, after: quiet,
			told: `Processes in the background \(python3\) were ended`},
		{name: "files that are only mapped", plain: true, shell: python(`
import mmap, os, time
held = []
for i in range(12):
    fd = os.open(f"f{i}", os.O_RDWR | os.O_CREAT); os.unlink(f"f{i}"); os.write(fd, b"x" * (12 << 20))
    held.append(mmap.mmap(fd, 12 << 20)); os.close(fd)
time.sleep(600)`), want: `The command was terminated because the thread's storage is full`},
		{name: "closed folders", plain: true, shell: `for i in 1 2 3 4 5 6 7 8 9 10 11 12; do mkdir d$i; head -c 12M /dev/zero > d$i/f; chmod $((i % 4))00 d$i; done; sleep 600`, want: `Thread storage is full`, next: `stat -c %a d1 d4; chmod -R 700 d*; rm -rf d*; echo next`, lines: 3},
		{name: "a fork bomb that stays", plain: true, shell: `(:(){ :|:& };:) >/dev/null 2>&1 & SECONDS=0; while [ $SECONDS -lt 3 ]; do :; done; echo started`, want: `started`, told: `Processes that earlier commands had left running filled the sandbox \(\d+ of at most 64\); they were ended\.`, next: forks},
		{name: "sleepers that stay", plain: true, shell: `(ulimit -u 200; while :; do setsid sleep 3600 & done) >/dev/null 2>&1 & SECONDS=0; while [ $SECONDS -lt 3 ]; do :; done; echo started`, want: `started`, told: `Processes that earlier commands had left running filled the sandbox`, next: forks},
		{name: "temporary files", shell: `head -c 1G /dev/zero > /tmp/x; head -c 1G /dev/zero > /dev/shm/x; ls -s --block-size=M /tmp/x /dev/shm/x; rm /tmp/x /dev/shm/x`, want: `(?s)No space left on device.*No space left on device.*\n *8M /dev/shm/x\n *12M /tmp/x`},
		{name: "names of temporary files", shell: python(`
import os, shutil
os.mkdir("/tmp/d"); os.chdir("/tmp/d")
try:
    for i in range(10000000): os.close(os.open(str(i), os.O_CREAT | os.O_WRONLY))
except OSError as e: print(e.strerror, i < 100000)
shutil.rmtree("/tmp/d")`), want: `^No space left on device True$`},
		{name: "open files", shell: python(`
import os
try:
    while True: os.open("/dev/null", 0)
except OSError as e: print(e.strerror)`), want: `Too many open files`},
		{name: "a daemon in a session of its own", shell: `setsid -f bash -c 'trap "" TERM HUP INT; exec sleep 3600' >/dev/null 2>&1 </dev/null; echo started`, want: `^started\n\(1 process of this command keeps running in the background\)$`},
		{name: "daemons that outlive the time limit", shell: `(trap "" TERM HUP; exec setsid bash -c 'setsid sleep 3600 & sleep 3600') >/dev/null 2>&1 & sleep 600`, endless: true, want: tooLong, next: `pgrep -c sleep; echo next`},
		{name: "endless yes", plain: true, shell: `yes endless`, endless: true, want: `endless\n(.|\n)*` + tooLong},
		{name: "endless output in the background", shell: `yes >&1 & disown; exec >/dev/null; echo`, want: `1 process of this command keeps running`, next: `pkill yes; echo next`},
		{name: "endless output without lines", shell: `cat /dev/zero`, endless: true, want: tooLong},
		{name: "long output", shell: fmt.Sprintf(`head -c %d /dev/zero | tr '\0' x; echo; echo end`, size), want: `^\[?(.|\n)*(truncated|too long to show)(.|\n)*end`},
		{name: "a processor for ever", plain: true, shell: `while :; do :; done & while :; do :; done`, endless: true, want: tooLong},
		{name: "waiting for input", shell: `read x; echo "read <$x> $?"; cat; tty`, want: `read <> 1\nnot a tty`},
		{name: "stopped for ever", shell: `sleep 3600 & kill -STOP $!; kill -STOP $$`, endless: true, want: tooLong},
		{name: "deaf to signals", shell: `trap "" TERM INT HUP QUIT PIPE ALRM USR1 USR2; exec >&- 2>&- <&-; while :; do sleep 1; done`, endless: true, want: tooLong},
		{name: "queues and segments", shell: python(`
import ctypes, time
l = ctypes.CDLL(None, use_errno=True)
l.shmat.restype = ctypes.c_void_p
for i in range(40):
    n = l.shmget(0, 16 << 20, 0o1600)
    if n < 0: break
    p = l.shmat(n, None, 0)
    ctypes.memset(p, 1, 16 << 20)
    l.shmdt(ctypes.c_void_p(p))
time.sleep(1); print("ended")`), want: `(^ended|memory limit exceeded|The sandbox was restarted)`},
	}
}

// quickTime is the time limit, in seconds, of commands that would not end: long enough for those after them that do, on
// a machine that stalls.
const quickTime = "8"

// limits is the configuration of hogs, up to the time limit of commands.
const limits = `
  limits: {memory: 128MiB, pids: 64, file_size: 16MiB, open_files: 128, tmp: 12MiB, shm: 8MiB, disk: 96MiB}
  network: {mode: none}
  bash_command_timeout: `

// TestResourcesWithoutNamespaces takes what limits of a whole sandbox are about from a
// Landlock sandbox.
func TestResourcesWithoutNamespaces(t *testing.T) {
	gate.In(t, gate.Attack, "make test attacks sandboxes with namespaces")
	t.Parallel()
	w, quick := newWorld(t, "sandbox:\n  provider: landlock"+limits+"600\n"),
		newWorld(t, "sandbox:\n  provider: landlock"+limits+quickTime+"\n")
	w.plain, quick.plain = true, true
	w.must(t, sandbox.ProviderLandlock)
	for _, h := range hogs() {
		if !h.plain {
			continue
		}
		t.Run(h.name, func(t *testing.T) {
			if h.endless {
				quick.feed(t, h)
			} else {
				w.feed(t, h)
			}
		})
	}
}

// TestManyCommandsAtOnceAllRun: those of one user of the host count together for its limit of processes, and there are
// fewer places than commands. None is refused for that.
func TestManyCommandsAtOnceAllRun(t *testing.T) {
	gate.In(t, gate.Attack, "make test has the places of sandboxes with two users")
	w := newWorld(t, "sandbox: {provider: landlock}\n")
	w.plain = true
	w.must(t, sandbox.ProviderLandlock)
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			told := w.chat(t, fmt.Sprint("many", i), []use{tool("bash", "command",
				"for i in 1 2 3 4 5 6 7 8; do sleep 1 & done; wait; echo $(echo fine | cat | cat)")})[0]
			if !strings.HasPrefix(told, "fine") {
				t.Errorf("command %d: %.300s", i, told)
			}
		})
	}
	all.Wait()
}

func TestResourcesThroughTheChat(t *testing.T) {
	t.Parallel() // most of them wait
	w, quick := newWorld(t, "sandbox:"+limits+"600\n"), newWorld(t, "sandbox:"+limits+quickTime+"\n")
	w.must(t, sandbox.ProviderNamespace)
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	// Most of them only wait, some for the time limit of a command: those begin.
	places := make(chan struct{}, 9)
	var all sync.WaitGroup
	list := hogs()
	slices.SortStableFunc(list, func(a, b hog) int { return cmp.Compare(b.waits(), a.waits()) })
	for _, h := range list {
		places <- struct{}{}
		all.Go(func() {
			t.Run(h.name, func(t *testing.T) {
				if h.endless {
					quick.feed(t, h)
				} else {
					w.feed(t, h)
				}
			})
			<-places
		})
	}
	all.Wait()
	var after runtime.MemStats
	// other tests hold something for a moment
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		runtime.GC()
		runtime.ReadMemStats(&after)
		grown := int64(after.HeapInuse) - int64(before.HeapInuse)
		if grown <= 64<<20 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the server holds %d MiB more than before", grown>>20)
		}
	}
}

// feed lets the model run a hog and then the next command.
func (w *world) feed(t *testing.T, h hog) {
	t.Helper()
	thread := id(h.name)
	told := w.try(t, thread, attack{shell: h.shell})
	if !regexp.MustCompile(h.want).MatchString(told) {
		if len(told) > 2000 {
			told = told[:1000] + " ... " + told[len(told)-1000:]
		}
		t.Errorf("told %q, want %s", told, h.want)
	}
	if h.after != nil {
		h.after(t, w, thread)
	}
	next := h.next
	if next == "" {
		next = "echo next"
	}
	after := w.chat(t, thread, []use{tool("bash", "command", next)})[0]
	if w.plain && os.Getuid() != 0 {
		// The limit includes all other processes of this user, so it may be met earlier.
		h.told = ""
		if strings.Contains(after, "The command could not start: the process limit") &&
			strings.Contains(after, "they were ended.") {
			after = w.chat(t, thread, []use{tool("bash", "command", next)})[0]
		}
	}
	if !strings.Contains(after, "next") || strings.Count(after, "\n") > max(2, h.lines) ||
		!regexp.MustCompile(h.told).MatchString(after) {
		t.Errorf("the next command: %q, want %q", after, h.told)
	}
	for _, d := range w.damage(t, thread, told) {
		t.Error(d)
	}
}

// storage waits until nobody writes for a thread any more and looks at how much was written.
func storage(t *testing.T, w *world, thread string) {
	t.Helper()
	quiet(t, w, thread)
	if sum, limit := w.written(t, thread), int64(96<<20); sum < limit || sum > 2*limit {
		t.Errorf("%d MiB were written of %d", sum>>20, limit>>20)
	}
}

// written is what the files of a workspace hold, in bytes.
func (w *world) written(t *testing.T, thread string) (sum int64) {
	t.Helper()
	for _, name := range glob(t, filepath.Join(w.data, "threads", thread, "user-data", "workspace", "*")) {
		if info, err := os.Stat(name); err == nil {
			sum += info.Size()
		}
	}
	return sum
}

// quiet waits until a thread has no processes but the first of its sandbox.
func quiet(t *testing.T, w *world, thread string) {
	t.Helper()
	pattern, first := "/proc/[0-9]*/mountinfo", 1
	if w.plain {
		pattern, first = "/proc/[0-9]*/environ", 0
	}
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		n := 0
		for _, name := range glob(t, pattern) {
			if w.holds(name, thread) {
				n++
			}
		}
		if n == first {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d processes of the thread go on", n)
		}
	}
}

// holds says whether a file of /proc names a thread of this world.
func (w *world) holds(name, thread string) bool {
	b, err := os.ReadFile(name)
	return err == nil && strings.Contains(string(b), filepath.Base(filepath.Dir(w.data))+"/data/threads/"+thread+"/")
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	must.Do(t, err)
	return names
}
