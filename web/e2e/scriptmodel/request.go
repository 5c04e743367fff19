package scriptmodel

import (
	"encoding/json"
	"strings"
)

// chatMessage is a message of a request; its content is a text or a list of parts.
type chatMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// chatRequest is the part of a request that matters for selecting an answer.
type chatRequest struct {
	Model         string            `json:"model"`
	Messages      []chatMessage     `json:"messages"`
	Tools         []json.RawMessage `json:"tools"`
	Stream        bool              `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	ResponseFormat struct {
		Type string `json:"type"`
	} `json:"response_format"`
}

// text joins the text parts of a message's content.
func (c *chatMessage) text() string {
	var s string
	if json.Unmarshal(c.Content, &s) == nil {
		return typed(s)
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(c.Content, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(typed(p.Text))
	}
	return b.String()
}

// typed returns a person's text without the marker lines.
func typed(s string) string {
	front, rest, ok := strings.Cut(s, "--- BEGIN USER INPUT ---\n")
	words, whole := strings.CutSuffix(rest, "\n--- END USER INPUT ---")
	if !ok || !whole {
		return s
	}
	return front + words
}
