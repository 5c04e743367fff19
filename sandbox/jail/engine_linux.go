package jail

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Places in a container. The engine names a program by its path, so the same
// file stands at one path for each role.
const (
	// EngineHold is process 1 of a container.
	EngineHold = "/.sbx/hold"
	// EngineCall is the parent of one command.
	EngineCall = "/.sbx/call"
	// EngineProxy is a socket of the server, if there is a way out.
	EngineProxy = "/.sbx/proxy"
)

// HoldReady is the message of a container's process 1 when it is up.
const HoldReady = "ready\n"

// maxEngineRequest limits a command's request, in bytes.
const maxEngineRequest = 64 << 20

// EngineRequest is a command as its parent receives it on standard input, after 4 bytes with its length. Any later
// input, including its end, ends the command.
type EngineRequest struct {
	Request
	// Mark precedes the report in the output, a line with a Message, and an empty line in the errors, because engines
	// don't preserve the order of the two. It is secret.
	Mark []byte
	// Stdin is the command's input; none means /dev/null.
	Stdin []byte
	Input bool // there is a Stdin, possibly empty
	// Text is the input on descriptor 3 if Script is set.
	Text []byte
	// Filter is a filter of system calls, 8 bytes for each instruction.
	Filter []byte
	// Stat requests figures instead of running a command.
	Stat bool
}

// EncodeEngineRequest encodes a request for a call.
func EncodeEngineRequest(r EngineRequest) ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if len(text) > maxEngineRequest {
		return nil, unix.E2BIG
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...), nil
}

// holdMain is process 1 of a container: it reaps processes, passes on connections, and exits with the server, whose end
// closes its input. The kernel then kills all others.
func holdMain() {
	if os.Getpid() != 1 || unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) != nil {
		os.Exit(1)
	}
	signal.Ignore()
	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	go func() {
		for range children {
			for {
				pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
				if err != unix.EINTR && pid <= 0 {
					break
				}
			}
		}
	}()
	if _, err := os.Lstat(EngineProxy); err == nil {
		if err := forwardProxy(); err != nil {
			os.Exit(1)
		}
	}
	if _, err := os.Stdout.WriteString(HoldReady); err != nil {
		os.Exit(1)
	}
	// No data is expected; only the end matters.
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// engineCall is the parent of one command in a container, started by the engine. It combines a supervisor and a call.
type engineCall struct {
	mu      sync.Mutex
	ending  bool          // guarded by mu
	started bool          // guarded by mu
	ended   chan struct{} // closed when nothing is left to end
	left    int           // processes that would not end; set before ended is closed
}

func engineCallMain() {
	// The filter applies to this thread and its children.
	runtime.LockOSThread()
	if unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) != nil ||
		unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != nil {
		os.Exit(1)
	}
	signal.Notify(make(chan os.Signal, 1))
	r, err := readEngineRequest(os.Stdin)
	if err != nil {
		os.Exit(1)
	}
	m := &Message{}
	if r.Stat {
		m.Procs, m.Mem, m.Tmp = figures()
	} else {
		c := engineCall{ended: make(chan struct{})}
		go c.listen()
		m.Exit = c.run(r)
	}
	b, err := json.Marshal(m)
	if err != nil {
		os.Exit(1)
	}
	if _, err := os.Stderr.Write(append(append([]byte{}, r.Mark...), '\n')); err != nil {
		os.Exit(1)
	}
	if _, err := os.Stdout.Write(append(append(append([]byte{}, r.Mark...), b...), '\n')); err != nil {
		os.Exit(1)
	}
}

func readEngineRequest(in io.Reader) (*EngineRequest, error) {
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxEngineRequest {
		return nil, unix.E2BIG
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(in, text); err != nil {
		return nil, err
	}
	r := new(EngineRequest)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, err
	}
	if !r.Stat && len(r.Args) == 0 {
		return nil, unix.EINVAL
	}
	return r, nil
}

// listen waits for the request to end the command.
func (c *engineCall) listen() {
	// The data doesn't matter; an error also means that the server is gone.
	_, _ = os.Stdin.Read(make([]byte, 1))
	c.mu.Lock()
	c.ending = true
	started := c.started
	c.mu.Unlock()
	if started {
		c.left = endAll(0, KillTime)
	}
	close(c.ended)
}

func (c *engineCall) run(r *EngineRequest) *Exit {
	oom := oomKills()
	pid, err := c.start(r)
	if err != nil {
		return refused(err)
	}
	if pid == 0 {
		return &Exit{Code: 137, Signal: int(unix.SIGKILL)}
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
			return c.over(status, usage, oom)
		}
	}
}

// over reports the outcome once all required processes have ended.
func (c *engineCall) over(status unix.WaitStatus, usage unix.Rusage, oom int64) *Exit {
	c.mu.Lock()
	ending := c.ending
	c.mu.Unlock()
	if ending {
		<-c.ended
		if c.left > 0 {
			return &Exit{Code: 137, Tampered: true}
		}
	}
	e := ended(status, usage)
	if oomKills() > oom {
		e.OOM = "memory limit exceeded: the system killed a process"
	}
	return e
}

// start starts the command, or returns 0 if it should end already.
func (c *engineCall) start(r *EngineRequest) (int, error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	var files []uintptr
	input, err := os.Open(os.DevNull)
	if r.Input && err == nil {
		err = input.Close()
		if err == nil {
			input, err = contentFile(r.Stdin)
		}
	}
	if err != nil {
		return 0, err
	}
	defer input.Close()
	files = []uintptr{input.Fd(), 1, 2}
	if r.Script {
		script, err := contentFile(r.Text)
		if err != nil {
			return 0, err
		}
		defer script.Close()
		files = append(files, script.Fd())
	}
	args := r.Args
	if args[0] == "" {
		if args[0] = findShell(); args[0] == "" {
			return 0, unix.ENOEXEC
		}
	}
	if len(r.Filter) > 0 {
		s := setup{Spec: Spec{Seccomp: r.Filter}}
		if err := s.seccomp(); err != nil {
			return 0, err
		}
	}
	unix.Umask(0o022)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending {
		return 0, nil
	}
	pid, err := syscall.ForkExec(args[0], args,
		&syscall.ProcAttr{Dir: r.Cwd, Env: r.Env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err == nil {
		c.started = true
		// Under memory pressure, the command is killed before its supervisors. It may have ended by now.
		_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("1000"), 0)
	}
	return pid, err
}

// findShell finds bash, whose path differs between images.
func findShell() string {
	for _, name := range []string{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"} {
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			return name
		}
	}
	return ""
}

// contentFile returns a file without a name that is read from its start.
func contentFile(content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("input", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "input")
	if _, err = f.Write(content); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// figures counts the processes of commands and their memory. Processes started by the engine have no parent in here.
func figures() (procs int, mem, tmp int64) {
	t := processes()
	var all []int
	for n, parent := range t.parent {
		if parent != 0 && n != 1 && !t.dead[n] {
			all = append(all, n)
		}
	}
	tmp = temporary()
	mem, _ = memory(all, tmp+segments())
	return len(all), mem, tmp
}

// oomKills returns the number of processes of this container killed for their memory.
func oomKills() int64 {
	for _, name := range []string{"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"} {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		for line := range bytes.Lines(b) {
			if n, ok := bytes.CutPrefix(line, []byte("oom_kill ")); ok {
				return number(bytes.TrimSpace(n))
			}
		}
	}
	return 0
}
