package ns

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fawn/sandbox"
	"fawn/sandbox/jail"
)

// startTime limits the start of a sandbox, which takes milliseconds, and seconds where many start on a busy machine.
const startTime = 30 * time.Second

// Box is a running sandbox in its own namespaces.
type Box struct {
	first  *os.Process  // process 1, or the keeper
	join   func() error // for the end of first and of what it writes to stderr
	conn   *net.UnixConn
	shell  string
	limits jail.Limits
	pids   int64 // process limit of the policy
	shared bool  // the system also counts the user's other processes
	spare  func() int64
	roots  []string // folders of the thread on the host
	owner  int      // user id of commands on the host, -1 for that of the server
	group  *Cgroup
	about  []string
	stderr *LastBytes
	proxy  net.Listener
	// killTime limits the supervisor's time to end a command.
	killTime time.Duration
	line     *os.File       // closing it ends the keeper; nil with namespaces
	copied   error          // why no launcher started the first process; nil for the keeper
	work     sync.WaitGroup // receiver and proxy

	dead   chan struct{} // closed when the supervisor no longer answers
	over   chan struct{} // closed when no process is left and everything is released
	mu     sync.Mutex
	late   *time.Timer                // guarded by mu
	next   int                        // guarded by mu
	waiter map[int]chan *jail.Message // guarded by mu
	calls  map[int]call               // guarded by mu
}

// Launch holds the parameters of a box's start besides its spec.
type Launch struct {
	Spec  jail.Spec
	Shell string
	Roots []string
	Owner int
	Group *Cgroup
	Proxy func(net.Listener)
	// KillTime limits the time to end a command; 0 means the default.
	KillTime time.Duration
	// Spare is room for processes of other sandboxes that begin after a command, where the system
	// counts them for its limit; may be nil.
	Spare   func() int64
	Release func() // called at the end, also after a failed start
	// Launchers start the first process; nil starts it by a copy of the server.
	Launchers *Launchers
}

// Launchers remembers whether launchers can start sandboxes here. Each that fails may leave an ended process behind, so
// none is started after the first failure.
type Launchers struct {
	Log    *slog.Logger
	failed atomic.Bool
}

// errLaunchers is why no launcher is started after one has failed.
var errLaunchers = errors.New("an earlier launcher failed")

// refuse notes a failure.
func (l *Launchers) refuse(err error) {
	if !l.failed.Swap(true) {
		l.Log.Warn("sandboxes start slower: the launcher failed", "err", err)
	}
}

// StartBox starts the processes and waits until commands can run. Errors match ErrInit or are those of ctx.
func StartBox(ctx context.Context, l Launch) (*Box, error) {
	b := &Box{
		shell: l.Shell, roots: l.Roots, limits: l.Spec.Limits, pids: l.Spec.Limits.Pids - l.Spec.Others,
		shared: l.Spec.Others > 0, spare: l.Spare, owner: l.Owner, group: l.Group, stderr: &LastBytes{},
		killTime: cmp.Or(l.KillTime, jail.KillTime),
		dead:     make(chan struct{}), over: make(chan struct{}), waiter: map[int]chan *jail.Message{},
		calls: map[int]call{},
	}
	if err := b.spawn(l.Spec, l.Launchers); err != nil {
		l.Release()
		return nil, err
	}
	err := b.handshake(ctx, l)
	if err == nil {
		b.work.Go(b.receive)
	} else {
		close(b.dead)
	}
	go func() {
		// Process 1 exits last. Its status adds nothing to its last message.
		err := b.join()
		if b.line != nil {
			b.dismissed(err, l)
		}
		if b.proxy != nil {
			_ = b.proxy.Close()
		}
		_ = b.conn.Close()
		b.work.Wait()
		if b.group != nil {
			b.group.remove()
		}
		l.Release()
		close(b.over)
	}()
	if err != nil {
		b.Stop()
		if init := new(sandbox.InitError); errors.As(err, &init) && init.Detail == "" {
			init.Detail = b.stderr.String()
		}
		return nil, err
	}
	return b, nil
}

// spawn creates the namespaces with their first process.
func (b *Box) spawn(spec jail.Spec, by *Launchers) error {
	switch {
	case spec.Plain || by == nil:
	case by.failed.Load():
		b.copied = errLaunchers
	default:
		if b.copied = b.launch(spec); b.copied == nil {
			return nil
		}
		by.refuse(b.copied)
	}
	return b.fork(spec)
}

