package lead_test

import (
	"context"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/middleware"
	"fawn/agent/runs"
	"fawn/sandbox"
	"fawn/sandbox/files"
	"fawn/sandbox/providers"
)

// echo is a provider whose commands say what they are.
type echo struct{ sandbox.Provider }

func (echo) Name() string { return "echo" }

func (echo) Acquire(context.Context, sandbox.ThreadRef, sandbox.Policy) (sandbox.Sandbox, error) {
	return echoBox{}, nil
}

type echoBox struct{ sandbox.Sandbox }

func (echoBox) Exec(_ context.Context, req sandbox.ExecReq) (sandbox.ExecResult, error) {
	return sandbox.ExecResult{Output: []byte(strings.Repeat(req.Command+"\n", 2000))}, nil
}

func names[T any](list []T, name func(T) string) []string {
	var out []string
	for _, v := range list {
		out = append(out, name(v))
	}
	return out
}

func toolNames(a *agent.Agent) []string {
	return names(a.Tools, func(t *agent.Tool) string { return t.Name })
}

func build(t *testing.T, file config.File, o lead.Options) (*agent.Agent, *agent.Turn) {
	t.Helper()
	b := lead.NewWith(config.Fixed(&config.Snapshot{File: file}).Current, files.Dirs{Root: t.TempDir()},
		slog.New(slog.DiscardHandler), o)
	turn := agenttest.Turn("go", &agenttest.Sink{})
	a := must.Get(b.Build(t.Context(), runs.Spec{ThreadID: turn.ThreadID, RunID: turn.RunID, Options: &turn.Options}))(t)
	return a, turn
}

func TestStagesThatAreOffAreNotThere(t *testing.T) {
	file := config.Default()
	file.ToolOutput.Enabled, file.ReadBeforeWrite.Enabled = false, false
	a, _ := build(t, file, lead.Options{})
	for _, m := range a.Chain {
		if m.Name == "tool_budget" || m.Name == "read_gate" || m.Name == "" {
			t.Errorf("stage %q is there although it is off", m.Name)
		}
	}
}

