package openai

import (
	"fmt"
	"slices"
	"strings"

	"fawn/agent"
)

// nothing is the placeholder for empty messages on servers that refuse them.
const nothing = "(no text)"

// shapes describe the conversations a server accepts. The zero value accepts the full API.
type shapes struct {
	noSystem  bool // no system message: its text begins the first one of the user
	noTools   bool // no tool messages: calls and results become text
	noNull    bool // an answer with calls has a text, even if empty
	filled    bool // no message has an empty text
	userFirst bool // the user speaks first
	turns     bool // consecutive answers are merged
	bridge    bool // an answer must come between a tool result and a user message
}

// shape returns the system's text and the messages as the server takes them.
func (s shapes) shape(req *agent.Request) (system string, list []*agent.Message) {
	system, list = req.System, req.Messages
	if s == (shapes{}) {
		return system, list
	}
	if s.noTools {
		list = withoutTools(list)
	}
	if s.noSystem && system != "" {
		list = slices.Clone(list)
		if i := slices.IndexFunc(list, func(m *agent.Message) bool { return m.Type == agent.TypeHuman }); i == 0 {
			first := *list[0]
			first.Content = joinContent(agent.Text(system), first.Content)
			list[0] = &first
		} else {
			list = slices.Insert(list, 0, &agent.Message{ID: "system", Type: agent.TypeHuman, Content: agent.Text(system)})
		}
		system = ""
	}
	if s.userFirst && len(list) > 0 && list[0].Type != agent.TypeHuman {
		list = slices.Insert(slices.Clone(list), 0, &agent.Message{ID: "first", Type: agent.TypeHuman,
			Content: agent.Text("[The conversation goes on.]")})
	}
	var out []*agent.Message
	for _, m := range list {
		if n := len(out); n > 0 {
			last := out[n-1]
			switch {
			case s.bridge && last.Type == agent.TypeTool && m.Type == agent.TypeHuman:
				out = append(out, &agent.Message{ID: "bridge:" + m.ID, Type: agent.TypeAI, Content: agent.Text("I see.")})
			case s.turns && last.Type == agent.TypeAI && m.Type == agent.TypeAI && len(last.ToolCalls) == 0:
				joined := *m
				joined.Content = agent.Text(strings.Trim(last.Content.String()+"\n\n"+m.Content.String(), "\n"))
				out[n-1] = &joined
				continue
			}
		}
		out = append(out, m)
	}
	return system, out
}

// withoutTools converts calls and results of tools to text.
func withoutTools(list []*agent.Message) (out []*agent.Message) {
	for _, m := range list {
		c := *m
		switch {
		case m.Type == agent.TypeAI && len(m.ToolCalls) > 0:
			var b strings.Builder
			b.WriteString(m.Content.String())
			for _, call := range m.ToolCalls {
				fmt.Fprintf(&b, "\n[Called the tool %s with %s]", call.Name, call.Args)
			}
			c.Content, c.ToolCalls = agent.Text(strings.TrimSpace(b.String())), nil
		case m.Type == agent.TypeTool:
			c.Type, c.ToolCallID = agent.TypeHuman, ""
			c.Content = agent.Text(fmt.Sprintf("[The result of the tool %s:]\n%s", m.Name, m.Content.String()))
		}
		out = append(out, &c)
	}
	return joinUsers(out)
}
