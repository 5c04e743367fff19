package providers_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fawn/sandbox"
	"fawn/web/e2e/gate"
)

func TestPlainTimeoutEndsEveryDescendant(t *testing.T) {
	for name, command := range map[string]string{
		"plain":            "sleep 300",
		"children":         "sleep 300 & sleep 300 & sleep 300; wait",
		"new session":      "setsid sleep 300 & sleep 300",
		"double fork":      "(setsid bash -c 'setsid sleep 300 & setsid sleep 300 &' &); sleep 300",
		"detached":         "nohup setsid -f sleep 300 >/dev/null 2>&1 </dev/null; sleep 300",
		"ignores signals":  `bash -c 'trap "" TERM INT HUP QUIT PIPE ALRM USR1 USR2; while :; do sleep 1; done' & wait`,
		"forks on":         `bash -c 'f() { sleep 0.01; f & }; f & wait' & sleep 300`,
		"many":             "for i in $(seq 100); do sleep 300 & done; wait",
		"empty":            "env -i setsid -f bash -c 'exec -a hidden sleep 301'; exec env -i sleep 300",
		"closes its files": "exec >&- 2>&- <&-; sleep 300",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, m, earlier, id := newPlainWorld(t), mark(), mark(), mark()
			s := w.thread(id, withMark(m))
			do(t, s, sandbox.ExecReq{Command: "exec sleep 300." + earlier + " >/dev/null 2>&1 &",
				Env: map[string]string{"MARK": earlier}})
			res := do(t, s, sandbox.ExecReq{Command: strings.ReplaceAll(command, "sleep 30", "sleep 30."+m+"30"),
				Timeout: 500 * time.Millisecond})
			if !res.TimedOut || res.Cancelled || res.SandboxRestarted || res.ExitCode != 137 ||
				res.Signal != "SIGKILL" {
				t.Errorf("%+v", res)
			}
			noneLeft(t, m)
			if n := len(marked(t, earlier)); n != 1 {
				t.Errorf("%d processes of an earlier command", n)
			}
			if err := w.provider.Destroy(t.Context(), sandbox.ThreadRef{ID: id}, "test"); err != nil {
				t.Error(err)
			}
			noneLeft(t, earlier)
		})
	}
}

// Whoever kills or stops what watches over the commands loses the sandbox, and
// nothing else happens.
func TestPlainTamperingRestartsTheSandbox(t *testing.T) {
	gate.In(t, gate.Attack, "make test attacks sandboxes with namespaces")
	for name, command := range map[string]string{
		"kill the parent":      "sleep 300 & kill -9 $PPID; sleep 300",
		"stop the parent":      "sleep 300 & kill -STOP $PPID; sleep 300",
		"kill the grandparent": "setsid -f sleep 300; kill -9 $(cut -d' ' -f4 /proc/$PPID/stat); sleep 300",
		"stop the grandparent": "setsid -f sleep 300; kill -STOP $(cut -d' ' -f4 /proc/$PPID/stat); echo stopped; sleep 300",
		"kill both":            "setsid -f sleep 300; kill -9 $(cut -d' ' -f4 /proc/$PPID/stat) $PPID; setsid -f sleep 300; sleep 300",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, m := newPlainWorld(t, func(c *sandbox.Config) { c.TestOnly.KillTime = 0 }), mark()
			s := w.thread(mark(), withMark(m))
			bash(t, s, "echo lost > /tmp/x; echo kept > x; sleep 300 >/dev/null 2>&1 &")
			// Where nobody is left to tell, the end of the command does.
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			res, err := s.Exec(ctx, sandbox.ExecReq{Command: command, Timeout: time.Minute,
				OnOutput: func(sandbox.Stream, []byte) { cancel() }})
			if err != nil || !res.SandboxRestarted || res.TimedOut || res.ExitCode != 137 {
				t.Errorf("%v %+v %s", err, res, res.Output)
			}
			noneLeft(t, m)
			res = bash(t, s, "cat x; ls /tmp; jobs")
			if string(res.Output) != "kept\n" || res.SandboxRestarted {
				t.Errorf("the next command: %q %+v", res.Output, res)
			}
		})
	}
}

// A command of an ordinary server's user could signal all that is hers, if rules
// did not keep signals inside.
func TestPlainKillOfEverythingStaysInside(t *testing.T) {
	gate.In(t, gate.Attack, "make test attacks sandboxes with namespaces")
	w, m := newPlainWorld(t), mark()
	other := w.thread("other", withMark(m+"1"))
	bash(t, other, "exec sleep 300.111 >/dev/null 2>&1 &")
	s := w.thread("a", withMark(m))
	res := do(t, s, sandbox.ExecReq{Command: "sleep 300 & kill -9 -1; kill -9 0; sleep 300", Timeout: time.Minute})
	if !res.SandboxRestarted {
		t.Errorf("%+v", res)
	}
	if res := bash(t, s, "echo next"); string(res.Output) != "next\n" {
		t.Errorf("%+v", res)
	}
	if n := len(marked(t, m+"1")); n != 1 {
		t.Errorf("%d processes of another thread", n)
	}
	if res := bash(t, other, "pgrep -c sleep >/dev/null; echo here"); string(res.Output) != "here\n" ||
		res.SandboxRestarted {
		t.Errorf("the other thread: %+v", res)
	}
}

