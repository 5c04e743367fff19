package providers_test

import (
	"errors"
	"strings"
	"testing"

	"fawn/sandbox"
	"fawn/sandbox/providers"
)

func TestConfigurationsThatCannotBeFollowedAreRefused(t *testing.T) {
	for name, change := range map[string]func(*sandbox.Config){
		"provider":       func(c *sandbox.Config) { c.Provider = "chroot" },
		"no provider":    func(c *sandbox.Config) { c.Provider = "" },
		"host":           func(c *sandbox.Config) { c.Provider = sandbox.ProviderHost },
		"no data folder": func(c *sandbox.Config) { c.Dirs.Root = "" },
		"no sandboxes":   func(c *sandbox.Config) { c.MaxSandboxes = 0 },
		"user of others": func(c *sandbox.Config) { c.UIDBase = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := sandbox.DefaultConfig()
			cfg.Dirs.Root = t.TempDir()
			change(&cfg)
			if p, err := providers.New(t.Context(), cfg); !errors.Is(err, sandbox.ErrConfig) {
				t.Errorf("%v, %v", p, err)
			}
		})
	}
}

func TestPoliciesThatCannotBeFollowedAreRefused(t *testing.T) {
	cfg := sandbox.DefaultConfig()
	cfg.Dirs.Root = t.TempDir()
	cfg.Provider, cfg.AllowHostBash = sandbox.ProviderHost, true
	p, err := providers.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close(t.Context()) })
	if p.Name() != sandbox.ProviderHost {
		t.Skip(p.Probe(t.Context()).String())
	}
	for name, change := range map[string]func(*sandbox.Policy){
		"lifetime": func(p *sandbox.Policy) { p.Lifetime = "ever" },
		"network":  func(p *sandbox.Policy) { p.Network = "bridge" },
		"time":     func(p *sandbox.Policy) { p.Timeout = 0 },
		"variable": func(p *sandbox.Policy) { p.Env = map[string]string{"LD_PRELOAD": "x"} },
		"mount":    func(p *sandbox.Policy) { p.Binds = []sandbox.Bind{{Dir: "/tmp", Path: "/etc/x"}} },
	} {
		t.Run(name, func(t *testing.T) {
			policy := sandbox.DefaultPolicy()
			change(&policy)
			_, err := p.Acquire(t.Context(), sandbox.ThreadRef{ID: "a"}, policy)
			if !errors.Is(err, sandbox.ErrConfig) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestOffSaysWhatToDo(t *testing.T) {
	cfg := sandbox.DefaultConfig()
	cfg.Dirs.Root = t.TempDir()
	cfg.Provider = sandbox.ProviderOff
	p, err := providers.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Acquire(t.Context(), sandbox.ThreadRef{ID: "a"}, sandbox.DefaultPolicy())
	var un *sandbox.UnavailableError
	if !errors.As(err, &un) || !errors.Is(err, sandbox.ErrUnavailable) ||
		un.Reason != "disabled by the configuration" || !strings.Contains(err.Error(), `run "fawn doctor"`) {
		t.Errorf("%v", err)
	}
	if r := p.Probe(t.Context()); r.OK || r.Provider != "off" {
		t.Errorf("%+v", r)
	}
}
