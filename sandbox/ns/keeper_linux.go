package ns

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fawn/sandbox/jail"
	"fawn/sandbox/pool"
)

// keep makes the first process a keeper, which replaces process 1 in a box without namespaces. The caller closes the
// returned end of the line once the keeper has it.
func (b *Box) keep(cmd *exec.Cmd, spec jail.Spec) (*os.File, error) {
	listening, line, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	b.line = line
	cmd.Args = []string{jail.RoleKeeper}
	cmd.Env = jail.KeeperEnv(spec.User)
	cmd.ExtraFiles = append(cmd.ExtraFiles, listening)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// A process that still has its output open then is a stray.
	cmd.WaitDelay = pool.LastWords
	if b.group != nil {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, b.group.fd
	}
	return listening, nil
}

// dismiss lets the keeper end all processes and then itself. After a timeout it is killed.
func (b *Box) dismiss() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.line.Close() != nil {
		return // it was closed before
	}
	b.late = time.AfterFunc(jail.KeeperTime+time.Second, func() {
		jail.EndBelow(b.first.Pid)
		_ = b.first.Kill()
	})
}

// dismissed is called when the keeper has ended.
func (b *Box) dismissed(err error, l Launch) {
	b.mu.Lock()
	_ = b.line.Close()
	if b.late != nil {
		b.late.Stop()
	}
	b.mu.Unlock()
	if err != nil {
		// It was killed and could not do its work.
		endStrays(l)
	}
}

// endStrays ends processes of a thread whose keeper was killed. Those of a separate user are all found; others by their
// initial environment, unless they hide it.
func endStrays(l Launch) {
	if l.Owner >= 0 {
		cmd := exec.Command(l.Spec.Init)
		cmd.Args, cmd.Env, cmd.Dir = []string{jail.RoleEnd}, []string{}, "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true,
			Credential: &syscall.Credential{Uid: uint32(l.Spec.User), Gid: uint32(l.Spec.Group)}}
		// It fails if there is nothing to end.
		_ = cmd.Run()
		return
	}
	mark := []byte("HOME=" + homeOf(l.Spec) + "\x00")
	for range 10 {
		found := false
		names, err := filepath.Glob("/proc/[0-9]*/environ")
		if err != nil {
			return
		}
		for _, name := range names {
			env, err := os.ReadFile(name)
			if err != nil || !bytes.HasPrefix(env, mark) && !bytes.Contains(env, append([]byte{0}, mark...)) {
				continue
			}
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			if err == nil && unix.Kill(pid, unix.SIGKILL) == nil {
				found = true
			}
		}
		if !found {
			return
		}
	}
}

// homeOf returns the home of commands on the host.
func homeOf(s jail.Spec) string {
	for _, b := range s.Binds {
		if b.Dst == jail.Home {
			return b.Src
		}
	}
	return ""
}
