package wire

import (
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
	var kw struct {
		Input json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(object(e.run.Kwargs), &kw); err != nil {
		return err
	}
	return e.event("on_chain_start", graphEvent, e.run.ID, "", "", part(seq, partEvent),
		map[string]any{"input": kw.Input})
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
	return e.event("on_chain_end", graphEvent, e.run.ID, "", "", part(seq-1, partLate),
		map[string]any{"output": s.values})
}

func (e *Encoder) nodeStart(s *saved, node string, at httpx.ID) error {
	return e.event("on_chain_start", node, taskID(s.cp.ID, node), node, "", at, map[string]any{"input": s.values},
		e.run.ID)
}

// nodeEnd tells what a node wrote: as a piece of its own, as its result, and as a piece of the
// graph.
func (e *Encoder) nodeEnd(s *runevent.StepData, before string, seq int64) error {
	name := updateName(s.Node)
	if !e.modes.has(ModeEvents) || name != s.Node { // hooks behind the answer are no node of the graph
		return nil
	}
	patch, err := patchBody(s)
	if err != nil {
		return err
	}
	node := func(kind, member string, n int) error {
		return e.event(kind, name, taskID(before, name), name, "", part(seq, n), map[string]any{member: patch},
			e.run.ID)
	}
	if err := node("on_chain_stream", "chunk", partEvent-1); err != nil {
		return err
	}
	if err := node("on_chain_end", "output", partEvent); err != nil {
		return err
	}
	return e.event("on_chain_stream", graphEvent, e.run.ID, "", "", part(seq, partEvent+1),
		map[string]any{"chunk": map[string]json.RawMessage{name: patch}})
}

// task is the id of the node that runs now, which events inside it name as their parent.
func (e *Encoder) task(node string) string { return taskID(e.base(), node) }

// modelStart opens a call of the model, with the conversation as far as it goes.
func (e *Encoder) modelStart(ctx context.Context, ev runevent.Event) error {
	if !e.modes.has(ModeEvents) || !e.fresh(part(ev.Seq, partEvent)) {
		return nil
	}
	asked := json.RawMessage(`[]`)
	if ev.NS == "" && e.cp != "" {
		s, err := e.load(ctx, e.cp)
		if err != nil {
			return err
		}
		if s != nil {
			var values struct {
				Messages json.RawMessage `json:"messages"`
			}
			if err := json.Unmarshal(s.values, &values); err != nil {
				return err
			}
			asked = values.Messages
		}
	}
	return e.event("on_chat_model_start", modelEvent, ev.Msg.ID, agent.NodeModel, ev.NS, part(ev.Seq, partEvent),
		map[string]any{"input": map[string]any{"messages": []json.RawMessage{asked}}}, e.run.ID,
		e.task(agent.NodeModel))
}

// modelChunk is a piece of an answer.
func (e *Encoder) modelChunk(ev runevent.Event) error {
	if !e.modes.has(ModeEvents) || !e.fresh(part(ev.Seq, partEvent)) {
		return nil
	}
	chunk, err := chunkOf(ev.Msg.ID, ev)
	if err != nil {
		return err
	}
	return e.event("on_chat_model_stream", modelEvent, ev.Msg.ID, agent.NodeModel, ev.NS, part(ev.Seq, partEvent),
		map[string]any{"chunk": chunk}, e.run.ID, e.task(agent.NodeModel))
}

// modelEnds closes the calls whose messages a step stores.
func (e *Encoder) modelEnds(ev runevent.Event, before string) error {
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
		if err := e.event("on_chat_model_end", modelEvent, m.ID, agent.NodeModel, ev.NS,
			part(ev.UpdatesSeq()-1, partLate+2*i+1), map[string]any{"output": body},
			e.run.ID, taskID(before, agent.NodeModel)); err != nil {
			return err
		}
	}
	return nil
}

// toolEvent is the callback event of a tool's frame.
func (e *Encoder) toolEvent(f toolFrame, ev runevent.Event) error {
	data := map[string]any{}
	switch f.Event {
	case "on_tool_start":
		data["input"] = map[string]string{"input": f.Input}
	case "on_tool_end":
		data["output"] = f.Output
	case "on_tool_error":
		data["error"] = f.Error
	default:
		data["chunk"] = f.Data
	}
	return e.event(f.Event, f.Name, taskID(e.run.ID, f.Call), agent.NodeTools, ev.NS, part(ev.Seq, partEvent), data,
		e.run.ID, e.task(agent.NodeTools))
}

// customEvent is what a stage or a tool told on its own.
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
