package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fawn/sandbox/files"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// seatbeltProgram puts a profile on itself and becomes another program.
const seatbeltProgram = "/usr/bin/sandbox-exec"

const seatbeltTmp = "/tmp"

// seatbelt runs commands with a profile of macOS: files, signals and the network
// are kept apart. They are processes of the server's user all the same.
type seatbelt struct {
	*host
	mu     sync.Mutex
	report Report // guarded by mu
}

func newSeatbelt(cfg Config) (Provider, error) {
	s := &seatbelt{host: &host{cfg: &cfg}}
	s.pool = newPool(&cfg, ProviderSeatbelt, s.start)
	s.pool.paths = s.paths
	s.pool.env = func(Policy) map[string]string {
		return map[string]string{
			"PATH": "/opt/homebrew/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": hostHome, "USER": "agent",
			"LOGNAME": "agent",
			"SHELL":   "/bin/bash", "LANG": "en_US.UTF-8", "TERM": "dumb", "TMPDIR": seatbeltTmp, "PYTHONUNBUFFERED": "1",
		}
	}
	return s, nil
}

func (s *seatbelt) Name() string { return ProviderSeatbelt }

// Probe runs a command of a throw-away thread and looks for walls that do not
// stand.
func (s *seatbelt) Probe(ctx context.Context) Report {
	start := time.Now()
	r := s.probe(ctx)
	r.Provider, r.TookMS = ProviderSeatbelt, time.Since(start).Milliseconds()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report = r
	return r
}

func (s *seatbelt) probe(ctx context.Context) Report {
	if os.Geteuid() == 0 {
		return Report{Reason: "root_user", Hint: "run the server as an ordinary user"}
	}
	if err := s.resolve(); err != nil {
		return Report{Reason: "setup", Detail: err.Error()}
	}
	if _, err := os.Stat(seatbeltProgram); err != nil {
		return Report{Reason: "not supported", Detail: err.Error()}
	}
	if !plainPath(s.root) {
		return Report{Reason: "data_path",
			Hint: "the path of the data folder has characters that mean something to a shell: move it"}
	}
	r := Report{
		Layers: []string{"seatbelt", "no_network", "scoped_signals", "rlimits"},
		Degraded: []string{"weaker: same user, no pid isolation, no memory cap", "path-translation",
			"daemons may outlive a command"},
	}
	missed, err := s.selfTest(ctx)
	r.tested(missed, err)
	if s.cfg.Strict && r.Reason == "" {
		r.Reason = "degraded:" + strings.Join(r.Degraded, ",")
	}
	r.OK = r.Reason == ""
	return r
}

// selfTest returns the names of what does not hold.
func (s *seatbelt) selfTest(ctx context.Context) (missed []string, err error) {
	id := strings.ToLower(rand.Text()[:12])
	thread, other := "probe-"+id, "probe-other-"+id
	defer func() {
		for _, t := range []string{thread, other} {
			err = errors.Join(err, s.cfg.Dirs.Remove(t))
		}
	}()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	defer l.Close()
	if err := s.folders(thread); err != nil {
		return nil, err
	}
	neighbour := filepath.Join(s.root, "threads", other, "private")
	if err := errors.Join(os.MkdirAll(filepath.Dir(neighbour), 0o700), os.WriteFile(neighbour, nil, 0o600)); err != nil {
		return nil, fmt.Errorf("make neighbour: %w", err)
	}
	b, err := s.start(ctx, thread, DefaultPolicy())
	if err != nil {
		return nil, err
	}
	defer b.stop()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	paths := s.paths(thread)
	env := []string{
		"PATH=/usr/bin:/bin", "HOME=" + paths.In(hostHome), "TMPDIR=" + paths.In(seatbeltTmp), "FILES=" + paths.In(files.UserData),
		"NEIGHBOUR=" + neighbour,
		"PORT=" + strconv.Itoa(l.Addr().(*net.TCPAddr).Port), "SERVER=" + strconv.Itoa(os.Getpid()),
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if _, err := b.run(ctx, job{command: seatbeltTest, env: env, cwd: paths.In(files.Workspace), out: w, errs: w}); err != nil {
		return nil, err
	}
	if err := r.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
		return nil, err
	}
	// What did not come in time is missed.
	text, err := io.ReadAll(io.LimitReader(r, 64<<10))
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	done := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "miss "); ok {
			missed = append(missed, name)
		}
		done = done || line == "done"
	}
	if !done && len(missed) == 0 {
		missed = []string{"no_answer"}
	}
	return missed, nil
}

// folders makes those of a thread.
func (s *seatbelt) folders(thread string) error {
	if err := s.cfg.Dirs.Create(thread); err != nil {
		return err
	}
	for _, name := range []string{"home", "tmp"} {
		if err := os.MkdirAll(filepath.Join(s.root, "threads", thread, "sandbox", name), 0o700); err != nil {
			return files.OpError("make folders of thread", thread, err)
		}
	}
	return nil
}

func (s *seatbelt) paths(thread string) PathMapper {
	return newTranslator(s.folderMap(thread, map[string]string{
		seatbeltTmp: filepath.Join(s.root, "threads", thread, "sandbox", "tmp"),
	}))
}

func (s *seatbelt) Acquire(ctx context.Context, thread ThreadRef, policy Policy) (Sandbox, error) {
	s.mu.Lock()
	report := s.report
	s.mu.Unlock()
	if report.Provider == "" {
		report = s.Probe(ctx)
	}
	if !report.OK {
		return nil, &UnavailableError{Reason: report.Reason, Hint: report.Hint}
	}
	m, err := s.pool.acquire(thread, policy)
	if err != nil {
		return nil, err
	}
	if err := s.folders(thread.ID); err != nil {
		return nil, err
	}
	return m, nil
}

// start is the starter of the pool.
func (s *seatbelt) start(_ context.Context, thread string, p Policy) (box, error) {
	base := filepath.Join(s.root, "threads", thread)
	rules := seatbeltRules{
		secrets: []string{s.root},
		own:     []string{base + "/user-data", base + "/sandbox/home", base + "/sandbox/tmp"},
	}
	if p.UploadsReadOnly {
		rules.closed = append(rules.closed, base+"/user-data/uploads")
	}
	for _, dir := range s.cfg.Secrets {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		rules.secrets = append(rules.secrets, dir)
	}
	for _, m := range s.cfg.Dirs.Mounts {
		real, err := filepath.EvalSymlinks(m.Dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("mount %s: %w", m.Path, err)
		case files.Under(s.root, real):
			// Secrets are closed later than what may be read.
			rules.own, rules.closed = append(rules.own, real), append(rules.closed, real)
		default:
			rules.read = append(rules.read, real)
		}
	}
	profile, err := rules.profile()
	if err != nil {
		return nil, err
	}
	if _, err := exec.LookPath("bash"); err != nil {
		return nil, &UnavailableError{Reason: "no_bash"}
	}
	return &hostBox{
		groups: map[int]bool{}, over: make(chan struct{}),
		about:  []string{"seatbelt", "DEGRADED:same-user", "DEGRADED:path-translation"},
		prefix: []string{seatbeltProgram, "-p", profile, "/bin/bash", "-c", seatbeltLimits(p.Limits), "limits"},
	}, nil
}
