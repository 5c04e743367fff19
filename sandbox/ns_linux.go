package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"fawn/sandbox/files"
	"fawn/sandbox/jail"
)

// retries is how many sandboxes must fail to start in a row before the host is
// probed again.
const retries = 3

// namespace keeps each thread in namespaces of its own: files, processes,
// network and users. It needs neither root nor any program but bash.
type namespace struct {
	cfg    *Config
	pool   *pool
	groups *cgroups // nil without delegation
	users  *owners  // nil unless the server is root
	guards string   // why there are no control groups

	mu     sync.Mutex
	init   string // guarded by mu, as all below
	system system
	report Report
}

func newNamespace(cfg Config) (Provider, error) {
	n := &namespace{cfg: &cfg, users: newOwners("/proc", cfg.UIDBase)}
	groups, err := openCgroups("/proc")
	if err != nil {
		n.guards = err.Error()
	}
	n.groups = groups
	n.pool = newPool(&cfg, ProviderNamespace, n.start)
	n.pool.env = func(p Policy) map[string]string { return commandEnvironment(p.Network) }
	return n, nil
}

func (n *namespace) Name() string { return ProviderNamespace }

// prepare finds what starts need. The caller probes.
func (n *namespace) prepare(ctx context.Context) error {
	if err := os.MkdirAll(n.cfg.Dirs.Root, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	init, why, err := installInit(ctx, filepath.Join(n.cfg.Dirs.Root, "run"), n.cfg.initProgram)
	if err != nil {
		return err
	}
	if why != "" {
		n.cfg.Log.Warn("sandboxes start the server's own program instead of the small one, which makes each command slower",
			"reason", why)
	}
	own := os.Geteuid()
	if n.users != nil {
		own = -1
	}
	sys, err := findSystem(ctx, *n.cfg, own)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.init, n.system = init, sys
	return nil
}

func (n *namespace) Acquire(ctx context.Context, thread ThreadRef, policy Policy) (Sandbox, error) {
	n.mu.Lock()
	report := n.report
	n.mu.Unlock()
	if report.Provider == "" {
		report = n.Probe(ctx)
	}
	if !report.OK {
		return nil, &UnavailableError{Reason: report.Reason, Hint: report.Hint}
	}
	if err := createFolders(n.cfg.Dirs, thread.ID); err != nil {
		return nil, err
	}
	m, err := n.pool.acquire(thread, policy)
	if err != nil {
		return nil, err
	}
	return m, nil
}

func createFolders(d files.Dirs, thread string) error {
	if err := d.Create(thread); err != nil {
		return err
	}
	return createHome(d, thread)
}

// start is the starter of the pool.
func (n *namespace) start(ctx context.Context, thread string, p Policy) (box, error) {
	b, err := n.startBox(ctx, thread, p)
	if err == nil {
		return b, nil
	}
	var init *InitError
	if errors.As(err, &init) {
		n.cfg.Log.Warn("sandbox did not start", "thread", thread, "step", init.Step, "error", init.Err, "detail", init.Detail)
		if n.pool.failures() >= retries-1 {
			if report := n.Probe(ctx); !report.OK {
				return nil, &UnavailableError{Reason: report.Reason, Hint: report.Hint}
			}
		}
	}
	return nil, err
}

func (n *namespace) startBox(ctx context.Context, thread string, p Policy) (*nsBox, error) {
	n.mu.Lock()
	sys, init := n.system, n.init
	n.mu.Unlock()
	if sys.shell == "" {
		return nil, &UnavailableError{Reason: "no_bash", Hint: hint("no_bash")}
	}
	if err := createFolders(n.cfg.Dirs, thread); err != nil {
		return nil, err
	}
	spec, err := sys.spec(*n.cfg, thread, p)
	if err != nil {
		return nil, err
	}
	spec.Init = init
	spec.Cgroup = n.groups != nil
	if spec.Seccomp, err = newFilter(filterOptions{allow: p.SeccompAllow, unnamedFiles: spec.Cgroup ||
		p.Limits.Memory <= 0}); err != nil {
		return nil, err
	}
	l := launch{spec: spec, killTime: n.cfg.killTime, shell: sys.shell, roots: ownFolders(spec), owner: -1,
		release: func() {}}
	if n.users != nil {
		if l.owner, l.release, err = n.users.claim(ctx, n.cfg.Dirs, thread); err != nil {
			return nil, err
		}
		l.spec.Switch = true
	} else if major, minor := kernel(); major < 5 || major == 5 && minor < 14 {
		// There the limit counts all processes of the user, also those outside.
		l.spec.Limits.Pids = 0
	}
	if n.groups != nil {
		if l.group, err = n.groups.create(p.Limits); err != nil {
			l.release()
			return nil, &InitError{Step: "cgroup", Err: err}
		}
	}
	serve := n.cfg.Proxy
	if p.Proxy != nil {
		serve = p.Proxy
	}
	if serve != nil {
		l.proxy = func(listener net.Listener) { serve(thread, listener) }
	}
	b, err := startBox(ctx, l)
	if err != nil {
		return nil, err
	}
	b.about = append(b.about, limitLayers(l.spec, n.groups != nil)...)
	return b, nil
}

// ownFolders are those of the thread on the host.
func ownFolders(spec jail.Spec) (dirs []string) {
	for _, b := range spec.Binds {
		if b.Dst == jail.Home || files.Under(files.UserData, b.Dst) {
			dirs = append(dirs, b.Src)
		}
	}
	return dirs
}

// limitLayers tells what enforces the limits of a whole sandbox.
func limitLayers(spec jail.Spec, group bool) []string {
	var layers []string
	if spec.Limits.Memory > 0 {
		layers = append(layers, map[bool]string{true: "memory_cgroup", false: "memory_guard"}[group])
	}
	switch {
	case group:
		layers = append(layers, "pids_cgroup")
	case spec.Limits.Pids > 0:
		layers = append(layers, "pids_rlimit")
	}
	return layers
}

func (n *namespace) Destroy(_ context.Context, thread ThreadRef, reason string) error {
	n.pool.destroy(thread.ID, reason)
	return nil
}

func (n *namespace) Restart(_ context.Context, thread ThreadRef, reason string) (bool, error) {
	return n.pool.restart(thread.ID, reason)
}

func (n *namespace) Close(context.Context) error {
	n.pool.close()
	return nil
}
