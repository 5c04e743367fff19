package recorder

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs/runevent"
)

// childSteps are two steps of a child: an answer with calls, and their results. What streamed
// and what is stored may differ.
func childSteps(t *rapid.T, rec *Recorder, id func(string) string, text *rapid.Generator[string]) {
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
		s := agent.Step{Node: node, Patch: patch, Next: []string{agent.NodeModel}}
		if err := rec.ChildStep(t.Context(), ns, 1, s, Usage{}, tells(t, msgs)); err != nil {
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

// TestWhatAHelperSaysIsStoredOnce: its message stands in its step, and the event that tells of it
// refers to that.
func TestWhatAHelperSaysIsStoredOnce(t *testing.T) {
	b := newBench(t, "t1")
	said := &agent.Message{ID: "h", Type: agent.TypeAI,
		Content: agent.Text(strings.Repeat("seven words of text in one message. ", 100))}
	event := must.Get(agent.Encode(map[string]any{"type": "task_running", "message": said, "message_index": 1}))(t)
	step := agent.Step{Node: agent.NodeModel, Patch: agent.State{Messages: []*agent.Message{said}}}
	must.Do(t, b.rec.ChildStep(t.Context(), "tools:c", 1, step, Usage{}, []json.RawMessage{event}))
	b.step(t, agent.NodeTools)
	evs, rows := b.stored(t)
	if n := len(rows[0].Data); n > len(event)*5/4 {
		t.Errorf("the step takes %d bytes, a message of %d", n, len(event))
	}
	if !slices.ContainsFunc(evs, func(e runevent.Event) bool {
		return e.Kind == runevent.KindCustom && string(e.Data) == string(event)
	}) {
		t.Errorf("the event is gone: %d events", len(evs))
	}
}

// tells are events of the parent about messages of a child, which they hold as they are, or not.
func tells(t *rapid.T, msgs []*agent.Message) (events []json.RawMessage) {
	events = append(events, json.RawMessage(`{"type":"task_started"}`))
	for _, m := range msgs {
		for range rapid.IntRange(0, 2).Draw(t, "told") {
			if rapid.Bool().Draw(t, "told otherwise") {
				m = &agent.Message{ID: m.ID, Type: m.Type, Content: agent.Text("other")}
			}
			data, err := agent.Encode(map[string]any{"type": "task_running", "message": m, "usage": nil})
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, data)
		}
	}
	return events
}
