package attack_test

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/sandbox"
)

// hog is a command that takes more than it may have. want is what the model is told in
// plain words.
type hog struct {
	name, shell, want string
	next              string // the next command, if not a plain one
	endless           bool   // only the time limit ends it
}

// outputSize is what one command writes, in bytes.
func outputSize() int64 {
	if os.Getenv("FAWN_SOAK") == "1" {
		return 10 << 30
	}
	return 100 << 20
}

func hogs() []hog {
	const tooLong = `Command timed out after 3 seconds and was terminated\.`
	size := outputSize()
	return []hog{
		{name: "fork bomb", shell: `:(){ :|:& };:; wait; sleep 600`, endless: true, want: `Resource temporarily unavailable(.|\n)*` + tooLong},
		{name: "fork bomb of sessions", shell: `f() { setsid bash -c "$(declare -f f); f & f & sleep 600" & }; f; f; sleep 600`, endless: true, want: `Resource temporarily unavailable(.|\n)*` + tooLong},
		{name: "threads", shell: python(`
import threading, time
for i in range(10000): threading.Thread(target=time.sleep, args=(3,)).start()`), want: `can't start new thread(.|\n)*process limit 64 reached: no more processes or threads could start`},
		{name: "dead children", shell: python(`
import os, time
try:
    while True:
        if os.fork() == 0: os._exit(0)
except OSError as e: print(e.strerror)
time.sleep(3)`), want: `Resource temporarily unavailable(.|\n)*process limit 64 reached`},
		{name: "memory", shell: `python3 -c 'b = bytearray(600 << 20); import time; time.sleep(600)'`, want: `Exit Code: 137\nmemory limit exceeded \(\d+ MiB > 128 MiB\): killed python3`},
		{name: "memory of many", shell: `for i in 1 2 3 4; do python3 -c 'b = bytearray(90 << 20); import time; time.sleep(600)' & done; wait -n; kill $(jobs -p)`, want: `memory limit exceeded \(`},
		{name: "memory that is shared", shell: python(`
import mmap, time
m = mmap.mmap(-1, 600 << 20)
for i in range(0, 600 << 20, 4096): m[i] = 1
time.sleep(600)`), want: `memory limit exceeded \(`},
		{name: "recursion", shell: `python3 -c 'import sys; sys.setrecursionlimit(1 << 30); f = lambda: f(); f()'`, want: `(Segmentation fault|memory limit exceeded)`},
		{name: "a file of 5 GB", shell: `exec head -c 5G /dev/zero > big`, want: `(?s)file size limit reached: one file can have at most 16\.0 MiB`},
		{name: "a file of 5 GB by a program", shell: `python3 -c 'open("big", "wb").write(b"x" * (64 << 20))'; ls -l big | cut -d' ' -f5`, want: `File too large\n16777216`},
		{name: "a file with holes", shell: `truncate -s 8E big; truncate -s 1T big; python3 -c 'import os; os.posix_fallocate(os.open("x", os.O_CREAT | os.O_RDWR), 0, 1 << 40)'; du -s . | cut -f1`, want: `File too large(.|\n)*\n\d{1,3}\n?`},
		{name: "all of the disk", shell: `i=0; while :; do head -c 8M /dev/zero > f$i; i=$((i+1)); sleep 0.02; done`, want: `Thread storage is full \(\d+\.\d MiB of 96\.0 MiB\)\. Delete files under /mnt/user-data before writing\.`, next: `rm -f f*; echo next`},
		{name: "a full thread", shell: `for i in 1 2 3 4 5 6 7; do head -c 15M /dev/zero > f$i; done; sleep 600`, want: `Thread storage is full`, next: `rm -f f*; echo next`},
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
		{name: "endless yes", shell: `yes endless`, endless: true, want: `endless\n(.|\n)*` + tooLong},
		{name: "endless output in the background", shell: `yes >&1 & disown; exec >/dev/null; echo`, want: `1 process of this command keeps running`, next: `pkill yes; echo next`},
		{name: "endless output without lines", shell: `cat /dev/zero`, endless: true, want: tooLong},
		{name: "long output", shell: fmt.Sprintf(`head -c %d /dev/zero | tr '\0' x; echo; echo end`, size), want: `^\[?(.|\n)*(truncated|too long to show)(.|\n)*end`},
		{name: "a processor for ever", shell: `while :; do :; done & while :; do :; done`, endless: true, want: tooLong},
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

func TestResourcesThroughTheChat(t *testing.T) {
	t.Parallel() // most of them wait
	const limits = `sandbox:
  limits: {memory: 128MiB, pids: 64, file_size: 16MiB, open_files: 128, tmp: 12MiB, shm: 8MiB, disk: 96MiB}
  network: {mode: none}
  bash_command_timeout: `
	w, quick := newWorld(t, limits+"600\n"), newWorld(t, limits+"3\n")
	w.must(t, sandbox.ProviderNamespace)
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	// Most of them only wait.
	places := make(chan struct{}, 6)
	var all sync.WaitGroup
	for _, h := range hogs() {
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
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) { // other tests hold something for a moment
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
	next := h.next
	if next == "" {
		next = "echo next"
	}
	after := w.chat(t, thread, []use{tool("bash", "command", next)})[0]
	if !strings.Contains(after, "next") || strings.Count(after, "\n") > 2 {
		t.Errorf("the next command: %q", after)
	}
	for _, d := range w.damage(t, thread, told) {
		t.Error(d)
	}
}
