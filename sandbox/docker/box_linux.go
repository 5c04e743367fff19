package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fawn/sandbox"
	"fawn/sandbox/jail"
	"fawn/sandbox/ns"
	"fawn/sandbox/pool"
)

const (
	// containerTime limits the start of a container.
	containerTime = time.Minute
	// watchTime is the interval of checking on a command without a report.
	watchTime = 2 * time.Second
	// endTime limits the time a command's parent has to end it. Engines are slower than a kernel.
	endTime = 5 * time.Second
)

// box is the container of a thread.
type box struct {
	engine *engine
	launch containerLaunch
	id     string
	line   io.ReadWriteCloser // input of process 1, which exits when it closes
	about  []string

	quit context.Context // cancelled at the end of the box
	end  context.CancelFunc
	over chan struct{} // closed when no process is left and everything is released

	mu     sync.Mutex
	closed bool           // no more work is added; guarded by mu
	work   sync.WaitGroup // readers of commands and the proxy
}

// do starts a task that the box's end waits for, unless the end has begun.
func (b *box) do(work func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.work.Go(work)
	}
	return !b.closed
}

// startContainer creates a container and waits until its first process is up. It takes ownership of the launch's
// resources, even on failure.
func startContainer(ctx context.Context, eng *engine, l containerLaunch, body container) (_ *box, err error) {
	b := &box{engine: eng, launch: l, over: make(chan struct{})}
	b.quit, b.end = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			b.end()
			l.discard()
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, containerTime)
	defer cancel()
	var made struct{ Id string }
	name := "fawn-" + strings.ToLower(rand.Text()[:16])
	if err := eng.call(ctx, http.MethodPost, "/containers/create?name="+name, body, &made); err != nil {
		if engineStatus(err) == http.StatusNotFound {
			return nil, err
		}
		return nil, engineStep("create", err)
	}
	b.id = made.Id
	fail := func(step string, err error) (*box, error) {
		removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), engineTime)
		defer cancel()
		return nil, engineStep(step, errors.Join(err, eng.remove(removing, b.id)))
	}
	b.line, err = eng.hijack(ctx, "/containers/"+b.id+"/attach?stream=1&stdin=1&stdout=1&stderr=1", nil)
	if err != nil {
		return fail("attach", err)
	}
	if err := eng.call(ctx, http.MethodPost, "/containers/"+b.id+"/start", nil, nil); err != nil {
		return fail("start", errors.Join(err, b.line.Close()))
	}
	ready, said := make(chan struct{}), &ns.LastBytes{}
	gone := make(chan error, 1)
	go func() { gone <- b.listen(ready, said) }()
	select {
	case <-ready:
	case err := <-gone:
		return fail("hold", errors.Join(fmt.Errorf("it ended at once: %s", said), err, b.line.Close()))
	case <-ctx.Done():
		// Without its input the first process ends, and the reader with it.
		err := errors.Join(context.Cause(ctx), b.line.Close())
		<-gone
		return fail("hold", err)
	}
	b.about = b.inForce()
	if l.proxy != nil {
		b.do(l.proxy.serve)
	}
	go b.finish(gone)
	return b, nil
}

// listen reads messages of process 1 until it ends.
func (b *box) listen(ready chan<- struct{}, said *ns.LastBytes) error {
	var text []byte
	up := false
	return readFrames(b.line, func(_ byte, p []byte) error {
		_, _ = said.Write(p)
		if !up {
			if text = append(text, p...); strings.HasPrefix(string(text), jail.HoldReady) {
				up, text = true, nil
				close(ready)
			} else if len(text) > maxReport {
				return errFrame
			}
		}
		return nil
	})
}

// finish waits for the end of the container and releases its resources.
func (b *box) finish(gone <-chan error) {
	<-gone
	b.end()
	ctx, cancel := context.WithTimeout(context.Background(), engineTime)
	defer cancel()
	// It removes itself; make sure of it.
	if err := b.engine.remove(ctx, b.id); err != nil {
		b.launch.log.Warn("couldn't remove a container", "container", b.id, "error", err)
	}
	_ = b.line.Close()
	b.launch.closeProxy()
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.work.Wait()
	b.launch.release()
	close(b.over)
}

// inForce returns the active restrictions as reported by the engine.
func (b *box) inForce() []string {
	about, p := b.launch.about, b.launch.policy
	layers := []string{"container", "mountns", "pidns", "ipcns", "utsns", "readonly_root", "no_caps", "no_new_privs",
		"seccomp", "rlimits"}
	if p.Network == sandbox.NetworkHost {
		layers = append(layers, "DEGRADED:network-of-host")
	} else {
		layers = append(layers, "netns")
	}
	if b.launch.proxy != nil {
		layers = append(layers, "proxy")
	}
	if about.has("rootless") || about.has("userns") {
		layers = append(layers, "userns")
	} else {
		layers = append(layers, "DEGRADED:no-userns")
	}
	if b.launch.user != os.Getuid() {
		layers = append(layers, "own_uid")
	}
	for _, limit := range []struct {
		wanted, works bool
		name          string
	}{{p.Limits.Memory > 0, about.MemoryLimit, "memory"}, {p.Limits.Pids > 0, about.PidsLimit, "pids"}} {
		switch {
		case limit.wanted && limit.works:
			layers = append(layers, limit.name+"_cgroup")
		case limit.wanted:
			layers = append(layers, "DEGRADED:no-"+limit.name+"-limit")
		}
	}
	return layers
}

// Layers implements pool.Box.
func (b *box) Layers() []string { return slices.Clone(b.about) }

// Done implements pool.Box.
func (b *box) Done() <-chan struct{} { return b.over }

