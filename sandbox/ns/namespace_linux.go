package ns

import (
	"context"
	"net"

	"fawn/sandbox"
	"fawn/sandbox/files"
	"fawn/sandbox/jail"
	"fawn/sandbox/pool"
)

// provider keeps each thread in its own namespaces: files, processes, network and users. It needs neither root nor any
// program but bash.
type provider struct {
	*Base
	launchers Launchers
}

// New returns the provider.
func New(cfg sandbox.Config) (sandbox.Provider, error) {
	n := &provider{launchers: Launchers{Log: cfg.Log}}
	n.Base = NewBase(cfg, sandbox.ProviderNamespace, "sandbox", n.start, n.probe)
	n.UseGroups()
	n.Pool.Env = func(p sandbox.Policy) map[string]string { return CommandEnvironment(p.Network) }
	return n, nil
}

// CreateFolders creates the folders of a thread, its home included.
func CreateFolders(d files.Dirs, thread string) error {
	if err := d.Create(thread); err != nil {
		return err
	}
	return createHome(d, thread)
}

// start returns the starter of the pool.
func (n *provider) start(ctx context.Context, thread string, p sandbox.Policy) (pool.Box, error) {
	b, err := n.startBox(ctx, thread, p)
	if err != nil {
		return nil, err
	}
	return b, nil
}

func (n *provider) startBox(ctx context.Context, thread string, p sandbox.Policy) (*Box, error) {
	sys, init := n.Found()
	if sys.Shell == "" {
		return nil, &sandbox.UnavailableError{Reason: "no_bash", Hint: Hint("no_bash")}
	}
	if err := CreateFolders(n.Config.Dirs, thread); err != nil {
		return nil, err
	}
	spec, err := sys.Spec(*n.Config, thread, p)
	if err != nil {
		return nil, err
	}
	spec.Init = init
	spec.Cgroup = n.Groups != nil
	if spec.Seccomp, err = NewFilter(FilterOptions{Allow: p.SeccompAllow, UnnamedFiles: spec.Cgroup ||
		p.Limits.Memory <= 0}); err != nil {
		return nil, err
	}
	l := Launch{Spec: spec, KillTime: n.Config.TestOnly.KillTime, Shell: sys.Shell, Roots: OwnFolders(spec), Owner: -1,
		Release: func() {}, Launchers: &n.launchers}
	if n.Users != nil {
		if l.Owner, l.Release, err = n.Users.Claim(ctx, n.Config.Dirs, thread); err != nil {
			return nil, err
		}
		l.Spec.Switch = true
	} else if major, minor := kernel(); major < 5 || major == 5 && minor < 14 {
		// The limit would count all processes of the user, including those outside.
		l.Spec.Limits.Pids = 0
	}
	if n.Groups != nil {
		if l.Group, err = n.Groups.Create(p.Limits); err != nil {
			l.Release()
			return nil, &sandbox.InitError{Step: "cgroup", Err: err}
		}
	}
	serve := n.Config.Proxy
	if p.Proxy != nil {
		serve = p.Proxy
	}
	if serve != nil {
		l.Proxy = func(listener net.Listener) { serve(thread, listener) }
	}
	b, err := StartBox(ctx, l)
	if err != nil {
		return nil, err
	}
	b.Add(LimitLayers(l.Spec, n.Groups != nil)...)
	return b, nil
}

// OwnFolders returns the thread's folders on the host.
func OwnFolders(spec jail.Spec) (dirs []string) {
	for _, b := range spec.Binds {
		if b.Dst == jail.Home || files.Under(files.UserData, b.Dst) && b.Dst != files.Project {
			dirs = append(dirs, b.Src)
		}
	}
	return dirs
}

// LimitLayers returns the layers that enforce the limits of a whole sandbox.
func LimitLayers(spec jail.Spec, group bool) []string {
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
