package request

import (
	"encoding/json"

	"fawn/agent"
	"fawn/store"
)

// Started is the input of a run.
type Started struct {
	Messages []StartMessage
	Given    bool // false: the run continues from the existing state
}

// StartMessage is the part of a message that identifies the turn it begins.
type StartMessage struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Raw     json.RawMessage `json:"-"` // all of it
}

// Human reports whether a person sent it.
func (m StartMessage) Human() bool { return m.Type == "human" || m.Role == "user" || m.Role == "human" }

// StartOf reads the messages of a run's request; one it cannot read has none.
func StartOf(r store.Run) Started {
	var req struct {
		Input json.RawMessage `json:"input"`
	}
	if json.Unmarshal(r.Kwargs, &req) != nil || len(req.Input) == 0 || string(req.Input) == "null" {
		return Started{}
	}
	in := Started{Given: true}
	var state struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if json.Unmarshal(req.Input, &state) != nil && json.Unmarshal(req.Input, &state.Messages) != nil {
		return in
	}
	for _, raw := range state.Messages {
		m := StartMessage{Raw: raw}
		if json.Unmarshal(raw, &m) == nil {
			in.Messages = append(in.Messages, m)
		}
	}
	return in
}

// StartText returns the text that a person wrote to start a run.
func StartText(r store.Run) string {
	text := ""
	for _, m := range StartOf(r).Messages {
		var content agent.Content
		if m.Human() && json.Unmarshal(m.Content, &content) == nil {
			text = content.String()
		}
	}
	return text
}
