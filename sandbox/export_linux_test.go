package sandbox

import (
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// UseInit takes the program of sandboxes from a file.
func (c *Config) UseInit(path string) { c.initProgram = path }

// AllowKilling gives sandboxes that long to end a command before they are given up.
func (c *Config) AllowKilling(d time.Duration) { c.killTime = d }

// SetMachine sets how much memory the machine has.
func (c *Config) SetMachine(bytes int64) { c.machine = bytes }

// MachineMemory reads how much memory there is from another /proc.
func MachineMemory(proc string) int64 { return machineMemory(proc) }

// FailAt makes a step of the start fail.
func (c *Config) FailAt(step string, errno int) { c.failStep, c.failErrno = step, errno }

// Filter is the program of system calls for a policy.
func Filter(allow []string, unnamedFiles bool) ([]bpf.Instruction, error) {
	rules, err := refusals(filterOptions{allow: allow, unnamedFiles: unnamedFiles})
	if err != nil {
		return nil, err
	}
	return filterProgram(rules), nil
}

// InstallFilter puts the filter of sandboxes on the calling thread.
func InstallFilter() error {
	b, err := newFilter(filterOptions{unnamedFiles: true})
	if err != nil {
		return err
	}
	return install(b)
}

func install(b []byte) error {
	program := make([]uint64, len(b)/8)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&program[0])), len(b)), b)
	f := struct {
		n      uint16
		_      [6]byte
		filter *uint64
	}{n: uint16(len(program)), filter: &program[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&f))); e != 0 {
		return e
	}
	runtime.KeepAlive(program)
	return nil
}

// OpenCgroup makes the control group of a sandbox as the host described in proc
// would have it.
func OpenCgroup(proc string, l Limits) (dir string, err error) {
	c, err := openCgroups(proc)
	if err != nil {
		return "", err
	}
	g, err := c.create(l)
	if err != nil {
		return "", err
	}
	return g.dir, unix.Close(g.fd)
}

// FindHidden looks for private files.
var FindHidden = findHidden
