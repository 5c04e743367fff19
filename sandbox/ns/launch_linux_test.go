package ns_test

import (
	"crypto/rand"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/sandbox"
	"fawn/sandbox/jail"
	"fawn/sandbox/ns"
)

// refusal is a file next to the program of sandboxes; with it, launchers fail.
const refusal = "no-launcher"

func TestMain(m *testing.M) {
	if own, err := os.Executable(); err == nil && os.Args[0] == jail.RoleLaunch {
		if _, err := os.Lstat(filepath.Join(filepath.Dir(own), refusal)); err == nil {
			os.Exit(1)
		}
	}
	ns.Reexec()
	os.Exit(m.Run())
}

// TestALauncherStartsSandboxes: the server starts the first process by a copy of itself only where a launcher can't.
func TestALauncherStartsSandboxes(t *testing.T) {
	for name, refuse := range map[string]bool{"launched": false, "copied": true} {
		t.Run(name, func(t *testing.T) {
			cfg := sandbox.DefaultConfig()
			cfg.Dirs.Root = filepath.Join(t.TempDir(), "data")
			cfg.Log = slog.New(slog.DiscardHandler)
			cfg.TestOnly.KillTime = time.Minute
			cfg.TestOnly.Init = must.Get(os.Executable())(t)
			p := must.Get(ns.New(cfg))(t)
			defer p.Close(t.Context())
			if r := p.Probe(t.Context()); !r.OK {
				if os.Getenv("FAWN_CI") == "1" {
					t.Fatal(r)
				}
				t.Skip(r)
			}
			if refuse {
				must.Do(t, os.WriteFile(filepath.Join(cfg.Dirs.Root, "run", refusal), nil, 0o600))
			}
			b := must.Get(ns.Start(t.Context(), p, "a", sandbox.DefaultPolicy()))(t)
			if err := ns.Copied(b); (err != nil) != refuse {
				t.Errorf("started by a copy: %v", err)
			}
			e := <-begin(t, b, "echo; exit 3")
			if e.Code != 3 {
				t.Errorf("%+v", e)
			}
			b.Stop()
		})
	}
}

// TestALauncherStartsInTheGroup: the first process is in the control group of its sandbox, which a launcher joins for it.
func TestALauncherStartsInTheGroup(t *testing.T) {
	group := ""
	for _, top := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		if name := filepath.Join(top, "fawn-test-"+rand.Text()); os.Mkdir(name, 0o700) == nil {
			if _, err := os.Stat(filepath.Join(name, "cgroup.procs")); err == nil {
				group = name
				break
			}
			must.Report(t, os.Remove(name))
		}
	}
	if group == "" {
		t.Skip("no control group can be made")
	}
	t.Cleanup(func() { must.Report(t, os.Remove(group)) })
	cfg := sandbox.DefaultConfig()
	cfg.Dirs.Root = filepath.Join(t.TempDir(), "data")
	cfg.Log = slog.New(slog.DiscardHandler)
	p := must.Get(ns.New(cfg))(t)
	defer p.Close(t.Context())
	_ = p.Probe(t.Context()) // finds what a start needs
	ns.UseGroup(p, group)
	policy := sandbox.DefaultPolicy()
	policy.Limits = sandbox.Limits{} // the controllers may be elsewhere
	b := must.Get(ns.Start(t.Context(), p, "a", policy))(t)
	must.Report(t, ns.Copied(b))
	procs := must.Get(filepath.Glob(filepath.Join(group, "*", "cgroup.procs")))(t)
	if len(procs) != 1 {
		t.Fatalf("groups %q", procs)
	}
	if ids := strings.Fields(string(must.Get(os.ReadFile(procs[0]))(t))); len(ids) != 1 {
		t.Errorf("processes %q", ids)
	}
	b.Stop()
}
