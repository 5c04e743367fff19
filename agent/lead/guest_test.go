package lead_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/middleware"
	"fawn/agent/runs"
	"fawn/sandbox/files"
	"fawn/store"
)

// TestRunsOfGuestsHaveNoCommandsServersMemoryOrHelpers, and what a thread does without is gone wherever it comes from.
func TestRunsOfGuestsHaveNoCommandsServersMemoryOrHelpers(t *testing.T) {
	file := config.Default()
	file.Models = []config.Model{{Name: "m"}}
	only := ""
	recalled := 0
	o := lead.Options{Sandbox: echo{},
		More: func() ([]*agent.Tool, uint64) { return []*agent.Tool{{Name: "post", Server: "mail"}}, 1 },
		Model: func(config.Model) (agent.Model, error) {
			return &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("hello")}}, nil
		},
		Memory: func(context.Context, *agent.Turn, []string) (middleware.Recalled, error) {
			recalled++
			return middleware.Recalled{}, nil
		},
		Spawn: func(context.Context, *agent.Turn, runs.Task) (store.Run, agent.State, error) {
			return store.Run{}, agent.State{}, nil
		},
		Without: func(context.Context, string, json.RawMessage) (func(*agent.Tool) bool, error) {
			return func(t *agent.Tool) bool { return only != "" && t.Name != only }, nil
		}}
	b := lead.NewWith(config.Fixed(&config.Snapshot{File: file}).Current, files.Dirs{Root: t.TempDir()},
		slog.New(slog.DiscardHandler), o)
	run := func(guest bool) []string {
		turn := agenttest.Turn("go", &agenttest.Sink{})
		turn.Options.Guest, turn.Options.Subagents = guest, true
		a := must.Get(b.Build(t.Context(), runs.Spec{ThreadID: turn.ThreadID, RunID: "r", Options: &turn.Options}))(t)
		must.Get(a.Run(t.Context(), turn))(t)
		return toolNames(a)
	}
	all := run(false)
	for _, name := range []string{"bash", "post", "task", "read_file"} {
		if !slices.Contains(all, name) {
			t.Fatalf("without %s this tests nothing: %q", name, all)
		}
	}
	if recalled != 1 {
		t.Fatalf("the memory was asked %d times", recalled)
	}
	guest := run(true)
	for _, name := range []string{"bash", "post", "task"} {
		if slices.Contains(guest, name) {
			t.Errorf("guests have %s: %q", name, guest)
		}
	}
	if !slices.Contains(guest, "read_file") || recalled != 1 {
		t.Errorf("tools %q, the memory was asked %d times", guest, recalled)
	}
	only = "read_file"
	if got := run(false); !slices.Equal(got, []string{"read_file"}) {
		t.Errorf("a thread that does without all but one has %q", got)
	}
}