// fork starts the first process itself. With users of its own that copies the page tables of the server, and its
// memory as either goes on.
func (b *Box) fork(spec jail.Spec) error {
	inside, err := b.connect()
	if err != nil {
		return &sandbox.InitError{Step: "socket", Err: err}
	}
	defer inside.Close()
	cmd := exec.Command(spec.Init)
	cmd.Args = []string{jail.RoleSetup}
	cmd.Env = jail.SetupEnv()
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{inside}
	cmd.Stderr = b.stderr
	cmd.SysProcAttr = b.attributes(spec)
	if spec.Plain {
		listening, err := b.keep(cmd, spec)
		if err != nil {
			return errors.Join(&sandbox.InitError{Step: "socket", Err: err}, b.conn.Close())
		}
		defer listening.Close()
	}
	if err := cmd.Start(); err != nil {
		if b.line != nil {
			_ = b.line.Close()
		}
		return errors.Join(spawnError(err, spec, b.owner), b.conn.Close())
	}
	b.first, b.join = cmd.Process, cmd.Wait
	return nil
}

// connect opens the socket to the first process and returns its end, which the caller closes.
func (b *Box) connect() (inside *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	inside = os.NewFile(uintptr(pair[1]), "control")
	outside := os.NewFile(uintptr(pair[0]), "control")
	conn, err := net.FileConn(outside)
	if err = errors.Join(err, outside.Close()); err != nil {
		return nil, errors.Join(err, inside.Close())
	}
	var ok bool
	if b.conn, ok = conn.(*net.UnixConn); !ok {
		return nil, errors.Join(unix.EPROTOTYPE, conn.Close(), inside.Close())
	}
	return inside, nil
}

// attributes returns the namespaces and users of the first process.
func (b *Box) attributes(spec jail.Spec) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{
		Setsid: true,
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS |
			unix.CLONE_NEWCGROUP,
	}
	if spec.Loopback {
		a.Cloneflags |= unix.CLONE_NEWNET
	}
	if b.group != nil {
		a.UseCgroupFD, a.CgroupFD = true, b.group.fd
	}
	mapUsers(a, b.owner)
	return a
}

// mapUsers: root maps itself for the setup, and commands to a user of their
// own: the limit of processes does not hold for root. Another user can map only
// itself, and then needs ambient capabilities, which others than root lose when
// a program starts.
func mapUsers(a *syscall.SysProcAttr, owner int) {
	if owner >= 0 {
		ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1},
			{ContainerID: jail.UID, HostID: owner, Size: 1}}
		a.UidMappings, a.GidMappings, a.GidMappingsEnableSetgroups = ids, ids, true
		return
	}
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: jail.UID, HostID: os.Getuid(), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: jail.UID, HostID: os.Getgid(), Size: 1}}
	a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_RESOURCE,
		unix.CAP_DAC_OVERRIDE, unix.CAP_SYS_CHROOT}
}

// spawnError finds the part of the start that was denied, since Go reports only the error number: it creates just a
// user namespace.
func spawnError(err error, spec jail.Spec, owner int) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return &sandbox.InitError{Step: "clone", Err: err, Detail: err.Error()}
	}
	for _, trial := range []struct {
		step string
		attr *syscall.SysProcAttr
	}{
		{"program", &syscall.SysProcAttr{}},
		{"clone", &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}},
		{"uid_map", func() *syscall.SysProcAttr {
			a := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
			mapUsers(a, owner)
			return a
		}()},
	} {
		if spec.Plain && trial.attr.Cloneflags != 0 {
			break
		}
		cmd := exec.Command(spec.Init)
		cmd.Args = []string{jail.RoleVersion}
		cmd.Env = []string{}
		cmd.SysProcAttr = trial.attr
		if e := cmd.Start(); e != nil {
			return &sandbox.InitError{Step: trial.step, Err: errno, Detail: e.Error()}
		}
		// Only the start matters.
		_ = cmd.Wait()
	}
	return &sandbox.InitError{Step: "clone", Err: errno, Detail: err.Error()}
}

