package providers_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fawn/sandbox"
	"fawn/sandbox/providers"
)

// probeOf opens auto with a change and returns what was chosen and why.
func probeOf(t *testing.T, change ...func(*sandbox.Config)) (sandbox.Provider, sandbox.Report) {
	t.Helper()
	cfg := sandbox.DefaultConfig()
	cfg.Provider = sandbox.ProviderNamespace
	cfg.Dirs.Root = filepath.Join(t.TempDir(), "data")
	cfg.TestOnly.Init = initProgram
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
	r := p.Probe(context.Background())
	if !r.OK && len(r.Tried) == 1 {
		r = r.Tried[0]
	}
	return p, r
}

func TestEachStepThatFailsIsNamed(t *testing.T) {
	newWorld(t) // skips where nothing works anyway
	const perm, inval, nosys, acces = int(syscall.EPERM), int(syscall.EINVAL), int(syscall.ENOSYS), int(syscall.EACCES)
	for _, c := range []struct {
		step   string
		errno  int
		reason string
	}{
		{"sources", acces, "data_unreachable"}, {"private", perm, "mount_forbidden"},
		{"root", acces, "mount_forbidden"}, {"binds", perm, "mount_forbidden"}, {"files", int(syscall.ENOSPC), "init"},
		{"masks", perm, "init"}, {"proc", perm, "masked_proc"}, {"dev", inval, "init"}, {"scratch", inval, "init"},
		{"pivot", inval, "initramfs_root"}, {"hostname", perm, "init"}, {"loopback", perm, "init"},
		{"listener", perm, "init"}, {"rlimits", perm, "init"}, {"privileges", perm, "init"}, {"exec", acces, "init"},
		{"mount_setattr", inval, "init"},
	} {
		t.Run(c.step, func(t *testing.T) {
			p, r := probeOf(t, func(cfg *sandbox.Config) {
				cfg.TestOnly.FailStep, cfg.TestOnly.FailErrno = c.step, c.errno
			})
			step := c.step
			if step == "mount_setattr" {
				step = "binds"
			}
			if r.OK || r.Step != step || r.Reason != c.reason || r.Errno == "" || p.Name() != sandbox.ProviderOff {
				t.Errorf("%s: %+v", p.Name(), r)
			}
			_, err := p.Acquire(t.Context(), sandbox.ThreadRef{ID: "a"}, sandbox.DefaultPolicy())
			if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), c.reason) ||
				strings.Contains(err.Error(), "/") {
				t.Errorf("Acquire: %v", err)
			}
		})
	}
	// Layers may be missing unless someone asked for them; nothing is silent.
	for _, layer := range []string{"landlock", "seccomp"} {
		t.Run(layer, func(t *testing.T) {
			fail := func(cfg *sandbox.Config) { cfg.TestOnly.FailStep, cfg.TestOnly.FailErrno = layer, nosys }
			p, r := probeOf(t, fail)
			if !r.OK || slices.Contains(r.Layers, layer) || !slices.Contains(r.Degraded, "no-"+layer) ||
				p.Name() != sandbox.ProviderNamespace {
				t.Errorf("tolerant: %+v", r)
			}
			if _, r := probeOf(t, fail, func(cfg *sandbox.Config) { cfg.RequireLayers = []string{layer} }); r.OK ||
				r.Reason != "no_"+layer {
				t.Errorf("required: %+v", r)
			}
			if _, r := probeOf(t, fail, func(cfg *sandbox.Config) { cfg.Strict = true }); r.OK || r.Step != layer {
				t.Errorf("strict: %+v", r)
			}
		})
	}
}

