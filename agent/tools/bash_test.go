package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/tools"
	"fawn/sandbox"
	"fawn/sandbox/files"
	"fawn/sandbox/ns"
	"fawn/sandbox/providers"
)

// TestMain lets the real sandbox start this program as a part of itself.
func TestMain(m *testing.M) {
	ns.Reexec()
	os.Exit(m.Run())
}

// fake is a provider whose commands end as a test says.
type fake struct {
	sandbox.Provider
	acquire error
	exec    func(ctx context.Context, req sandbox.ExecReq) (sandbox.ExecResult, error)
	thread  string
	policy  sandbox.Policy
}

func (f *fake) Name() string { return "fake" }

func (f *fake) Acquire(_ context.Context, thread sandbox.ThreadRef, p sandbox.Policy) (sandbox.Sandbox, error) {
	f.thread, f.policy = thread.ID, p
	return fakeBox{f: f}, f.acquire
}

type fakeBox struct {
	sandbox.Sandbox
	f *fake
}

func (b fakeBox) Exec(ctx context.Context, req sandbox.ExecReq) (sandbox.ExecResult, error) {
	return b.f.exec(ctx, req)
}

func policy() sandbox.Policy {
	p := sandbox.DefaultPolicy()
	p.Network, p.StreamBytes = sandbox.NetworkNone, 64<<10
	return p
}

// nowhere is a thread whose files cannot be opened.
func nowhere(string) (*files.Files, error) { return nil, errors.New("no files here") }

func results() string { return ".tool-results" }

func bash(ctx context.Context, t *testing.T, p sandbox.Provider, command string) (agent.Result, []string, error) {
	t.Helper()
	return bashWith(ctx, t, p, nowhere, command)
}

func bashWith(ctx context.Context, t *testing.T, p sandbox.Provider, open tools.Files,
	command string) (agent.Result, []string, error) {
	t.Helper()
	sink := &agenttest.Sink{}
	turn := agenttest.Turn("x", sink)
	turn.NS = "tools:c0"
	args := must.Get(json.Marshal(map[string]string{"description": "d", "command": command}))(t)
	r, err := tools.Bash(p, policy, open, results).Run(ctx, turn, agent.ToolCall{ID: "c1", Name: "bash", Args: args})
	var shown []string
	for _, ev := range sink.Events() {
		var piece string
		if ev.Kind != agent.EventToolOutput || ev.Call.ID != "c1" || ev.NS != "tools:c0" ||
			json.Unmarshal(ev.Data, &piece) != nil {
			t.Errorf("event %+v", ev)
		}
		shown = append(shown, piece)
	}
	return r, shown, err
}

