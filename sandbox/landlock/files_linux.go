package landlock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"fawn/sandbox"
	"fawn/sandbox/files"
	"fawn/sandbox/jail"
	"fawn/sandbox/ns"
)

// plainSpec describes the sandbox of the thread with folder base. Rules can't exclude anything below an allowed folder,
// so folders with secrets are allowed piece by piece.
func plainSpec(s *ns.System, cfg sandbox.Config, base string, p sandbox.Policy) (jail.Spec, error) {
	shown := slices.Clone(s.Binds)
	for _, name := range []string{"passwd", "group", "hosts", "nsswitch.conf"} {
		if real, err := filepath.EvalSymlinks("/etc/" + name); err == nil {
			shown = append(shown, jail.Bind{Src: real, Dst: "/etc/" + name, Optional: true})
		}
	}
	shown, err := s.WithMounts(shown, cfg, p)
	if err != nil {
		return jail.Spec{}, err
	}
	own := []jail.Bind{
		{Src: base + "/user-data", Dst: files.UserData, List: true},
		{Src: base + "/user-data/workspace", Dst: files.Workspace, Write: true},
		{Src: base + "/user-data/uploads", Dst: files.Uploads, Write: !p.UploadsReadOnly},
		{Src: base + "/user-data/outputs", Dst: files.Outputs, Write: true},
		{Src: base + "/sandbox/home", Dst: jail.Home, Write: true},
		{Src: base + "/sandbox/tmp", Dst: plainTmp, Write: true},
	}
	if p.Project.Dir != "" {
		own = append(own, jail.Bind{Src: p.Project.Dir, Dst: files.Project, Write: !p.Project.ReadOnly})
	}
	cut := pieces{room: maxPieces}
	for i, b := range shown {
		cut.secrets = s.Secrets
		if i < len(s.Binds) {
			cut.secrets = slices.Concat(s.Secrets, s.Hidden)
		}
		if err := cut.add(b); err != nil {
			return jail.Spec{}, fmt.Errorf("show %s: %w", b.Dst, err)
		}
	}
	if len(cut.left) > 0 {
		cfg.Log.Warn("some folders are hidden from commands: too many private files in them",
			"hidden", cut.left)
	}
	return jail.Spec{
		Plain: true, Binds: append(cut.binds, own...), Limits: ns.InnerLimits(p.Limits),
		Strict: cfg.Strict, Fail: cfg.TestOnly.FailStep, FailErrno: cfg.TestOnly.FailErrno,
	}, nil
}

// maxPieces limits the size of folder pieces in the message to a new sandbox, in bytes.
const maxPieces = 80 << 10

// pieces collects the visible parts of folders with secrets.
type pieces struct {
	secrets []string
	room    int
	binds   []jail.Bind
	left    []string // folders that would take too many pieces
}

// add splits a folder into the parts other than its secrets. Their names can still be listed, unless a folder below is
// secret, since list rights apply recursively.
func (p *pieces) add(b jail.Bind) error {
	var inside []string
	for _, secret := range p.secrets {
		if files.Under(b.Src, secret) {
			inside = append(inside, secret)
		}
	}
	if len(inside) == 0 {
		p.binds = append(p.binds, b)
		return nil
	}
	entries, err := os.ReadDir(b.Src)
	if errors.Is(err, fs.ErrPermission) {
		return nil // commands could not read it either
	}
	if err != nil {
		return err
	}
	need := len(entries) * (2*len(b.Src) + 100)
	if need > p.room {
		p.left = append(p.left, b.Src)
		return nil
	}
	p.room -= need
	if !slices.ContainsFunc(inside, isFolder) {
		p.binds = append(p.binds, jail.Bind{Src: b.Src, Dst: b.Dst, List: true, Optional: true})
	}
	for _, e := range entries {
		piece := jail.Bind{Src: filepath.Join(b.Src, e.Name()), Dst: b.Dst + "/" + e.Name(), Write: b.Write,
			Optional: true}
		if e.Type()&fs.ModeSymlink != 0 || slices.Contains(p.secrets, piece.Src) {
			continue // links have no rights of their own
		}
		if err := p.add(piece); err != nil {
			return err
		}
	}
	return nil
}

