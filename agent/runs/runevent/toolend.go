package runevent

import (
	"encoding/json"

	"fawn/agent"
)

// EncodeToolEnd returns the stored form of a finished tool call: a [ToolEnd].
func EncodeToolEnd(ev agent.Event) ([]byte, error) {
	msg, err := agent.Encode(ev.Result.Message(ev.Message, ev.Call))
	if err != nil {
		return nil, err
	}
	patch, err := agent.Encode(ev.Result.Patch)
	if err != nil {
		return nil, err
	}
	hidden, err := hiddenFields(&ev.Result.Patch)
	if err != nil {
		return nil, err
	}
	return agent.Encode(ToolEnd{ID: ev.Call.ID, Name: ev.Call.Name, Message: msg, Patch: patch, End: ev.Result.End,
		Hidden: hidden})
}

// hiddenFields returns the fields of a patch which its JSON leaves out, or nil.
func hiddenFields(p *agent.State) (json.RawMessage, error) {
	var out map[string]json.RawMessage
	for _, f := range agent.Fields {
		if !f.Hidden || !f.Set(p) {
			continue
		}
		body, err := f.Encode(p)
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = map[string]json.RawMessage{}
		}
		out[f.Name] = body
	}
	if out == nil {
		return nil, nil
	}
	return agent.Encode(out)
}

// Result restores a stored tool end, for a run resumed after a crash.
func (t ToolEnd) Result() (agent.Result, error) {
	m, err := agent.ParseMessage(t.Message)
	if err != nil {
		return agent.Result{}, err
	}
	r := agent.Result{Content: m.Content, IsError: m.Status == "error", Artifact: m.Artifact, Kwargs: m.Kwargs,
		End: t.End, MessageID: m.ID}
	if err := json.Unmarshal(t.Patch, &r.Patch); err != nil {
		return agent.Result{}, err
	}
	var hidden map[string]json.RawMessage
	if len(t.Hidden) > 0 {
		if err := json.Unmarshal(t.Hidden, &hidden); err != nil {
			return agent.Result{}, err
		}
	}
	for name, body := range hidden {
		f, ok := agent.FieldByName(name)
		if !ok { // a newer version wrote it
			continue
		}
		if err := f.Decode(&r.Patch, body); err != nil {
			return agent.Result{}, err
		}
	}
	return r, nil
}
