package agent

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Field names one stored part of [State] other than the messages.
type Field struct {
	Name   string
	Hidden bool // stored, but never part of values
	set    func(*State) bool
	get    func(*State) any
	read   func(*State, []byte) error
}

// Fields lists every stored field; a test proves that it and State agree.
var Fields = []Field{
	pointer("title", func(s *State) **string { return &s.Title }),
	slice("artifacts", func(s *State) *[]string { return &s.Artifacts }),
	slice("todos", func(s *State) *[]Todo { return &s.Todos }),
	pointer("sandbox", func(s *State) **SandboxRef { return &s.Sandbox }),
	pointer("thread_data", func(s *State) **ThreadData { return &s.ThreadData }),
	slice("uploaded_files", func(s *State) *[]Upload { return &s.UploadedFiles }),
	mapping("viewed_images", func(s *State) *map[string]Image { return &s.ViewedImages }),
	pointer("goal", func(s *State) **Goal { return &s.Goal }),
	pointer("promoted", func(s *State) **Promoted { return &s.Promoted }),
	slice("delegations", func(s *State) *[]Delegation { return &s.Delegations }),
	slice("skill_context", func(s *State) *[]SkillRef { return &s.SkillContext }),
	pointer("summary_text", func(s *State) **string { return &s.SummaryText }),
	slice("background_tasks", func(s *State) *[]BackgroundTask { return &s.Background }),
	hidden(slice("told_files", func(s *State) *[]ToldFile { return &s.Told })),
	hidden(slice("plan_edits", func(s *State) *[]PlanEdit { return &s.Edited })),
	hidden(slice("notes", func(s *State) *[]Note { return &s.Notes })),
	hidden(pointer("view", func(s *State) **View { return &s.View })),
}

// Set reports whether s writes the field.
func (f Field) Set(s *State) bool { return f.set(s) }

// Encode returns the field's stored and shown form.
func (f Field) Encode(s *State) ([]byte, error) { return marshal(f.get(s)) }

// Decode replaces s with its stored form. null leaves the field unwritten; on an error s is untouched.
func (f Field) Decode(s *State, b []byte) error {
	if err := f.read(s, b); err != nil {
		return fmt.Errorf("field %s: %w", f.Name, err)
	}
	return nil
}

// FieldByName finds a field.
func FieldByName(name string) (Field, bool) {
	for _, f := range Fields {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

// ParsePatch reads a client's partial state. Messages take every form [ParseMessage] knows. Names of unknown fields are
// returned in order rather than as an error: each mount decides.
func ParsePatch(raw json.RawMessage) (p State, unknown []string, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return State{}, nil, nil
	}
	var obj map[string]json.RawMessage
	if err := json.Unmarshal(raw, &obj); err != nil {
		return State{}, nil, fmt.Errorf("%w: want an object of state fields: %v", ErrPatch, err)
	}
	for name, body := range obj {
		if name == "messages" {
			if p.Messages, err = ParseMessages(body); err != nil {
				return State{}, nil, err
			}
			continue
		}
		f, ok := FieldByName(name)
		if !ok || f.Hidden {
			unknown = append(unknown, name)
			continue
		}
		if err := f.Decode(&p, body); err != nil {
			return State{}, nil, fmt.Errorf("%w: %v", ErrPatch, err)
		}
	}
	slices.Sort(unknown)
	return p, unknown, nil
}

func pointer[T any](name string, at func(*State) **T) Field {
	return Field{
		Name: name,
		set:  func(s *State) bool { return *at(s) != nil },
		get:  func(s *State) any { return *at(s) },
		read: func(s *State, b []byte) error { return replace(at(s), b) },
	}
}

func slice[T any](name string, at func(*State) *[]T) Field {
	return Field{
		Name: name,
		set:  func(s *State) bool { return *at(s) != nil },
		get:  func(s *State) any { return *at(s) },
		read: func(s *State, b []byte) error { return replace(at(s), b) },
	}
}

func mapping[V any](name string, at func(*State) *map[string]V) Field {
	return Field{
		Name: name,
		set:  func(s *State) bool { return *at(s) != nil },
		get:  func(s *State) any { return *at(s) },
		read: func(s *State, b []byte) error { return replace(at(s), b) },
	}
}

// replace decodes into a new value: other states may share the old one.
func replace[T any](at *T, b []byte) error {
	var v T
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	*at = v
	return nil
}

func hidden(f Field) Field { f.Hidden = true; return f }