func isFolder(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.IsDir()
}

// temps counts the users of a thread's temporary folder, which is created for the first sandbox and removed with the
// last.
type temps struct {
	mu   sync.Mutex
	used map[string]int // guarded by mu; number of users
}

// useTmp creates the temporary folder, to be removed with the box.
func (l *provider) useTmp(base string, at *ns.Launch) error {
	l.temps.mu.Lock()
	defer l.temps.mu.Unlock()
	if l.temps.used == nil {
		l.temps.used = map[string]int{}
	}
	dir := filepath.Join(base, "sandbox", "tmp")
	if l.temps.used[base] == 0 {
		if err := freshTmp(dir, at.Owner); err != nil {
			return err
		}
	}
	l.temps.used[base]++
	release := at.Release
	at.Release = func() {
		l.temps.mu.Lock()
		defer l.temps.mu.Unlock()
		if l.temps.used[base]--; l.temps.used[base] == 0 {
			delete(l.temps.used, base)
			if err := removeTmp(dir); err != nil {
				l.Config.Log.Warn("couldn't remove temporary files of a sandbox", "error", err)
			}
		}
		release()
	}
	return nil
}

// removeTmp removes files left by commands, which may have removed permissions; the server may not be root.
func removeTmp(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	return errors.Join(files.Loosen(dir), os.RemoveAll(dir))
}

// freshTmp creates an empty temporary folder. Its parent belongs to the server, so commands can't replace it with a
// link.
func freshTmp(dir string, owner int) error {
	err := removeTmp(dir)
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err == nil && owner >= 0 {
		err = os.Lchown(dir, owner, owner)
	}
	if err != nil {
		return fmt.Errorf("make temporary folder: %w", err)
	}
	return nil
}

// errShared means that others may use a folder already.
var errShared = errors.New("the folder belongs to a group that may use it")

// openWay lets the threads' users traverse the folders above their own without listing them. Only they are in the
// permitted group.
func (l *provider) openWay(base string, project sandbox.Bind) error {
	root := l.Root()
	run := filepath.Join(root, "run") // missing if the build doesn't embed the sandbox program
	dirs := []string{root, run, filepath.Dir(base), base, filepath.Join(base, "sandbox")}
	if above := l.Above(); above != root {
		dirs = append(dirs, above)
	}
	for _, m := range l.Config.Dirs.Mounts {
		real, err := filepath.EvalSymlinks(m.Dir)
		if err != nil || !files.Under(root, real) {
			continue
		}
		for real != root {
			dirs = append(dirs, real)
			real = filepath.Dir(real)
		}
	}
	if project.Dir != "" { // its own folder is open to everyone
		data := filepath.Dir(project.Dir)
		dirs = append(dirs, data, filepath.Dir(data), filepath.Dir(filepath.Dir(data)))
	}
	for _, dir := range dirs {
		var st unix.Stat_t
		if err := unix.Lstat(dir, &st); err == unix.ENOENT && dir == run {
			continue
		} else if err != nil {
			return fmt.Errorf("open path to thread: %w", &fs.PathError{Op: "lstat", Path: dir, Err: err})
		}
		mode := fs.FileMode(st.Mode & 0o777)
		switch {
		case mode&0o001 != 0, int(st.Gid) == l.group && mode&0o010 != 0, l.Users.Has(int(st.Uid)):
			continue
		case int(st.Gid) != l.group && mode&0o070 != 0:
			return &sandbox.InitError{Step: "sources", Err: unix.EACCES, Detail: fmt.Sprintf("%s: %v", dir, errShared)}
		}
		if err := errors.Join(os.Lchown(dir, -1, l.group), os.Chmod(dir, mode|0o010)); err != nil {
			return fmt.Errorf("open path to thread: %w", err)
		}
	}
	return nil
}
