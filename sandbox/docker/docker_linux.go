package docker

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"fawn/sandbox"
	"fawn/sandbox/files"
	"fawn/sandbox/jail"
	"fawn/sandbox/ns"
	"fawn/sandbox/pool"
)

// defaultImage is small and has bash.
const defaultImage = "debian:stable-slim"

// Labels of containers: their data folder and server process.
const (
	labelOwner  = "fawn.owner"
	labelServer = "fawn.server"
	labelThread = "fawn.thread"
)

// provider keeps each thread in a container of an engine. It uses its own program
// in there, never one of the image, for all but the commands themselves. It
// shares users, secrets and tests with namespaces.
type provider struct {
	*ns.Base

	mu     sync.Mutex
	engine *engine // guarded by mu; nil before the first probe that found one
	owner  string  // guarded by mu
}

// New returns the provider. Errors match sandbox.ErrConfig.
func New(cfg sandbox.Config) (sandbox.Provider, error) {
	if strings.ContainsAny(cfg.Engine.Image, " ?#%\\\n") {
		return nil, fmt.Errorf("%w: image %q", sandbox.ErrConfig, cfg.Engine.Image)
	}
	if dir := cfg.Engine.HostDataDir; dir != "" && !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("%w: host_data_dir %q is not an absolute path", sandbox.ErrConfig, dir)
	}
	d := &provider{}
	d.Base = ns.NewBase(cfg, sandbox.ProviderDocker, "container", d.start, d.probe)
	d.Pool.Env = func(p sandbox.Policy) map[string]string { return ns.CommandEnvironment(p.Network) }
	return d, nil
}

func (d *provider) image() string { return cmp.Or(d.Config.Engine.Image, defaultImage) }

// Close also closes the connections to the engine.
func (d *provider) Close(ctx context.Context) error {
	err := d.Base.Close(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.engine != nil {
		d.engine.close()
	}
	return err
}

// start returns the starter of the pool.
func (d *provider) start(ctx context.Context, thread string, p sandbox.Policy) (pool.Box, error) {
	b, err := d.startBox(ctx, thread, p)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// errEngine means that a step of the engine failed; the engine's message is in the detail, since it may contain
// paths.
var errEngine = errors.New("the container engine refused")

// engineStep wraps the error of a step that the engine refused.
func engineStep(step string, err error) error {
	return &sandbox.InitError{Step: step, Err: errEngine, Detail: err.Error()}
}

func (d *provider) startBox(ctx context.Context, thread string, p sandbox.Policy) (*box, error) {
	sys, init := d.Found()
	d.mu.Lock()
	eng, owner := d.engine, d.owner
	d.mu.Unlock()
	if eng == nil {
		return nil, &sandbox.UnavailableError{Reason: "no_engine", Hint: d.hint("no_engine")}
	}
	if err := ns.CreateFolders(d.Config.Dirs, thread); err != nil {
		return nil, err
	}
	l := containerLaunch{
		image: d.image(), init: init, thread: thread, policy: p, about: eng.about, user: os.Getuid(),
		group:  os.Getgid(),
		labels: map[string]string{labelOwner: owner, labelServer: serverMark(os.Getpid()), labelThread: thread},
		host:   d.hostPath, log: d.Config.Log, release: func() {},
	}
	if d.Users != nil {
		uid, release, err := d.Users.Claim(ctx, d.Config.Dirs, thread)
		if err != nil {
			return nil, err
		}
		l.user, l.group, l.release = uid, uid, release
	}
	var err error
	if l.proxy, err = d.openProxy(thread, p); err == nil {
		l.spec, err = sys.Spec(*d.Config, thread, p)
	}
	if err == nil {
		l.filter, err = ns.NewFilter(ns.FilterOptions{Allow: p.SeccompAllow, UnnamedFiles: true})
	}
	if err == nil {
		l.empty, err = emptyFolder(filepath.Join(d.Config.Dirs.Root, "run", "empty"))
	}
	var body container
	if err == nil {
		body, err = l.container()
	}
	if err != nil {
		l.discard()
		return nil, err
	}
	b, err := startContainer(ctx, eng, l, body)
	if engineStatus(err) == http.StatusNotFound {
		return nil, &sandbox.UnavailableError{Reason: "no_image", Hint: d.hint("no_image")}
	}
	return b, err
}

// emptyFolder creates a folder without any permissions.
func emptyFolder(dir string) (string, error) {
	if err := os.Mkdir(dir, 0); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make empty folder: %w", err)
	}
	return dir, nil
}

// openProxy creates the socket through which a container reaches the proxy.
func (d *provider) openProxy(thread string, p sandbox.Policy) (*proxySocket, error) {
	if p.Network != sandbox.NetworkProxy || d.Config.Proxy == nil {
		return nil, nil
	}
	s := &proxySocket{path: filepath.Join(d.Config.Dirs.Root, "run", "egress-"+strings.ToLower(rand.Text()[:12]))}
	l, err := listenUnix(s.path)
	if err != nil {
		return nil, &sandbox.InitError{Step: "proxy", Err: err}
	}
	s.listener = l
	s.serve = func() { d.Config.Proxy(thread, l) }
	return s, nil
}

// proxySocket is the proxy's socket for one container.
type proxySocket struct {
	path     string
	listener net.Listener
	serve    func()
}

// listenUnix creates a socket that a container's user may connect to, in a folder accessible on the host to the
// server's user only. Socket paths are short, so it is named through its open folder.
func listenUnix(path string) (net.Listener, error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	at := fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path))
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: at, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // the socket's path has changed
	if err := os.Chmod(path, 0o666); err != nil {
		return nil, errors.Join(err, l.Close(), os.Remove(path))
	}
	return l, nil
}