// Stop implements pool.Box.
func (b *box) Stop() {
	b.end()
	// The end of its input ends the first process, and the kernel all others.
	_ = b.line.Close()
	<-b.over
}

// Run runs a command. None of its processes outlives ctx, however it ends.
func (b *box) Run(ctx context.Context, j pool.Job) (pool.Exit, error) {
	r := jail.EngineRequest{Request: jail.Request{Args: []string{"", "-c", j.Command, "bash"}, Env: j.Env, Cwd: j.Cwd},
		Stdin: j.Stdin, Input: j.Stdin != nil, Filter: b.launch.filter}
	if len(j.Command) > ns.MaxArgument {
		// Bash has read everything when it closes the file.
		r.Args[2], r.Script, r.Text = ". /dev/fd/3", true, append([]byte("exec 3<&-;"), j.Command...)
	}
	r.Args = append(r.Args, j.Args...)
	// Canceling a start would leave an unattended command.
	starting, cancel := context.WithTimeout(b.quit, engineTime)
	defer cancel()
	p, err := b.exec(starting, r, j.Out, j.Errs)
	switch {
	case err != nil && b.quit.Err() != nil, engineStatus(err) == http.StatusNotFound,
		engineStatus(err) == http.StatusConflict:
		return b.lose("it ended before the command"), nil
	case errors.Is(err, sandbox.ErrRequest):
		return pool.Exit{}, err
	case err != nil:
		return pool.Exit{}, engineStep("exec", err)
	}
	watch := time.NewTicker(watchTime)
	defer watch.Stop()
	for {
		select {
		case m := <-p.report:
			return b.exit(j, m), nil
		case <-p.ended:
			return b.unreported(j, p), nil
		case <-b.quit.Done():
			return b.lose("it was stopped"), nil
		case <-watch.C:
			if !b.lives(p) {
				return b.unreported(j, p), nil
			}
		case <-ctx.Done():
			return b.kill(j, p), nil
		}
	}
}

// unreported returns the outcome of a command whose parent exited: it reported at the last moment, or was killed from
// inside.
func (b *box) unreported(j pool.Job, p *process) pool.Exit {
	select {
	case m := <-p.report:
		return b.exit(j, m)
	case <-b.quit.Done():
		return b.lose("it was stopped")
	default:
		return b.lose("its processes were tampered with")
	}
}

// lives asks the engine whether a command's parent is alive. If the engine doesn't know, it is.
func (b *box) lives(p *process) bool {
	var state struct{ Running bool }
	err := b.engine.call(b.quit, http.MethodGet, "/exec/"+p.id+"/json", nil, &state)
	return err != nil && engineStatus(err) != http.StatusNotFound || state.Running
}

// kill ends the processes of a command: through their parent, which spares other commands, or else with all others.
func (b *box) kill(j pool.Job, p *process) pool.Exit {
	if _, err := p.conn.Write([]byte{0}); err != nil {
		return b.lose("it did not end a command")
	}
	late := time.NewTimer(endTime)
	defer late.Stop()
	select {
	case m := <-p.report:
		return b.exit(j, m)
	case <-p.ended:
		return b.unreported(j, p)
	case <-b.quit.Done():
		return b.lose("it was stopped")
	case <-late.C:
		return b.lose("it did not end a command in time")
	}
}

// lose ends everything inside.
func (b *box) lose(why string) pool.Exit {
	b.Stop()
	return pool.Exit{Code: 137, Signal: "SIGKILL", Lost: why}
}

func (b *box) exit(j pool.Job, m *jail.Message) pool.Exit {
	x := m.Exit
	if x == nil || x.Tampered {
		return b.lose("a command would not end")
	}
	e := pool.Exit{
		Code: x.Code, Background: x.Background, OOM: x.OOM, Refused: x.Error,
		Usage: sandbox.Rusage{User: time.Duration(x.UserUS) * time.Microsecond,
			System: time.Duration(x.SystemUS) * time.Microsecond,
			MaxRSS: x.MaxRSS},
	}
	if x.Signal != 0 {
		if e.Signal = unix.SignalName(syscall.Signal(x.Signal)); e.Signal == "" {
			e.Signal = fmt.Sprintf("signal %d", x.Signal)
		}
	}
	switch syscall.Errno(x.Errno) {
	case unix.EAGAIN:
		e.Refused = fmt.Sprintf("the process limit of %d is reached", b.launch.policy.Limits.Pids)
	case unix.ENOENT, unix.ENOTDIR:
		e.Refused = fmt.Sprintf("there is no folder %s", j.Cwd)
	case unix.EACCES:
		e.Refused = "the working folder is closed"
	case unix.ENOEXEC:
		e.Refused = "the image has no bash"
	}
	return e
}

// Stat asks a process inside the container.
func (b *box) Stat(ctx context.Context, _ bool) (pool.Usage, error) {
	p, err := b.exec(ctx, jail.EngineRequest{Stat: true}, nopCloser{io.Discard}, nopCloser{io.Discard})
	if err != nil {
		return pool.Usage{}, err
	}
	defer p.conn.Close()
	select {
	case m := <-p.report:
		return pool.Usage{Procs: m.Procs, Mem: m.Mem, Tmp: m.Tmp, Gone: -1}, nil
	case <-p.ended:
		return pool.Usage{}, sandbox.ErrGone
	case <-ctx.Done():
		return pool.Usage{}, context.Cause(ctx)
	}
}

// Clear can't distinguish processes of earlier commands from others.
func (b *box) Clear(context.Context, time.Time) (pool.Cleared, error) { return pool.Cleared{}, nil }

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
