package jail

import (
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// setup is the state of building a sandbox. It runs on one locked thread, for
// most restrictions hold for a thread, and ends by replacing the program.
type setup struct {
	Spec
	base    string // where the new root is built
	sources map[string]source
	layers  []string
}

// source is something of the host, opened before anything is hidden.
type source struct {
	fd  int
	dir bool
}

func (s source) path() string { return "/proc/self/fd/" + strconv.Itoa(s.fd) }

// step is one part of the setup. A layer that fails is left out, and reported,
// unless it was required.
type step struct {
	name  string
	layer string
	run   func(*setup) error
}

// The order of the steps matters: sources are opened in the host's view, privileges are used before they are dropped,
// and the system call filter comes last because it refuses much of the rest.
func steps() []step {
	return []step{
		{name: "sources", run: (*setup).openSources},
		{name: "private", run: (*setup).private},
		{name: "root", run: (*setup).newRoot},
		{name: "binds", run: (*setup).bind},
		{name: "files", run: (*setup).files},
		{name: "masks", run: (*setup).mask},
		{name: "proc", run: (*setup).proc},
		{name: "dev", run: (*setup).dev},
		{name: "scratch", run: (*setup).scratch},
		{name: "pivot", run: (*setup).pivot},
		{name: "hostname", run: (*setup).hostname},
		{name: "loopback", run: (*setup).loopback},
		{name: "listener", run: (*setup).listener},
		{name: "rlimits", run: (*setup).rlimits},
		{name: "privileges", run: (*setup).dropPrivileges},
		{name: "landlock", layer: "landlock", run: (*setup).landlock},
		{name: "seccomp", layer: "seccomp", run: (*setup).seccomp},
	}
}

func setupMain() {
	runtime.LockOSThread()
	buf := make([]byte, MaxMessage)
	n, err := unix.Read(Control, buf)
	if err != nil || n <= 0 {
		os.Exit(1)
	}
	s := new(setup)
	if err := json.Unmarshal(buf[:n], &s.Spec); err != nil {
		fail("spec", err)
	}
	todo, program, role := plainSteps(), ownPath, rolePlain
	if !s.Plain {
		s.layers = []string{"userns", "mountns", "pidns", "ipcns", "utsns", "cgroupns"}
		todo, program, role = steps(), initPath, roleSupervisor
	}
	if err := unix.CloseRange(Control+1, 1<<30, unix.CLOSE_RANGE_CLOEXEC); err != nil && !errors.Is(err, unix.ENOSYS) {
		fail("spec", err)
	}
	unix.Umask(0)
	// The program cannot be read, which hides the processes it becomes. Until then
	// its own files in /proc are needed.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil {
		fail("spec", err)
	}
	for _, st := range todo {
		err := s.try(st.name, func() error { return st.run(s) })
		switch {
		case err == nil:
		case st.layer != "" && !s.Strict && !slices.Contains(s.Require, st.layer):
			s.degrade("no-" + st.layer)
		default:
			fail(st.name, err)
		}
	}
	unix.Umask(0o022)
	if err := send(&Message{Op: OpLayers, Layers: s.layers}); err != nil {
		os.Exit(1)
	}
	fail("exec", s.try("exec", func() error {
		return unix.Exec(program, []string{role}, []string{
			"GOMAXPROCS=2", "GOGC=off", "GOMEMLIMIT=16MiB",
			"SANDBOX_MEMORY=" + strconv.FormatInt(s.guarded(), 10), "SANDBOX_NETWORK=" + s.network(),
			"SANDBOX_PIDS=" + strconv.FormatInt(max(0, s.Limits.Pids-s.Others), 10),
		})
	}))
}

// network selects the network of the sandbox.
func (s *setup) network() string {
	if s.Loopback && !s.Plain {
		return "own"
	}
	return "host"
}

// guarded returns the memory that the supervisor must watch itself.
func (s *setup) guarded() int64 {
	if s.Cgroup {
		return 0
	}
	return s.Limits.Memory
}

// try runs a step that tests can make fail.
func (s *setup) try(name string, run func() error) error {
	if s.Fail == name {
		return syscall.Errno(s.FailErrno)
	}
	return run()
}

// degrade reports an incomplete layer.
func (s *setup) degrade(what string) {
	s.layers = append(s.layers, "DEGRADED:"+what)
}

// fail reports the failed step with its error number to the server and exits.
func fail(step string, err error) {
	m := &Message{Op: OpFail, Step: step, Detail: err.Error()}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		m.Errno = int(errno)
	}
	// Without the server, no reports are possible.
	_ = send(m)
	os.Exit(1)
}
