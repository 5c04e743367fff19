package turns

import (
	"encoding/json"
	"strings"

	"fawn/agent"
	"fawn/views"
	"fawn/web/ui/page"
)

// helperEvent is a helper's event in DeerFlow's format: task_started, task_running and one for each outcome. It has the
// fields shown by a card.
type helperEvent struct {
	Type    string          `json:"type"`
	Call    string          `json:"task_id"`
	Model   string          `json:"model_name"`
	Message json.RawMessage `json:"message"`
	Usage   *struct {
		Total int `json:"total_tokens"`
	} `json:"usage"`
}

// helper updates a helper's card from its events. Its end arrives with the result of the call.
func (b *Builder) helper(data json.RawMessage) {
	var ev helperEvent
	if json.Unmarshal(data, &ev) != nil || !strings.HasPrefix(ev.Type, "task_") || len(b.Turns) == 0 {
		return
	}
	t := &b.Turns[len(b.Turns)-1]
	for i := range t.Trail.Steps {
		s := &t.Trail.Steps[i]
		if s.Tool != "task" || s.ID != b.calls[ev.Call] || s.State != views.StepRun {
			continue
		}
		if ev.Model != "" {
			s.Helper.Model = ev.Model
		}
		if ev.Usage != nil {
			s.Helper.Tokens = max(s.Helper.Tokens, ev.Usage.Total)
		}
		if m, err := agent.ParseMessage(ev.Message); err == nil && m.Type == agent.TypeAI {
			s.Helper.Doing, s.Helper.Said = lastAction(m)
		}
	}
}

// lastAction returns the action in a helper's message, or its text when it has none.
func lastAction(m *agent.Message) (doing *views.Step, said string) {
	if n := len(m.ToolCalls); n > 0 {
		c := m.ToolCalls[n-1]
		if len(c.Args) > maxArgs {
			c.Args = wholeFields(c.Args[:maxArgs])
		}
		return &views.Step{Tool: c.Name, Args: c.Args}, ""
	}
	return nil, FirstLine(m.Content.String())
}

// finishHelper writes a helper's outcome into its step. The fields are DeerFlow's; without them the result's text
// decides.
func finishHelper(s *views.Step, m *agent.Message, text string) {
	field := func(name string) string { v, _ := m.Kwargs[name].(string); return v }
	if model := field("subagent_model_name"); model != "" {
		s.Helper.Model = model
	}
	if usage, ok := m.Kwargs["subagent_token_usage"].(map[string]any); ok {
		if n, ok := usage["total_tokens"].(float64); ok {
			s.Helper.Tokens = int(n)
		}
	}
	s.Helper.Doing, s.Helper.Said = nil, ""
	status, rest := HelperResult(text)
	if told := field("subagent_status"); told != "" {
		status = told
	}
	switch status {
	case "cancelled":
		s.State = views.StepStop
	case "failed", "timed_out", "polling_timed_out":
		s.State = views.StepFail
	default:
		if m.Status == "error" {
			s.State = views.StepFail
		}
	}
	s.Output = page.Head(rest, maxStepOutput)
	if s.State == views.StepFail {
		s.Error = FirstLine(rest)
		if e := field("subagent_error"); e != "" {
			s.Error = FirstLine(e)
		}
		return
	}
	s.Helper.Said = FirstLine(rest)
}

// HelperResult strips the outcome text from a helper's result.
func HelperResult(text string) (status, rest string) {
	for _, end := range []struct{ words, label, status string }{
		{"Task Succeeded", "Result:", "completed"},
		{"Task failed", "Error:", "failed"},
		{"Task timed out", "Error:", "timed_out"},
		{"Task cancelled", "", "cancelled"},
	} {
		if !strings.HasPrefix(text, end.words) {
			continue
		}
		first, _, _ := strings.Cut(text, "\n")
		if i := strings.Index(first, end.label); end.label != "" && i >= 0 {
			return end.status, strings.TrimSpace(text[i+len(end.label):])
		}
		return end.status, text
	}
	return "", text
}

// SameHelper reports whether a helper looks the same.
func SameHelper(a, b views.Helper) bool {
	if a.Model != b.Model || a.Tokens != b.Tokens || a.Said != b.Said || (a.Doing == nil) != (b.Doing == nil) {
		return false
	}
	return a.Doing == nil || a.Doing.Tool == b.Doing.Tool && string(a.Doing.Args) == string(b.Doing.Args)
}
