package ns

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"fawn/sandbox"
	"fawn/sandbox/pool"
)

// NoGroups tells the owner the alternative to control groups, and how to enable them.
func NoGroups(why string) string {
	manager := "--user "
	if os.Geteuid() == 0 {
		manager = "" // the system's manager
	}
	return "no control groups (" + why + "): memory and processes are watched by the sandbox itself. " +
		"To have the kernel bound them, run Fawn as a systemd service with Delegate=yes in its [Service] section, " +
		"or from a terminal with: systemd-run " + manager + "--scope -p Delegate=yes fawn"
}

// Cgroups creates control groups for sandboxes below a folder delegated to the server. Only version 2 is supported.
type Cgroups struct {
	dir  string
	cpu  bool
	next atomic.Int64
}

// Cgroup limits one sandbox.
type Cgroup struct {
	dir    string
	fd     int
	memory int64
}

// openCgroups finds and prepares the delegated folder. It never uses one shared with other programs: the error then has
// the reason.
func openCgroups(proc string) (*Cgroups, error) {
	dir, top, err := pool.OwnCgroup(proc)
	if err != nil {
		return nil, err
	}
	// The server may start in a leaf of the delegated folder: systemd can do that, and a shell that enters a container
	// joins the leaf of its server.
	if filepath.Base(dir) == "server" && dir != top && delegated(filepath.Dir(dir), top) {
		dir = filepath.Dir(dir)
	}
	if !delegated(dir, top) {
		return nil, errors.New("no control group is delegated to the server")
	}
	has, err := words(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return nil, err
	}
	for _, want := range []string{"memory", "pids"} {
		if !slices.Contains(has, want) {
			return nil, fmt.Errorf("the delegated control group has no %s controller", want)
		}
	}
	c := &Cgroups{dir: dir, cpu: slices.Contains(has, "cpu")}
	if err := c.enable(); err != nil {
		return nil, err
	}
	return c, nil
}

// delegated checks for systemd's mark. A user with write access needs none, since other users' folders aren't writable.
// Neither does root at the top of a container's view with write access: that group belongs to the container.
func delegated(dir, top string) bool {
	mark := make([]byte, 1)
	for _, name := range []string{"trusted.delegate", "user.delegate"} {
		if n, err := unix.Getxattr(dir, name, mark); err == nil && n == 1 && mark[0] == '1' {
			return true
		}
	}
	if unix.Access(dir, unix.W_OK) != nil {
		return false
	}
	return os.Geteuid() != 0 || dir == top && !rootCgroup(dir)
}

// rootCgroup reports whether a group is the machine's root, the only one without this file.
func rootCgroup(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "cgroup.type"))
	return err != nil
}

// enable delegates the controllers to child groups. A group with processes can't do that, so the server moves to its
// own child group if it is alone.
func (c *Cgroups) enable() error {
	procs, err := words(filepath.Join(c.dir, "cgroup.procs"))
	if err != nil {
		return err
	}
	own := strconv.Itoa(os.Getpid())
	if len(procs) == 1 && procs[0] == own {
		leaf := filepath.Join(c.dir, "server")
		if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := put(leaf, "cgroup.procs", own); err != nil {
			return err
		}
	} else if len(procs) > 0 {
		return errors.New("other programs run in the control group of the server")
	}
	want := "+memory +pids"
	if c.cpu {
		want += " +cpu"
	}
	return put(c.dir, "cgroup.subtree_control", want)
}

// Create creates the group of one sandbox.
func (c *Cgroups) Create(l sandbox.Limits) (*Cgroup, error) {
	dir := filepath.Join(c.dir, fmt.Sprintf("sandbox-%d-%d", os.Getpid(), c.next.Add(1)))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make control group: %w", err)
	}
	g := &Cgroup{dir: dir, fd: -1, memory: l.Memory}
	files := map[string]string{}
	if l.Memory > 0 {
		files["memory.max"] = strconv.FormatInt(l.Memory, 10)
	}
	if l.Pids > 0 {
		files["pids.max"] = strconv.Itoa(l.Pids + 64)
	}
	if l.CPU > 0 && c.cpu {
		files["cpu.max"] = fmt.Sprintf("%d 100000", int64(l.CPU*100000))
	}
	var err error
	for name, value := range files {
		err = errors.Join(err, put(dir, name, value))
	}
	if l.Memory > 0 {
		// A kernel without swap accounting has no such file.
		_ = put(dir, "memory.swap.max", "0")
	}
	if err == nil {
		g.fd, err = unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		g.remove()
		return nil, fmt.Errorf("set up control group: %w", err)
	}
	return g, nil
}

// oomKills returns the number of processes killed for their memory.
func (g *Cgroup) oomKills() int64 {
	w, err := words(filepath.Join(g.dir, "memory.events"))
	if err != nil {
		return 0
	}
	for i := 0; i+1 < len(w); i += 2 {
		if w[i] == "oom_kill" {
			if n, err := strconv.ParseInt(w[i+1], 10, 64); err == nil {
				return n
			}
		}
	}
	return 0
}

// remove ends the remaining processes of the group and deletes it.
func (g *Cgroup) remove() {
	if g.fd >= 0 {
		_ = unix.Close(g.fd)
		g.fd = -1
	}
	// Before Linux 5.14 this file doesn't exist; process 1 took all others along.
	_ = put(g.dir, "cgroup.kill", "1")
	for range 50 {
		if err := unix.Rmdir(g.dir); !errors.Is(err, unix.EBUSY) {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func put(dir, name, value string) error {
	return os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600)
}

func words(file string) ([]string, error) {
	b, err := os.ReadFile(file)
	return strings.Fields(string(b)), err
}
