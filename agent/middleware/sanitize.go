package middleware

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"fawn/agent"
)

// ownTags are the names of blocks that only the server writes into a request.
var ownTags = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for name := range strings.FieldsSeq(
		`system-reminder system_reminder memory current_date think analysis role soul self_update
		thinking_style clarification_system critical_reminders response_style citations uploaded_files current_uploads subagent_system
		skill_system skill_index available_skills disabled_skills memory_tool_system todo_list_system durable_context_data
		slash_skill_activation mcp_routing_hints available-deferred-tools goal_continuation session_goal background_task_event
		file_editing_workflow guidelines output_format working_directory tool_restrictions system instruction important override
		ignore prompt`) {
		m[name] = true
	}
	return m
})

// neutral turns tags with our names into plain text; everything else stays byte for byte, including broken markup and
// code.
func neutral(s string) string {
	at := strings.IndexByte(s, '<')
	if at < 0 {
		return s
	}
	tags := ownTags()
	var b strings.Builder
	for at >= 0 {
		end := tagName(s, at)
		if end < 0 || !tags[strings.ToLower(strings.Trim(s[at+1:end], "/ \t\r\n"))] {
			b.WriteString(s[:at+1])
			s = s[at+1:]
			at = strings.IndexByte(s, '<')
			continue
		}
		b.WriteString(s[:at] + "&lt;")
		s, at = s[at+1:], end-at-1
		if next := strings.IndexAny(s[at:], "<>"); next >= 0 && s[at+next] == '>' {
			b.WriteString(s[:at+next] + "&gt;")
			s = s[at+next+1:]
		}
		at = strings.IndexByte(s, '<')
	}
	b.WriteString(s)
	return b.String()
}

// tagName returns the end of the name after the bracket at s[at], or -1.
func tagName(s string, at int) int {
	i := at + 1
	for i < len(s) && strings.IndexByte("/ \t\r\n", s[i]) >= 0 {
		i++
	}
	from := i
	for i < len(s) && (s[i] == '-' || s[i] == '_' || s[i] >= 'a' && s[i] <= 'z' || s[i] >= 'A' && s[i] <= 'Z' ||
		s[i] >= '0' && s[i] <= '9') {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

// neutralContent returns content with neutralized texts.
func neutralContent(c agent.Content) agent.Content {
	if c.Blocks == nil {
		return agent.Text(neutral(c.Text))
	}
	out := make([]json.RawMessage, len(c.Blocks))
	for i, raw := range c.Blocks {
		out[i] = raw
		if text, ok := textOf(raw); ok {
			out[i] = reworded(raw, neutral(text))
		}
	}
	return agent.Content{Blocks: out}
}

// textOf returns the text of a block that has one.
func textOf(raw json.RawMessage) (text string, ok bool) {
	var block struct {
		Text *string `json:"text"`
	}
	if json.Unmarshal(raw, &block) != nil || block.Text == nil {
		return "", false
	}
	return *block.Text, true
}

// reworded returns a block with another text.
func reworded(raw json.RawMessage, text string) json.RawMessage {
	var block map[string]json.RawMessage
	quoted, err := agent.Encode(text)
	if err != nil || json.Unmarshal(raw, &block) != nil || string(block["text"]) == string(quoted) {
		return raw
	}
	block["text"] = quoted
	if b, err := agent.Encode(block); err == nil {
		return b
	}
	return raw
}

// InputSanitize prevents people's text from posing as a block of the server: marker lines surround it, and tags with
// the server's names lose their brackets. Only the request changes, in the same way for all messages, so later requests
// begin with the same bytes.
func InputSanitize() agent.Middleware {
	return agent.Middleware{
		Name: "input_sanitize",
		WrapModel: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, t *agent.Turn, req *agent.Request) (*agent.Message, error) {
				own := false
				for i, m := range req.Messages {
					if m.Type != agent.TypeHuman || strings.HasPrefix(m.ID, "note:") ||
						strings.HasPrefix(m.ID, "summary:") {
						continue
					}
					if !own { // the list may be shared
						req.Messages, own = append([]*agent.Message(nil), req.Messages...), true
					}
					req.Messages[i] = sanitized(t, m)
				}
				return next(ctx, t, req)
			}
		},
	}
}

// sanitized returns a person's message with marked and neutralized text after the parts added by the server.
func sanitized(t *agent.Turn, m *agent.Message) *agent.Message {
	stored := t.State.Message(m.ID)
	if stored == nil || stored == m {
		return copies.copyOf(m, func() *agent.Message { return fenced(m, m) })
	}
	return fenced(m, stored)
}

// copies caches the copies of all threads.
var copies markedCopies

// fenced returns the copy of a message that a person wrote as stored.
func fenced(m, stored *agent.Message) *agent.Message {
	c := *m
	if m.Content.Blocks == nil {
		front, ok := strings.CutSuffix(m.Content.Text, stored.Content.Text)
		if !ok {
			front = ""
			stored = m
		}
		c.Content = agent.Text(front + agent.MarkInput(neutral(stored.Content.Text)))
		return &c
	}
	front := max(len(m.Content.Blocks)-len(stored.Content.Blocks), 0)
	c.Content = agent.Content{Blocks: append(slices.Clone(m.Content.Blocks[:front]),
		markedBlocks(m.Content.Blocks[front:])...)}
	return &c
}

// markedBlocks returns a person's blocks: their texts are joined, marked, in the place of the first; others keep their
// places.
func markedBlocks(blocks []json.RawMessage) []json.RawMessage {
	var texts []string
	var out []json.RawMessage
	at := -1
	for _, raw := range blocks {
		text, ok := textOf(raw)
		if !ok {
			out = append(out, raw)
			continue
		}
		if at < 0 {
			at = len(out)
			out = append(out, raw)
		}
		texts = append(texts, text)
	}
	if at >= 0 {
		out[at] = reworded(out[at], agent.MarkInput(neutral(strings.Join(texts, "\n"))))
	}
	return out
}

// ToolResultSanitize does the same for results from the network and from foreign tools.
func ToolResultSanitize(foreign func(tool string) bool) agent.Middleware {
	return agent.Middleware{
		Name: "tool_result_sanitize",
		WrapTool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
				r, err := next(ctx, t, c)
				switch {
				case slices.Contains([]string{"web_fetch", "web_search", "image_search", "web_capture"}, c.Name),
					strings.HasPrefix(c.Name, "browser_"),
					foreign(c.Name):
					r.Content = neutralContent(r.Content)
				}
				return r, err
			}
		},
	}
}
