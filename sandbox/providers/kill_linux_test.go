package providers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fawn/sandbox"
)

func TestTimeoutEndsEveryDescendant(t *testing.T) {
	for name, command := range map[string]string{
		"plain":            "sleep 300",
		"children":         "sleep 300 & sleep 300 & sleep 300; wait",
		"new session":      "setsid sleep 300 & sleep 300",
		"double fork":      "(setsid bash -c 'setsid sleep 300 & setsid sleep 300 &' &); sleep 300",
		"detached":         "nohup setsid -f sleep 300 >/dev/null 2>&1 </dev/null; sleep 300",
		"ignores signals":  `bash -c 'trap "" TERM INT HUP QUIT PIPE ALRM USR1 USR2; while :; do sleep 1; done' & wait`,
		"forks on":         `bash -c 'f() { sleep 0.01; f & }; f & wait' & sleep 300`,
		"daemons for ever": "for i in 1 2 3; do while :; do setsid -f sleep 300 2>/dev/null; done & done; wait",
		"stopped":          "sleep 300 & kill -STOP $!; kill -STOP $$",
		"many":             "for i in $(seq 100); do sleep 300 & done; wait",
		"closes its files": "exec >&- 2>&- <&-; sleep 300",
		"renames itself":   "exec -a 'x) R 1 1 (' sleep 300",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.thread("a")
			bash(t, s, "exec -a earlier sleep 300 >/dev/null 2>&1 & until pgrep -f ^earlier >/dev/null; do :; done")
			start := time.Now()
			res := do(t, s, sandbox.ExecReq{Command: command, Timeout: 500 * time.Millisecond})
			took := time.Since(start)
			if !res.TimedOut || res.Cancelled || res.SandboxRestarted || res.ExitCode != 137 ||
				res.Signal != "SIGKILL" || took > 60*time.Second {
				t.Errorf("took %v, %+v", took, res)
			}
			res = bash(t, s, "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '; pgrep -fc '^earlier'")
			if out := string(res.Output); strings.Contains(strings.ReplaceAll(out, "earlier 300", ""), "sleep") ||
				!strings.HasSuffix(out, "\n1\n") && !strings.HasSuffix(out, " 1\n") {
				t.Errorf("left: %q", out)
			}
		})
	}
}

func TestCancelEndsTheCommandAndKeepsItsOutput(t *testing.T) {
	eachSandbox(t, func(t *testing.T, open func(testing.TB, ...func(*sandbox.Config)) *world) {
		cancelKeepsOutput(t, open(t))
	})
}

func cancelKeepsOutput(t *testing.T, w *world) {
	t.Helper()
	m := mark()
	s := w.thread("a", withMark(m))
	ctx, cancel := context.WithCancelCause(context.Background())
	res, err := s.Exec(ctx, sandbox.ExecReq{Command: "echo partial; sleep 1000", OnOutput: func(sandbox.Stream, []byte) {
		cancel(errors.New("the user said stop"))
	}})
	if err != nil || !res.Cancelled || res.TimedOut || res.ExitCode != 137 || string(res.Output) != "partial\n" {
		t.Errorf("%v %+v", err, res)
	}
	noneLeft(t, m)
	if n := s.Status().Procs; n != 0 {
		t.Errorf("%d processes are left", n)
	}
	// A context that has ended before runs nothing.
	if _, err = s.Exec(ctx, sandbox.ExecReq{Command: "touch ran"}); err == nil || err.Error() != "the user said stop" {
		t.Errorf("after the end: %v", err)
	}
	if res := bash(t, s, "ls"); string(res.Output) != "" {
		t.Errorf("it ran: %q", res.Output)
	}
}

func TestParallelCommandsAreEndedApart(t *testing.T) {
	w := newWorld(t)
	s := w.thread("a")
	other := make(chan sandbox.ExecResult)
	go func() {
		other <- do(t, s, sandbox.ExecReq{Command: "touch up; while [ ! -e go ]; do sleep 0.02; done; echo fine"})
	}()
	waitFor(t, "the other command", func() bool { return string(bash(t, s, "ls up 2>/dev/null").Output) != "" })
	res := do(t, s, sandbox.ExecReq{Command: "setsid sleep 300 & sleep 300", Timeout: 300 * time.Millisecond})
	if !res.TimedOut || res.SandboxRestarted {
		t.Errorf("%+v", res)
	}
	bash(t, s, "touch go")
	if res := <-other; string(res.Output) != "fine\n" || res.ExitCode != 0 {
		t.Errorf("the other command: %+v", res)
	}
}