func TestBashWordsWhatBecameOfACommand(t *testing.T) {
	for _, c := range []struct {
		name   string
		result sandbox.ExecResult
		want   string
		failed bool
	}{
		{"nothing", sandbox.ExecResult{}, "(no output)", false},
		{"only line ends", sandbox.ExecResult{Output: []byte("\n\n")}, "(no output)", false},
		{"output", sandbox.ExecResult{Output: []byte("  a\nb\n")}, "  a\nb", false},
		{"failure", sandbox.ExecResult{Output: []byte("oops\n"), ExitCode: 2}, "oops\nExit Code: 2", false},
		{"errors", sandbox.ExecResult{Output: []byte("a\n"), Errors: []byte("  why\n\n")}, "a\nStd Error:\n  why", false},
		{"errors of a failure", sandbox.ExecResult{Errors: []byte("why\n"), ExitCode: 2, Background: 1}, "Std Error:\nwhy\nExit Code: 2\n(1 process of this command keeps running in the background)", false},
		{"errors without text", sandbox.ExecResult{Output: []byte("\n"), Errors: []byte(" \n")}, "(no output)", false},
		{"silent failure", sandbox.ExecResult{ExitCode: 1}, "Exit Code: 1", false},
		{"killed for memory", sandbox.ExecResult{ExitCode: 137, Signal: "SIGKILL", OOM: true, Notes: []string{"memory limit exceeded"}}, "Exit Code: 137\nmemory limit exceeded", false},
		{"too slow", sandbox.ExecResult{Output: []byte("a"), ExitCode: 137, TimedOut: true, Notes: []string{"Command timed out after 1 seconds."}}, "a\nCommand timed out after 1 seconds.", true},
		{"a daemon", sandbox.ExecResult{Background: 1}, "(1 process of this command keeps running in the background)", false},
		{"daemons", sandbox.ExecResult{Output: []byte("up\n"), Background: 2}, "up\n(2 processes of this command keep running in the background)", false},
		{"storage full", sandbox.ExecResult{ExitCode: 137, Quota: true, Notes: []string{"full"}}, "Exit Code: 137\nfull", true},
		{"not text", sandbox.ExecResult{Output: []byte("a\xff\x00b")}, "a\uFFFD\uFFFDb", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &fake{exec: func(context.Context, sandbox.ExecReq) (sandbox.ExecResult, error) {
				return c.result, nil
			}}
			r, _, err := bash(t.Context(), t, p, "x")
			if err != nil || r.Content.Text != c.want || r.IsError != c.failed {
				t.Errorf("got %q %v %v, want %q", r.Content.Text, r.IsError, err, c.want)
			}
			if code, _ := r.Kwargs[tools.ExitCodeKey].(int); code != c.result.ExitCode && !c.result.TimedOut {
				t.Errorf("the exit code is told as %d", code)
			}
			if p.thread != "t1" || p.policy.StreamBytes != 64<<10 {
				t.Errorf("asked for thread %q, policy %+v", p.thread, p.policy)
			}
		})
	}
}

func TestBashShowsOutputWhileItRuns(t *testing.T) {
	p := &fake{exec: func(_ context.Context, req sandbox.ExecReq) (sandbox.ExecResult, error) {
		if req.Command != "make" || req.Origin != (sandbox.Origin{User: "ann", Run: "r1", ToolCall: "c1"}) {
			t.Errorf("request %+v", req)
		}
		chunk := []byte("one\n")
		req.OnOutput(sandbox.StreamOutput, chunk)
		copy(chunk, "XXXX")
		req.OnOutput(sandbox.StreamOutput, []byte("<zwei> \"é\"\n"))
		return sandbox.ExecResult{Output: []byte("one\nzwei\n")}, nil
	}}
	_, shown, err := bash(t.Context(), t, p, "make")
	if err != nil || strings.Join(shown, "|") != "one\n|<zwei> \"é\"\n" {
		t.Errorf("shown %q %v", shown, err)
	}
}

func TestBashSaysWhyNothingRan(t *testing.T) {
	broken := errors.New("disk gone")
	for _, c := range []struct {
		name    string
		acquire error
		exec    error
		want    string
	}{
		{"no sandbox", &sandbox.UnavailableError{Reason: "userns_forbidden; landlock: not supported"}, nil,
			`Error: bash is disabled: no sandbox is available on this host (reason: userns_forbidden; landlock: not supported). Ask the owner to run "fawn doctor", or set sandbox.provider explicitly.`},
		{"gone at the call", nil, &sandbox.UnavailableError{Reason: "x"}, "Error: bash is disabled: no sandbox is available on this host (reason: x)."},
		{"busy", sandbox.ErrBusy, nil, "Error: all sandboxes are busy, try again later"},
		{"full", nil, files.ErrQuota, "Error: thread storage is full. Delete files under /mnt/user-data before running commands."},
		{"bad request", nil, sandbox.ErrRequest, "Error: invalid request"},
		{"no start", nil, &sandbox.InitError{Step: "mount proc", Err: syscall.EPERM, Detail: "/srv/secret"}, "Error: the sandbox did not start: mount proc: operation not permitted. Nothing was run."},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &fake{acquire: c.acquire, exec: func(context.Context, sandbox.ExecReq) (sandbox.ExecResult, error) {
				return sandbox.ExecResult{}, c.exec
			}}
			r, _, err := bash(t.Context(), t, p, "ls")
			if err != nil || !r.IsError || !strings.HasPrefix(r.Content.Text, c.want) ||
				strings.Contains(r.Content.Text, "/srv") {
				t.Errorf("got %q %v %v", r.Content.Text, r.IsError, err)
			}
		})
	}
	p := &fake{acquire: broken}
	if _, _, err := bash(t.Context(), t, p, "ls"); !errors.Is(err, broken) {
		t.Errorf("trouble of the server became %v", err)
	}
}

