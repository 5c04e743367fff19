package ns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fawn/sandbox"
	"fawn/sandbox/files"
	"fawn/sandbox/jail"
)

// System is the part of the host's programs visible in every sandbox, and the exceptions. It is determined once per
// probe.
type System struct {
	Binds   []jail.Bind
	links   map[string]string
	Secrets []string // resolved paths of the host
	Hidden  []string // other hidden paths in program folders
	Shell   string   // path of bash, inside and outside
	bound   []string // the program folders' paths on the host
}

// etc returns the part of /etc that programs need to work: no accounts, keys or configuration of services.
func etc() []string {
	return []string{
		"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "ssl", "ca-certificates",
		"ca-certificates.conf", "pki", "crypto-policies", "localtime", "timezone", "mime.types", "protocols",
		"services", "bash.bashrc", "inputrc", "terminfo",
		"fonts", "os-release", "debian_version", "magic", "python3*", "perl", "R", "texmf", "java-*", "ImageMagick-*",
		"gai.conf",
	}
}

// findSystem examines the host for commands of the user own, or of separate users if it is negative. A data folder that
// would be shown entirely is refused.
func findSystem(ctx context.Context, cfg sandbox.Config, own int) (System, error) {
	s := System{links: map[string]string{}}
	for _, dir := range []string{"/usr", "/opt", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		info, err := os.Lstat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return System{}, fmt.Errorf("look at %s: %w", dir, err)
		case info.Mode()&fs.ModeSymlink != 0:
			if s.links[dir], err = os.Readlink(dir); err != nil {
				return System{}, fmt.Errorf("look at %s: %w", dir, err)
			}
		case info.IsDir():
			s.Binds = append(s.Binds, jail.Bind{Src: dir, Dst: dir, Optional: true})
			s.bound = append(s.bound, dir)
		}
	}
	for _, pattern := range etc() {
		names, err := filepath.Glob("/etc/" + pattern)
		if err != nil {
			return System{}, err
		}
		for _, name := range names {
			real, err := filepath.EvalSymlinks(name)
			if err != nil {
				continue // a link to something not installed
			}
			s.Binds = append(s.Binds, jail.Bind{Src: real, Dst: name, Optional: true})
		}
	}
	for _, shell := range []string{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"} {
		if info, err := os.Stat(shell); err == nil && info.Mode().IsRegular() {
			s.Shell = shell
			break
		}
	}
	if err := s.findSecrets(cfg); err != nil {
		return s, err
	}
	return s, s.findPrivate(ctx, cfg, own)
}

// findPrivate finds private files among user-installed programs.
func (s *System) findPrivate(ctx context.Context, cfg sandbox.Config, own int) error {
	var tops []string
	for _, dir := range []string{"/opt", "/usr/local"} {
		if real, err := filepath.EvalSymlinks(dir); err == nil && s.shows(real) {
			tops = append(tops, real)
		}
	}
	hidden, full, err := findOnce(ctx, tops, own)
	if err != nil {
		return fmt.Errorf("look for private files: %w", err)
	}
	if full {
		cfg.Log.Warn("some program folders are hidden from commands: too many files, or too many private ones",
			"hidden", hidden)
	}
	s.Hidden = hidden
	s.Binds = slices.DeleteFunc(s.Binds, func(b jail.Bind) bool { return slices.Contains(hidden, b.Src) })
	return nil
}

// shows reports whether a folder is one of programs or lies in one.
func (s *System) shows(dir string) bool {
	return slices.ContainsFunc(s.bound, func(b string) bool { return dir == b || files.Under(b, dir) })
}

// findSecrets lists the paths to hide even below a visible folder.
func (s *System) findSecrets(cfg sandbox.Config) error {
	root, err := filepath.EvalSymlinks(cfg.Dirs.Root)
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	if root, err = filepath.Abs(root); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	s.Secrets = []string{root, "/etc/ssl/private", "/etc/pki/tls/private"}
	if shared := cfg.Dirs.Shared; shared != "" {
		s.Secrets = append(s.Secrets, shared)
	}
	for _, dir := range s.bound {
		for _, own := range []string{root, cmp.Or(cfg.Dirs.Shared, root)} {
			if own == dir || own == "/" || files.Under(own, dir) {
				return fmt.Errorf("%w: the folder %s holds programs that commands need to see; use another",
					sandbox.ErrConfig, own)
			}
		}
	}
	// Folders of the server that may hold its configuration, unless they hold the
	// programs of the system.
	for _, get := range []func() (string, error){os.UserHomeDir, os.Getwd} {
		dir, err := get()
		if err == nil && !s.programs(dir) {
			s.Secrets = append(s.Secrets, dir)
		}
	}
	s.Secrets = append(s.Secrets, cfg.Secrets...)
	for i, p := range s.Secrets {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			p = real
		}
		if p, err = filepath.Abs(p); err != nil {
			return fmt.Errorf("hide %s: %w", p, err)
		}
		s.Secrets[i] = p
	}
	return nil
}

