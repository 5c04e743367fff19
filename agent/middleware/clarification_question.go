package middleware

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fawn/agent"
)

// Limits of one question: items, characters and bytes of JSON.
const (
	maxFormFields   = 16
	maxChoices      = 24
	maxChoiceChars  = 200
	maxFormBytes    = 16384
	maxQuestionText = 8000
)

// question is a call of ask_clarification, cleaned.
type question struct {
	Kind, Text, Context string
	Options             []string
	Fields              []formField
}

// formField is one input of a form.
type formField struct {
	Name        string   `json:"name"`
	Label       string   `json:"label"`
	Type        string   `json:"type"`
	Required    bool     `json:"required"`
	Options     []choice `json:"options,omitempty"`
	Placeholder string   `json:"placeholder,omitempty"`
}

type choice struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	Value string `json:"value"`
}

// humanInput is the data from which clients render a question.
type humanInput struct {
	Version   int         `json:"version"`
	Kind      string      `json:"kind"`
	Source    string      `json:"source"`
	RequestID string      `json:"request_id"`
	CallID    string      `json:"tool_call_id,omitempty"`
	Type      string      `json:"clarification_type"`
	Question  string      `json:"question"`
	Context   string      `json:"context,omitempty"`
	Mode      string      `json:"input_mode"`
	Options   []choice    `json:"options,omitempty"`
	Fields    []formField `json:"fields,omitempty"`
}

// readQuestion parses the arguments as sent by models: with wrong types, as JSON inside strings, with markup. Only a
// missing question is an error, reported to the model.
func readQuestion(raw json.RawMessage) (q question, problem string) {
	var args struct {
		Question string `json:"question"`
		Kind     any    `json:"clarification_type"`
		Context  any    `json:"context"`
		Options  any    `json:"options"`
		Fields   any    `json:"fields"`
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return q, "the arguments of ask_clarification are not an object with a question as text"
	}
	q.Text = shorten(strings.TrimSpace(args.Question), maxQuestionText)
	if q.Text == "" {
		return q, `argument "question" is missing`
	}
	q.Kind, _ = args.Kind.(string)
	if !slices.Contains([]string{"missing_info", "ambiguous_requirement", "approach_choice", "risk_confirmation",
		"suggestion"}, q.Kind) {
		q.Kind = "missing_info"
	}
	background, _ := args.Context.(string)
	q.Context = shorten(strings.TrimSpace(background), maxQuestionText)
	q.Options = choices(args.Options)
	if fields, ok := formFields(args.Fields); ok {
		q.Fields = fields
	}
	return q, ""
}

// request returns the artifact of a question.
func (q question) request(id, call string) humanInput {
	h := humanInput{Version: 1, Kind: "human_input_request", Source: askTool, RequestID: id, CallID: call,
		Type: q.Kind, Question: q.Text, Context: q.Context, Mode: "free_text"}
	switch {
	case len(q.Fields) > 0:
		h.Version, h.Mode, h.Fields = 2, "form", q.Fields
	case len(q.Options) > 0:
		h.Mode, h.Options = "choice_with_other", labelled("option", q.Options)
	}
	return h
}

func labelled(stem string, options []string) []choice {
	out := make([]choice, len(options))
	for i, o := range options {
		out[i] = choice{ID: stem + "-" + strconv.Itoa(i+1), Label: o, Value: o}
	}
	return out
}

