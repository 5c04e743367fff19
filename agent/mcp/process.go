package mcp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// grace is how long a server may take to leave when its input ends, and again when it is told to.
const grace = time.Second

// process is a server that runs as a child, with everything it has started.
type process struct {
	cmd    *exec.Cmd // nil in a sandbox
	group  *group
	ways   []func()      // to end it, the mildest first
	in     *os.File      // its standard input
	out    *os.File      // what it says
	err    *os.File      // what it complains of; nil in a sandbox
	said   chan struct{} // closed when it complains no more
	exited chan struct{}
	status error // of the exit, once exited is closed

	once sync.Once
	work sync.WaitGroup
}

// command is what a process is started with.
type command struct {
	path string
	args []string
	env  []string
	dir  string
}

// errNotFound says that a program is not there.
type errNotFound struct{ name string }

func (e errNotFound) Error() string {
	return fmt.Sprintf("%q isn't installed or not in the PATH", e.name)
}

// look finds a program in the folders of a PATH, or in the folder that a relative path starts from.
func look(name, path, dir string) (string, error) {
	if name == "" {
		return "", errNotFound{name}
	}
	if strings.ContainsAny(name, `/\`) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if found, err := exec.LookPath(name); err == nil {
			return found, nil
		}
		return "", errNotFound{name}
	}
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			continue // what a thread's folder holds is not a program of the owner's
		}
		if found, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
			return found, nil
		}
	}
	return "", errNotFound{name}
}

// inherited are the variables that servers get from Fawn's own environment. All others must be
// named in the configuration: among them are the keys of models.
func inherited() []string {
	names := []string{"HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TZ", "USER"}
	if runtime.GOOS == "windows" {
		names = append(names, "APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT",
			"PROCESSOR_ARCHITECTURE", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE",
			"WINDIR")
	}
	return names
}

// environment is that of a server: what it inherits, what its owner says, and a folder for
// temporary files.
func environment(own map[string]string, tmp string) []string {
	all := map[string]string{}
	for _, name := range inherited() {
		if v, ok := os.LookupEnv(name); ok {
			all[name] = v
		}
	}
	if tmp != "" {
		all["TMPDIR"] = tmp
	}
	for k, v := range own {
		all[k] = v
	}
	out := make([]string, 0, len(all))
	for k, v := range all {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}

// searchPath is the PATH of a server.
func searchPath(own map[string]string) string {
	if p, ok := own["PATH"]; ok {
		return p
	}
	return os.Getenv("PATH")
}

// start runs a command. Each line that it complains of goes to complain.
func start(c command, complain func(string)) (_ *process, err error) {
	p := &process{exited: make(chan struct{}), said: make(chan struct{})}
	var closers []io.Closer
	defer func() {
		if err != nil {
			for _, c := range closers {
				_ = c.Close() // nothing was written
			}
		}
	}()
	pipe := func() (r, w *os.File, err error) {
		if r, w, err = os.Pipe(); err == nil {
			closers = append(closers, r, w)
		}
		return r, w, err
	}
	in, ours, err := pipe()
	if err != nil {
		return nil, err
	}
	out, theirs, err := pipe()
	if err != nil {
		return nil, err
	}
	complaints, stderr, err := pipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out, p.err = ours, out, complaints
	p.cmd = &exec.Cmd{Path: c.path, Args: append([]string{c.path}, c.args...), Env: c.env, Dir: c.dir,
		Stdin: in, Stdout: theirs, Stderr: stderr}
	if p.group, err = newGroup(p.cmd); err != nil {
		return nil, err
	}
	for _, tell := range []func(*exec.Cmd) error{p.group.leave, p.group.kill} {
		p.ways = append(p.ways, func() { _ = tell(p.cmd) }) // if it cannot be told, it has gone
	}
	if err = p.cmd.Start(); err != nil {
		return nil, errors.Join(err, p.group.kill(p.cmd))
	}
	if err = errors.Join(in.Close(), theirs.Close(), stderr.Close()); err != nil {
		err = errors.Join(err, p.group.kill(p.cmd))
		_ = p.cmd.Wait() // it was killed
		return nil, err
	}
	p.work.Go(func() {
		lines := &lineWriter{take: complain}
		slow := &paced{File: complaints, end: p.exited, burst: errBurst, rate: errRate}
		// A file's own way of copying does not know of the pace. The stream ends, however that comes about.
		_, _ = io.Copy(lines, struct{ io.Reader }{slow})
		lines.flush()
		close(p.said)
	})
	p.work.Go(func() {
		p.status = p.cmd.Wait()
		// Whoever it started goes with it.
		if err := p.group.kill(p.cmd); err != nil {
			p.status = errors.Join(p.status, err)
		}
		close(p.exited)
	})
	return p, nil
}

// lastWords waits for what a process that has just died complained of: it comes on a way of its own.
func (p *process) lastWords() {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.said:
	case <-timer.C:
	}
}

// end stops the process and all that it started, and waits for them.
func (p *process) end() {
	p.once.Do(func() {
		_ = p.in.Close() // the sign to leave
		for _, tell := range p.ways {
			left := time.NewTimer(grace)
			select {
			case <-p.exited:
			case <-left.C:
				tell()
			}
			left.Stop()
		}
		<-p.exited
		_ = p.err.SetReadDeadline(time.Now().Add(grace)) // a process that left the group may hold the other end
		p.work.Wait()
		_ = errors.Join(p.out.Close(), p.err.Close()) // they were read
	})
}
