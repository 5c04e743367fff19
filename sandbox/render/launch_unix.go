//go:build unix

package render

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// installed returns where a browser is found.
func installed() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
		"/Applications/Chromium.app/Contents/MacOS/Chromium"} {
		if at, err := exec.LookPath(name); err == nil {
			return at
		}
	}
	return ""
}

// process is a browser started by us, in its own process group with its own profile. It receives commands over pipes,
// and exits when they close.
type process struct {
	cmd  *exec.Cmd
	dir  string
	to   *os.File
	from *os.File
	in   *bufio.Reader

	over  atomic.Bool // ended for using too much memory
	quit  chan struct{}
	watch sync.WaitGroup
}

// nowhere is the proxy for the browser's own requests, such as updates and accounts: nothing listens there. The page
// has a separate context with its own proxy, see show.
const nowhere = "http://127.0.0.1:1"

// flags disable everything but the page: the browser doesn't resolve names, bypass the proxy, or make requests of its
// own.
func flags(dir string, more ...string) []string {
	return append(append([]string{"--headless", "--remote-debugging-pipe", "--user-data-dir=" + dir, "--proxy-server=" + nowhere,
		"--proxy-bypass-list=<-loopback>", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--disable-quic",
		"--webrtc-ip-handling-policy=disable_non_proxied_udp", // of Chromium, and of its headless shell:
		"--force-webrtc-ip-handling-policy=disable_non_proxied_udp", "--no-first-run", "--no-default-browser-check",
		"--no-pings", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--disable-default-apps", "--disable-extensions", "--disable-domain-reliability", "--disable-breakpad",
		"--disable-client-side-phishing-detection", "--disable-gpu", "--disable-dev-shm-usage", "--mute-audio",
		"--password-store=basic", "--use-mock-keychain", "--window-size=1280,1600"}, more...), "about:blank")
}

// launch starts a browser with a memory limit in bytes and further flags.
func launch(program string, memory int64, more ...string) (_ wire, err error) {
	p := &process{quit: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if p.dir, err = profile(); err != nil {
		return nil, err
	}
	theirs, err := p.pipes()
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, f := range theirs {
			_ = f.Close() // the browser has its own copy
		}
	}()
	p.cmd = &exec.Cmd{Path: program, Args: append([]string{program}, flags(p.dir, more...)...), Dir: p.dir,
		Env:        []string{"HOME=" + p.dir, "TMPDIR=" + p.dir, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"},
		ExtraFiles: theirs, SysProcAttr: &syscall.SysProcAttr{Setpgid: true}}
	if p.cmd.SysProcAttr.Credential, err = unprivileged(p.dir); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		p.cmd = nil
		return nil, err
	}
	p.watch.Go(func() { p.bound(memory) })
	return p, nil
}

// look is the interval of measuring a browser's memory.
const look = 50 * time.Millisecond

// bound ends the browser once all its processes together take more memory than they may.
func (p *process) bound(most int64) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-p.quit:
			return
		case <-tick.C:
		}
		if taken(p.cmd.Process.Pid) > most {
			p.over.Store(true)
			_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // close reaps it and reports failures
			return
		}
	}
}

// exceeded implements bounded.
func (p *process) exceeded() bool { return p.over.Load() }

// folder implements local.
func (p *process) folder() string { return p.dir }

// pipes creates the command pipes and returns the browser's ends, which become 3 and 4.
func (p *process) pipes() (theirs []*os.File, err error) {
	read, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.to = to
	from, write, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, read.Close())
	}
	p.from, p.in = from, bufio.NewReaderSize(from, 64<<10)
	return []*os.File{read, write}, nil
}

// profile creates a folder for a browser. A root server's browser runs as another user, who must have access: if TMPDIR
// is closed to others, another folder is used.
func profile() (string, error) {
	const name = "fawn-browser-*"
	if os.Geteuid() != 0 {
		return os.MkdirTemp("", name)
	}
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		if open, err := passable(dir); err == nil && open {
			return os.MkdirTemp(dir, name)
		}
	}
	return "", errors.New("root's browser runs as another user, which can't access $TMPDIR, /tmp or /var/tmp")
}

// passable reports whether every user can access a folder and its content.
func passable(dir string) (bool, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return false, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return false, err
	}
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false, err
		}
		if dir == filepath.Dir(dir) {
			return true, nil
		}
		dir = filepath.Dir(dir)
	}
}

// unprivileged runs a root server's browser as another user: its sandbox doesn't work for root.
func unprivileged(dir string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	uid, gid := 65534, 65534
	if u, err := user.Lookup("nobody"); err == nil {
		if n, err := strconv.Atoi(u.Uid); err == nil {
			uid = n
		}
		if n, err := strconv.Atoi(u.Gid); err == nil {
			gid = n
		}
	}
	if err := os.Chown(dir, uid, gid); err != nil {
		return nil, fmt.Errorf("change the owner of the profile: %w", err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), NoSetGroups: false}, nil
}

func (p *process) send(ctx context.Context, m []byte) error {
	if deadline, ok := ctx.Deadline(); ok {
		if err := p.to.SetWriteDeadline(deadline); err != nil {
			return err
		}
	}
	_, err := p.to.Write(append(m, 0))
	return err
}

func (p *process) receive() ([]byte, error) {
	var all []byte
	for {
		part, err := p.in.ReadSlice(0)
		if len(all)+len(part) > maxMessage {
			return nil, ErrLarge
		}
		all = append(all, part...)
		switch {
		case err == nil:
			return bytes.TrimSuffix(all, []byte{0}), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// close ends the browser with all its processes and removes its profile.
func (p *process) close() error {
	var errs []error
	close(p.quit)
	p.watch.Wait()
	if p.to != nil {
		errs = append(errs, p.to.Close())
	}
	if p.cmd != nil {
		if err := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			errs = append(errs, err)
		}
		_ = p.cmd.Wait() // killed
	}
	if p.from != nil {
		errs = append(errs, p.from.Close())
	}
	if p.dir != "" {
		errs = append(errs, remove(p.dir))
	}
	return errors.Join(errs...)
}

// remove deletes a profile, into which a process that is just being killed may still write.
func remove(dir string) (err error) {
	for range 10 {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
	}
	return err
}