func TestPlainDeathOfTheKeeperEndsEverything(t *testing.T) {
	w, m := newPlainWorld(t), mark()
	s := w.thread("a", withMark(m))
	bash(t, s, "setsid -f sleep 300; (setsid bash -c 'trap \"\" TERM; while :; do sleep 1; done' &)")
	keepers := keepersOf(t, os.Getpid(), m)
	if len(keepers) != 1 {
		t.Fatalf("keepers %v", keepers)
	}
	kill(t, keepers)
	noneLeft(t, m)
	waitFor(t, "the end", func() bool { return !s.Status().Running })
	if res := bash(t, s, "echo again"); string(res.Output) != "again\n" || !res.SandboxRestarted {
		t.Errorf("%+v", res)
	}
}

// keepersOf are the children of a process that are above a marked one.
func keepersOf(t *testing.T, server int, m string) (keepers []string) {
	t.Helper()
	for _, pid := range marked(t, m) {
		for {
			b, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
			if err != nil {
				break
			}
			parent := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))[1]
			if parent == strconv.Itoa(server) {
				if !slices.Contains(keepers, pid) {
					keepers = append(keepers, pid)
				}
				break
			}
			if pid = parent; pid == "0" || pid == "1" {
				break
			}
		}
	}
	return keepers
}

func TestPlainDeathOfTheServerEndsEverything(t *testing.T) {
	newPlainWorld(t)
	cmd, _ := play(t, roleServer, providerVariable+"="+sandbox.ProviderLandlock,
		dataVariable+"="+filepath.Join(openDir(t), "data"))
	waitReady(t, cmd)
	m := strconv.Itoa(cmd.Process.Pid)
	running := func() (n int) {
		entries, err := os.ReadDir("/proc")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			b, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
			if err == nil && strings.Contains(string(b), "SERVER="+m+"\x00") {
				n++
			}
		}
		return n
	}
	waitFor(t, "12 processes", func() bool { return running() >= 12 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the processes to end", func() bool { return running() == 0 })
	_ = cmd.Wait() // it was killed
}

func TestPlainLimits(t *testing.T) {
	gate.In(t, gate.Attack, "make test attacks sandboxes with namespaces")
	w := newPlainWorld(t)
	s := w.thread("a", func(p *sandbox.Policy) {
		p.Timeout = 2 * time.Minute
		p.Limits = sandbox.Limits{Memory: 128 << 20, FileSize: 1 << 20, OpenFiles: 64, Disk: 8 << 20, CPUTime: time.Second}
	})
	t.Run("one file", func(t *testing.T) {
		res := bash(t, s, "head -c 2M /dev/zero > big; stat -c %s big; rm big")
		if !strings.HasPrefix(string(res.Output), "1048576\n") {
			t.Errorf("%q %+v", res.Output, res)
		}
	})
	t.Run("open files", func(t *testing.T) {
		if res := bash(t, s, "ulimit -n; ulimit -Hn"); string(res.Output) != "64\n64\n" {
			t.Errorf("%q", res.Output)
		}
	})
	t.Run("time of the processor", func(t *testing.T) {
		res := bash(t, s, "bash -c 'while :; do :; done'; echo $?")
		if string(res.Output) != "137\n" && !strings.Contains(string(res.Output), "137") {
			t.Errorf("%q", res.Output)
		}
	})
	t.Run("disk, temporary files included", func(t *testing.T) {
		res := bash(t, s, "for i in $(seq 12); do head -c 1M /dev/urandom > /tmp/$i; done")
		if note := strings.Join(res.Notes, "\n"); !strings.Contains(note, "Thread storage is full") {
			t.Errorf("%q", res.Notes)
		}
		bash(t, s, "rm /tmp/*")
	})
}

func TestPlainTemporaryFilesGoWithTheSandbox(t *testing.T) {
	w := newPlainWorld(t)
	s := w.thread("a")
	bash(t, s, "mkdir -p /tmp/a/b; echo x > /tmp/a/b/c; chmod 0 /tmp/a/b /tmp/a; ln -s / /tmp/root")
	dir := filepath.Join(w.cfg.Dirs.Root, "threads/a/sandbox/tmp")
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
	if err := w.provider.Destroy(t.Context(), sandbox.ThreadRef{ID: "a"}, "test"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
	if res := bash(t, w.thread("a"), "ls -A /tmp; touch /tmp/x; ls $TMPDIR"); string(res.Output) != "x\n" {
		t.Errorf("%q", res.Output)
	}
}

// A command may be ended before it has begun.
func TestEndingAtTheStartKeepsTheSandbox(t *testing.T) {
	eachSandbox(t, func(t *testing.T, open func(testing.TB, ...func(*sandbox.Config)) *world) {
		w, m := open(t), mark()
		s := w.thread("a", withMark(m))
		bash(t, s, "echo kept > /tmp/x")
		for i := range 20 {
			res := do(t, s,
				sandbox.ExecReq{Command: "exec sleep 300", Timeout: time.Duration(i)*200*time.Microsecond + 1})
			if res.SandboxRestarted {
				t.Errorf("command %d took the sandbox with it: %+v", i, res)
			}
			noneLeft(t, m)
		}
	})
}
