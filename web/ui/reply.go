package ui

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"fawn/views"
	"fawn/web/ui/conversation"
	"fawn/web/ui/page"
)

var (
	errAnswered   = errors.New("the question is no longer open")
	errIncomplete = errors.New("a field of the form is empty")
)

// replyTo turns a submitted answer to a question into the text of the message and the record that goes with it. Words
// typed into the message box answer the newest open question; without one they are a message like any other.
func replyTo(v *conversation.View, text string, form url.Values) (string, map[string]any, error) {
	id := form.Get("ask")
	if v == nil {
		if id != "" {
			return "", nil, errAnswered
		}
		return text, nil, nil
	}
	q := v.Question(id)
	if q == nil {
		if id != "" {
			return "", nil, errAnswered
		}
		return text, nil, nil
	}
	record := map[string]any{"version": 1, "kind": "human_input_response", "source": "ask_clarification",
		"request_id": q.ID, "response_kind": "text"}
	switch {
	case id != "" && form.Get("option") != "":
		for i, o := range q.Options {
			if form.Get("option") == strconv.Itoa(i) {
				text = o.Value
				record["response_kind"], record["option_id"] = "option", o.ID
			}
		}
	case id != "" && len(q.Fields) > 0:
		values := map[string]any{}
		var err error
		if text, err = fillIn(q.Fields, form, values); err != nil {
			return "", nil, err
		}
		record["version"], record["response_kind"], record["values"] = 2, "form", values
	}
	record["value"] = text
	return text, record, nil
}

// fillIn reads the fields of a form into values, and formats them as lines of text.
func fillIn(fields []views.Field, form url.Values, values map[string]any) (string, error) {
	var lines []string
	for i, f := range fields {
		given := form["f"+strconv.Itoa(i)]
		said := page.PlainText(strings.TrimSpace(strings.Join(given, "")))
		switch f.Type {
		case "checkbox":
			values[f.Name] = said != ""
			said = map[bool]string{true: "yes", false: "no"}[said != ""]
		case "select", "multi_select":
			var picked []string
			for _, g := range given {
				if n, err := strconv.Atoi(g); err == nil && n >= 0 && n < len(f.Options) {
					picked = append(picked, f.Options[n].Value)
				}
			}
			said = strings.Join(picked, ", ")
			values[f.Name] = said
			if f.Type == "multi_select" {
				values[f.Name] = picked
			}
		default:
			values[f.Name] = said
		}
		if said == "" {
			if f.Required {
				return "", errIncomplete
			}
			delete(values, f.Name)
			continue
		}
		lines = append(lines, f.Label+": "+said)
	}
	return strings.Join(lines, "\n"), nil
}
