package wire

import (
	"cmp"
	"context"
	"encoding/json"

	"fawn/agent"
	"fawn/agent/runs/runevent"
	"fawn/web/httpx"
)

// lcEvent is one of LangChain's callback events (version 2).
type lcEvent struct {
	Event    string         `json:"event"`
	Name     string         `json:"name"`
	Run      string         `json:"run_id"`
	Tags     []string       `json:"tags"`
	Metadata map[string]any `json:"metadata"`
	Data     map[string]any `json:"data"`
	Parents  []string       `json:"parent_ids"`
}

// Names the graph, its models and its own events have in callback events.
const (
	graphEvent = "LangGraph"
	modelEvent = "ChatModel"
)

// event puts one callback event.
func (e *Encoder) event(kind, name, id, node, ns string, at httpx.ID, data map[string]any, parents ...string) error {
	return e.put(ModeEvents, "events", ns, at, func() (any, error) {
		meta := map[string]any{"thread_id": e.run.ThreadID, "run_id": e.run.ID, "graph_id": GraphID,
			"assistant_id": Canonical(e.run.AssistantID)}
		if node != "" {
			meta = e.place(node, ns)
		}
		return lcEvent{Event: kind, Name: name, Run: id, Tags: []string{}, Metadata: meta, Data: data,
			Parents: append([]string{}, parents...)}, nil
	})
}

// runStart opens the run.
func (e *Encoder) runStart(seq int64) error {
	input, err := e.input()
	if err != nil {
		return err
	}
	return e.event("on_chain_start", graphEvent, e.run.ID, "", "", part(seq, partEvent),
		map[string]any{"input": input})
}

// runEnd closes it with the state it leaves.
func (e *Encoder) runEnd(ctx context.Context, seq int64) error {
	if !e.modes.has(ModeEvents) || e.cp == "" {
		return nil
	}
	s, err := e.load(ctx, e.cp)
	if err != nil || s == nil {
		return err
	}
	input, err := e.input()
	if err != nil {
		return err
	}
	return e.event("on_chain_end", graphEvent, e.run.ID, "", "", part(seq-1, partLate),
		map[string]any{"output": s.values, "input": input})
}

// input returns the run's input.
func (e *Encoder) input() (json.RawMessage, error) {
	var kw struct {
		Input json.RawMessage `json:"input"`
	}
	err := json.Unmarshal(object(e.run.Kwargs), &kw)
	return kw.Input, err
}

// valuesAt reads the values of a checkpoint, {} if they no longer exist.
func (e *Encoder) valuesAt(ctx context.Context, checkpoint string) (json.RawMessage, error) {
	if checkpoint != "" {
		s, err := e.load(ctx, checkpoint)
		if err != nil {
			return nil, err
		}
		if s != nil {
			return s.values, nil
		}
	}
	return json.RawMessage(`{}`), nil
}

// asked returns the input of a model's call: the conversation at a checkpoint, empty for a helper's.
func (e *Encoder) asked(ctx context.Context, checkpoint, ns string) (any, error) {
	list := json.RawMessage(`[]`)
	if ns == "" {
		all, err := e.valuesAt(ctx, checkpoint)
		if err != nil {
			return nil, err
		}
		var values struct {
			Messages json.RawMessage `json:"messages"`
		}
		if err := json.Unmarshal(all, &values); err != nil {
			return nil, err
		}
		if values.Messages != nil {
			list = values.Messages
		}
	}
	return map[string]any{"messages": []json.RawMessage{list}}, nil
}

func (e *Encoder) nodeStart(s *saved, node string, at httpx.ID) error {
	return e.event("on_chain_start", node, taskID(s.cp.ID, node), node, "", at, map[string]any{"input": s.values},
		e.run.ID)
}

// nodeEnd reports a node's output: as a chunk, as its result, and as a chunk of the graph.
func (e *Encoder) nodeEnd(ctx context.Context, s *runevent.StepData, before string, seq int64) error {
	name := updateName(s.Node)
	if !e.modes.has(ModeEvents) || name != s.Node { // hooks after the answer aren't nodes of the graph
		return nil
	}
	patch, err := patchBody(s)
	if err != nil {
		return err
	}
	node := func(kind string, n int, data map[string]any) error {
		return e.event(kind, name, taskID(before, name), name, "", part(seq, n), data, e.run.ID)
	}
	if err := node("on_chain_stream", partEvent-1, map[string]any{"chunk": patch}); err != nil {
		return err
	}
	if e.fresh(part(seq, partEvent)) {
		input, err := e.valuesAt(ctx, before)
		if err != nil {
			return err
		}
		if err := node("on_chain_end", partEvent, map[string]any{"output": patch, "input": input}); err != nil {
			return err
		}
	}
	return e.event("on_chain_stream", graphEvent, e.run.ID, "", "", part(seq, partEvent+1),
		map[string]any{"chunk": map[string]json.RawMessage{name: patch}})
}