// choices returns the distinct texts of a list, of an object's values, or of either as JSON inside a string.
func choices(v any) []string {
	var out []string
	var walk func(v any, depth int)
	walk = func(v any, depth int) {
		if depth > 4 || len(out) >= maxChoices {
			return
		}
		switch v := v.(type) {
		case string:
			var inner any
			if s := strings.TrimSpace(v); strings.HasPrefix(s, "[") || strings.HasPrefix(s, "{") {
				if json.Unmarshal([]byte(s), &inner) == nil {
					walk(inner, depth+1)
					return
				}
			}
			if s := shorten(strings.TrimSpace(withoutTags(v)), maxChoiceChars); s != "" && !slices.Contains(out, s) {
				out = append(out, s)
			}
		case []any:
			for _, e := range v {
				walk(e, depth+1)
			}
		case map[string]any:
			for _, key := range []string{"label", "text", "title", "value", "name", "option"} {
				if s, ok := v[key].(string); ok && strings.TrimSpace(s) != "" {
					walk(s, depth+1)
					return
				}
			}
			keys := make([]string, 0, len(v))
			for k := range v {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			for _, k := range keys {
				walk(v[k], depth+1)
			}
		case bool, float64:
			walk(fmt.Sprint(v), depth+1)
		}
	}
	walk(v, 0)
	return out
}

// withoutTags removes markup that some models put around list items.
func withoutTags(s string) string {
	var b strings.Builder
	for s != "" {
		open := strings.IndexByte(s, '<')
		if open < 0 || open+1 >= len(s) || !isTagStart(s[open+1]) {
			if open < 0 {
				return b.String() + s
			}
			b.WriteString(s[:open+1])
			s = s[open+1:]
			continue
		}
		end := strings.IndexByte(s[open:], '>')
		if end < 0 {
			return b.String() + s
		}
		b.WriteString(s[:open])
		s = s[open+end+1:]
	}
	return b.String()
}

func isTagStart(c byte) bool { return c == '/' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// formFields parses a form. One invalid field rejects the whole form, because a partial form would lose part of the
// question.
func formFields(v any) ([]formField, bool) {
	if s, ok := v.(string); ok {
		var inner any
		if json.Unmarshal([]byte(s), &inner) != nil {
			return nil, false
		}
		v = inner
	}
	list, ok := v.([]any)
	if !ok || len(list) == 0 || len(list) > maxFormFields {
		return nil, false
	}
	var out []formField
	for _, e := range list {
		f, ok := oneField(e)
		if !ok || slices.ContainsFunc(out, func(o formField) bool { return o.Name == f.Name }) {
			return nil, false
		}
		out = append(out, f)
	}
	if b, err := agent.Encode(out); err != nil || len(b) > maxFormBytes {
		return nil, false
	}
	return out, true
}

func oneField(v any) (f formField, ok bool) {
	m, ok := v.(map[string]any)
	if !ok {
		return f, false
	}
	name, _ := m["name"].(string)
	f.Name = strings.TrimSpace(name)
	if f.Name == "" || len([]rune(f.Name)) > maxChoiceChars || reservedName(f.Name) {
		return f, false
	}
	label, _ := m["label"].(string)
	if f.Label = shorten(strings.TrimSpace(withoutTags(label)), maxChoiceChars); f.Label == "" {
		f.Label = f.Name
	}
	placeholder, _ := m["placeholder"].(string)
	f.Placeholder = shorten(strings.TrimSpace(placeholder), maxChoiceChars)
	f.Required, _ = m["required"].(bool)
	f.Type, _ = m["type"].(string)
	switch f.Type {
	case "textarea", "number", "checkbox", "date":
	case "select", "multi_select":
		f.Options = labelled(f.Name+"-option", choices(m["options"]))
		if len(f.Options) == 0 {
			f.Type, f.Options = "text", nil
		}
	default:
		f.Type = "text"
	}
	return f, true
}

// reservedName reports whether a field's name would break a script.
func reservedName(name string) bool {
	switch name {
	case "__proto__", "constructor", "prototype", "toString", "valueOf", "hasOwnProperty", "isPrototypeOf",
		"propertyIsEnumerable", "toLocaleString", "__defineGetter__", "__defineSetter__", "__lookupGetter__",
		"__lookupSetter__":
		return true
	}
	return false
}

// shorten cuts a text to n characters.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if r := []rune(s); len(r) > n {
		return strings.TrimRight(string(r[:n-1]), " ") + "…"
	}
	return s
}