// programs reports whether a folder is part of the system.
func (s *System) programs(dir string) bool {
	shared := []string{"/", "/usr", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64", "/usr/libexec", "/usr/share",
		"/usr/games",
		"/usr/local", "/usr/local/bin", "/usr/local/sbin", "/usr/local/lib", "/usr/local/share", "/opt"}
	return slices.Contains(shared, dir) || slices.Contains(s.bound, dir)
}

// masks returns the inside paths of secrets to hide. Private files are hidden among the system's programs only, not in
// the owner's binds.
func (s *System) masks(binds []jail.Bind) []string {
	return append(masksIn(binds, s.Secrets), masksIn(s.Binds, s.Hidden)...)
}

func masksIn(binds []jail.Bind, secrets []string) (masks []string) {
	for _, secret := range secrets {
		for _, b := range binds {
			if files.Under(b.Src, secret) {
				masks = append(masks, b.Dst+secret[len(b.Src):])
			}
		}
	}
	return masks
}

// Spec describes the sandbox of a thread.
func (s *System) Spec(cfg sandbox.Config, thread string, p sandbox.Policy) (jail.Spec, error) {
	base, err := cfg.Dirs.Folder(thread)
	if err != nil {
		return jail.Spec{}, err
	}
	if base, err = filepath.EvalSymlinks(base); err != nil {
		return jail.Spec{}, files.OpError("open files of thread", thread, err)
	}
	if base, err = filepath.Abs(base); err != nil {
		return jail.Spec{}, files.OpError("open files of thread", thread, err)
	}
	shown, err := s.WithMounts(slices.Clone(s.Binds), cfg, p)
	if err != nil {
		return jail.Spec{}, err
	}
	masks := s.masks(shown)
	own := []jail.Bind{
		{Src: base + "/user-data/workspace", Dst: files.Workspace, Write: true},
		{Src: base + "/user-data/uploads", Dst: files.Uploads, Write: !p.UploadsReadOnly},
		{Src: base + "/user-data/outputs", Dst: files.Outputs, Write: true},
		{Src: base + "/sandbox/home", Dst: jail.Home, Write: true},
	}
	if p.Project.Dir != "" {
		own = append(own, jail.Bind{Src: p.Project.Dir, Dst: files.Project, Write: !p.Project.ReadOnly})
	}
	for _, b := range own {
		if info, err := os.Lstat(b.Src); err != nil || !info.IsDir() {
			return jail.Spec{}, files.OpError("open", b.Dst, errors.Join(err, files.ErrNotDir))
		}
	}
	synthetic, err := syntheticFiles(p.Network)
	if err != nil {
		return jail.Spec{}, err
	}
	return jail.Spec{
		Binds: append(shown, own...), Links: s.links, Files: synthetic, Masks: masks,
		Loopback: p.Network != sandbox.NetworkHost, Listen: p.Network == sandbox.NetworkProxy,
		ScopeSockets: p.Network == sandbox.NetworkHost,
		Limits:       InnerLimits(p.Limits),
		Require:      cfg.RequireLayers, Strict: cfg.Strict,
		Fail: cfg.TestOnly.FailStep, FailErrno: cfg.TestOnly.FailErrno,
	}, nil
}

// WithMounts adds the owner's binds.
func (s *System) WithMounts(shown []jail.Bind, cfg sandbox.Config, p sandbox.Policy) ([]jail.Bind, error) {
	for _, m := range cfg.Dirs.Mounts {
		real, err := filepath.EvalSymlinks(m.Dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("mount %s: %w", m.Path, err)
		}
		shown = append(shown, jail.Bind{Src: real, Dst: m.Path, Optional: true})
	}
	for _, b := range p.Binds {
		bind, err := s.bind(cfg, b)
		if err != nil {
			return nil, err
		}
		shown = append(shown, bind)
	}
	return shown, nil
}