func TestToolsAreOfferedToThoseWhoCanUseThem(t *testing.T) {
	seeing := config.Default()
	seeing.Models = []config.Model{{Name: "m", Use: "openai", BaseURL: "http://127.0.0.1:1/v1", APIKey: "key",
		SupportsVision: true}}
	blind := config.Default()
	blind.Models = []config.Model{{Name: "m", Use: "openai", BaseURL: "http://127.0.0.1:1/v1", APIKey: "key"}}
	cfg := sandbox.DefaultConfig()
	cfg.Provider, cfg.Dirs = sandbox.ProviderOff, files.Dirs{Root: t.TempDir()}
	off := must.Get(providers.New(t.Context(), cfg))(t)
	for name, c := range map[string]struct {
		file        config.File
		box         sandbox.Provider
		bash, image bool
	}{
		"all":        {seeing, echo{}, true, true},
		"no sandbox": {seeing, nil, false, true},
		"off":        {blind, off, false, false},
		"blind":      {blind, echo{}, true, false},
	} {
		a, turn := build(t, c.file, lead.Options{Sandbox: c.box})
		got := toolNames(a)
		if slices.Contains(got, "bash") != c.bash || slices.Contains(got, "view_image") != c.image ||
			!slices.Contains(got, "read_file") || turn.Options.Vision != c.image {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestCommandsRunThroughTheChain: a command is audited and its long output stored, a
// ruinous one refused, a change of an unread file refused, and the state names the sandbox.
func TestCommandsRunThroughTheChain(t *testing.T) {
	var rows []middleware.AuditRecord
	a, turn := build(t, config.Default(),
		lead.Options{Sandbox: echo{}, Audit: func(r middleware.AuditRecord) { rows = append(rows, r) }})
	a.Model = &agenttest.Script{Replies: []agenttest.Reply{
		agenttest.Call("c1", "bash", `{"description":"d","command":"make all"}`),
		agenttest.Call("c2", "bash", `{"description":"d","command":"rm -rf /"}`),
		agenttest.Call("c3", "write_file", `{"path":"a.txt","content":"one"}`),
		agenttest.Call("c4", "write_file", `{"path":"a.txt","content":"two"}`),
		agenttest.Call("c5", "read_file", `{"path":"a.txt"}`),
		agenttest.Call("c6", "write_file", `{"path":"a.txt","content":"two"}`),
		agenttest.Call("c7", "read_file", `{"path":"/etc/passwd"}`),
		agenttest.Say("done"),
	}}
	must.Get(a.Run(t.Context(), turn))(t)
	agenttest.NoRewrites(t, turn.Sink.(*agenttest.Sink).Steps(), turn.State.Messages[0])
	got := map[string]string{}
	for _, m := range turn.State.Messages {
		if m.Type == agent.TypeTool {
			got[m.ToolCallID] = m.Status + " " + m.Content.Text
		}
	}
	for id, want := range map[string]string{
		"c1": "success [The output of bash is too long to show: ", "c2": "error Command blocked: ", "c3": "success OK",
		"c4": "error Error: write_file blocked — /mnt/user-data/workspace/a.txt ", "c5": "success one",
		"c6": "success OK", "c7": "error Error: ",
	} {
		if !strings.HasPrefix(got[id], want) {
			t.Errorf("%s: %.200s", id, got[id])
		}
	}
	if turn.State.Sandbox == nil || turn.State.Sandbox.ID != "echo:t1" {
		t.Errorf("sandbox %+v", turn.State.Sandbox)
	}
	list := names(rows, func(r middleware.AuditRecord) string { return r.Call + " " + string(r.Verdict) })
	if !slices.Equal(list, []string{"c1 pass", "c2 block", "c7 block"}) {
		t.Errorf("rows %v", list)
	}
}

func TestThePolicyIsWhatTheConfigurationSays(t *testing.T) {
	t.Run("defaults", func(t *testing.T) {
		want := sandbox.DefaultPolicy()
		got := lead.SandboxPolicy(config.Default().Sandbox)
		if got.StreamBytes <= 0 || got.StreamBytes > want.StreamBytes || len(got.Env) != 0 {
			t.Errorf("%+v", got)
		}
		got.StreamBytes, got.Env, want.Env = want.StreamBytes, nil, nil
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
		cfg := lead.SandboxConfig(config.Default().Sandbox, files.Dirs{}, nil)
		if !reflect.DeepEqual(cfg, sandbox.DefaultConfig()) {
			t.Errorf("got %+v\nwant %+v", cfg, sandbox.DefaultConfig())
		}
	})
	s := config.Default().Sandbox
	s.Provider, s.Strict, s.AllowHostBash, s.AllowEngine, s.MaxSandboxes, s.UIDBase = "host", true, true, true, 3, 5000
	s.IdleTimeout, s.BackgroundTimeout, s.RequireLayers = time.Minute, 2*time.Minute, []string{"pidns"}
	s.Lifetime, s.BashCommandTimeout, s.BashOutputMaxChars, s.UploadsReadonly = "call", time.Second, 7, true
	s.Limits = config.SandboxLimits{Memory: 1, Pids: 2, FileSize: 3, OpenFiles: 4, Tmp: 5, Shm: 6, Disk: 7, CPU: 1.5}
	s.Network.Mode, s.Seccomp.Allow = "none", []string{"ptrace"}
	s.Environment = config.Headers{"LANG": "de"}
	s.Mounts = []config.Mount{{HostPath: "/srv/x", ContainerPath: "/mnt/x", ReadOnly: true}}
	p := lead.SandboxPolicy(s)
	if p.Lifetime != "call" || p.Timeout != time.Second || p.OutputChars != 7 || !p.UploadsReadOnly ||
		p.Network != "none" || !slices.Equal(p.SeccompAllow, s.Seccomp.Allow) ||
		p.Limits != (sandbox.Limits{Memory: 1, Pids: 2, FileSize: 3, OpenFiles: 4, Tmp: 5, Shm: 6, Disk: 7, CPU: 1.5,
			CPUTime: time.Hour}) ||
		!maps.Equal(p.Env, map[string]string{"LANG": "de"}) ||
		!slices.Equal(p.Binds, []sandbox.Bind{{Dir: "/srv/x", Path: "/mnt/x", ReadOnly: true}}) {
		t.Errorf("%+v", p)
	}
	c := lead.SandboxConfig(s, files.Dirs{Root: "/data"}, nil)
	if c.Provider != "host" || !c.Strict || !c.AllowHostBash || !c.AllowEngine || c.MaxSandboxes != 3 ||
		c.UIDBase != 5000 || c.IdleTimeout != time.Minute || c.BackgroundTimeout != 2*time.Minute ||
		!slices.Equal(c.RequireLayers, []string{"pidns"}) || c.Dirs.Root != "/data" {
		t.Errorf("%+v", c)
	}
}

func TestTheLimitOfAWriteIsConfigured(t *testing.T) {
	for limit, want := range map[int64]string{10: "Error: the content has 11 bytes", 0: "OK", 1 << 40: "OK"} {
		file := config.Default()
		file.Sandbox.WriteFileMaxBytes = limit
		a, turn := build(t, file, lead.Options{})
		a.Model = &agenttest.Script{
			Replies: []agenttest.Reply{agenttest.Call("c1", "write_file", `{"path":"a.txt","content":"12345678901"}`)},
		}
		must.Get(a.Run(t.Context(), turn))(t)
		if m := turn.State.Messages[2]; !strings.HasPrefix(m.Content.Text, want) {
			t.Errorf("limit %d: %q", limit, m.Content.Text)
		}
	}
}
