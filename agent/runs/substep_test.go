package runs

import (
	"encoding/json"

	"pgregory.net/rapid"

	"fawn/agent"
)

// childSteps are two steps of a child: an answer with calls, and their results. What streamed
// and what is stored may differ.
func childSteps(t *rapid.T, rec *recorder, id func(string) string, text *rapid.Generator[string]) {
	const ns = "tools:c|tools:d"
	var c agent.Collector
	answer := id("child")
	say := func(k agent.Chunk) {
		c.Add(k)
		rec.Emit(agent.Event{Kind: agent.EventChunk, NS: ns, Message: answer, Chunk: k})
	}
	for _, p := range cut(t, text.Draw(t, "child's text")) {
		say(agent.Chunk{Text: p})
	}
	args, _ := json.Marshal(map[string]string{"q": text.Draw(t, "child's argument")})
	say(agent.Chunk{Calls: []agent.CallDelta{{ID: "in", Name: "look", Args: string(args)}}})
	say(agent.Chunk{Finish: "tool_calls", Usage: &agent.Usage{Input: 1, Output: 2, Total: 3}})
	msg := c.Message(answer, true)
	if rapid.Bool().Draw(t, "child's answer changed") {
		msg.Content = agent.Text(msg.Content.Text + "!")
	}
	step := func(node string, msgs ...*agent.Message) {
		patch := agent.State{Messages: msgs}
		if rapid.Bool().Draw(t, "child's field") {
			patch.Artifacts = []string{"/mnt/b"}
		}
		if err := rec.subStep(t.Context(), ns, 1, agent.Step{Node: node, Patch: patch, Next: []string{agent.NodeModel}}, usage{}, []json.RawMessage{json.RawMessage(`{"type":"task_running"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	step(agent.NodeModel, msg)
	var results []*agent.Message
	for _, call := range msg.ToolCalls {
		rec.Emit(agent.Event{Kind: agent.EventToolStart, NS: ns, Call: call})
		r := agent.TextResult(text.Draw(t, "child's result"))
		tool := id("tool")
		rec.Emit(agent.Event{Kind: agent.EventToolResult, NS: ns, Call: call, Message: tool, Result: r})
		results = append(results, r.Message(tool, call))
	}
	if rapid.Bool().Draw(t, "child goes on") {
		step(agent.NodeTools, results...)
	}
}