// Whoever kills or stops what watches over the commands loses the sandbox, and
// nothing else happens.
func TestTamperingRestartsTheSandbox(t *testing.T) {
	const stopped = 4 * time.Second // nothing but the time limit finds those out
	for name, c := range map[string]struct {
		command string
		timeout time.Duration
	}{
		"kill the parent":          {"sleep 300 & kill -9 $PPID; sleep 300", time.Minute},
		"stop the parent":          {"sleep 300 & kill -STOP $PPID; sleep 300", stopped},
		"kill all":                 {"sleep 300 & kill -9 -1; sleep 300", time.Minute},
		"kill others from outside": {"setsid bash -c 'sleep 0.1; kill -9 -1' & sleep 300", time.Minute},
		"stop all, for ever":       {"sleep 300 & setsid bash -c 'while :; do kill -STOP $(ps -eo pid= | grep -v $$); done' & sleep 300", stopped},
		"crash process 1":          {`python3 -c 'import ctypes, os, time; b = ctypes.create_string_buffer(128); ctypes.cast(b, ctypes.POINTER(ctypes.c_int))[2] = -1; ctypes.cast(b, ctypes.POINTER(ctypes.c_int))[0] = 11; ctypes.CDLL(None).syscall(129, 1, 11, b); time.sleep(2); os.kill(os.getppid(), 9); time.sleep(300)'`, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(c *sandbox.Config) { c.TestOnly.KillTime = 0 })
			s := w.thread("a")
			bash(t, s, "echo lost > /tmp/x; echo kept > x; sleep 300 >/dev/null 2>&1 &")
			start := time.Now()
			res := do(t, s, sandbox.ExecReq{Command: c.command, Timeout: c.timeout})
			if took := time.Since(start); !res.SandboxRestarted || res.ExitCode != 137 || took > 2*time.Minute {
				t.Errorf("took %v, %+v %s", took, res, res.Output)
			}
			if notes := strings.Join(res.Notes, "\n"); !strings.Contains(notes, "The sandbox was restarted (") ||
				!strings.Contains(notes, "Files are intact; background processes and /tmp were lost.") {
				t.Errorf("notes: %q", res.Notes)
			}
			if n := strays(t, w); n != 0 {
				t.Errorf("%d processes are left", n)
			}
			res = bash(t, s, "cat x; ls /tmp; pgrep -c sleep")
			if string(res.Output) != "kept\n0\n" || res.SandboxRestarted || len(res.Notes) > 0 {
				t.Errorf("the next command: %q %+v", res.Output, res)
			}
			if st := s.Status(); st.Restarts != 1 {
				t.Errorf("status: %+v", st)
			}
		})
	}
}

// A sandbox that dies between commands is told with the next one.
func TestDeathBetweenCommandsIsTold(t *testing.T) {
	w := newWorld(t)
	s := w.thread("a")
	bash(t, s, "sleep 300 >/dev/null 2>&1 &")
	bash(t, s, "echo x > /tmp/x")
	pids := insideOf(t, w.cfg.Dirs.Root+"/threads")
	if len(pids) == 0 {
		t.Fatal("no process of the sandbox is seen from outside")
	}
	kill(t, pids)
	waitFor(t, "the end", func() bool { return strays(t, w) == 0 && !s.Status().Running })
	res := bash(t, s, "ls /tmp")
	if !res.SandboxRestarted || len(res.Notes) != 1 || len(res.Output) > 0 {
		t.Errorf("%+v", res)
	}
	if res := bash(t, s, "true"); res.SandboxRestarted {
		t.Errorf("told twice: %+v", res)
	}
}

