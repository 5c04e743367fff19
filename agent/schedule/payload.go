package schedule

import (
	"encoding/json"

	"fawn/agent"
)

// Payload returns the request for runs that are asked one text.
func Payload(prompt string) (json.RawMessage, error) {
	return agent.Encode(map[string]any{"multitask_strategy": "reject",
		"input": map[string]any{"messages": []map[string]string{{"type": agent.TypeHuman, "content": prompt}}}})
}

// Prompt returns the message in a payload, if it is a single text.
func Prompt(payload json.RawMessage) string {
	var p struct {
		Input struct {
			Messages []struct {
				Content string `json:"content"`
			} `json:"messages"`
		} `json:"input"`
	}
	if json.Unmarshal(payload, &p) != nil || len(p.Input.Messages) == 0 {
		return ""
	}
	return p.Input.Messages[0].Content
}
