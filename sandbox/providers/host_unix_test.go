//go:build unix

package providers_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fawn/sandbox"
	"fawn/sandbox/files"
	"fawn/sandbox/providers"
)

func openHost(t *testing.T) (sandbox.Provider, sandbox.Config) {
	t.Helper()
	cfg := sandbox.DefaultConfig()
	cfg.Provider, cfg.AllowHostBash = sandbox.ProviderHost, true
	cfg.Dirs.Root = filepath.Join(t.TempDir(), "data")
	cfg.Dirs.Mounts = []files.Mount{{Path: files.Skills, Dir: t.TempDir()}}
	p, err := providers.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p, cfg
}

func TestHostMustBeAskedForTwice(t *testing.T) {
	cfg := sandbox.DefaultConfig()
	cfg.Dirs.Root = t.TempDir()
	cfg.Provider = sandbox.ProviderHost
	if _, err := providers.New(t.Context(), cfg); !errors.Is(err, sandbox.ErrConfig) {
		t.Errorf("without allow_host_bash: %v", err)
	}
	cfg.Provider, cfg.AllowHostBash = sandbox.ProviderAuto, true
	p, err := providers.New(t.Context(), cfg)
	if err != nil || p.Name() == sandbox.ProviderHost {
		t.Fatalf("auto took the host: %v", err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestHostTranslatesPaths(t *testing.T) {
	p, cfg := openHost(t)
	s, err := p.Acquire(t.Context(), sandbox.ThreadRef{ID: "a"}, sandbox.DefaultPolicy())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cfg.Dirs.Mounts[0].Dir, "x.md"), []byte("skill"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s.ID() != "host:a" || s.Paths().Identity() {
		t.Errorf("%s, identity %v", s.ID(), s.Paths().Identity())
	}
	var streamed strings.Builder
	res, err := s.Exec(t.Context(), sandbox.ExecReq{
		Command: `pwd; echo x > /mnt/user-data/outputs/f; ls "/mnt/user-data/outputs"; echo $P; cat /mnt/skills/x.md; echo; cd; pwd; echo /x/mnt/user-data /mnt/user-data-2; cat; false`,
		Env:     map[string]string{"P": "/mnt/user-data/uploads:/mnt/skills"}, Stdin: []byte("in\n"),
		OnOutput: func(_ sandbox.Stream, b []byte) { streamed.Write(b) },
	})
	want := "/mnt/user-data/workspace\nf\n/mnt/user-data/uploads:/mnt/skills\nskill\n/home/agent\n/x/mnt/user-data /mnt/user-data-2\nin\n"
	if err != nil || string(res.Output) != want || streamed.String() != want || res.ExitCode != 1 {
		t.Errorf("%v, exit %d: %q, streamed %q", err, res.ExitCode, res.Output, streamed.String())
	}
}

func TestHostEndsCommands(t *testing.T) {
	t.Parallel() // most of it waits
	p, _ := openHost(t)
	s, err := p.Acquire(t.Context(), sandbox.ThreadRef{ID: "a"}, sandbox.DefaultPolicy())
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	res, err := s.Exec(t.Context(), sandbox.ExecReq{Command: "echo partial; sleep 300 & sleep 300",
		Timeout: 8 * time.Second}) // a busy machine may take some of it for the output
	if err != nil || !res.TimedOut || string(res.Output) != "partial\n" || res.Signal != "SIGKILL" ||
		time.Since(start) > time.Minute {
		t.Errorf("%v %+v", err, res)
	}
	if res, err := s.Exec(t.Context(), sandbox.ExecReq{Command: "sleep 300 & echo started"}); err != nil ||
		res.Background != 1 || string(res.Output) != "started\n" {
		t.Errorf("%v %+v", err, res)
	}
	if st := s.Status(); st.Procs != 1 {
		t.Errorf("%+v", st)
	}
	if err := p.Destroy(t.Context(), sandbox.ThreadRef{ID: "a"}, "test"); err != nil {
		t.Error(err)
	}
	if _, err := s.Exec(t.Context(), sandbox.ExecReq{Command: "true"}); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("%v", err)
	}
}
