package seatbelt

import (
	"context"
	"crypto/rand"
	"errors"
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

	"fawn/sandbox"
	"fawn/sandbox/files"
	"fawn/sandbox/host"
	"fawn/sandbox/pool"
)

// seatbeltProgram puts a profile on itself and becomes another program.
const seatbeltProgram = "/usr/bin/sandbox-exec"

const seatbeltTmp = "/tmp"

// provider runs commands with a macOS profile that isolates files, signals and the network. The
// processes still belong to the server's user.
type provider struct {
	*host.Host
	mu     sync.Mutex
	report sandbox.Report // guarded by mu
}

// New returns the provider.
func New(cfg sandbox.Config) (sandbox.Provider, error) {
	s := &provider{Host: &host.Host{Config: &cfg}}
	s.Pool = pool.New(&cfg, sandbox.ProviderSeatbelt, s.start)
	s.Pool.Paths = s.paths
	s.Pool.Env = func(sandbox.Policy) map[string]string {
		return map[string]string{
			"PATH": "/opt/homebrew/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": host.Home,
			"USER": "agent", "LOGNAME": "agent",
			"SHELL": "/bin/bash", "LANG": "en_US.UTF-8", "TERM": "dumb", "TMPDIR": seatbeltTmp, "PYTHONUNBUFFERED": "1",
		}
	}
	return s, nil
}

func (s *provider) Name() string { return sandbox.ProviderSeatbelt }

// Probe runs a command of a temporary thread and checks the protections.
func (s *provider) Probe(ctx context.Context) sandbox.Report {
	start := time.Now()
	r := s.probe(ctx)
	r.Provider, r.TookMS = sandbox.ProviderSeatbelt, time.Since(start).Milliseconds()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report = r
	return r
}

func (s *provider) probe(ctx context.Context) sandbox.Report {
	if os.Geteuid() == 0 {
		return sandbox.Report{Reason: "root_user", Hint: "run the server as an ordinary user"}
	}
	if err := s.Resolve(); err != nil {
		return sandbox.Report{Reason: "setup", Detail: err.Error()}
	}
	if _, err := os.Stat(seatbeltProgram); err != nil {
		return sandbox.Report{Reason: "not supported", Detail: err.Error()}
	}
	if !pool.PlainPath(s.Root) || !pool.PlainPath(s.Above()) {
		return sandbox.Report{Reason: "data_path",
			Hint: "the path of the data folder has characters that mean something to a shell: move it"}
	}
	r := sandbox.Report{
		Layers: []string{"seatbelt", "no_network", "scoped_signals", "rlimits"},
		Degraded: []string{"weaker: same user, no pid isolation, no memory cap", "path-translation",
			"daemons may outlive a command"},
	}
	missed, err := s.selfTest(ctx)
	r.Tested(missed, err)
	if s.Config.Strict && r.Reason == "" {
		r.Reason = "degraded:" + strings.Join(r.Degraded, ",")
	}
	r.OK = r.Reason == ""
	return r
}

// selfTest returns the names of failed checks.
func (s *provider) selfTest(ctx context.Context) (missed []string, err error) {
	id := strings.ToLower(rand.Text()[:12])
	thread, other := "probe-"+id, "probe-other-"+id
	defer func() {
		for _, t := range []string{thread, other} {
			err = errors.Join(err, s.Config.Dirs.Remove(t))
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
	neighbour := filepath.Join(s.Above(), "threads", other, "private")
	if err := errors.Join(os.MkdirAll(filepath.Dir(neighbour), 0o700),
		os.WriteFile(neighbour, nil, 0o600)); err != nil {
		return nil, fmt.Errorf("make neighbour: %w", err)
	}
	b, err := s.start(ctx, thread, sandbox.DefaultPolicy())
	if err != nil {
		return nil, err
	}
	defer b.Stop()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	paths := s.paths(thread)
	env := []string{
		"PATH=/usr/bin:/bin", "HOME=" + paths.In(host.Home), "TMPDIR=" + paths.In(seatbeltTmp),
		"FILES=" + paths.In(files.UserData),
		"NEIGHBOUR=" + neighbour,
		"PORT=" + strconv.Itoa(l.Addr().(*net.TCPAddr).Port), "SERVER=" + strconv.Itoa(os.Getpid()),
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if _, err := b.Run(ctx, pool.Job{Command: seatbeltTest, Env: env, Cwd: paths.In(files.Workspace), Out: w,
		Errs: w}); err != nil {
		return nil, err
	}
	if err := r.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
		return nil, err
	}
	// Late output counts as missing.
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

// folders creates a thread's folders.
func (s *provider) folders(thread string) error {
	if err := s.Config.Dirs.Create(thread); err != nil {
		return err
	}
	for _, name := range []string{"home", "tmp"} {
		if err := os.MkdirAll(filepath.Join(s.Above(), "threads", thread, "sandbox", name), 0o700); err != nil {
			return files.OpError("make folders of thread", thread, err)
		}
	}
	return nil
}

func (s *provider) paths(thread string) sandbox.PathMapper {
	return pool.NewTranslator(s.FolderMap(thread, map[string]string{
		seatbeltTmp: filepath.Join(s.Above(), "threads", thread, "sandbox", "tmp"),
	}))
}

// Acquire implements sandbox.Provider.
func (s *provider) Acquire(ctx context.Context, thread sandbox.ThreadRef,
	policy sandbox.Policy) (sandbox.Sandbox, error) {
	s.mu.Lock()
	report := s.report
	s.mu.Unlock()
	if report.Provider == "" {
		report = s.Probe(ctx)
	}
	if !report.OK {
		return nil, &sandbox.UnavailableError{Reason: report.Reason, Hint: report.Hint}
	}
	m, err := s.Pool.Acquire(thread, policy)
	if err != nil {
		return nil, err
	}
	if err := s.folders(thread.ID); err != nil {
		return nil, err
	}
	return m, nil
}

// start returns the starter of the pool.
func (s *provider) start(_ context.Context, thread string, p sandbox.Policy) (pool.Box, error) {
	base := filepath.Join(s.Above(), "threads", thread)
	rules := seatbeltRules{
		secrets: []string{s.Root, s.Above()},
		own:     []string{base + "/user-data", base + "/sandbox/home", base + "/sandbox/tmp"},
	}
	if p.UploadsReadOnly {
		rules.closed = append(rules.closed, base+"/user-data/uploads")
	}
	if p.Project.Dir != "" {
		rules.own = append(rules.own, p.Project.Dir)
		if p.Project.ReadOnly {
			rules.closed = append(rules.closed, p.Project.Dir)
		}
	}
	for _, dir := range s.Config.Secrets {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		rules.secrets = append(rules.secrets, dir)
	}
	for _, m := range s.Config.Dirs.Mounts {
		real, err := filepath.EvalSymlinks(m.Dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("mount %s: %w", m.Path, err)
		case files.Under(s.Root, real):
			// Deny first and re-allow: rules for secrets come later and win.
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
		return nil, &sandbox.UnavailableError{Reason: "no_bash"}
	}
	return host.NewBox([]string{"seatbelt", "DEGRADED:same-user", "DEGRADED:path-translation"},
		seatbeltProgram, "-p", profile, "/bin/bash", "-c", seatbeltLimits(p.Limits), "limits"), nil
}
