package jail

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Control is the number of the socket to the server in setup and supervisor.
const Control = 3

// MaxMessage is the size of the largest message on the socket, in bytes.
const MaxMessage = 160 << 10

// Places inside.
const (
	// Home is the home of commands; it lies on the disk of the host.
	Home = "/home/agent"
	// ProxyPort is the port of the listener on loopback.
	ProxyPort = 3128
	// UID is the user and group id of commands.
	UID = 1000

	initPath = "/.sbx/init"
	ownPath  = "/proc/self/exe"
)

// Spec describes the sandbox that setup builds.
type Spec struct {
	// Init is the path of this program on the host.
	Init string
	// Binds are shown, parents before children.
	Binds []Bind
	// Links and Files are made: name to target, name to content.
	Links, Files map[string]string
	// Masks are paths inside with hidden content.
	Masks []string
	// Loopback enables the loopback of a new network; Listen creates the listener there and sends it to the server.
	Loopback, Listen bool
	// ScopeSockets refuses abstract sockets of the host, for its own network.
	ScopeSockets bool
	// Switch changes to UID; else it is the user already.
	Switch bool
	// Plain means that there are no namespaces: nothing is mounted, binds are only permitted, and Switch changes to
	// User, with Group as the only supplementary group.
	Plain       bool
	User, Group int
	// Others is the number of the user's processes outside of the sandbox; the limit includes them.
	Others int64
	// Cgroup means that a control group limits memory and processes.
	Cgroup bool
	// Metadata means that the filter passes changes of modes, owners, times and attributes to the keeper, which makes
	// them in writable folders.
	Metadata bool
	// Seccomp is the filter, 8 bytes for each instruction.
	Seccomp []byte
	Limits  Limits
	// Require are layers that must work, Strict means all of them.
	Require []string
	Strict  bool
	// Fail makes a step fail with FailErrno, so that tests reach every answer.
	Fail      string
	FailErrno int
}

// Bind shows Src of the host at Dst inside.
type Bind struct {
	Src, Dst string
	Write    bool `json:",omitempty"`
	List     bool `json:",omitempty"` // only the names in it, in a plain setup
	Optional bool `json:",omitempty"` // left out if Src does not exist
}

// Limits of one sandbox; zero means none.
type Limits struct {
	Memory, Data, FileSize, Tmp, Shm int64 // bytes
	Pids, OpenFiles, CPUSeconds      int64
}

// Request is one command; the server writes it into an unnamed file.
type Request struct {
	Args   []string // of the program, its name first
	Script bool     // the program gets one more file, as descriptor 3
	Env    []string
	Cwd    string
	Pids   int64
	// CPUSeconds bounds each process of the command; process 1 lives for long and must not
	// be bounded.
	CPUSeconds int64
}

// Operations of messages.
const (
	OpStarted = "started" // launcher: Pid of the first process, or the Errno of starting it
	OpFail    = "fail"    // setup: Step, Errno, Detail
	OpListen  = "listen"  // setup: the listener as a descriptor
	OpLayers  = "layers"  // setup: Layers
	OpReady   = "ready"   // supervisor
	OpExec    = "exec"    // server: ID, request, output and errors as descriptors, then input and script if any
	OpExit    = "exit"    // supervisor: ID and outcome of the command
	OpKill    = "kill"    // server: ID, Time it may take
	OpKilled  = "killed"  // supervisor: ID, Procs that are left
	OpStat    = "stat"    // server and supervisor: ID, Procs, Mem, Tmp, Gone if Disk was asked for
	OpClear   = "clear"   // server: ID, Time limit for ending leftover processes that write to the disk
	OpCleared = "cleared" // supervisor: ID, Procs that were ended, Detail with their names, Call that writes
)

// Message is exchanged between setup, supervisor and server.
type Message struct {
	Op     string   `json:"op"`
	ID     int      `json:"id,omitempty"`
	Pid    int      `json:"pid,omitempty"`
	Step   string   `json:"step,omitempty"`
	Errno  int      `json:"errno,omitempty"`
	Detail string   `json:"detail,omitempty"`
	Layers []string `json:"layers,omitempty"`
	Stdin  bool     `json:"stdin,omitempty"`
	Script bool     `json:"script,omitempty"`
	Exit   *Exit    `json:"exit,omitempty"`
	Procs  int      `json:"procs,omitempty"`
	Mem    int64    `json:"mem,omitempty"`
	Tmp    int64    `json:"tmp,omitempty"`
	Disk   bool     `json:"disk,omitempty"`
	Call   int      `json:"call,omitempty"`
	Gone   int64    `json:"gone,omitempty"` // bytes of files that were deleted but are still open

	Time time.Duration `json:"time,omitempty"`
}

// Exit is the outcome of a command.
type Exit struct {
	Code       int    `json:"code"`
	Signal     int    `json:"signal,omitempty"`
	Background int    `json:"background,omitempty"`
	Tampered   bool   `json:"tampered,omitempty"` // the parent of the command was killed or stopped
	OOM        string `json:"oom,omitempty"`      // actions of the guard
	Crowded    bool   `json:"crowded,omitempty"`  // the limit of processes was reached meanwhile
	Cleared    int    `json:"cleared,omitempty"`  // processes of earlier commands ended to make room
	Error      string `json:"error,omitempty"`    // nothing ran, as the system said it
	Errno      int    `json:"errno,omitempty"`    // with Error, if the system said it
	UserUS     int64  `json:"user_us,omitempty"`
	SystemUS   int64  `json:"system_us,omitempty"`
	MaxRSS     int64  `json:"max_rss,omitempty"` // bytes
}

// send writes one message with descriptors to the server.
func send(m *Message, fds ...int) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	for {
		err := unix.Sendmsg(Control, b, rights, nil, unix.MSG_NOSIGNAL)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// receive reads one message from the server; io.EOF means that it is gone.
func receive(buf []byte) (*Message, []int, error) {
	rights := make([]byte, unix.CmsgSpace(5*4))
	var n, nr int
	for {
		var err error
		n, nr, _, _, err = unix.Recvmsg(Control, buf, rights, unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, nil, os.NewSyscallError("recvmsg", err)
		}
		break
	}
	if n == 0 {
		return nil, nil, io.EOF
	}
	fds, err := descriptors(rights[:nr])
	if err != nil {
		return nil, nil, err
	}
	m := new(Message)
	if err := json.Unmarshal(buf[:n], m); err != nil {
		return nil, nil, err
	}
	return m, fds, nil
}

func descriptors(rights []byte) ([]int, error) {
	if len(rights) == 0 {
		return nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	var all []int
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			return nil, err
		}
		all = append(all, fds...)
	}
	return all, nil
}