// handshake sends the spec and waits until the supervisor is ready.
func (b *Box) handshake(ctx context.Context, l Launch) error {
	watching := context.AfterFunc(ctx, func() { _ = b.conn.SetDeadline(time.Now()) })
	defer watching()
	if err := b.conn.SetDeadline(time.Now().Add(startTime)); err != nil {
		return &sandbox.InitError{Step: "spec", Err: err}
	}
	text, err := json.Marshal(l.Spec)
	if err != nil {
		return &sandbox.InitError{Step: "spec", Err: err}
	}
	if len(text) > jail.MaxMessage {
		return &sandbox.InitError{Step: "spec", Err: unix.E2BIG, Detail: "too many mounts"}
	}
	if _, err := b.conn.Write(text); err != nil {
		return b.initError(ctx, "spec", err)
	}
	for {
		m, fd, err := b.read()
		if err != nil {
			return b.initError(ctx, "start", err)
		}
		switch m.Op {
		case jail.OpFail:
			return &sandbox.InitError{Step: m.Step, Err: syscall.Errno(m.Errno), Detail: m.Detail}
		case jail.OpListen:
			if err := b.listen(fd, l.Proxy); err != nil {
				return &sandbox.InitError{Step: "listener", Err: err}
			}
		case jail.OpLayers:
			b.about = m.Layers
		case jail.OpReady:
			if !watching() {
				return fmt.Errorf("start sandbox: %w", context.Cause(ctx))
			}
			return b.conn.SetDeadline(time.Time{})
		}
	}
}

func (b *Box) initError(ctx context.Context, step string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("start sandbox: %w", cause)
	}
	return &sandbox.InitError{Step: step, Err: err}
}

// listen serves the listener that setup made in the network of the sandbox.
func (b *Box) listen(fd int, serve func(net.Listener)) error {
	if fd < 0 {
		return unix.EBADF
	}
	file := os.NewFile(uintptr(fd), "listener")
	defer file.Close()
	if serve == nil {
		return nil
	}
	l, err := net.FileListener(file)
	if err != nil {
		return err
	}
	b.proxy = l
	b.work.Go(func() { serve(l) })
	return nil
}

// read returns one message and its descriptor, or -1.
func (b *Box) read() (*jail.Message, int, error) {
	buf := make([]byte, 32<<10)
	rights := make([]byte, unix.CmsgSpace(4))
	n, nr, _, _, err := b.conn.ReadMsgUnix(buf, rights)
	if err != nil {
		return nil, -1, err
	}
	fd := -1
	if nr > 0 {
		messages, err := unix.ParseSocketControlMessage(rights[:nr])
		if err != nil {
			return nil, -1, err
		}
		for _, c := range messages {
			fds, err := unix.ParseUnixRights(&c)
			if err != nil {
				return nil, -1, err
			}
			fd = fds[0]
		}
	}
	m := new(jail.Message)
	if err := json.Unmarshal(buf[:n], m); err != nil {
		return nil, fd, err
	}
	return m, fd, nil
}

// receive delivers messages to their waiters.
func (b *Box) receive() {
	defer close(b.dead)
	for {
		m, fd, err := b.read()
		if fd >= 0 {
			_ = unix.Close(fd)
		}
		if err != nil {
			// Without its answers the box is useless.
			b.end()
			return
		}
		b.mu.Lock()
		if w := b.waiter[m.ID]; w != nil {
			select {
			case w <- m:
			default:
			}
		}
		b.mu.Unlock()
	}
}

// Add notes more layers, before the box is used.
func (b *Box) Add(layers ...string) { b.about = append(b.about, layers...) }

// User returns the user id of commands on the host, -1 for that of the server.
func (b *Box) User() int { return b.owner }

// Layers implements pool.Box.
func (b *Box) Layers() []string { return slices.Clone(b.about) }

// Done implements pool.Box.
func (b *Box) Done() <-chan struct{} { return b.over }

// Stop implements pool.Box.
func (b *Box) Stop() {
	b.end()
	<-b.over
}

func (b *Box) end() {
	if b.line != nil {
		b.dismiss()
		return
	}
	// The kernel ends all processes inside with the first one, which may be gone.
	_ = b.first.Kill()
}

// LastBytes keeps the last bytes written to it.
type LastBytes struct {
	mu sync.Mutex
	b  []byte // guarded by mu
}

const lastKept = 4 << 10

// Write never fails.
func (l *LastBytes) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = append(l.b, p...)
	if len(l.b) > lastKept {
		l.b = bytes.Clone(l.b[len(l.b)-lastKept:])
	}
	return len(p), nil
}

// String returns the last bytes.
func (l *LastBytes) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.b)
}
