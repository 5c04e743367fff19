package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/tools"
	"fawn/sandbox/files"
	"fawn/uploads"
)

func TestTroubleOfTheServerIsNotForTheModel(t *testing.T) {
	broken := errors.New("disk gone")
	list := tools.Builtin(func(string) (*files.Files, error) { return nil, broken }, tools.DefaultLimits(),
		uploads.NoDocuments{})
	for _, tool := range list {
		if tool.Name != "ls" {
			continue
		}
		_, err := tool.Run(t.Context(), agenttest.Turn("x", &agenttest.Sink{}),
			agent.ToolCall{Args: json.RawMessage(`{"path":"."}`)})
		if !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	}
	k := newKit(t, nil)
	k.put("workspace/a", "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range [][2]string{
		{"ls", `{"path":"."}`}, {"read_file", `{"path":"a"}`}, {"grep", `{"path":".","pattern":"x"}`},
		{"write_file", `{"path":"a","content":"y"}`}, {"str_replace", `{"path":"a","old_str":"x","new_str":"y"}`},
	} {
		_, err := k.tool(c[0]).Run(ctx, k.turn, agent.ToolCall{Args: json.RawMessage(c[1])})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s after cancel: %v", c[0], err)
		}
	}
	if got := k.content("workspace/a"); got != "x" {
		t.Errorf("content %q", got)
	}
}

func TestADeclarationWithoutASchemaIsTold(t *testing.T) {
	tool := tools.New("bad", "", "text", func(context.Context, *agent.Turn, struct {
		F func() `json:"f"`
	}) (agent.Result, error) {
		return agent.TextResult("ran"), nil
	})
	_, err := tool.Run(t.Context(), nil, agent.ToolCall{})
	if err == nil || !strings.Contains(err.Error(), "schema of tool bad") {
		t.Errorf("got %v", err)
	}
}

func TestToolsWorkInTheLoop(t *testing.T) {
	k := newKit(t, nil)
	model := &agenttest.Script{Replies: []agenttest.Reply{
		agenttest.Call("c1", "write_file", `{"description":"make it","path":"../outputs/r.md","content":"# r"}`),
		agenttest.Call("c2", "present_files", `{"filepaths":["/mnt/user-data/outputs/r.md"]}`),
		agenttest.Say("done."),
	}}
	a := &agent.Agent{Model: model, Tools: k.list}
	must.Get(a.Run(t.Context(), k.turn))(t)
	if !slices.Equal(k.turn.State.Artifacts, []string{"/mnt/user-data/outputs/r.md"}) ||
		k.content("outputs/r.md") != "# r" {
		t.Errorf("artifacts %q", k.turn.State.Artifacts)
	}
}

func FuzzArgumentsNeverBreakATool(f *testing.F) {
	for _, s := range []string{
		`{"path":".","pattern":"x","content":"c","old_str":"o","new_str":"n","filepaths":["/mnt/user-data/outputs/a"]}`,
		`{"path":"../outputs/a","start_line":-1,"end_line":99999999999999999999}`, `{"filepaths":"x","file_paths":[1]}`,
		`[]`, `null`, `{"path":"\ud800"}`,
	} {
		f.Add(s)
	}
	dirs := files.Dirs{Root: f.TempDir()}
	open := func(thread string) (*files.Files, error) {
		if err := dirs.Create(thread); err != nil {
			return nil, err
		}
		return dirs.Open(thread)
	}
	list := tools.Builtin(open, tools.DefaultLimits(), uploads.NoDocuments{})
	f.Fuzz(func(t *testing.T, args string) {
		turn := agenttest.Turn("x", &agenttest.Sink{})
		for _, tool := range list {
			r, err := tool.Run(t.Context(), turn, agent.ToolCall{Name: tool.Name, Args: json.RawMessage(args)})
			if err != nil {
				t.Fatalf("%s(%q): %v", tool.Name, args, err)
			}
			s := r.Content.String()
			if s == "" || strings.Contains(s, dirs.Root) || r.IsError && !strings.HasPrefix(s, "Error: ") {
				t.Fatalf("%s(%q) = %q", tool.Name, args, s)
			}
		}
	})
}
