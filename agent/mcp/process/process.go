package process

import (
	"bytes"
	"context"
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
	"sync/atomic"
	"time"
)

// grace limits the time for a server to exit after its input closes, and again after the signal.
const grace = time.Second

// wordsTime limits the wait for the last error output of a dead server on a busy machine.
const wordsTime = 5 * time.Second

// Process is a server that runs as a child, with everything it has started.
type Process struct {
	cmd    *exec.Cmd // nil in a sandbox
	group  *group
	ways   []func()      // signals to end it, the mildest first
	in     *os.File      // its standard input
	out    *os.File      // its standard output
	err    *os.File      // its standard error; nil in a sandbox
	said   chan struct{} // closed at the end of its error output
	exited chan struct{}
	status error // exit status, valid once exited is closed

	heard atomic.Uint64 // bytes written by it

	once sync.Once
	work sync.WaitGroup
}

// Command holds the arguments to start a process.
type Command struct {
	Path string   // as [Find] returns it
	Args []string // without the program's name
	Env  []string
	Dir  string
}

// NotFoundError means that a program doesn't exist.
type NotFoundError struct{ name string }

// Error implements error.
func (e NotFoundError) Error() string {
	return fmt.Sprintf("%q isn't installed or not in the PATH", e.name)
}

// Find finds a program in the folders of a PATH, or in the folder that a relative path starts from.
func Find(name, path, dir string) (string, error) {
	if name == "" {
		return "", NotFoundError{name}
	}
	if strings.ContainsAny(name, `/\`) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if found, err := exec.LookPath(name); err == nil {
			return found, nil
		}
		return "", NotFoundError{name}
	}
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			continue // a thread's folder must not provide the owner's program
		}
		if found, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
			return found, nil
		}
	}
	return "", NotFoundError{name}
}

// inherited returns the variables that servers get from Fawn's own environment. All others must be named in the
// configuration: among them are the keys of models.
func inherited() []string {
	names := []string{"HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TZ", "USER"}
	if runtime.GOOS == "windows" {
		names = append(names, "APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT",
			"PROCESSOR_ARCHITECTURE", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME",
			"USERPROFILE", "WINDIR")
	}
	return names
}

// Environment returns a server's environment: the inherited variables, its owner's, and a folder for temporary files.
func Environment(own map[string]string, tmp string) []string {
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

// SearchPath returns the PATH of a server.
func SearchPath(own map[string]string) string {
	if p, ok := own["PATH"]; ok {
		return p
	}
	return os.Getenv("PATH")
}

// Start starts a command. complain receives each line of error output.
func Start(c Command, complain func(string)) (_ *Process, err error) {
	p := &Process{exited: make(chan struct{}), said: make(chan struct{})}
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
	p.cmd = &exec.Cmd{Path: c.Path, Args: append([]string{c.Path}, c.Args...), Env: c.Env, Dir: c.Dir,
		Stdin: in, Stdout: theirs, Stderr: stderr}
	if p.group, err = newGroup(p.cmd); err != nil {
		return nil, err
	}
	for _, tell := range []func(*exec.Cmd) error{p.group.terminate, p.group.kill} {
		p.ways = append(p.ways, func() { _ = tell(p.cmd) }) // an exited one needs no signal
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
		slow := &paced{File: complaints, end: p.exited, burst: errBurst, rate: errRate, heard: &p.heard}
		// File.WriteTo would bypass the rate limit. Any error ends the stream.
		_, _ = io.Copy(lines, struct{ io.Reader }{slow})
		lines.flush()
		close(p.said)
	})
	p.work.Go(func() {
		p.status = p.cmd.Wait()
		// Its descendants are killed with it.
		if err := p.group.kill(p.cmd); err != nil {
			p.status = errors.Join(p.status, err)
		}
		close(p.exited)
	})
	return p, nil
}

// Confined runs a server in a function that returns when its context ends, for instance in a sandbox. The function
// closes the given standard input and output. complain receives each line of error output.
func Confined(run func(ctx context.Context, in, out *os.File, complain io.Writer) error, complain func(string)) (
	*Process, error) {
	in, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close(), ours.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &Process{in: ours, out: out, exited: make(chan struct{}), said: make(chan struct{}), ways: []func(){cancel}}
	p.work.Go(func() {
		defer cancel()
		lines := &lineWriter{take: complain}
		p.status = run(ctx, in, theirs, lines)
		lines.flush()
		close(p.said)
		close(p.exited)
	})
	return p, nil
}

// Activity returns a number that changes while the process is active: when it writes or, where the system reports it,
// when it or a descendant uses processor time.
func (p *Process) Activity() uint64 {
	n := p.heard.Load()
	if p.cmd != nil {
		n += p.group.worked()
	}
	return n
}

// Input returns the process's standard input.
func (p *Process) Input() io.WriteCloser { return p.in }

// Refused returns the reason given by the sandbox for ending a confined process; nil for other processes.
func (p *Process) Refused() error {
	if p.cmd != nil {
		return nil
	}
	return p.status
}

// LastWords waits for the error output of a process that just died, which arrives through a separate pipe.
func (p *Process) LastWords() {
	timer := time.NewTimer(wordsTime)
	defer timer.Stop()
	select {
	case <-p.said:
	case <-timer.C:
	}
}

// End stops the process and its descendants, and waits for them.
func (p *Process) End() {
	p.once.Do(func() {
		_ = p.in.Close() // signal to exit
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
		_ = errors.Join(p.out.Close(), p.err.Close()) // they have been read
	})
}

// maxLine limits a line in bytes.
const maxLine = 2000

// lineWriter splits a stream into lines. Overlong lines are dropped.
type lineWriter struct {
	take func(string)
	buf  []byte
}

// Write takes more of the stream; it never fails.
func (w *lineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		line, rest, end := bytes.Cut(p, []byte("\n"))
		w.buf = append(w.buf, line[:min(len(line), maxLine-min(len(w.buf), maxLine))]...)
		if end {
			w.take(string(w.buf))
			w.buf = w.buf[:0]
		}
		p = rest
	}
	return n, nil
}

// flush ends the last line.
func (w *lineWriter) flush() {
	if len(w.buf) > 0 {
		w.take(string(w.buf))
		w.buf = nil
	}
}
