package jail

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// Descriptors of the parent of a command.
const (
	reportFD  = 3
	requestFD = 4
	scriptFD  = 5
)

// callMain is the parent of one command. While it lives, all descendants stay below it, even those that try to escape.
// It reports when the command itself ends; remaining processes move below process 1.
func callMain() {
	if unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) != nil ||
		unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != nil {
		os.Exit(1)
	}
	// Signals with a handler are reset in the command; ignored ones would stay ignored. The channel isn't read.
	signal.Notify(make(chan os.Signal, 1))
	for _, fd := range []int{reportFD, requestFD, scriptFD} {
		unix.CloseOnExec(fd)
	}
	out := os.NewFile(reportFD, "report")
	exit := run()
	b, err := json.Marshal(exit)
	if err == nil {
		_, err = out.Write(b)
	}
	if err != nil {
		os.Exit(1)
	}
}

func run() *Exit {
	r, err := readRequest()
	if err != nil {
		return refused(err)
	}
	if r.Pids > 0 {
		if err := limitPids(r.Pids, r.Pids+spareCall); err != nil {
			return refused(err)
		}
	}
	if r.CPUSeconds > 0 {
		if err := lower(unix.RLIMIT_CPU, uint64(r.CPUSeconds)); err != nil {
			return refused(err)
		}
	}
	files := []uintptr{0, 1, 2}
	if r.Script {
		files = append(files, scriptFD)
	}
	pid, err := syscall.ForkExec(r.Args[0], r.Args,
		&syscall.ProcAttr{Dir: r.Cwd, Env: r.Env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		return refused(err)
	}
	if r.Pids > 0 {
		_ = limitPids(r.Pids+spareCall, r.Pids+spareCall)
	}
	// The end of the output is then a matter of the command alone.
	for _, fd := range []int{0, 1, 2, requestFD, scriptFD} {
		_ = unix.Close(fd)
	}
	for {
		var status unix.WaitStatus
		var usage unix.Rusage
		got, err := unix.Wait4(-1, &status, 0, &usage)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return refused(err)
		case got == pid:
			return ended(status, usage)
		}
	}
}

// refused returns the outcome of a command that did not start.
func refused(err error) *Exit {
	e := &Exit{Code: 126, Error: err.Error()}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		e.Errno = int(errno)
	}
	return e
}

func ended(status unix.WaitStatus, usage unix.Rusage) *Exit {
	e := &Exit{
		Code:   status.ExitStatus(),
		UserUS: usage.Utime.Nano() / 1000, SystemUS: usage.Stime.Nano() / 1000, MaxRSS: usage.Maxrss << 10,
	}
	if status.Signaled() {
		e.Signal = int(status.Signal())
		e.Code = 128 + e.Signal
	}
	t := processes()
	e.Background = len(t.below(t.self))
	return e
}

// limitPids limits the processes a command starts with; the command may raise the limit up to the hard one.
func limitPids(soft, hard int64) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &now); err != nil {
		return err
	}
	hard = min(hard, int64(min(now.Max, 1<<40)))
	return unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: uint64(min(soft, hard)), Max: uint64(hard)})
}

// readRequest reads the file from its start, wherever the server left off.
func readRequest() (*Request, error) {
	f := os.NewFile(requestFD, "request")
	var st unix.Stat_t
	if err := unix.Fstat(requestFD, &st); err != nil {
		return nil, err
	}
	r := new(Request)
	if err := json.NewDecoder(io.NewSectionReader(f, 0, st.Size)).Decode(r); err != nil {
		return nil, err
	}
	if len(r.Args) == 0 {
		return nil, unix.EINVAL
	}
	return r, nil
}