// task returns the id of the node that runs now, which events inside it name as their parent.
func (e *Encoder) task(node string) string { return taskID(e.base(), node) }

// modelStart starts a model call with the conversation so far.
func (e *Encoder) modelStart(ctx context.Context, ev runevent.Event) error {
	if !e.modes.has(ModeEvents) || !e.fresh(part(ev.Seq, partEvent)) {
		return nil
	}
	input, err := e.asked(ctx, e.cp, ev.NS)
	if err != nil {
		return err
	}
	return e.event("on_chat_model_start", modelEvent, ev.Msg.ID, agent.NodeModel, ev.NS, part(ev.Seq, partEvent),
		map[string]any{"input": input}, e.run.ID, e.task(agent.NodeModel))
}

// modelChunk writes a piece of an answer. It precedes the messages frame of the same piece, as callbacks run first:
// otherwise clients that request both show the first word twice.
func (e *Encoder) modelChunk(ev runevent.Event) error {
	at := part(ev.Seq-1, partAhead)
	if !e.modes.has(ModeEvents) || !e.fresh(at) {
		return nil
	}
	chunk, err := chunkOf(ev.Msg.ID, ev)
	if err != nil {
		return err
	}
	return e.event("on_chat_model_stream", modelEvent, ev.Msg.ID, agent.NodeModel, ev.NS, at,
		map[string]any{"chunk": chunk}, e.run.ID, e.task(agent.NodeModel))
}

// modelEnds closes the calls whose messages a step stores.
func (e *Encoder) modelEnds(ctx context.Context, ev runevent.Event, before string) error {
	if !e.modes.has(ModeEvents) || ev.Step.Node != agent.NodeModel {
		return nil
	}
	for i, body := range ev.Step.Messages {
		var m struct {
			ID   string `json:"id"`
			Type string `json:"type"`
		}
		if json.Unmarshal(body, &m) != nil || m.Type != agent.TypeAI {
			continue
		}
		at := part(ev.UpdatesSeq()-1, partLate+2*i+1)
		if !e.fresh(at) {
			continue
		}
		input, err := e.asked(ctx, before, ev.NS)
		if err != nil {
			return err
		}
		if err := e.event("on_chat_model_end", modelEvent, m.ID, agent.NodeModel, ev.NS, at,
			map[string]any{"output": body, "input": input}, e.run.ID, taskID(before, agent.NodeModel)); err != nil {
			return err
		}
	}
	return nil
}

// toolEvent writes the callback event of a tool's frame.
func (e *Encoder) toolEvent(f toolFrame, ev runevent.Event) error {
	data := map[string]any{}
	input := toolInput(e.calls[f.Call].args)
	switch f.Event {
	case "on_tool_start":
		data["input"] = input
	case "on_tool_end":
		data["output"], data["input"] = f.Output, input
	case "on_tool_error":
		data["error"], data["input"], data["tool_call_id"] = f.Error, input, f.Call
	default:
		data["chunk"] = f.Data
	}
	return e.event(f.Event, f.Name, taskID(e.run.ID, f.Call), agent.NodeTools, ev.NS, part(ev.Seq, partEvent), data,
		e.run.ID, e.task(agent.NodeTools))
}

// toolInput returns the arguments of a call as an object; other text is its member "input", as in LangChain.
func toolInput(args json.RawMessage) any {
	var object map[string]json.RawMessage
	if len(args) == 0 || json.Unmarshal(args, &object) == nil && object != nil {
		return json.RawMessage(cmp.Or(string(args), "{}"))
	}
	return map[string]string{"input": string(args)}
}

// customEvent sends a custom event of a stage or tool.
func (e *Encoder) customEvent(ev runevent.Event) error {
	if !e.modes.has(ModeEvents) {
		return nil
	}
	var named struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(ev.Data, &named) != nil || named.Type == "" {
		named.Type = "custom"
	}
	return e.event("on_custom_event", named.Type, e.run.ID, "", ev.NS, part(ev.Seq, partEvent),
		map[string]any{"data": ev.Data})
}
