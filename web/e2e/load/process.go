package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Process is a child of the driver. Stop must be called.
type Process struct {
	cmd    *exec.Cmd
	exited chan struct{}
	log    *os.File
}

// start runs a program in its own process group with its output in a file.
func start(logPath string, env []string, name string, args ...string) (*Process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = log, log
	grouped(cmd)
	if err := cmd.Start(); err != nil {
		log.Close()
		return nil, err
	}
	p := &Process{cmd: cmd, exited: make(chan struct{}), log: log}
	go func() {
		cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// PID returns the child's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stop asks the child to end, waits up to ten seconds, and then kills its group.
func (p *Process) Stop() {
	defer p.log.Close()
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(10 * time.Second):
	}
	endGroup(p.PID())
	<-p.exited
}

// Kill ends the child and its group at once.
func (p *Process) Kill() {
	defer p.log.Close()
	endGroup(p.PID())
	<-p.exited
}

// ready waits until the address answers GET /ok with 200.
func (p *Process) ready(ctx context.Context, base string) error { return p.answers(ctx, base+"/ok") }

// answers waits until the process answers with 200 there.
func (p *Process) answers(ctx context.Context, url string) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Second}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if res, err := client.Do(req); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-p.exited:
			return fmt.Errorf("%s ended before it answered: see %s", filepath.Base(p.cmd.Path), p.log.Name())
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w", url, ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
}

// freeAddr returns a currently unused loopback address.
func freeAddr() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer ln.Close()
	return ln.Addr().String(), nil
}

// Memory is a process's memory in bytes. PSS counts shared pages proportionally. Binary is the part of RSS for the
// program and other files, which the system can evict. Peak is the largest RSS so far.
type Memory struct{ RSS, PSS, Binary, Peak int64 }

func memory(pid int) (Memory, error) {
	var m Memory
	for file, fields := range map[string]map[string]*int64{
		"smaps_rollup": {"Rss:": &m.RSS, "Pss:": &m.PSS},
		"status":       {"RssFile:": &m.Binary, "VmHWM:": &m.Peak},
	} {
		if err := sizes("/proc/"+strconv.Itoa(pid)+"/"+file, fields); err != nil {
			return m, err
		}
	}
	return m, nil
}

// sizes reads lines such as "VmHWM: 1 kB" of a file.
func sizes(path string, into map[string]*int64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) != 3 || words[2] != "kB" || into[words[0]] == nil {
			continue
		}
		kb, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		*into[words[0]] = kb << 10
	}
	return lines.Err()
}

// diskUse adds up the sizes of all files below a folder, in bytes.
func diskUse(dir string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}