func TestIdleSandboxesAreStopped(t *testing.T) {
	t.Run("at once without a background job", func(t *testing.T) {
		w := newWorld(t, func(c *sandbox.Config) {
			c.IdleTimeout, c.BackgroundTimeout = 300*time.Millisecond, time.Hour
		})
		idle, busy := w.thread("idle"), w.thread("busy")
		bash(t, busy, sleeper)
		bash(t, idle, "true")
		waitFor(t, "the idle one to stop", func() bool { return !idle.Status().Running })
		if !busy.Status().Running {
			t.Error("one with a background job was stopped")
		}
		if res := bash(t, idle, "echo back"); string(res.Output) != "back\n" || !res.SandboxRestarted {
			t.Errorf("%+v", res)
		}
	})
	t.Run("later with one", func(t *testing.T) {
		w := newWorld(t, func(c *sandbox.Config) {
			c.IdleTimeout, c.BackgroundTimeout = 300*time.Millisecond, 2*time.Second
		})
		busy := w.thread("busy")
		start := time.Now()
		bash(t, busy, sleeper)
		waitFor(t, "it to stop", func() bool { return !busy.Status().Running })
		if took := time.Since(start); took < 2*time.Second {
			t.Errorf("it was stopped after %v", took)
		}
		waitFor(t, "its processes to end", func() bool { return strays(t, w) == 0 })
	})
}

func TestIdleSandboxesMakeRoom(t *testing.T) {
	w := newWorld(t, func(c *sandbox.Config) { c.MaxSandboxes = 3 })
	var all []sandbox.Sandbox
	for i := range 3 {
		s := w.thread(fmt.Sprint("t", i))
		bash(t, s, map[bool]string{true: "sleep 300 >/dev/null 2>&1 &", false: "true"}[i == 0])
		all = append(all, s)
	}
	bash(t, w.thread("next"), "true")
	if !all[0].Status().Running || all[1].Status().Running || !all[2].Status().Running {
		t.Error("not the idle one that was used least recently was stopped")
	}
	var hold [3]chan struct{}
	for i, s := range all {
		hold[i] = make(chan struct{})
		go func() {
			defer close(hold[i])
			do(t, s, sandbox.ExecReq{Command: "touch on; while [ ! -e off ]; do sleep 0.02; done"})
		}()
	}
	for i := range all {
		waitFor(t, "a command to run", func() bool {
			_, err := readFile(w, fmt.Sprint("t", i), "on")
			return err == nil
		})
	}
	_, err := w.thread("more", func(p *sandbox.Policy) { p.Timeout = 200 * time.Millisecond }).
		Exec(t.Context(), sandbox.ExecReq{Command: "true"})
	if !errors.Is(err, sandbox.ErrBusy) {
		t.Errorf("one too many, after as long as a command may take: %v", err)
	}
	waits := make(chan string)
	go func() { waits <- string(do(t, w.thread("waits"), sandbox.ExecReq{Command: "echo its turn"}).Output) }()
	for i, s := range all {
		bash(t, s, "touch off")
		<-hold[i]
	}
	if got := <-waits; got != "its turn\n" {
		t.Errorf("whoever waited got %q", got)
	}
	if res := bash(t, w.thread("more"), "echo ok"); string(res.Output) != "ok\n" {
		t.Errorf("%+v", res)
	}
}

func TestLifetimeOfOneCall(t *testing.T) {
	w := newWorld(t)
	s := w.thread("a", func(p *sandbox.Policy) { p.Lifetime = sandbox.LifetimeCall })
	for range 2 {
		res := bash(t, s, "ls /tmp; touch /tmp/x; "+sleeper+"; pgrep -c sleep")
		if string(res.Output) != "1\n" || res.SandboxRestarted {
			t.Errorf("%+v %s", res, res.Output)
		}
		if n := strays(t, w); n != 0 {
			t.Errorf("%d processes are left", n)
		}
	}
}

func TestChangedPolicyTakesEffectWhenIdle(t *testing.T) {
	w := newWorld(t)
	s := w.thread("a")
	bash(t, s, "touch /tmp/x")
	held := make(chan sandbox.ExecResult)
	go func() {
		held <- do(t, s, sandbox.ExecReq{Command: "touch on; while [ ! -e off ]; do sleep 0.02; done; ls /tmp"})
	}()
	waitFor(t, "the command", func() bool { _, err := readFile(w, "a", "on"); return err == nil })
	s = w.thread("a", func(p *sandbox.Policy) { p.Limits.OpenFiles = 99 })
	if res := bash(t, s, "ulimit -n; touch off"); string(res.Output) != "4096\n" {
		t.Errorf("while another runs: %q", res.Output)
	}
	if res := <-held; string(res.Output) != "x\n" {
		t.Errorf("held: %q", res.Output)
	}
	res := bash(t, s, "ulimit -n")
	if string(res.Output) != "99\n" || !res.SandboxRestarted ||
		!strings.Contains(res.Notes[0], "configuration changed") {
		t.Errorf("%q %+v", res.Output, res)
	}
}
