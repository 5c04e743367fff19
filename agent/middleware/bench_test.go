package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// bench calls the real file tools of one thread through stages, one call a step.
type bench struct {
	t     *testing.T
	turn  *agent.Turn
	host  string
	chain []agent.Middleware
	tools map[string]agent.ToolFunc
	calls int
}

// newBench hands make what stages open files with.
func newBench(t *testing.T, build func(open func(string) (*files.Files, error)) []agent.Middleware) *bench {
	t.Helper()
	dirs := files.Dirs{Root: t.TempDir()}
	b := &bench{t: t, turn: agenttest.Turn("go", &agenttest.Sink{}), tools: map[string]agent.ToolFunc{}}
	must.Do(t, dirs.Create(b.turn.ThreadID))
	b.host = filepath.Join(dirs.Root, "threads", b.turn.ThreadID, "user-data")
	for _, tool := range tools.Builtin(dirs.Open, tools.DefaultLimits(), uploads.NoDocuments{}) {
		b.tools[tool.Name] = tool.Run
	}
	b.chain = build(dirs.Open)
	return b
}

// says adds a tool which answers with a text.
func (b *bench) says(name, text string) {
	b.tools[name] = func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) {
		return agent.TextResult(text), nil
	}
}

// try makes a call without keeping its result.
func (b *bench) try(ctx context.Context, name string, args any) (agent.ToolCall, agent.Result, error) {
	b.t.Helper()
	raw, ok := args.(string)
	if !ok {
		body := must.Get(json.Marshal(args))(b.t)
		raw = string(body)
	}
	b.calls++
	c := agent.ToolCall{ID: fmt.Sprint("c", b.calls), Name: name, Args: json.RawMessage(raw)}
	run := b.tools[name]
	for _, m := range slices.Backward(b.chain) {
		if m.WrapTool != nil {
			run = m.WrapTool(run)
		}
	}
	r, err := run(ctx, b.turn, c)
	return c, r, err
}

// call makes a call and adds it to the conversation, as it reads after it was stored.
func (b *bench) call(name string, args any) agent.Result {
	b.t.Helper()
	c, r, err := b.try(b.t.Context(), name, args)
	if err != nil {
		b.t.Fatalf("%s(%s): %v", name, args, err)
	}
	raw := must.Get(agent.Encode(r.Message("t"+c.ID, c)))(b.t)
	stored := must.Get(agent.ParseMessage(raw))(b.t)
	caller := &agent.Message{ID: "a" + c.ID, Type: agent.TypeAI, ToolCalls: []agent.ToolCall{c}}
	must.Do(b.t, errors.Join(b.turn.State.Apply(agent.State{Messages: []*agent.Message{caller, stored}}),
		b.turn.State.Apply(r.Patch)))
	return r
}

// wants makes a call whose result starts with a text; "Error: " means an error.
func (b *bench) wants(text, name string, args any) {
	b.t.Helper()
	r := b.call(name, args)
	if !strings.HasPrefix(r.Content.Text, text) || r.IsError != strings.HasPrefix(text, "Error: ") {
		b.t.Errorf("%s(%v): got %q (error %v), want %q", name, args, r.Content.Text, r.IsError, text)
	}
}

// request lets the stages see a request and returns what the model gets.
func (b *bench) request(ctx context.Context) (*agent.Request, error) {
	var got *agent.Request
	call := func(_ context.Context, _ *agent.Turn, req *agent.Request) (*agent.Message, error) {
		got = req
		return &agent.Message{ID: "answer", Type: agent.TypeAI}, nil
	}
	for _, m := range slices.Backward(b.chain) {
		if m.WrapModel != nil {
			call = m.WrapModel(call)
		}
	}
	_, err := call(ctx, b.turn, agent.BuildRequest("", &b.turn.State, nil, agent.ModelOptions{}))
	return got, err
}

func (b *bench) put(name, content string) {
	b.t.Helper()
	p := filepath.Join(b.host, name)
	must.Do(b.t, errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(content), 0o644)))
}

func (b *bench) content(name string) string {
	b.t.Helper()
	data := must.Get(os.ReadFile(filepath.Join(b.host, name)))(b.t)
	return string(data)
}

// arg is the arguments of a call.
type arg map[string]any
