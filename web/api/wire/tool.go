package wire

import (
	"encoding/json"

	"fawn/agent"
	"fawn/agent/runs/runevent"
)

// toolFrame is an event of a tool call.
type toolFrame struct {
	Event  string          `json:"event"` // on_tool_start, on_tool_event, on_tool_end, on_tool_error
	Call   string          `json:"toolCallId"`
	Name   string          `json:"name"`
	Input  string          `json:"input,omitempty"` // the arguments as JSON text
	Data   json.RawMessage `json:"data,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// toolCall is a call of the open step.
type toolCall struct {
	name string
	args json.RawMessage
}

// tool shows a tool call from its start over its output to its end.
func (e *Encoder) tool(ev runevent.Event) error {
	if !e.modes.has(ModeTools | ModeEvents) {
		return nil
	}
	var f toolFrame
	switch ev.Kind {
	case runevent.KindToolStart:
		var c agent.ToolCall
		if err := json.Unmarshal(ev.Data, &c); err != nil {
			return err
		}
		f = toolFrame{Event: "on_tool_start", Call: c.ID, Name: c.Name, Input: string(c.Args)}
		e.calls[c.ID] = toolCall{c.Name, c.Args}
	case runevent.KindToolOutput:
		var o struct {
			ID     string          `json:"id"`
			Output json.RawMessage `json:"output"`
		}
		if err := json.Unmarshal(ev.Data, &o); err != nil {
			return err
		}
		f = toolFrame{Event: "on_tool_event", Call: o.ID, Name: e.calls[o.ID].name, Data: o.Output}
	case runevent.KindToolResult:
		var end runevent.ToolEnd
		if err := json.Unmarshal(ev.Data, &end); err != nil {
			return err
		}
		m, err := agent.ParseMessage(end.Message)
		if err != nil {
			return err
		}
		f = toolFrame{Event: "on_tool_end", Call: end.ID, Name: end.Name, Output: end.Message}
		if m.Status == "error" {
			f = toolFrame{Event: "on_tool_error", Call: end.ID, Name: end.Name, Error: m.Content.String()}
		}
	}
	if err := e.put(ModeTools, "tools", ev.NS, one(ev.Seq), func() (any, error) { return f, nil }); err != nil {
		return err
	}
	return e.toolEvent(f, ev)
}
