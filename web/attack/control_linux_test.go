package attack_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/web/webtest"
)

// TestTheSameChecksFireWithoutASandbox makes attacks where nothing stops them: what the
// other tests look at must show.
func TestTheSameChecksFireWithoutASandbox(t *testing.T) {
	w := newWorld(t, "sandbox: {provider: host, allow_host_bash: true}\n")
	w.must(t, "host")
	t.Cleanup(func() { endMarked(t) })
	for _, c := range []struct{ name, shell, damage string }{
		{"a secret by its path", `cat "$SECRET"`, "a secret came out"},
		{"keys of the server", `cat "$DATA/secrets.env"`, "a secret came out"},
		{"another thread", `cat "$DATA/threads/victim/user-data/workspace/private"`, "a secret came out"},
		{"the environment of a process", `tr '\0' '\n' < /proc/$HOSTPID/environ`, "a secret came out"},
		{"a port", `exec 3<>/dev/tcp/127.0.0.1/$PORT; cat <&3`, "a secret came out"},
		{"an abstract socket", `python3 -c 'import os, socket; s = socket.socket(socket.AF_UNIX); s.connect("\0" + os.environ["ABSTRACT"]); print(s.makefile().read())'`, "a secret came out"},
		{"a socket", `python3 -c 'import os, socket; s = socket.socket(socket.AF_UNIX); s.connect(os.environ["OUTSIDE"] + "/s"); print(s.makefile().read())'`, "a secret came out"},
		{"a new file", `touch "$OUTSIDE/x"`, "the host changed"},
		{"a changed file", `echo x >> "$DATA/threads/victim/user-data/workspace/private"`, "the host changed"},
		{"a mark", `touch "$DATA/$MARK"`, "was made on the host"},
		{"a program for others", `cp /bin/true s; chmod 4755 s`, "is urwx"},
		{"a daemon", `(exec -a $MARK setsid -f bash -c 'exec -a $MARK sleep 300' >/dev/null 2>&1 </dev/null); until pgrep -f "^$MARK 300"; do sleep 0.02; done`, "runs on the host"},
		{"a process at another pace", `python3 -c 'import os; os.setpriority(os.PRIO_PROCESS, int(os.environ["HOSTPID"]), 19)'`, "the host changed"},
		{"a process on one processor", `python3 -c 'import os; os.sched_setaffinity(int(os.environ["HOSTPID"]), {0})'`, map[bool]string{true: "the host changed"}[runtime.NumCPU() > 1]},
		{"numbers of files", `[ "$(ls /proc/$SERVERPID/fd | wc -l)" = 0 ] || printf 'CANARY%s\n' -descriptors`, "a secret came out"},
		{"a stopped process", `kill -STOP $HOSTPID`, "the host changed"},
		{"a process that ended", `kill -9 $HOSTPID`, "the host changed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			thread := id(c.name)
			told := w.try(t, thread, attack{shell: c.shell})
			damage := strings.Join(w.damage(t, thread, told), "\n")
			webtest.Holds(t, fmt.Sprintf("the damage when told %q", told), damage, c.damage)
		})
	}
	t.Run("a writer in the background", func(t *testing.T) {
		w.try(t, "writer",
			attack{shell: `(for i in $(seq 30); do head -c 8M /dev/zero > f$i; done) >/dev/null 2>&1 & echo started`})
		// All of it: nobody may write there any more when the folder is removed.
		for end := time.Now().Add(patience); w.written(t, "writer") < 30*8<<20; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("only %d bytes were written", w.written(t, "writer"))
			}
		}
	})
	t.Run("processes that stay", func(t *testing.T) {
		w.try(t, "sleepers",
			attack{shell: `for i in $(seq 80); do setsid -f bash -c 'exec -a $MARK-left sleep 300' >/dev/null 2>&1 </dev/null; done`})
		for end := time.Now().Add(patience); len(outsiders()) < 80; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d processes stay", len(outsiders()))
			}
		}
	})
	t.Run("tools for files", func(t *testing.T) {
		name := filepath.Join(w.data, "threads", "reader", "user-data", "workspace", "x")
		put(t, name, secret+"inside")
		told := w.try(t, "reader",
			attack{uses: []use{tool("read_file", "path", "x"), tool("grep", "pattern", "CANARY", "path", ".")}})
		if strings.Count(told, secret) < 2 || len(w.damage(t, "reader", told)) == 0 {
			t.Errorf("told %q", told)
		}
		if len(w.fetched(t, "reader", "workspace/x")) == 0 {
			t.Error("nothing was served")
		}
	})
}

// endMarked ends what the attacks have started on the host.
func endMarked(t *testing.T) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must.Do(t, err)
	for _, name := range lines {
		if b, err := os.ReadFile(name); err != nil || !strings.HasPrefix(string(b), mark) {
			continue
		}
		n, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil {
			err = syscall.Kill(n, syscall.SIGKILL)
		}
		if err != nil && err != syscall.ESRCH {
			t.Error(err)
		}
	}
}
