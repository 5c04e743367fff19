//go:build unix

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fawn/sandbox/files"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
)

// host runs commands as the user of the server and keeps them from nothing. It
// is for owners who say so twice.
type host struct {
	cfg  *Config
	root string // of the data, without links
	pool *pool
}

func newHost(cfg Config) (Provider, error) {
	h := &host{cfg: &cfg}
	h.pool = newPool(&cfg, ProviderHost, h.start)
	h.pool.paths = h.paths
	h.pool.env = func(Policy) map[string]string {
		return map[string]string{
			"PATH": os.Getenv("PATH"), "HOME": hostHome, "USER": os.Getenv("USER"), "SHELL": "/bin/bash",
			"LANG": "C.UTF-8", "TERM": "dumb", "PYTHONUNBUFFERED": "1",
		}
	}
	return h, nil
}

// hostHome is translated to the home of the thread like other virtual paths.
const hostHome = "/home/agent"

func (h *host) Name() string { return ProviderHost }

// Probe looks for bash and for a data folder whose path can stand in a command.
func (h *host) Probe(context.Context) Report {
	r := Report{Provider: ProviderHost, Degraded: []string{"no isolation: commands can do whatever the server's user can"}}
	if err := h.resolve(); err != nil {
		r.Reason, r.Detail = "setup", err.Error()
		return r
	}
	if _, err := exec.LookPath("bash"); err != nil {
		r.Reason, r.Hint = "no_bash", "install bash"
		return r
	}
	if !plainPath(h.root) {
		r.Reason, r.Hint = "data_path", "the path of the data folder has characters that mean something to a shell: move it"
		return r
	}
	r.OK = true
	return r
}

func (h *host) resolve() error {
	if err := os.MkdirAll(h.cfg.Dirs.Root, 0o700); err != nil {
		return err
	}
	root, err := filepath.EvalSymlinks(h.cfg.Dirs.Root)
	if err == nil {
		root, err = filepath.Abs(root)
	}
	h.root = root
	return err
}

func (h *host) paths(thread string) PathMapper { return newTranslator(h.folderMap(thread, nil)) }

// folderMap are the folders whose paths are translated, with more of them.
func (h *host) folderMap(thread string, more map[string]string) map[string]string {
	base := filepath.Join(h.root, "threads", thread)
	folders := map[string]string{
		files.UserData: filepath.Join(base, "user-data"),
		hostHome:       filepath.Join(base, "sandbox", "home"),
	}
	maps.Copy(folders, more)
	for _, m := range h.cfg.Dirs.Mounts {
		if dir, err := filepath.Abs(m.Dir); err == nil && plainPath(dir) {
			folders[m.Path] = dir
		}
	}
	return folders
}

func (h *host) Acquire(_ context.Context, thread ThreadRef, policy Policy) (Sandbox, error) {
	m, err := h.pool.acquire(thread, policy)
	if err != nil {
		return nil, err
	}
	home := filepath.Join(h.root, "threads", thread.ID, "sandbox", "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, files.OpError("make home of thread", thread.ID, err)
	}
	return m, nil
}

func (h *host) Destroy(_ context.Context, thread ThreadRef, reason string) error {
	h.pool.destroy(thread.ID, reason)
	return nil
}

func (h *host) Restart(_ context.Context, thread ThreadRef, reason string) (bool, error) {
	return h.pool.restart(thread.ID, reason)
}

func (h *host) Close(context.Context) error {
	h.pool.close()
	return nil
}

func (h *host) start(context.Context, string, Policy) (box, error) {
	return &hostBox{groups: map[int]bool{}, over: make(chan struct{}), about: []string{"DEGRADED:no-isolation"}}, nil
}

// hostBox remembers the process groups of commands, which may go on in the
// background.
type hostBox struct {
	mu     sync.Mutex
	groups map[int]bool // whether their command runs; guarded by mu
	ended  bool         // guarded by mu
	over   chan struct{}
	about  []string
	prefix []string // starts the program that follows it
}

func (b *hostBox) layers() []string { return b.about }

func (b *hostBox) done() <-chan struct{} { return b.over }

func (b *hostBox) stat(context.Context, bool) (usage, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for g := range b.groups {
		if errors.Is(syscall.Kill(-g, 0), syscall.ESRCH) {
			delete(b.groups, g)
		}
	}
	return usage{procs: len(b.groups), gone: -1}, nil
}

// clear ends the groups of earlier commands. Who of them writes to the disk is not known.
func (b *hostBox) clear(_ context.Context, disk bool) (c cleared, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, running := range b.groups {
		if disk && running {
			return cleared{}, nil
		}
	}
	for g, running := range b.groups {
		if !running {
			endGroup(g)
			delete(b.groups, g)
			c.procs++
		}
	}
	return c, nil
}

func (b *hostBox) stop() {
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

func (b *hostBox) run(ctx context.Context, j job) (exit, error) {
	defer j.close()
	args := append(append(append([]string{}, b.prefix...), "bash", "-c", j.command, "bash"), j.args...)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = j.cwd, j.env
	if j.stdin != nil {
		cmd.Stdin = bytes.NewReader(j.stdin)
	}
	cmd.Stdout, cmd.Stderr = j.out, j.errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// A background job may hold the input open.
	cmd.WaitDelay = lastWords
	b.mu.Lock()
	if b.ended {
		b.mu.Unlock()
		return exit{}, ErrGone
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
		return exit{code: 126, refused: err.Error()}, nil
	}
	if err := j.close(); err != nil {
		return exit{}, fmt.Errorf("close output: %w", err)
	}
	defer context.AfterFunc(ctx, func() { endGroup(cmd.Process.Pid) })()
	if err := cmd.Wait(); err != nil && cmd.ProcessState == nil {
		return exit{}, fmt.Errorf("wait for command: %w", err)
	}
	e := exit{code: cmd.ProcessState.ExitCode(),
		usage: Rusage{User: cmd.ProcessState.UserTime(), System: cmd.ProcessState.SystemTime()}}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.code, e.signal = 128+int(status.Signal()), signalName(status.Signal())
	}
	if b.gone() {
		e.lost = "it was stopped"
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
		e.background = 1
	}
	return e, nil
}

func (b *hostBox) gone() bool {
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
