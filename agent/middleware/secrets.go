package middleware

import (
	"context"
	"encoding/json"
	"strings"

	"fawn/agent"
)

// Secrets masks a run's secrets in tool results, and tells the model about secrets lost in a restart.
func Secrets() agent.Middleware {
	return agent.Middleware{
		Name: "secrets",
		BeforeAgent: func(_ context.Context, t *agent.Turn) (agent.State, error) {
			lost := t.Options.LostSecrets
			if len(lost) == 0 || len(t.State.Messages) == 0 {
				return agent.State{}, nil
			}
			last, place := t.State.Messages[len(t.State.Messages)-1], agent.After
			if last.Type == agent.TypeHuman {
				place = agent.Prefix
			}
			text := "The server was restarted, so commands of this run do not get these secret variables any more: " +
				strings.Join(lost, ", ") +
				". If you need one of them, say so and ask the user to send the message again."
			return agent.State{Notes: []agent.Note{{ID: "secrets:" + t.RunID, Message: last.ID, Place: place,
				Kind: "secrets", Text: text}}}, nil
		},
		WrapTool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
				r, err := next(ctx, t, c)
				if mask := t.Options.Secrets.Masker(); mask != nil {
					r = masked(r, mask)
				}
				return r, err
			}
		},
	}
}

// masked returns r with secrets masked in everything shown or stored.
func masked(r agent.Result, mask func(string) string) agent.Result {
	r.Content.Text = mask(r.Content.Text)
	if r.Content.Blocks != nil {
		blocks := make([]json.RawMessage, len(r.Content.Blocks))
		for i, b := range r.Content.Blocks {
			blocks[i] = maskedJSON(b, mask)
		}
		r.Content.Blocks = blocks
	}
	if r.Artifact != nil {
		r.Artifact = maskedJSON(r.Artifact, mask)
	}
	if r.Kwargs != nil {
		raw, err := agent.Encode(r.Kwargs)
		var kwargs map[string]any
		if err == nil {
			if after := maskedJSON(raw, mask); string(after) != string(raw) && json.Unmarshal(after, &kwargs) == nil {
				r.Kwargs = kwargs
			}
		}
	}
	return r
}

// maskedJSON returns raw with masked values. A value that is part of JSON's own syntax leaves raw unchanged.
func maskedJSON(raw json.RawMessage, mask func(string) string) json.RawMessage {
	if after := json.RawMessage(mask(string(raw))); json.Valid(after) {
		return after
	}
	return raw
}
