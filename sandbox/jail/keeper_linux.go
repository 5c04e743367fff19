package jail

import (
	"errors"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// lineFD is the end of a pipe whose other end only the server holds.
	lineFD = 4
	// KeeperTime limits the time a keeper has to end all processes while the server waits.
	KeeperTime = 5 * time.Second
	// KillTime limits the time to end the processes of a command.
	KillTime = 1500 * time.Millisecond

	maxAncestors = 1 << 16
	userVariable = "SANDBOX_USER"
)

// KeeperEnv returns the environment of a keeper of commands that run as a user of their own; 0 means that they run as
// the user of the server.
func KeeperEnv(user int) []string {
	return []string{"GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT=16MiB", userVariable + "=" + strconv.Itoa(user)}
}

// keeperMain replaces process 1 on hosts without namespaces: it stays above all processes of a thread, and ends them
// when the server closes the pipe or exits. It is outside of all restrictions, so commands can't signal it, and it
// accepts no input but the server's.
func keeperMain() {
	user, err := strconv.Atoi(os.Getenv(userVariable))
	if err != nil || unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) != nil ||
		unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != nil {
		os.Exit(1)
	}
	signal.Ignore()
	// Without a handler the system would take the status of children away.
	signal.Notify(make(chan os.Signal, 1), unix.SIGCHLD)
	unix.CloseOnExec(lineFD)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		os.Exit(1)
	}
	child, err := syscall.ForkExec(ownPath, []string{RoleSetup}, &syscall.ProcAttr{
		Dir: "/", Env: SetupEnv(), Files: []uintptr{0, 1, 2, Control, uintptr(pair[1])},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		os.Exit(1)
	}
	_ = unix.Close(Control)
	_ = unix.Close(pair[1])
	go serveMetadata(pair[0])
	over := make(chan struct{}, 2)
	go func() {
		buf := make([]byte, 1)
		for {
			if n, err := unix.Read(lineFD, buf); n <= 0 && !errors.Is(err, unix.EINTR) {
				over <- struct{}{}
				return
			}
		}
	}()
	go func() {
		for {
			var status unix.WaitStatus
			pid, err := unix.Wait4(-1, &status, 0, nil)
			switch {
			case errors.Is(err, unix.EINTR):
			case pid == child:
				over <- struct{}{}
			case err != nil:
				// There are none at the moment.
				time.Sleep(time.Millisecond)
			}
		}
	}()
	<-over
	// There is no time limit, since no one else cleans up once the server is dead. A living server kills the keeper
	// after KeeperTime.
	for endAll(user, KeeperTime) > 0 || !childless() {
		time.Sleep(10 * time.Millisecond)
	}
	os.Exit(0)
}

// childless reports with certainty that no process is below this one, which adopts orphans. A snapshot of processes can
// miss one whose parent exited meanwhile.
func childless() bool {
	err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil)
	return errors.Is(err, unix.ECHILD)
}

// endAll ends everything below this process and returns the number of processes left.
func endAll(user int, limit time.Duration) int {
	start := time.Now()
	end := start.Add(limit)
	for ; ; time.Sleep(2 * time.Millisecond) {
		t := processes()
		all := t.below(t.self)
		if len(all) == 0 || time.Now().After(end) {
			return len(all)
		}
		EndBelow(t.self)
		// Another server on this host may use the same user, so this is the last resort.
		if user > 0 && time.Since(start) > limit/10 {
			endUser(user, end)
		}
	}
}

// endUser kills all processes of a user at once, so none can escape. It needs a process of that user, which exempts
// only itself.
func endUser(user int, end time.Time) {
	id := uint32(user)
	pid, err := syscall.ForkExec(ownPath, []string{RoleEnd}, &syscall.ProcAttr{
		Dir: "/", Env: []string{"GOMAXPROCS=1"},
		Sys: &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: id, Gid: id}},
	})
	for err == nil && unix.Kill(pid, 0) == nil && time.Now().Before(end) {
		time.Sleep(time.Millisecond)
	}
}

// endMain refuses to run as root.
func endMain() {
	if os.Getuid() == 0 {
		os.Exit(1)
	}
	if err := unix.Kill(-1, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		os.Exit(1)
	}
}

// EndBelow stops and then ends all descendants of a process, once.
func EndBelow(root int) {
	for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
		for _, n := range processes().below(root) {
			fd, err := unix.PidfdOpen(n, 0)
			if err != nil {
				continue
			}
			// The number may have been reused by another user's process. If it still belongs to a descendant, it is the
			// opened one.
			if descends(root, n) {
				_ = unix.PidfdSendSignal(fd, sig, nil, 0)
			}
			_ = unix.Close(fd)
		}
	}
}

func descends(root, n int) bool {
	for range maxAncestors {
		up, _, _, ok := stat(strconv.Itoa(n))
		if !ok || up <= 1 {
			return ok && up == root
		}
		if up == root {
			return true
		}
		n = up
	}
	return false
}
