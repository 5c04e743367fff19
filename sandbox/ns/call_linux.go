package ns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fawn/sandbox"
	"fawn/sandbox/jail"
	"fawn/sandbox/pool"
)

const (
	// killSlack is the supervisor's extra time to end a command before the whole sandbox is ended.
	killSlack = 500 * time.Millisecond
	// Linux rejects arguments of 128 KiB or more.
	MaxArgument = 100 << 10
)

// call is a running command.
type call struct {
	cancel context.CancelCauseFunc
	began  time.Time
}

// Run runs a command. None of its processes outlives ctx, however it ends.
func (b *Box) Run(ctx context.Context, j pool.Job) (pool.Exit, error) {
	defer j.Close()
	id, answers := b.wait()
	defer b.forget(id)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	b.mu.Lock()
	b.calls[id] = call{cancel, time.Now()}
	b.mu.Unlock()
	if err := b.send(id, j); err != nil {
		if b.isDead() {
			return b.lose("it ended before the command"), nil
		}
		return pool.Exit{}, err
	}
	if err := j.Close(); err != nil {
		return pool.Exit{}, fmt.Errorf("close output: %w", err)
	}
	kills := b.oomKills()
	for {
		select {
		case m := <-answers:
			if m.Op == jail.OpExit && m.Exit != nil {
				return b.exit(j, *m.Exit, kills), nil
			}
		case <-b.dead:
			return b.lose("its first process ended"), nil
		case <-ctx.Done():
			e := b.kill(id, j, answers, kills)
			e.Quota = e.Signal != "" && errors.Is(context.Cause(ctx), pool.ErrOverQuota)
			return e, nil
		}
	}
}

// kill ends the processes of a command: through the supervisor, which spares other commands, or else with all others.
func (b *Box) kill(id int, j pool.Job, answers <-chan *jail.Message, kills int64) pool.Exit {
	if _, err := b.write(&jail.Message{Op: jail.OpKill, ID: id, Time: b.killTime}); err != nil {
		return b.lose("it did not end a command")
	}
	late := time.NewTimer(b.killTime + killSlack)
	defer late.Stop()
	for {
		select {
		case m := <-answers:
			switch {
			case m.Op == jail.OpExit && m.Exit != nil:
				return b.exit(j, *m.Exit, kills)
			case m.Op == jail.OpKilled && m.Procs > 0:
				return b.lose("a command would not end")
			}
		case <-b.dead:
			return b.lose("its first process ended")
		case <-late.C:
			return b.lose("it did not end a command in time")
		}
	}
}

// lose ends everything inside.
func (b *Box) lose(why string) pool.Exit {
	b.Stop()
	return pool.Exit{Code: 137, Signal: "SIGKILL", Lost: why}
}

func (b *Box) exit(j pool.Job, x jail.Exit, kills int64) pool.Exit {
	if x.Tampered {
		e := b.lose("its processes were tampered with")
		e.OOM = x.OOM
		return e
	}
	crowded := 0
	if x.Crowded {
		crowded = int(b.pids)
	}
	e := pool.Exit{
		Crowded: crowded, Cleared: x.Cleared, Code: x.Code, Background: x.Background, OOM: x.OOM, Refused: x.Error,
		Usage: sandbox.Rusage{User: time.Duration(x.UserUS) * time.Microsecond,
			System: time.Duration(x.SystemUS) * time.Microsecond,
			MaxRSS: x.MaxRSS},
	}
	if x.Signal != 0 {
		e.Signal = unix.SignalName(syscall.Signal(x.Signal))
		if e.Signal == "" {
			e.Signal = fmt.Sprintf("signal %d", x.Signal)
		}
	}
	switch syscall.Errno(x.Errno) {
	case unix.EAGAIN:
		e.Refused = fmt.Sprintf("the process limit of %d is reached", b.pids)
	case unix.ENOENT, unix.ENOTDIR:
		e.Refused = fmt.Sprintf("there is no folder %s", j.Cwd)
	case unix.EACCES:
		// A command may have closed the folder that every command starts in, to
		// itself and all later ones.
		for _, dir := range b.roots {
			if err := os.Chmod(dir, 0o700); err != nil && !errors.Is(err, fs.ErrNotExist) {
				e.Refused = "the working folder is closed"
				return e
			}
		}
		e.Refused = "the working folder was closed; its permissions are restored, try again"
	}
	if e.OOM == "" && b.oomKills() > kills {
		e.OOM = fmt.Sprintf("memory limit exceeded (%d MiB): the system killed a process", b.group.memory>>20)
	}
	return e
}

func (b *Box) oomKills() int64 {
	if b.group == nil {
		return 0
	}
	return b.group.oomKills()
}

