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

// plainSpec describes the sandbox of the thread whose folder is base. Rules
// cannot take anything away below a folder that they allow, so folders that
// hold secrets are allowed piece by piece.
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

// maxPieces bounds what the pieces of folders take of the message to a new sandbox, in bytes.
const maxPieces = 80 << 10

// pieces collects what may be seen of folders in which secrets lie.
type pieces struct {
	secrets []string
	room    int
	binds   []jail.Bind
	left    []string // folders that would take too many pieces
}

// add splits a folder into what lies beside the secrets in it. Names in it can still be
// listed, unless a folder below it is secret: the right to list holds for all below.
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
		return nil // commands could not either
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
			continue // a link leads to what is allowed or not by itself
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

// temps counts who uses the temporary folder of a thread: it is new for the
// first sandbox and goes with the last.
type temps struct {
	mu   sync.Mutex
	used map[string]int // guarded by mu
}

// useTmp makes the temporary folder, to be removed when the box is over.
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

// removeTmp removes what commands left. They may have closed folders to
// themselves, and to a server that is not root.
func removeTmp(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	return errors.Join(files.Loosen(dir), os.RemoveAll(dir))
}

// freshTmp makes an empty temporary folder. What lies above it belongs to the
// server, so commands cannot put a link in its place.
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

// errShared is a folder that others may use already.
var errShared = errors.New("the folder belongs to a group that may use it")

// openWay lets the users of threads pass through the folders above their own,
// without seeing what is in there. Only they are in the group that may.
func (l *provider) openWay(base string, project sandbox.Bind) error {
	root := l.Root()
	run := filepath.Join(root, "run") // is not there if the build did not embed what sandboxes start
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
	if project.Dir != "" { // its own folder is open to all
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
