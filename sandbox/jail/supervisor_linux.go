package jail

import (
	"encoding/json"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// supervisor is process 1, or below a keeper without namespaces. All restrictions are active when it starts. It must
// not use os/exec, whose children its reaper would take.
type supervisor struct {
	null  *os.File
	guard *guard
	plain bool

	mu    sync.Mutex
	calls map[int]*running // by process id, guarded by mu
}

// running is the parent of a command.
type running struct {
	id, pid int
	report  int    // descriptor of the pipe on which it reports
	killing bool   // it is stopped by the supervisor; guarded by supervisor.mu
	oom     string // guarded by supervisor.mu
	crowded bool   // it met the limit of processes; guarded by supervisor.mu
	cleared int    // processes ended to make room for it
}

func supervisorMain(plain bool) {
	// Nothing inside may read this process, stop it or make it end.
	if unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) != nil {
		os.Exit(1)
	}
	if plain && unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != nil {
		os.Exit(1)
	}
	signal.Ignore()
	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	unix.CloseOnExec(Control)
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		fail("supervisor", err)
	}
	s := &supervisor{null: null, plain: plain, calls: map[int]*running{}}
	limit, pids := number([]byte(os.Getenv("SANDBOX_MEMORY"))), int(number([]byte(os.Getenv("SANDBOX_PIDS"))))
	if limit > 0 || pids > 0 {
		s.guard = &guard{limit: limit, pids: pids, plain: plain, own: os.Getenv("SANDBOX_NETWORK") == "own",
			wake: make(chan struct{}, 1), look: s.snapshot, killed: s.outOfMemory, crowded: s.crowd}
		go s.guard.run()
	}
	go func() {
		for range children {
			s.reap()
		}
	}()
	if err := send(&Message{Op: OpReady}); err != nil {
		os.Exit(1)
	}
	buf := make([]byte, MaxMessage)
	for {
		m, fds, err := receive(buf)
		if err != nil {
			// The server is gone. With process 1 the kernel ends all others.
			os.Exit(0)
		}
		switch m.Op {
		case OpExec:
			s.begin(m, fds)
		case OpClear:
			go s.clear(m)
		case OpKill:
			go s.kill(m.ID, m.Time)
		case OpStat:
			s.stat(m)
		}
	}
}

// begin starts a command, after it has made room if earlier ones left the sandbox full.
func (s *supervisor) begin(m *Message, fds []int) {
	if s.guard == nil || !s.guard.full.Load() {
		s.start(m, fds, 0)
		return
	}
	go func() { s.start(m, fds, s.makeRoom()) }()
}

// start runs the parent of a command, which reads the request itself.
func (s *supervisor) start(m *Message, fds []int, cleared int) {
	defer func() {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	}()
	want := 3
	for _, more := range []bool{m.Stdin, m.Script} {
		if more {
			want++
		}
	}
	if len(fds) != want {
		s.refuse(m.ID, unix.EPROTO)
		return
	}
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		s.refuse(m.ID, err)
		return
	}
	defer unix.Close(pipe[1])
	request, output, errs, input := uintptr(fds[0]), uintptr(fds[1]), uintptr(fds[2]), s.null.Fd()
	rest := fds[3:]
	if m.Stdin {
		input, rest = uintptr(rest[0]), rest[1:]
	}
	files := []uintptr{input, output, errs, uintptr(pipe[1]), request}
	if m.Script {
		files = append(files, uintptr(rest[0]))
	}
	program := initPath
	if s.plain {
		program = ownPath
	}
	s.mu.Lock()
	pid, err := syscall.ForkExec(program, []string{roleCall}, &syscall.ProcAttr{
		Dir: "/", Env: []string{"GOMAXPROCS=1", "GOGC=off"}, Files: files, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err == nil {
		s.calls[pid] = &running{id: m.ID, pid: pid, report: pipe[0], cleared: cleared}
	}
	s.mu.Unlock()
	if err != nil {
		_ = unix.Close(pipe[0])
		s.refuse(m.ID, err)
		return
	}
	s.watch()
}

func (s *supervisor) watch() {
	if s.guard == nil {
		return
	}
	select {
	case s.guard.wake <- struct{}{}:
	default:
	}
}

func (s *supervisor) refuse(id int, err error) {
	// An unreachable server is detected by the next read.
	_ = send(&Message{Op: OpExit, ID: id, Exit: refused(err)})
}

// reap takes the status of all children that ended. A parent of a command that
// was stopped, or ended without a report, was attacked from inside.
func (s *supervisor) reap() {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG|unix.WUNTRACED, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		s.mu.Lock()
		c := s.calls[pid]
		if c == nil || c.killing && status.Stopped() {
			s.mu.Unlock()
			continue
		}
		delete(s.calls, pid)
		s.mu.Unlock()
		exit := &Exit{Code: 137, Tampered: true}
		if !status.Stopped() {
			exit = report(c.report)
		}
		_ = unix.Close(c.report)
		s.mu.Lock()
		exit.OOM, exit.Crowded, exit.Cleared = c.oom, c.crowded, c.cleared
		s.mu.Unlock()
		if unix.Errno(exit.Errno) == unix.EAGAIN {
			// It found no room for itself; the next one shall.
			go func() {
				exit.Cleared = s.makeRoom()
				_ = send(&Message{Op: OpExit, ID: c.id, Exit: exit})
			}()
			continue
		}
		_ = send(&Message{Op: OpExit, ID: c.id, Exit: exit})
	}
}

// report reads the message that a command's parent wrote before it exited.
func report(fd int) *Exit {
	buf := make([]byte, 4096)
	n, err := unix.Read(fd, buf)
	exit := new(Exit)
	if err != nil || json.Unmarshal(buf[:max(n, 0)], exit) != nil {
		return &Exit{Code: 137, Tampered: true}
	}
	return exit
}

// kill ends the processes of a command, or gives up after a while.
func (s *supervisor) kill(id int, limit time.Duration) {
	left := 0
	s.mu.Lock()
	pid := 0
	for _, c := range s.calls {
		if c.id == id {
			pid, c.killing = c.pid, true
		}
	}
	s.mu.Unlock()
	// A parent that hasn't started its command has no descendants: it continues, and its command is ended in the next
	// round.
	for end := time.Now().Add(limit); pid != 0 && left == 0 && s.runs(pid) &&
		time.Now().Before(end); time.Sleep(time.Millisecond) {
		left = killBelow(pid, time.Until(end))
	}
	_ = send(&Message{Op: OpKilled, ID: id, Procs: left})
}

// runs reports whether the parent of a command was not waited for yet.
func (s *supervisor) runs(pid int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[pid] != nil
}

func (s *supervisor) stat(m *Message) {
	t := processes()
	all := t.below(t.self)
	var files, other int64
	if !s.plain {
		files, other = temporary(), segments()
	}
	sum, _ := memory(all, files+other)
	s.mu.Lock()
	own := len(s.calls)
	s.mu.Unlock()
	answer := &Message{Op: OpStat, ID: m.ID, Procs: max(0, len(all)-own), Mem: sum, Tmp: files}
	if m.Disk {
		answer.Gone = deleted(all)
	}
	_ = send(answer)
}

// crowd records for all commands that no more processes could start.
func (s *supervisor) crowd() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		c.crowded = true
	}
}

// outOfMemory records why a process was ended for the command above it.
func (s *supervisor) outOfMemory(t tree, n int, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for pid, c := range s.calls {
		if root := t.child(pid); root >= 0 && t.under(root, n) {
			c.oom = why
		}
	}
}