// send passes a command on. Its text goes through a file without a name, so
// that it shows in no list of processes and may be of any length.
func (b *Box) send(id int, j pool.Job) error {
	var files []*os.File
	defer func() {
		for _, f := range files {
			// Nothing was written since it was filled.
			_ = f.Close()
		}
	}()
	add := func(name string, content []byte) error {
		f, err := unnamedFile(name, content)
		if err == nil {
			files = append(files, f)
		}
		return err
	}
	r := jail.Request{Args: []string{b.shell, "-c", j.Command, "bash"}, Env: j.Env, Cwd: j.Cwd, Pids: b.room(),
		CPUSeconds: b.limits.CPUSeconds}
	if len(j.Command) > MaxArgument {
		r.Args[2], r.Script = ". /dev/fd/3", true
	}
	r.Args = append(r.Args, j.Args...)
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode command: %w", err)
	}
	if err := add("request", text); err != nil {
		return err
	}
	if j.Stdin != nil {
		if err := add("input", j.Stdin); err != nil {
			return err
		}
	}
	if r.Script {
		// Bash has read it all when it closes the file.
		if err := add("script", append([]byte("exec 3<&-;"), j.Command...)); err != nil {
			return err
		}
	}
	fds := []int{int(files[0].Fd())}
	streams := []*os.File{j.Out, j.Errs}
	if j.In != nil {
		streams = append(streams, j.In)
	}
	for _, out := range streams {
		fd := int(out.Fd())
		// Programs expect streams that block.
		if err := unix.SetNonblock(fd, false); err != nil {
			return fmt.Errorf("prepare output: %w", err)
		}
		if b.owner >= 0 {
			// Commands reopen /dev/stdout and the like as their own user.
			if err := out.Chown(b.owner, b.owner); err != nil {
				return fmt.Errorf("give output to user: %w", err)
			}
		}
		fds = append(fds, fd)
	}
	for _, f := range files[1:] {
		fds = append(fds, int(f.Fd()))
	}
	_, err = b.write(&jail.Message{Op: jail.OpExec, ID: id, Stdin: j.Stdin != nil || j.In != nil,
		Script: r.Script}, fds...)
	return err
}

// room returns the limit of processes as the system counts them now.
func (b *Box) room() int64 {
	if !b.shared {
		return b.limits.Pids
	}
	spare := int64(0)
	if b.spare != nil {
		spare = b.spare()
	}
	return b.pids + spare + TasksOf(os.Getuid(), b.first.Pid)
}

func (b *Box) write(m *jail.Message, fds ...int) (int, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return 0, fmt.Errorf("encode message: %w", err)
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	n, _, err := b.conn.WriteMsgUnix(text, rights, nil)
	if err != nil {
		return n, fmt.Errorf("write to sandbox: %w", err)
	}
	return n, nil
}

// unnamedFile returns an unnamed file with this content, positioned at its start.
func unnamedFile(name string, content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err = f.Write(content); err == nil {
		_, err = f.Seek(0, 0)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// wait returns a new number and the channel for the supervisor's answer: an exit, the answer to a kill, or figures.
func (b *Box) wait() (int, <-chan *jail.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	w := make(chan *jail.Message, 4)
	b.waiter[b.next] = w
	return b.next, w
}

func (b *Box) forget(id int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiter, id)
	delete(b.calls, id)
}

func (b *Box) isDead() bool {
	select {
	case <-b.dead:
		return true
	case <-b.over:
		return true
	case <-time.After(50 * time.Millisecond):
		return false
	}
}

// Stat implements pool.Box.
func (b *Box) Stat(ctx context.Context, disk bool) (pool.Usage, error) {
	m, err := b.ask(ctx, &jail.Message{Op: jail.OpStat, Disk: disk})
	if err != nil {
		return pool.Usage{}, err
	}
	return pool.Usage{Procs: m.Procs, Mem: m.Mem, Tmp: m.Tmp, Gone: m.Gone}, nil
}

// Clear implements pool.Box.
func (b *Box) Clear(ctx context.Context, counted time.Time) (pool.Cleared, error) {
	m, err := b.ask(ctx, &jail.Message{Op: jail.OpClear, Time: b.killTime})
	if err != nil {
		return pool.Cleared{}, err
	}
	b.mu.Lock()
	writer, running := b.calls[m.Call]
	b.mu.Unlock()
	if running && writer.began.Before(counted) {
		writer.cancel(pool.ErrOverQuota)
	}
	return pool.Cleared{Procs: m.Procs, Names: m.Detail, Call: running}, nil
}

// ask waits for the supervisor's answer to a message.
func (b *Box) ask(ctx context.Context, m *jail.Message) (*jail.Message, error) {
	id, answers := b.wait()
	defer b.forget(id)
	m.ID = id
	if _, err := b.write(m); err != nil {
		return nil, err
	}
	select {
	case m := <-answers:
		return m, nil
	case <-b.dead:
		return nil, sandbox.ErrGone
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