func TestACancelledCommandStaysCancelled(t *testing.T) {
	stop := errors.New("the user stopped it")
	for name, end := range map[string]error{"as a result": nil, "as an error": context.Canceled} {
		ctx, cancel := context.WithCancelCause(t.Context())
		p := &fake{exec: func(context.Context, sandbox.ExecReq) (sandbox.ExecResult, error) {
			cancel(stop)
			return sandbox.ExecResult{ExitCode: 137, Cancelled: true}, end
		}}
		if _, _, err := bash(ctx, t, p, "sleep 9"); !errors.Is(err, stop) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBashIsNotOfferedWithoutASandbox(t *testing.T) {
	cfg := sandbox.DefaultConfig()
	cfg.Provider, cfg.Dirs = sandbox.ProviderOff, files.Dirs{Root: t.TempDir()}
	off := must.Get(providers.New(t.Context(), cfg))(t)
	if tools.Bash(nil, policy, nil, nil) != nil || tools.Bash(off, policy, nil, nil) != nil {
		t.Error("bash is offered")
	}
	tool := tools.Bash(&fake{}, policy, nowhere, results)
	const schema = `{"type":"object","properties":{"description":{"type":"string","description":"why you run this command, in a few words"},` +
		`"command":{"type":"string","description":"the bash script to run"}},"required":["description","command"]}`
	if tool.Name != "bash" || tool.Group != tools.GroupBash || string(tool.Schema) != schema {
		t.Errorf("%s %s %s", tool.Name, tool.Group, tool.Schema)
	}
	r, err := tool.Run(t.Context(), agenttest.Turn("x", &agenttest.Sink{}),
		agent.ToolCall{Name: "bash", Args: json.RawMessage(`{}`)})
	if err != nil || r.Content.Text != `Error: argument "command" is missing` {
		t.Errorf("%q %v", r.Content.Text, err)
	}
}

// real is the sandbox of this machine.
func real(t *testing.T) (sandbox.Provider, string) {
	t.Helper()
	cfg := sandbox.DefaultConfig()
	cfg.Dirs = files.Dirs{Root: t.TempDir()}
	p := must.Get(providers.New(t.Context(), cfg))(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		must.Report(t, p.Close(ctx))
	})
	if p.Name() == sandbox.ProviderOff {
		reason := p.Probe(t.Context()).String()
		if os.Getenv("FAWN_CI") == "1" {
			t.Fatal("no sandbox works here: " + reason)
		}
		t.Skip("no sandbox works here: " + reason)
	}
	return p, filepath.Join(cfg.Dirs.Root, "threads", "t1", "user-data")
}

func TestBashInTheRealSandbox(t *testing.T) {
	t.Setenv("SERVER_SECRET", "hunter2hunter2")
	p, host := real(t)
	for _, c := range []struct{ command, want string }{
		{"pwd; echo hello > a.txt", "/mnt/user-data/workspace"},
		{"cat a.txt /mnt/user-data/workspace/a.txt", "hello\nhello"},
		{"cat ../uploads/none 2>&1", "cat: ../uploads/none: No such file or directory\nExit Code: 1"},
		{"exit 3", "Exit Code: 3"},
		{"true", "(no output)"},
		{"echo -$SERVER_SECRET-; env | grep -c hunter2", "--\n0\nExit Code: 1"},
		{"read x; echo \"<$x>\"", "<>"},
		{"echo report > ../outputs/r.md && ls ../outputs", "r.md"},
		{"for i in $(seq 9000); do echo line $i; done | wc -l", "9000"},
		{"cat <<'EOF'\nit's \"quoted\"\nEOF", "it's \"quoted\""},
	} {
		r, shown, err := bash(t.Context(), t, p, c.command)
		if err != nil || r.Content.Text != c.want || r.IsError {
			t.Errorf("%s: got %q %v %v, want %q", c.command, r.Content.Text, r.IsError, err, c.want)
		}
		out, _, _ := strings.Cut(c.want, "Exit Code")
		if out != "" && out != "(no output)" && strings.TrimSpace(strings.Join(shown, "")) != strings.TrimSpace(out) {
			t.Errorf("%s: shown %q", c.command, shown)
		}
	}
	if b, err := os.ReadFile(filepath.Join(host, "outputs", "r.md")); err != nil || string(b) != "report\n" {
		t.Errorf("on the host: %q %v", b, err)
	}
}

// TestNoOutputOfARealCommandIsLost: what a result has no room for is in a file, to its last
// byte or as far as the thread's storage goes, and the result says which.
func TestNoOutputOfARealCommandIsLost(t *testing.T) {
	p, host := real(t)
	root := strings.TrimSuffix(host, "/threads/t1/user-data")
	for _, c := range []struct {
		name        string
		quota       int64
		least, most int64 // bytes in the file
		note        string
	}{
		{"all of it", 0, 588895, 588895, "[All 588895 bytes of the output are in /mnt/user-data/outputs/.tool-results/bash-"},
		{"until the storage is full but for what is reserved", 1 << 20, 400 << 10, 512 << 10,
			"of 588895 bytes are in /mnt/user-data/outputs/.tool-results/bash-"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dirs := files.Dirs{Root: root, Quota: files.NewQuota(c.quota)}
			for _, name := range []string{"outputs/.tool-results", "workspace/report.md"} {
				must.Do(t, os.RemoveAll(filepath.Join(host, name)))
			}
			r, _, err := bashWith(t.Context(), t, p, dirs.Open, "seq 100000")
			text, w := r.Content.Text, r.Whole
			if err != nil || w == nil || len([]rune(text)) > 20_300 || !strings.HasPrefix(text, "1\n2\n") ||
				!strings.Contains(text, "\n100000\n[") || !strings.Contains(text, c.note) {
				t.Fatalf("%v %+v …%s", err, w, text[max(len(text)-300, 0):])
			}
			var want strings.Builder
			for i := range 100000 {
				fmt.Fprintln(&want, i+1)
			}
			got, err := os.ReadFile(filepath.Join(host, strings.TrimPrefix(w.Path, "/mnt/user-data/")))
			if err != nil || w.Stored < c.least || w.Stored > c.most || string(got) != want.String()[:w.Stored] ||
				w.Lines != 100000 {
				t.Errorf("the file has %d bytes: %v", len(got), err)
			}
			tree := must.Get(dirs.Open("t1"))(t)
			defer tree.Close()
			if err := tree.WriteFile(t.Context(), "report.md", make([]byte, 256<<10), false); err != nil {
				t.Errorf("no room is left for a report: %v", err)
			}
		})
	}
	r, _, _ := bashWith(t.Context(), t, p, nowhere, "seq 100000")
	if r.Whole != nil || !strings.Contains(r.Content.Text, "could not be kept in a file: no files here") {
		t.Errorf("without files: %+v", r.Whole)
	}
}

func TestCancelEndsTheRealCommand(t *testing.T) {
	p, _ := real(t)
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	time.AfterFunc(300*time.Millisecond, func() { cancel(stop) })
	begin := time.Now()
	if _, _, err := bash(ctx, t, p, "sleep 60"); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}
