package ns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"fawn/sandbox"
	"fawn/sandbox/pool"
)

// retries is the number of consecutive failed starts after which the host is probed again.
const retries = 3

// Base is the common part of Linux providers: the program started in sandboxes, the visible part of the host, users for
// threads, and a cached probe.
type Base struct {
	Config *sandbox.Config
	Pool   *pool.Pool
	Users  *Owners  // nil unless the server is root
	Groups *Cgroups // nil without delegation
	Guards string   // why control groups are missing

	name string
	try  func(context.Context) sandbox.Report

	mu     sync.Mutex
	init   string // guarded by mu, as all below
	system System
	report sandbox.Report
}

// NewBase returns the common part of a provider that starts boxes of the kind what and has its own probe.
func NewBase(cfg sandbox.Config, name, what string, start pool.Starter,
	probe func(context.Context) sandbox.Report) *Base {
	b := &Base{Config: &cfg, Users: newOwners("/proc", cfg.UIDBase), name: name, try: probe}
	b.Pool = pool.New(&cfg, name, func(ctx context.Context, thread string, p sandbox.Policy) (pool.Box, error) {
		started, err := start(ctx, thread, p)
		if err != nil {
			return nil, b.failed(ctx, what, thread, err)
		}
		return started, nil
	})
	return b
}

// UseGroups opens the control groups that the host delegates to the server, if it does.
func (b *Base) UseGroups() {
	groups, err := openCgroups("/proc")
	if err != nil {
		b.Guards = err.Error()
	}
	b.Groups = groups
}

// failed reports a failed start to the owner, and probes the host again after several.
func (b *Base) failed(ctx context.Context, what, thread string, err error) error {
	var init *sandbox.InitError
	if !errors.As(err, &init) {
		return err
	}
	b.Config.Log.Warn(what+" did not start", "thread", thread, "step", init.Step, "error", init.Err,
		"detail", init.Detail)
	if b.Pool.Failures() >= retries-1 {
		if report := b.Probe(ctx); !report.OK {
			return &sandbox.UnavailableError{Reason: report.Reason, Hint: report.Hint}
		}
	}
	return err
}

// Name returns the provider's name.
func (b *Base) Name() string { return b.name }

// Probe tests the provider's requirements and caches the result.
func (b *Base) Probe(ctx context.Context) sandbox.Report {
	start := time.Now()
	r := b.try(ctx)
	r.Provider, r.TookMS = b.name, time.Since(start).Milliseconds()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.report = r
	return r
}

// Prepare gathers the requirements of starts. The caller probes.
func (b *Base) Prepare(ctx context.Context) error {
	if err := os.MkdirAll(b.Config.Dirs.Root, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	init, why, err := installInit(ctx, filepath.Join(b.Config.Dirs.Root, "run"), b.Config.TestOnly.Init)
	if err != nil {
		return err
	}
	if why != "" {
		b.Config.Log.Warn("sandboxes start the server's own program instead of the small one, which makes each command slower",
			"reason", why)
	}
	own := os.Geteuid()
	if b.Users != nil {
		own = -1
	}
	sys, err := findSystem(ctx, *b.Config, own)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.init, b.system = init, sys
	return nil
}

// Found returns the result of the last probe: the host, and the program that sandboxes start.
func (b *Base) Found() (System, string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.system, b.init
}

// Root returns the data folder without links, once it was found.
func (b *Base) Root() string {
	sys, _ := b.Found()
	if len(sys.Secrets) == 0 {
		return b.Config.Dirs.Root
	}
	return sys.Secrets[0]
}

// Above returns the folder without links that holds threads/, once it was found.
func (b *Base) Above() string { return cmp.Or(b.Config.Dirs.Shared, b.Root()) }

// Acquire returns a thread's sandbox and creates its folders.
func (b *Base) Acquire(ctx context.Context, thread sandbox.ThreadRef, policy sandbox.Policy) (sandbox.Sandbox, error) {
	b.mu.Lock()
	report := b.report
	b.mu.Unlock()
	if report.Provider == "" {
		report = b.Probe(ctx)
	}
	if !report.OK {
		return nil, &sandbox.UnavailableError{Reason: report.Reason, Hint: report.Hint}
	}
	if err := CreateFolders(b.Config.Dirs, thread.ID); err != nil {
		return nil, err
	}
	m, err := b.Pool.Acquire(thread, policy)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Destroy ends a thread's processes and forgets its sandbox.
func (b *Base) Destroy(_ context.Context, thread sandbox.ThreadRef, reason string) error {
	b.Pool.Destroy(thread.ID, reason)
	return nil
}

// Restart ends a thread's processes.
func (b *Base) Restart(_ context.Context, thread sandbox.ThreadRef, reason string) (bool, error) {
	return b.Pool.Restart(thread.ID, reason)
}

// Close ends the processes of all threads.
func (b *Base) Close(context.Context) error {
	b.Pool.Close()
	return nil
}
