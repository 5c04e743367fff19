//go:build unix

package host

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"fawn/sandbox"
	"fawn/sandbox/files"
	"fawn/sandbox/pool"
)

// Host runs commands as the server's user without any protection. It is for owners who confirm it twice.
type Host struct {
	Config *sandbox.Config
	Root   string // resolved path of the data
	Pool   *pool.Pool
}

// New returns the provider.
func New(cfg sandbox.Config) (sandbox.Provider, error) {
	h := &Host{Config: &cfg}
	h.Pool = pool.New(&cfg, sandbox.ProviderHost, h.start)
	h.Pool.Paths = h.paths
	h.Pool.Env = func(sandbox.Policy) map[string]string {
		return map[string]string{
			"PATH": os.Getenv("PATH"), "HOME": Home, "USER": os.Getenv("USER"), "SHELL": "/bin/bash",
			"LANG": "C.UTF-8", "TERM": "dumb", "PYTHONUNBUFFERED": "1",
		}
	}
	return h, nil
}

// Home is translated to the home of the thread like other virtual paths.
const Home = "/home/agent"

// Name implements sandbox.Provider.
func (h *Host) Name() string { return sandbox.ProviderHost }

// Probe checks for bash and for a data folder whose path is safe in a command.
func (h *Host) Probe(context.Context) sandbox.Report {
	r := sandbox.Report{Provider: sandbox.ProviderHost,
		Degraded: []string{"no isolation: commands can do whatever the server's user can"}}
	if err := h.Resolve(); err != nil {
		r.Reason, r.Detail = "setup", err.Error()
		return r
	}
	if _, err := exec.LookPath("bash"); err != nil {
		r.Reason, r.Hint = "no_bash", "install bash"
		return r
	}
	if !pool.PlainPath(h.Root) || !pool.PlainPath(h.Above()) {
		r.Reason = "data_path"
		r.Hint = "the path of the data folder has characters that mean something to a shell: move it"
		return r
	}
	r.OK = true
	return r
}

// Resolve creates the data folder and resolves its path.
func (h *Host) Resolve() error {
	if err := os.MkdirAll(h.Config.Dirs.Root, 0o700); err != nil {
		return err
	}
	root, err := filepath.EvalSymlinks(h.Config.Dirs.Root)
	if err == nil {
		root, err = filepath.Abs(root)
	}
	h.Root = root
	return err
}

// Above returns the folder that holds threads/.
func (h *Host) Above() string { return cmp.Or(h.Config.Dirs.Shared, h.Root) }

func (h *Host) paths(thread string) sandbox.PathMapper {
	return pool.NewTranslator(h.FolderMap(thread, nil))
}

// FolderMap returns the folders with translated paths, plus more.
func (h *Host) FolderMap(thread string, more map[string]string) map[string]string {
	base := filepath.Join(h.Above(), "threads", thread)
	folders := map[string]string{
		files.UserData: filepath.Join(base, "user-data"),
		Home:           filepath.Join(base, "sandbox", "home"),
	}
	if dir, _, err := h.Config.Dirs.ProjectDir(thread); err == nil && pool.PlainPath(dir) {
		folders[files.Project] = dir
	}
	maps.Copy(folders, more)
	for _, m := range h.Config.Dirs.Mounts {
		if dir, err := filepath.Abs(m.Dir); err == nil && pool.PlainPath(dir) {
			folders[m.Path] = dir
		}
	}
	return folders
}

// Acquire implements sandbox.Provider.
func (h *Host) Acquire(_ context.Context, thread sandbox.ThreadRef, policy sandbox.Policy) (sandbox.Sandbox, error) {
	m, err := h.Pool.Acquire(thread, policy)
	if err != nil {
		return nil, err
	}
	home := filepath.Join(h.Above(), "threads", thread.ID, "sandbox", "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, files.OpError("make home of thread", thread.ID, err)
	}
	return m, nil
}

// Destroy implements sandbox.Provider.
func (h *Host) Destroy(_ context.Context, thread sandbox.ThreadRef, reason string) error {
	h.Pool.Destroy(thread.ID, reason)
	return nil
}

// Restart implements sandbox.Provider.
func (h *Host) Restart(_ context.Context, thread sandbox.ThreadRef, reason string) (bool, error) {
	return h.Pool.Restart(thread.ID, reason)
}

// Close implements sandbox.Provider.
func (h *Host) Close(context.Context) error {
	h.Pool.Close()
	return nil
}