// bind validates a bind of the owner.
func (s *System) bind(cfg sandbox.Config, b sandbox.Bind) (jail.Bind, error) {
	real, err := filepath.EvalSymlinks(b.Dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return jail.Bind{}, fmt.Errorf("%w: mount %s: %w", sandbox.ErrConfig, b.Path, err)
	}
	info, err := os.Stat(real)
	if err != nil {
		return jail.Bind{}, fmt.Errorf("%w: mount %s: %w", sandbox.ErrConfig, b.Path, err)
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return jail.Bind{}, fmt.Errorf("%w: mount %s: %s is neither a folder nor a file", sandbox.ErrConfig,
			b.Path, b.Dir)
	}
	data := s.Secrets[0]
	if real == "/" || real == data || files.Under(real, data) || files.Under(data, real) {
		return jail.Bind{}, fmt.Errorf("%w: mount %s: %s holds the data folder or lies in it", sandbox.ErrConfig,
			b.Path, b.Dir)
	}
	if shared := cfg.Dirs.Shared; shared != "" && (real == shared || files.Under(real, shared) ||
		files.Under(shared, real)) {
		return jail.Bind{}, fmt.Errorf("%w: mount %s: %s holds files.dir or lies in it", sandbox.ErrConfig, b.Path,
			b.Dir)
	}
	if slices.Contains(s.Secrets, real) && !info.IsDir() {
		return jail.Bind{}, fmt.Errorf("%w: mount %s: %s is secret", sandbox.ErrConfig, b.Path, b.Dir)
	}
	return jail.Bind{Src: real, Dst: b.Path, Write: !b.ReadOnly}, nil
}

// syntheticFiles returns the files of /etc that must differ from the host's.
func syntheticFiles(network string) (map[string]string, error) {
	synthetic := map[string]string{
		"/etc/passwd": "root:x:0:0:root:/root:/usr/sbin/nologin\nagent:x:1000:1000:agent:" + jail.Home +
			":/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
		"/etc/group":         "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n",
		"/etc/hosts":         "127.0.0.1 localhost sandbox\n::1 localhost\n",
		"/etc/hostname":      "sandbox\n",
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
		"/etc/resolv.conf":   "# There are no name servers: programs reach the web through the proxy, if at all.\n",
	}
	if network == sandbox.NetworkHost {
		b, err := os.ReadFile("/etc/resolv.conf")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("name servers: %w", err)
		}
		synthetic["/etc/resolv.conf"] = strings.ToValidUTF8(string(b), "?")
	}
	return synthetic, nil
}

// InnerLimits returns the limits that the inside enforces.
func InnerLimits(l sandbox.Limits) jail.Limits {
	in := jail.Limits{
		Memory: l.Memory, FileSize: l.FileSize, Tmp: l.Tmp, Shm: l.Shm,
		Pids: int64(l.Pids), OpenFiles: int64(l.OpenFiles), CPUSeconds: int64(l.CPUTime.Seconds()),
	}
	if l.Memory > 0 {
		in.Data = max(4<<30, l.Memory)
		// Ending processes doesn't free in-memory files.
		in.Tmp, in.Shm = atMost(l.Tmp, l.Memory/2), atMost(l.Shm, l.Memory/4)
	}
	return in
}

// atMost lowers a limit, where zero means none, to max.
func atMost(n, max int64) int64 {
	if n <= 0 || n > max {
		return max
	}
	return n
}

// CommandEnvironment returns the initial environment of commands.
func CommandEnvironment(network string) map[string]string {
	env := map[string]string{
		"PATH": jail.Home + "/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME": jail.Home, "USER": "agent", "LOGNAME": "agent", "SHELL": "/bin/bash",
		"LANG": "C.UTF-8", "TERM": "dumb", "TMPDIR": "/tmp", "PYTHONUNBUFFERED": "1",
	}
	if network == sandbox.NetworkProxy {
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy",
			"all_proxy"} {
			env[name] = fmt.Sprintf("http://127.0.0.1:%d", jail.ProxyPort)
		}
		env["NO_PROXY"], env["no_proxy"] = "localhost,127.0.0.1,::1", "localhost,127.0.0.1,::1"
	}
	return env
}
