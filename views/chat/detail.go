package chat

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"

	"fawn/sandbox/linediff"
	"fawn/views"
)

// maxDetail limits the part of a step's arguments that is parsed, in bytes.
const maxDetail = 256 << 10

// detail is a call as a person reads it.
type detail struct {
	command string          // command of bash
	plan    []views.Todo    // plan of write_todos
	lines   []linediff.Line // lines of str_replace
	content string          // content of write_file
	lang    string          // language of content, by the highlighter's name
	fields  []field         // fields of a tool without a custom view
	silent  bool            // the result adds nothing
}

type field struct{ name, value string }

// detailOf reads the arguments of a step. A call with arguments of another shape has fields
// only.
func detailOf(s views.Step) detail {
	var a struct {
		Command string
		Todos   []struct{ Content, Title, Status string }
		Old     string `json:"old_str"`
		New     string `json:"new_str"`
		Content string
	}
	d := detail{silent: s.Error == ""}
	if s.Web != nil && s.Error == "" {
		return d
	}
	if s.Browser != nil && s.Error == "" {
		return detail{}
	}
	known := json.Unmarshal(s.Args, &a) == nil
	switch {
	case known && s.Tool == "bash" && a.Command != "":
		return detail{command: cut(a.Command)}
	case known && s.Tool == "write_todos" && len(a.Todos) > 0:
		for _, t := range a.Todos {
			d.plan = append(d.plan, views.Todo{Text: first(t.Content, t.Title), State: todoState(t.Status)})
		}
		return d
	case known && s.Tool == "str_replace" && a.Old != "":
		d.lines = linediff.Compare(cut(a.Old), cut(a.New))
		return d
	case known && s.Tool == "write_file" && a.Content != "":
		d.content, d.lang = cut(a.Content), strings.TrimPrefix(path.Ext(readArgs(s.Args).Path), ".")
		return d
	case s.Tool == "present_files":
		return d
	}
	return detail{fields: fieldsOf(s.Args)}
}

// fieldsOf returns the arguments in the model's order, except those usually shown in the step's line.
func fieldsOf(raw json.RawMessage) (out []field) {
	if len(raw) > maxDetail {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for dec.More() {
		t, err := dec.Token()
		name, ok := t.(string)
		var value json.RawMessage
		if err != nil || !ok || dec.Decode(&value) != nil {
			return nil
		}
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		out = append(out, field{name, text})
	}
	return out
}

func todoState(status string) views.TodoState {
	switch status {
	case "in_progress":
		return views.TodoWork
	case "completed":
		return views.TodoDone
	}
	return views.TodoOpen
}

func cut(s string) string {
	if len(s) > maxDetail {
		return strings.ToValidUTF8(s[:maxDetail], "") + "…"
	}
	return s
}
