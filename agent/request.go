package agent

import (
	"encoding/json"
	"slices"
	"strings"
)

// Request is the content of one model call. It is built from the state for every call; stages change it, never the
// state.
type Request struct {
	System   string
	Messages []*Message
	Tools    []*Tool
	Options  ModelOptions
	Model    Model // answers in place of the agent's own; nil uses the agent's
}

// ModelOptions tune one call; nil and zero leave the provider's default.
type ModelOptions struct {
	Thinking    bool
	Effort      string // minimal, low, medium, high
	Temperature *float64
	MaxTokens   int
	NoImages    bool // the model cannot see
}

// BuildRequest renders the state for one model call: the view applied, notes at their anchors, calls and results
// paired. The slices belong to the request; their elements are shared with the state.
func BuildRequest(system string, s *State, tools []*Tool, o ModelOptions) *Request {
	msgs := visible(s.View, s.Messages)
	msgs = spoken(withNotes(msgs, s.Notes))
	return &Request{System: system, Messages: PairToolCalls(msgs), Tools: slices.Clone(tools), Options: o}
}

// wordless replaces an answer that consists of thoughts only.
const wordless = "[This answer ended before its first word.]"

// spoken drops messages no provider should see: empty AI messages without calls, which some refuse, and explanations of
// failed calls, which no model wrote.
func spoken(msgs []*Message) []*Message {
	odd := func(m *Message) bool {
		return m.Type == TypeAI && !isCaller(m) &&
			(m.Flag(ErrorFallback) || len(m.Content.Blocks) == 0 && strings.TrimSpace(m.Content.Text) == "")
	}
	if !slices.ContainsFunc(msgs, odd) {
		return msgs
	}
	out := make([]*Message, 0, len(msgs))
	for _, m := range msgs {
		if !odd(m) {
			out = append(out, m)
		} else if thought, _ := m.Kwargs["reasoning_content"].(string); thought != "" && !m.Flag(ErrorFallback) {
			c := *m
			c.Content = Text(wordless)
			out = append(out, &c)
		}
	}
	return out
}

// visible applies the compaction view. Without an anchor nothing is hidden and only outputs are shortened; a missing
// anchor shows everything.
func visible(v *View, msgs []*Message) []*Message {
	if v == nil || v.From == "" && len(v.Cut) == 0 {
		return msgs
	}
	from := 0
	if v.From != "" {
		from = slices.IndexFunc(msgs, func(m *Message) bool { return m.ID == v.From })
	}
	if from < 0 {
		return msgs
	}
	cut := make(map[string]bool, len(v.Cut))
	for _, id := range v.Cut {
		cut[id] = true
	}
	out := make([]*Message, 0, len(msgs)-from+1)
	if v.Summary != "" && v.From != "" {
		out = append(out, &Message{ID: "summary:" + v.From, Type: TypeHuman, Name: "summary", Content: Text(v.Summary)})
	}
	for _, m := range msgs[:from] {
		if slices.Contains(v.Keep, m.ID) {
			out = append(out, m)
		}
	}
	for _, m := range msgs[from:] {
		if m.Type == TypeTool && cut[m.ID] {
			c := *m
			c.Content = Text("[Earlier output left out.]")
			m = &c
		}
		out = append(out, m)
	}
	return out
}

func withNotes(msgs []*Message, notes []Note) []*Message {
	if len(notes) == 0 {
		return msgs
	}
	at := make(map[string][]Note, len(notes))
	for _, n := range notes {
		at[n.Message] = append(at[n.Message], n)
	}
	out := make([]*Message, 0, len(msgs)+len(notes))
	for _, m := range msgs {
		var after []*Message
		var prefix []string
		for _, n := range at[m.ID] {
			own := &Message{ID: "note:" + n.ID, Type: TypeHuman, Name: n.Kind, Content: Text(n.Text)}
			switch n.Place {
			case Before:
				out = append(out, own)
			case After:
				after = append(after, own)
			case Prefix:
				prefix = append(prefix, n.Text)
			}
		}
		if len(prefix) > 0 {
			m = prefixed(m, strings.Join(prefix, "\n\n"))
		}
		out = append(append(out, m), after...)
	}
	return out
}

func prefixed(m *Message, text string) *Message {
	c := *m
	if c.Content.Blocks == nil {
		c.Content = Text(text + "\n\n" + c.Content.Text)
		return &c
	}
	block, err := marshal(map[string]string{"type": "text", "text": text})
	if err != nil { // a map of strings always encodes
		return m
	}
	c.Content = Content{Blocks: append([]json.RawMessage{block}, c.Content.Blocks...)}
	return &c
}
