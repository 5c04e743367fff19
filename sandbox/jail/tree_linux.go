package jail

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// tree is a snapshot of the processes. Its numbers are those of /proc, which differ from those of system calls if the
// /proc of an enclosing container is shown.
type tree struct {
	self    int // this process
	foreign bool
	parent  map[int]int
	dead    map[int]bool // zombies
	tasks   map[int]int  // threads of a process
}

func processes() tree {
	t := tree{parent: map[int]int{}, dead: map[int]bool{}, tasks: map[int]int{}}
	if link, err := os.Readlink("/proc/self"); err == nil {
		if n, err := strconv.Atoi(link); err == nil {
			t.self = n
		}
	}
	t.foreign = t.self != os.Getpid()
	dir, err := os.Open("/proc")
	if err != nil {
		return t
	}
	defer dir.Close()
	// A partial list is better than none: callers that need all of it retry.
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		n, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if parent, tasks, state, ok := stat(name); ok {
			t.parent[n], t.tasks[n] = parent, tasks
			// The first thread of a living process may have ended.
			t.dead[n] = state == 'X' || state == 'Z' && tasks <= 1
		}
	}
	return t
}

// stat reads the parent, thread count and state. The program's name may contain anything, so parsing starts after its
// last bracket.
func stat(name string) (parent, tasks int, state byte, ok bool) {
	b, err := os.ReadFile("/proc/" + name + "/stat")
	if err != nil {
		return 0, 0, 0, false
	}
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 18 {
		return 0, 0, 0, false
	}
	parent, err = strconv.Atoi(string(f[1]))
	return parent, int(number(f[17])), f[0][0], err == nil
}

// load counts the tasks of the process limit: this process and its descendants with their threads, and zombies.
func (t tree) load() (sum int) {
	for n, tasks := range t.tasks {
		if t.under(t.self, n) {
			sum += max(tasks, 1)
		}
	}
	return sum
}

// await waits a limited time until a killed process has released everything.
func await(n int, limit time.Duration) {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		_, tasks, state, ok := stat(strconv.Itoa(n))
		if !ok || state == 'X' || state == 'Z' && tasks <= 1 {
			return
		}
	}
}

// below lists living descendants.
func (t tree) below(root int) []int {
	var all []int
	for n := range t.parent {
		if !t.dead[n] && n != root && t.under(root, n) {
			all = append(all, n)
		}
	}
	return all
}

func (t tree) under(root, n int) bool {
	for range len(t.parent) {
		if n == root {
			return true
		}
		up, ok := t.parent[n]
		if !ok || up == 0 {
			return false
		}
		n = up
	}
	return false
}

// child finds the number in /proc of a child of this process.
func (t tree) child(pid int) int {
	if !t.foreign {
		return pid
	}
	for n, parent := range t.parent {
		if parent == t.self && inner(n) == pid {
			return n
		}
	}
	return -1
}

// inner returns the process id that the process has in its own namespace.
func inner(n int) int {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(n) + "/status")
	if err != nil {
		return -1
	}
	_, rest, _ := bytes.Cut(b, []byte("\nNSpid:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	f := bytes.Fields(line)
	if len(f) == 0 {
		return -1
	}
	pid, err := strconv.Atoi(string(f[len(f)-1]))
	if err != nil {
		return -1
	}
	return pid
}

// signal sends to a process that may have ended by now.
func (t tree) signal(n int, sig unix.Signal) {
	if !t.foreign {
		_ = unix.Kill(n, sig)
		return
	}
	fd, err := unix.Open("/proc/"+strconv.Itoa(n), unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	_ = unix.Close(fd)
}

// killBelow kills all descendants of a child of this process and returns the number left. All are stopped first, so
// none can escape by forking. The child itself is stopped meanwhile: otherwise it would exit with the command, and
// last-moment forks would no longer be below it.
func killBelow(child int, limit time.Duration) int {
	t := processes()
	if root := t.child(child); root >= 0 {
		t.signal(root, unix.SIGSTOP)
		defer t.signal(root, unix.SIGCONT)
	}
	for end := time.Now().Add(limit); ; time.Sleep(3 * time.Millisecond) {
		t := processes()
		root := t.child(child)
		if root < 0 {
			return 0
		}
		all := t.below(root)
		if len(all) == 0 {
			return 0
		}
		if time.Now().After(end) {
			return len(all)
		}
		for _, n := range all {
			t.signal(n, unix.SIGSTOP)
		}
		t = processes()
		for _, n := range t.below(root) {
			t.signal(n, unix.SIGKILL)
		}
	}
}
