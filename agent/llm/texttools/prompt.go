package texttools

import (
	"encoding/json"
	"strings"

	"fawn/agent"
)

// Tags around calls and results.
const (
	callOpen    = "<tool_call>"
	callClose   = "</tool_call>"
	resultOpen  = "<tool_result"
	resultClose = "</tool_result>"
)

const rules = `

# Tools

You have the tools below. To use one, write a line ` + callOpen +
	`, then a line with one JSON object with its name and its arguments, then a line ` + callClose + `, like this:

` + callOpen + `
{"name": "tool name", "arguments": {"argument": "value"}}
` + callClose + `

Write several such blocks to use several tools at once. Write nothing behind the last one: the results come in the next message, between tags named tool_result. Never write results yourself. When no tool is needed, answer in plain words.

Each line is one tool with the JSON Schema of its arguments:

`

// written returns the request with tools, calls and results as text.
func written(req *agent.Request) *agent.Request {
	out := *req
	out.Tools = nil
	out.System = req.System + describe(req.Tools)
	out.Messages = make([]*agent.Message, 0, len(req.Messages))
	for _, m := range req.Messages {
		switch {
		case m.Type == agent.TypeAI && len(m.ToolCalls) > 0:
			out.Messages = append(out.Messages, spelled(m))
		case m.Type == agent.TypeTool:
			out.Messages = answered(out.Messages, m)
		default:
			out.Messages = append(out.Messages, m)
		}
	}
	return &out
}

// describe lists the tools. JSON encoding keeps their descriptions from closing anything.
func describe(tools []*agent.Tool) string {
	if len(tools) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(rules)
	for _, t := range tools {
		schema := t.Schema
		if !json.Valid(schema) {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		line, err := json.Marshal(struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		}{t.Name, t.Description, schema})
		if err != nil { // strings and valid JSON always encode
			continue
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}

// spelled returns an answer with its calls as the model writes them.
func spelled(m *agent.Message) *agent.Message {
	var b strings.Builder
	if text := m.Content.String(); text != "" {
		b.WriteString(text + "\n")
	}
	for i, c := range m.ToolCalls {
		args := c.Args
		if !json.Valid(args) {
			args = json.RawMessage("{}")
		}
		line, err := json.Marshal(struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		}{c.Name, args})
		if err != nil { // as above
			continue
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(callOpen + "\n" + string(line) + "\n" + callClose)
	}
	out := *m
	out.Content, out.ToolCalls = agent.Text(b.String()), nil
	return &out
}

// answered appends a result to the message of results, which begins after the calls.
func answered(list []*agent.Message, m *agent.Message) []*agent.Message {
	status := ""
	if m.Status == "error" {
		status = ` status="error"`
	}
	text := resultOpen + ` name="` + strings.ReplaceAll(agent.Escape(m.Name), `"`, "'") + `"` + status + ">\n" +
		harmless(m.Content.String()) + "\n" + resultClose
	if n := len(list); n > 0 && strings.HasPrefix(list[n-1].ID, "results:") {
		last := *list[n-1]
		last.Content = agent.Text(last.Content.Text + "\n" + text)
		list[n-1] = &last
		return list
	}
	return append(list, &agent.Message{ID: "results:" + m.ID, Type: agent.TypeHuman, Content: agent.Text(text)})
}

// harmless removes the brackets of text that looks like a tag of this protocol; everything else stays, since tools read
// files of every kind.
func harmless(s string) string {
	var b strings.Builder
	for {
		at := strings.IndexByte(s, '<')
		if at < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:at])
		rest := strings.TrimLeft(s[at+1:], "/ \t\r\n")
		if hasFold(rest, "tool_call") || hasFold(rest, "tool_result") {
			b.WriteString("&lt;")
		} else {
			b.WriteByte('<')
		}
		s = s[at+1:]
	}
}

func hasFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
