package runs_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
)

// keptFiles writes down what a manager asks of the keeper of files.
type keptFiles struct {
	mu      sync.Mutex
	calls   []string // guarded by mu
	version int64    // guarded by mu
}

func (k *keptFiles) say(s string) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls = append(k.calls, s)
	if s == "save" {
		k.version++
	}
	return k.version
}

func (k *keptFiles) Begin(context.Context, string, string) error        { k.say("begin"); return nil }
func (k *keptFiles) End(string, string)                                 { k.say("end") }
func (k *keptFiles) SaveVersion(context.Context, string) (int64, error) { return k.say("save"), nil }
func (k *keptFiles) Version(context.Context, string) (int64, error)     { return k.say("version"), nil }
func (k *keptFiles) Restore(context.Context, string, int64) error       { k.say("restore"); return nil }
func (k *keptFiles) Undo(_ context.Context, _, _ string, _ int64) error { k.say("undo"); return nil }

// FilesAreLookedAtOnceForATool: with its result, and not again with the step.
func (s suite) FilesAreLookedAtOnceForATool(t *testing.T) {
	k := &keptFiles{}
	tool := &agent.Tool{Name: "note", Run: func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) {
		return agent.TextResult("noted"), nil
	}}
	build := func(context.Context, runs.Spec) (*agent.Agent, error) {
		return &agent.Agent{Tools: []*agent.Tool{tool}, Model: &agenttest.Script{Replies: []agenttest.Reply{
			agenttest.Call("c1", "note", `{}`), agenttest.Say("done")}}}, nil
	}
	w := s.openWith(t, t.TempDir(), runs.Config{Build: build, Files: k})
	w.end(t, w.start(t, "t1", "first"), runs.Success)
	held(w.m)
	k.mu.Lock()
	defer k.mu.Unlock()
	if got := strings.Join(k.calls, " "); got != "version begin save end" {
		t.Errorf("%s", got)
	}
	cps := must.Get(w.db.Checkpoints(t.Context(), "t1", "", "", 100, nil))(t)
	var versions []int64
	for _, cp := range slices.Backward(cps) {
		versions = append(versions, cp.Card.Tree)
	}
	if !slices.Equal(versions, []int64{-1, -1, -1, 1, 1}) {
		t.Errorf("versions of checkpoints: %v", versions)
	}
}
