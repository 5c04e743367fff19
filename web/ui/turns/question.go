package turns

import (
	"encoding/json"
	"slices"
	"strings"

	"fawn/agent"
	"fawn/views"
	"fawn/web/ui/page"
)

// Limits of a question's card; a model, or a client that wrote the state, may send anything.
const (
	MaxQuestionBytes = 32 << 10
	maxQuestionItems = 32
)

// questionOf reads the question in a tool message.
func questionOf(thread string, m *agent.Message) (views.Question, bool) {
	var a struct {
		In *struct {
			Kind    string   `json:"clarification_type"`
			Text    string   `json:"question"`
			Context string   `json:"context"`
			Options []option `json:"options"`
			Fields  []struct {
				Name        string   `json:"name"`
				Label       string   `json:"label"`
				Type        string   `json:"type"`
				Required    bool     `json:"required"`
				Placeholder string   `json:"placeholder"`
				Options     []option `json:"options"`
			} `json:"fields"`
		} `json:"human_input"`
	}
	if len(m.Artifact) == 0 || json.Unmarshal(m.Artifact, &a) != nil || a.In == nil {
		return views.Question{}, false
	}
	q := views.Question{ID: m.ID, ThreadID: thread, Kind: a.In.Kind, Context: page.Head(a.In.Context, MaxQuestionBytes),
		Options: choicesOf(a.In.Options)}
	if q.Text = page.Head(strings.TrimSpace(a.In.Text), MaxQuestionBytes); q.Text == "" {
		q.Text = page.Head(m.Content.String(), MaxQuestionBytes)
	}
	for _, f := range a.In.Fields[:min(len(a.In.Fields), maxQuestionItems)] {
		field := views.Field{Name: f.Name, Label: f.Label, Type: f.Type, Required: f.Required,
			Placeholder: f.Placeholder, Options: choicesOf(f.Options)}
		if field.Label == "" {
			field.Label = f.Name
		}
		q.Fields = append(q.Fields, field)
	}
	if len(q.Fields) > 0 {
		q.Options = nil
	}
	return q, true
}

type option struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	Value string `json:"value"`
}

func choicesOf(list []option) []views.Choice {
	var out []views.Choice
	for _, o := range list[:min(len(list), maxQuestionItems)] {
		c := views.Choice(o)
		if c.Value == "" {
			c.Value = c.Label
		}
		if c.Label == "" {
			c.Label = c.Value
		}
		if c.Label != "" {
			out = append(out, c)
		}
	}
	return out
}

// ask adds a question to a turn, or brings it up to date.
func (b *Builder) ask(t *views.Turn, q views.Question) {
	t.Questions = slices.DeleteFunc(slices.Clone(t.Questions), func(o views.Question) bool { return o.ID == q.ID })
	t.Questions = append(t.Questions, q)
}

// answered applies a person's answer in a hidden message. A visible one begins a turn, where questions reads it.
func (b *Builder) answered(m *agent.Message) {
	if _, ok := m.Kwargs["human_input_response"]; !ok || !m.Flag("hide_from_ui") || len(b.Turns) == 0 {
		return
	}
	t := &b.Turns[len(b.Turns)-1]
	t.Questions = slices.Clone(t.Questions)
	for i := range t.Questions {
		if q := &t.Questions[i]; q.Answer == "" {
			q.Answer = page.Head(m.Content.String(), MaxQuestionBytes)
		}
	}
}

// SameQuestion reports whether a question looks the same.
func SameQuestion(a, b views.Question) bool {
	return a.ID == b.ID && a.Open == b.Open && a.Answer == b.Answer && a.Text == b.Text
}

// Todos returns the items of a plan as a page shows them, which may lack ids in the state.
func Todos(list []agent.Todo) (out []views.Todo) {
	for _, t := range agent.NumberTodos(list) {
		state := views.TodoOpen
		switch t.Status {
		case "in_progress":
			state = views.TodoWork
		case "completed":
			state = views.TodoDone
		}
		text := t.Content
		if text == "" {
			text = t.Title
		}
		out = append(out, views.Todo{ID: t.ID, Text: text, State: state})
	}
	return out
}
