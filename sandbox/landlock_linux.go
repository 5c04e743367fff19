package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"fawn/sandbox/files"
	"fawn/sandbox/jail"
)

// landlockABI is the first version that guards the length of files too.
const landlockABI = 3

// plainTmp stands for the temporary folder of a thread in the table of binds.
const plainTmp = "/tmp"

// landlock keeps threads apart where the host has no namespaces to give: rules
// about files, a filter of system calls, and a user of their own if the server
// is root. Commands live among the processes of the host, see no network, and
// find their files by translated paths. It shares the start of programs, users
// and control groups with the namespace provider.
type landlock struct {
	*namespace
	group int // may pass through the data folder, if the server is root
	temps temps
}

func newLandlock(cfg Config) (Provider, error) {
	l := &landlock{namespace: &namespace{cfg: &cfg, users: newOwners("/proc", cfg.UIDBase)}}
	if l.users != nil {
		l.users.n--
		l.group = l.users.base + l.users.n
	}
	groups, err := openCgroups("/proc")
	if err != nil {
		l.guards = err.Error()
	}
	l.groups = groups
	l.pool = newPool(&cfg, ProviderLandlock, l.start)
	l.pool.paths = l.paths
	l.pool.env = func(Policy) map[string]string { return plainEnvironment() }
	return l, nil
}

// plainEnvironment is what commands start with. Git ends where it may not look
// for the settings of the system.
func plainEnvironment() map[string]string {
	env := commandEnvironment(NetworkNone)
	env["GIT_CONFIG_NOSYSTEM"] = "1"
	return env
}

func (l *landlock) Name() string { return ProviderLandlock }

// paths are those of the folders that commands may use. A folder whose path
// means something to a shell cannot be translated.
func (l *landlock) paths(thread string) PathMapper {
	base := filepath.Join(l.root(), "threads", thread)
	folders := map[string]string{
		files.UserData: filepath.Join(base, "user-data"),
		jail.Home:      filepath.Join(base, "sandbox", "home"),
		plainTmp:       filepath.Join(base, "sandbox", "tmp"),
	}
	for _, m := range l.cfg.Dirs.Mounts {
		if real, err := filepath.EvalSymlinks(m.Dir); err == nil && plainPath(real) {
			folders[m.Path] = real
		}
	}
	return newTranslator(folders)
}

// root is the data folder without links, once it was found.
func (l *landlock) root() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.system.secrets) == 0 {
		return l.cfg.Dirs.Root
	}
	return l.system.secrets[0]
}

func (l *landlock) Acquire(ctx context.Context, thread ThreadRef, policy Policy) (Sandbox, error) {
	l.mu.Lock()
	report := l.report
	l.mu.Unlock()
	if report.Provider == "" {
		report = l.Probe(ctx)
	}
	if !report.OK {
		return nil, &UnavailableError{Reason: report.Reason, Hint: report.Hint}
	}
	if err := createFolders(l.cfg.Dirs, thread.ID); err != nil {
		return nil, err
	}
	m, err := l.pool.acquire(thread, policy)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// start is the starter of the pool.
func (l *landlock) start(ctx context.Context, thread string, p Policy) (box, error) {
	b, err := l.startBox(ctx, thread, p)
	if err == nil {
		return b, nil
	}
	var init *InitError
	if errors.As(err, &init) {
		l.cfg.Log.Warn("sandbox did not start", "thread", thread, "step", init.Step, "error", init.Err, "detail", init.Detail)
		if l.pool.failures() >= retries-1 {
			if report := l.Probe(ctx); !report.OK {
				return nil, &UnavailableError{Reason: report.Reason, Hint: report.Hint}
			}
		}
	}
	return nil, err
}

func (l *landlock) startBox(ctx context.Context, thread string, p Policy) (*nsBox, error) {
	l.mu.Lock()
	sys, init := l.system, l.init
	l.mu.Unlock()
	if sys.shell == "" {
		return nil, &UnavailableError{Reason: "no_bash", Hint: hint("no_bash")}
	}
	if err := createFolders(l.cfg.Dirs, thread); err != nil {
		return nil, err
	}
	base := filepath.Join(l.root(), "threads", thread)
	spec, err := sys.plainSpec(*l.cfg, base, p)
	if err != nil {
		return nil, err
	}
	spec.Init, spec.Cgroup = init, l.groups != nil
	if spec.Seccomp, err = newFilter(filterOptions{allow: p.SeccompAllow, unnamedFiles: spec.Cgroup ||
		p.Limits.Memory <= 0, shared: true}); err != nil {
		return nil, err
	}
	at := launch{spec: spec, killTime: l.cfg.killTime, shell: sys.shell, roots: ownFolders(spec), owner: -1,
		release: func() {}}
	if l.users != nil {
		if at.owner, at.release, err = l.users.claim(ctx, l.cfg.Dirs, thread); err != nil {
			return nil, err
		}
		at.spec.Switch, at.spec.User, at.spec.Group = true, at.owner, l.group
		err = l.openWay(base)
	} else if at.spec.Limits.Pids > 0 {
		// The limit counts all processes of the user, also those outside.
		at.spec.Others = tasksOf(os.Getuid(), 0)
		at.spec.Limits.Pids += at.spec.Others
	}
	if err == nil {
		err = l.useTmp(base, &at)
	}
	if err == nil && l.groups != nil {
		if at.group, err = l.groups.create(p.Limits); err != nil {
			err = &InitError{Step: "cgroup", Err: err}
		}
	}
	if err != nil {
		at.release()
		return nil, err
	}
	b, err := startBox(ctx, at)
	if err != nil {
		return nil, err
	}
	b.about = append(b.about, l.gaps(at, p)...)
	return b, nil
}

// gaps are the layers that limits have and those that are missing here.
func (l *landlock) gaps(at launch, p Policy) []string {
	layers := append(limitLayers(at.spec, l.groups != nil), "no_network", "DEGRADED:no-mountns", "DEGRADED:no-pidns",
		"DEGRADED:path-translation",
		"DEGRADED:no-loopback", "DEGRADED:shared-disk-tmp", "DEGRADED:no-dev-shm")
	if slices.Contains(p.SeccompAllow, "connect") {
		layers = append(layers, "DEGRADED:sockets-of-host")
	}
	if at.spec.Switch {
		return append(layers, "own_uid")
	}
	return append(layers, "DEGRADED:user-of-server")
}
