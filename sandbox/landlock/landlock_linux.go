package landlock

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"fawn/sandbox"
	"fawn/sandbox/files"
	"fawn/sandbox/jail"
	"fawn/sandbox/ns"
	"fawn/sandbox/pool"
)

// landlockABI is the first version that guards the length of files too.
const landlockABI = 3

// plainTmp represents the temporary folder of a thread in the table of binds.
const plainTmp = "/tmp"

// provider isolates threads on hosts without namespaces: by file rules, a system call filter, and separate users if the
// server is root. Commands run among the host's processes, have no network, and find their files by translated paths.
// Programs, users and control groups are shared with package ns.
type provider struct {
	*ns.Base
	group int // may pass through the data folder, if the server is root
	temps temps
}

// New returns the provider.
func New(cfg sandbox.Config) (sandbox.Provider, error) {
	l := &provider{}
	l.Base = ns.NewBase(cfg, sandbox.ProviderLandlock, "sandbox", l.start, l.probe)
	if l.Users != nil {
		l.group = l.Users.TakeLast()
	}
	l.UseGroups()
	l.Pool.Paths = l.paths
	l.Pool.Env = func(sandbox.Policy) map[string]string { return plainEnvironment() }
	return l, nil
}

// plainEnvironment returns the initial environment of commands. Git fails if it may not read the system's
// settings.
func plainEnvironment() map[string]string {
	env := ns.CommandEnvironment(sandbox.NetworkNone)
	env["GIT_CONFIG_NOSYSTEM"] = "1"
	return env
}

// paths returns the folders that commands may use. A path with shell metacharacters can't be translated.
func (l *provider) paths(thread string) sandbox.PathMapper {
	base := filepath.Join(l.Above(), "threads", thread)
	folders := map[string]string{
		files.UserData: filepath.Join(base, "user-data"),
		jail.Home:      filepath.Join(base, "sandbox", "home"),
		plainTmp:       filepath.Join(base, "sandbox", "tmp"),
	}
	for _, m := range l.Config.Dirs.Mounts {
		if real, err := filepath.EvalSymlinks(m.Dir); err == nil && pool.PlainPath(real) {
			folders[m.Path] = real
		}
	}
	if dir, _, err := l.Config.Dirs.ProjectDir(thread); err == nil && pool.PlainPath(dir) {
		folders[files.Project] = dir
	}
	return pool.NewTranslator(folders)
}

// start returns the starter of the pool.
func (l *provider) start(ctx context.Context, thread string, p sandbox.Policy) (pool.Box, error) {
	b, err := l.startBox(ctx, thread, p)
	if err != nil {
		return nil, err
	}
	return b, nil
}

func (l *provider) startBox(ctx context.Context, thread string, p sandbox.Policy) (*ns.Box, error) {
	sys, init := l.Found()
	if sys.Shell == "" {
		return nil, &sandbox.UnavailableError{Reason: "no_bash", Hint: ns.Hint("no_bash")}
	}
	if err := ns.CreateFolders(l.Config.Dirs, thread); err != nil {
		return nil, err
	}
	base := filepath.Join(l.Above(), "threads", thread)
	spec, err := plainSpec(&sys, *l.Config, base, p)
	if err != nil {
		return nil, err
	}
	// As the user of the server they would own its files.
	spec.Init, spec.Cgroup, spec.Metadata = init, l.Groups != nil, l.Users == nil
	if spec.Seccomp, err = ns.NewFilter(ns.FilterOptions{Allow: p.SeccompAllow, UnnamedFiles: spec.Cgroup ||
		p.Limits.Memory <= 0, Shared: true, Metadata: spec.Metadata}); err != nil {
		return nil, err
	}
	at := ns.Launch{Spec: spec, KillTime: l.Config.TestOnly.KillTime, Shell: sys.Shell, Roots: ns.OwnFolders(spec),
		Owner: -1, Release: func() {}}
	if l.Users != nil {
		if at.Owner, at.Release, err = l.Users.Claim(ctx, l.Config.Dirs, thread); err != nil {
			return nil, err
		}
		at.Spec.Switch, at.Spec.User, at.Spec.Group = true, at.Owner, l.group
		err = l.openWay(base, p.Project)
	} else if at.Spec.Limits.Pids > 0 {
		// The limit counts all processes of the user, including those outside.
		at.Spec.Others = ns.TasksOf(os.Getuid(), 0)
		at.Spec.Limits.Pids += at.Spec.Others
		at.Spare = l.spare
	}
	if err == nil {
		err = l.useTmp(base, &at)
	}
	if err == nil && l.Groups != nil {
		if at.Group, err = l.Groups.Create(p.Limits); err != nil {
			err = &sandbox.InitError{Step: "cgroup", Err: err}
		}
	}
	if err != nil {
		at.Release()
		return nil, err
	}
	b, err := ns.StartBox(ctx, at)
	if err != nil {
		return nil, err
	}
	b.Add(l.gaps(at, p)...)
	return b, nil
}

// perSandbox is the approximate number of tasks of a sandbox with an ordinary command, including its parents.
const perSandbox = 32

// spare returns the tasks reserved for sandboxes that may start during a command: without it, concurrent commands of
// many threads would use up each other's. A single thread needs none.
func (l *provider) spare() int64 {
	if l.Pool.Busy() < 2 {
		return 0
	}
	return int64(perSandbox * (l.Config.MaxSandboxes - 1))
}

// gaps returns the layers of limits that are missing here.
func (l *provider) gaps(at ns.Launch, p sandbox.Policy) []string {
	layers := append(ns.LimitLayers(at.Spec, l.Groups != nil), "no_network", "DEGRADED:no-mountns", "DEGRADED:no-pidns",
		"DEGRADED:path-translation",
		"DEGRADED:no-loopback", "DEGRADED:shared-disk-tmp", "DEGRADED:no-dev-shm")
	if slices.Contains(p.SeccompAllow, "connect") {
		layers = append(layers, "DEGRADED:sockets-of-host")
	}
	if at.Spec.Switch {
		return append(layers, "own_uid")
	}
	return append(layers, "DEGRADED:user-of-server")
}