// Where a step can be done in another way, it is, and says so.
func TestStepsHaveSecondWays(t *testing.T) {
	newWorld(t)
	for _, c := range []struct {
		step     string
		errno    syscall.Errno
		degraded string
	}{
		{"mount_setattr", syscall.ENOSYS, ""},
		{"pivot_root", syscall.EINVAL, "initramfs-root"},
		{"mount_proc", syscall.EPERM, "outer-proc"},
	} {
		t.Run(c.step, func(t *testing.T) {
			t.Parallel()
			fail := func(cfg *sandbox.Config) { cfg.TestOnly.FailStep, cfg.TestOnly.FailErrno = c.step, int(c.errno) }
			w := newWorld(t, fail)
			r := w.provider.Probe(t.Context())
			if strings.Join(r.Degraded, ",") != c.degraded {
				t.Errorf("%+v", r)
			}
			if _, r := probeOf(t, fail, func(cfg *sandbox.Config) { cfg.Strict = true }); r.OK != (c.degraded == "") {
				t.Errorf("strict: %+v", r)
			}
			s := w.thread("a")
			res := bash(t, s, "echo ok; touch /usr/x /x 2>&1; ls -A /root 2>&1; cat "+w.cfg.Dirs.Root+
				"/threads/x 2>&1; cat <(echo sub); wait $!; echo $$ >/dev/null; touch y; sleep 300 >/dev/null 2>&1 &")
			if out := string(res.Output); !strings.Contains(out, "ok\n") || strings.Count(out, "Read-only") != 2 ||
				strings.Count(out, "No such file") != 2 || !strings.Contains(out, "sub\n") || res.Background != 1 {
				t.Errorf("%q %+v", out, res)
			}
			if st := stateOf(t, s); st.Procs != 1 || st.MemBytes == 0 {
				t.Errorf("status %+v", st)
			}
			// The ways to end processes work too.
			if res := do(t, s, sandbox.ExecReq{Command: "setsid -f sleep 301; (setsid sleep 302 &); sleep 303",
				Timeout: 300_000_000}); !res.TimedOut || res.SandboxRestarted || res.Signal != "SIGKILL" {
				t.Errorf("%+v", res)
			}
			if st := stateOf(t, s); st.Procs != 1 {
				t.Errorf("after a timeout: %+v", st)
			}
			if res := bash(t, s, "sleep 1; kill -9 $PPID; sleep 300"); !res.SandboxRestarted {
				t.Errorf("tampering: %+v", res)
			}
			if n := strays(t, w); n != 0 {
				t.Errorf("%d processes are left", n)
			}
			if res := bash(t, w.thread("b", func(p *sandbox.Policy) { p.Limits.Memory = 128 << 20 }),
				"python3 -c 'b = bytearray(400 << 20); import time; time.sleep(20)'"); !res.OOM {
				t.Errorf("memory: %+v", res)
			}
		})
	}
}

func TestStartsThatFailAreProbedAgain(t *testing.T) {
	w := newWorld(t)
	s := w.thread("a")
	bash(t, s, "true")
	// The program that starts sandboxes goes away while the server runs.
	programs, err := filepath.Glob(filepath.Join(w.cfg.Dirs.Root, "run", "sbxinit-*"))
	if err != nil || len(programs) != 1 {
		t.Fatal(programs, err)
	}
	if err := os.Remove(programs[0]); err != nil {
		t.Fatal(err)
	}
	b := w.thread("b")
	for i := range 2 {
		if _, err := b.Exec(t.Context(), sandbox.ExecReq{Command: "true"}); !errors.Is(err, sandbox.ErrInit) ||
			strings.Contains(err.Error(), w.cfg.Dirs.Root) {
			t.Errorf("start %d: %v", i, err)
		}
	}
	if res := bash(t, s, "echo warm"); string(res.Output) != "warm\n" {
		t.Errorf("a running one: %+v", res)
	}
	// The third failure probes, which puts the program back.
	if _, err := b.Exec(t.Context(), sandbox.ExecReq{Command: "true"}); !errors.Is(err, sandbox.ErrInit) {
		t.Errorf("third start: %v", err)
	}
	if res := bash(t, b, "echo ok"); string(res.Output) != "ok\n" {
		t.Errorf("%+v", res)
	}
}

func TestOwnProgramTakesThePlaceOfAMissingOne(t *testing.T) {
	t.Parallel()
	newWorld(t)
	stale := filepath.Join(t.TempDir(), "stale")
	if err := os.WriteFile(stale, []byte("#!/bin/sh\necho another version\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"missing": filepath.Join(t.TempDir(), "none"), "stale": stale} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(c *sandbox.Config) { c.TestOnly.Init = path })
			res := bash(t, w.thread("a"), "cat /proc/1/comm; cat /proc/1/environ 2>/dev/null; cat /proc/1/mem 2>&1")
			if !strings.HasPrefix(string(res.Output), "init\n") ||
				!strings.Contains(string(res.Output), "Permission denied") {
				t.Errorf("%q", res.Output)
			}
		})
	}
}