func (h *Host) start(context.Context, string, sandbox.Policy) (pool.Box, error) {
	return NewBox([]string{"DEGRADED:no-isolation"}), nil
}

// Box remembers the process groups of commands, which may continue in the background.
type Box struct {
	mu     sync.Mutex
	groups map[int]bool // groups with a running command; guarded by mu
	ended  bool         // guarded by mu
	over   chan struct{}
	about  []string
	prefix []string // program and arguments that start the following program
}

// NewBox returns a box with those layers. The prefix, if any, is put before each command.
func NewBox(layers []string, prefix ...string) *Box {
	return &Box{groups: map[int]bool{}, over: make(chan struct{}), about: layers, prefix: prefix}
}

// Layers implements pool.Box.
func (b *Box) Layers() []string { return b.about }

// Done implements pool.Box.
func (b *Box) Done() <-chan struct{} { return b.over }

// Stat implements pool.Box.
func (b *Box) Stat(context.Context, bool) (pool.Usage, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for g := range b.groups {
		if errors.Is(syscall.Kill(-g, 0), syscall.ESRCH) {
			delete(b.groups, g)
		}
	}
	return pool.Usage{Procs: len(b.groups), Gone: -1}, nil
}

// Clear ends the process groups of earlier commands. Which of them writes to the disk is unknown.
func (b *Box) Clear(context.Context, time.Time) (c pool.Cleared, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, running := range b.groups {
		if running {
			return pool.Cleared{}, nil
		}
	}
	for g, running := range b.groups {
		if !running {
			endGroup(g)
			delete(b.groups, g)
			c.Procs++
		}
	}
	return c, nil
}

// Stop implements pool.Box.
func (b *Box) Stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for g := range b.groups {
		endGroup(g)
	}
	if !b.ended {
		b.ended = true
		close(b.over)
	}
}

// endGroup ends a group that may be gone. Processes that left it live on, for
// here nothing holds them.
func endGroup(g int) { _ = syscall.Kill(-g, syscall.SIGKILL) }

// Run implements pool.Box.
func (b *Box) Run(ctx context.Context, j pool.Job) (pool.Exit, error) {
	defer j.Close()
	args := append(append(append([]string{}, b.prefix...), "bash", "-c", j.Command, "bash"), j.Args...)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = j.Cwd, j.Env
	if j.Stdin != nil {
		cmd.Stdin = bytes.NewReader(j.Stdin)
	}
	cmd.Stdout, cmd.Stderr = j.Out, j.Errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// A background job may hold the input open.
	cmd.WaitDelay = pool.LastWords
	b.mu.Lock()
	if b.ended {
		b.mu.Unlock()
		return pool.Exit{}, sandbox.ErrGone
	}
	err := cmd.Start()
	if err == nil {
		b.groups[cmd.Process.Pid] = true
	}
	b.mu.Unlock()
	if err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return pool.Exit{Code: 126, Refused: err.Error()}, nil
	}
	if err := j.Close(); err != nil {
		return pool.Exit{}, fmt.Errorf("close output: %w", err)
	}
	defer context.AfterFunc(ctx, func() { endGroup(cmd.Process.Pid) })()
	if err := cmd.Wait(); err != nil && cmd.ProcessState == nil {
		return pool.Exit{}, fmt.Errorf("wait for command: %w", err)
	}
	e := pool.Exit{Code: cmd.ProcessState.ExitCode(),
		Usage: sandbox.Rusage{User: cmd.ProcessState.UserTime(), System: cmd.ProcessState.SystemTime()}}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.Code, e.Signal = 128+int(status.Signal()), signalName(status.Signal())
	}
	if b.gone() {
		e.Lost = "it was stopped"
	}
	switch {
	case ctx.Err() != nil || errors.Is(syscall.Kill(-cmd.Process.Pid, 0), syscall.ESRCH):
		b.mu.Lock()
		delete(b.groups, cmd.Process.Pid)
		b.mu.Unlock()
	default:
		b.mu.Lock()
		b.groups[cmd.Process.Pid] = false
		b.mu.Unlock()
		e.Background = 1
	}
	return e, nil
}

func (b *Box) gone() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended
}

func signalName(s syscall.Signal) string {
	switch s {
	case syscall.SIGKILL:
		return "SIGKILL"
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGSEGV:
		return "SIGSEGV"
	}
	return fmt.Sprintf("signal %d", int(s))
}
