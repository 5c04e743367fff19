package lead_test

import (
	"fmt"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/runs"
	"fawn/sandbox/files"
)

// TestTheStagesStandInTheirOrder: with all of them on. What must stand before what is in
// docs/chain.md.
func TestTheStagesStandInTheirOrder(t *testing.T) {
	var got []string
	w := newWorld(t, nil, func(f *config.File, o *lead.Options) {
		f.Title.Enabled, f.Title.ModelName, f.Guardrails.Enabled, f.ToolSearch.Enabled = true, lead.OfflineModel,
			true, true
		f.Authorization.Enabled = true
		hidden := tool("hidden", func(agent.ToolCall) agent.Result { return agent.Result{} })
		hidden.Deferred = true
		o.Tools = []*agent.Tool{hidden}
		o.Skills = shelf(t, nil)
	})
	a := must.Get(w.b.Build(t.Context(),
		runs.Spec{ThreadID: "t1", RunID: "r1", Options: &agent.Options{PlanMode: true, Subagents: true}}))(t)
	for _, m := range a.Chain {
		got = append(got, m.Name)
	}
	want := strings.Fields(`input_sanitize tool_budget tool_result_sanitize secrets thread_data uploads sandbox dangling_tool_calls llm_errors authorization guardrail audit
		read_gate tool_errors dynamic_context skills durable_context compaction goal todos plan_edits token_usage title view_image sight deferred_tools system_messages
		subagent_limit loop_detection token_budget terminal_response length_stop state_size safety_stop continuation clarification`)
	at := 0
	for _, name := range got { // others may stand between them
		if at < len(want) && name == want[at] {
			at++
		}
	}
	if at < len(want) || got[len(got)-1] != "clarification" {
		t.Errorf("stage %s is not where it belongs in\n%s", want[min(at, len(want)-1)], strings.Join(got, " "))
	}
}

func TestTurnsShareMostOfTheirRequests(t *testing.T) {
	if part := sharedPrefix(t); part < 0.95 {
		t.Errorf("%.1f %% of a request are those of the turn before", part*100)
	}
}

func sharedPrefix(tb testing.TB) float64 {
	tb.Helper()
	file := config.Default()
	file.Models = []config.Model{{Name: "m", Use: "openai", ContextWindow: 1_000_000}}
	file.Title.ModelName = lead.OfflineModel
	var replies []agenttest.Reply
	for i := range 20 {
		replies = append(replies,
			agenttest.Call(fmt.Sprint("c", i), "ls",
				fmt.Sprintf(`{"description":"look","path":"/mnt/user-data/%d"}`, i)),
			agenttest.Say("Answer ", strings.Repeat("word ", 100)))
	}
	script := &agenttest.Script{Replies: replies}
	builder := lead.NewWith(config.Fixed(&config.Snapshot{File: file}).Current, files.Dirs{Root: tb.TempDir()},
		quietLog(), lead.Options{
			Model: func(config.Model) (agent.Model, error) { return script, nil }})
	turn := agenttest.Turn("", &agenttest.Sink{})
	turn.State = agent.State{}
	for i := range 20 {
		in := &agent.Message{ID: fmt.Sprint("h", i), Type: agent.TypeHuman,
			Content: agent.Text(fmt.Sprint("question <", i, "> "))}
		must.Do(tb, turn.State.Apply(agent.State{Messages: []*agent.Message{in}}))
		a := must.Get(builder.Build(tb.Context(), runs.Spec{ThreadID: turn.ThreadID, RunID: fmt.Sprint("r", i),
			Options: &turn.Options}))(tb)
		must.Get(a.Run(tb.Context(), turn))(tb)
	}
	var shared, all int
	reqs := script.Requests()
	for i := 1; i < len(reqs); i++ {
		before, now := wire(tb, reqs[i-1]), wire(tb, reqs[i])
		n := 0
		for n < len(before) && n < len(now) && before[n] == now[n] {
			n++
		}
		shared, all = shared+n, all+len(before)
	}
	return float64(shared) / float64(all)
}

// wire is a request as bytes.
func wire(tb testing.TB, req *agent.Request) string {
	tb.Helper()
	var b strings.Builder
	for _, t := range req.Tools {
		b.WriteString(t.Name + t.Description + string(t.Schema))
	}
	b.WriteString(req.System)
	for _, m := range req.Messages {
		body := must.Get(agent.Encode(m))(tb)
		b.Write(body)
	}
	return b.String()
}