// hostPath returns the engine's path, which differs if the server is in a container.
func (d *provider) hostPath(path string) (string, error) {
	path, err := filepath.EvalSymlinks(path)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", fmt.Errorf("show folder in container: %w", err)
	}
	if shared := d.Config.Dirs.Shared; d.Config.Engine.HostDataDir == "" || shared != "" && files.Under(shared, path) {
		return path, nil
	}
	root := d.Root()
	if path != root && !files.Under(root, path) {
		return "", fmt.Errorf("%w: %s is not in the data folder, so the engine cannot find it", sandbox.ErrConfig, path)
	}
	return filepath.Join(d.Config.Engine.HostDataDir, path[len(root):]), nil
}

// ownerMark returns the name under which the containers of a data folder are known.
func ownerMark(dir string) (string, error) {
	file := filepath.Join(dir, "engine-owner")
	b, err := os.ReadFile(file)
	if err == nil && len(b) == 32 {
		return string(b), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		return "", err
	}
	mark := hex.EncodeToString(id)
	temp, err := os.CreateTemp(dir, "engine-owner-*.tmp")
	if err != nil {
		return "", err
	}
	_, err = temp.WriteString(mark)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), file)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(temp.Name()))
	}
	return mark, nil
}

// serverMark identifies a process by PID and start time, so that a reused PID isn't mistaken for it. It is empty if
// there is no such process.
func serverMark(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	// The name of the program, in brackets, may hold anything.
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(f) < 20 || f[0] == "Z" {
		return ""
	}
	return strconv.Itoa(pid) + "-" + f[19]
}

// reap ends the containers of servers that are gone. Others with this data folder may belong to a running server.
func (d *provider) reap(ctx context.Context, eng *engine, owner string) {
	var all []struct {
		Id     string
		Labels map[string]string
	}
	filter := `{"label":["` + labelOwner + "=" + owner + `"]}`
	if err := eng.call(ctx, http.MethodGet, "/containers/json?all=1&filters="+urlEscape(filter),
		nil, &all); err != nil {
		d.Config.Log.Warn("couldn't list containers left by an earlier server", "error", err)
		return
	}
	for _, c := range all {
		mark := c.Labels[labelServer]
		pid, _, _ := strings.Cut(mark, "-")
		if n, err := strconv.Atoi(pid); err == nil && serverMark(n) == mark {
			continue
		}
		if err := eng.remove(ctx, c.Id); err != nil {
			d.Config.Log.Warn("couldn't remove a container left by an earlier server", "container", c.Id, "error", err)
			continue
		}
		d.Config.Log.Info("removed a container left by an earlier server", "container", c.Id,
			"thread", c.Labels[labelThread])
	}
	// Sockets of the same servers.
	names, err := filepath.Glob(filepath.Join(d.Config.Dirs.Root, "run", "egress-*"))
	if err != nil {
		return
	}
	for _, name := range names {
		if conn, err := (&net.Dialer{}).DialContext(ctx, "unix", name); err == nil {
			_ = conn.Close()
		} else if errors.Is(err, unix.ECONNREFUSED) {
			_ = os.Remove(name)
		}
	}
}

// mounts of a container in the order in which they are made.
func (l *containerLaunch) ownMounts() []jail.Bind {
	own := []jail.Bind{{Src: l.init, Dst: jail.EngineHold}, {Src: l.init, Dst: jail.EngineCall}}
	if l.proxy != nil {
		own = append(own, jail.Bind{Src: l.proxy.path, Dst: jail.EngineProxy})
	}
	return own
}
