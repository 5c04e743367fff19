package ask

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"fawn/agent"
)

// Limits of a form.
const (
	maxFields     = 40
	maxOptions    = 100
	maxFormSchema = 64 << 10
	maxMessageLen = 4000
)

// Field is one field of a question's form.
type Field struct {
	Name        string
	Title       string
	Description string
	Kind        string // string, number, integer, boolean or array
	Format      string // format of a string: email, uri, date or date-time
	Options     []Option
	Default     string
	Chosen      []string // initially chosen options of an array
	Required    bool
}

// Option is one choice.
type Option struct{ Value, Title string }

// form is the parsed schema of a question.
type form struct {
	fields []Field // required ones first
	schema *jsonschema.Resolved
}

// schemaOf returns the schema that a server has sent; veil removes secrets from its texts.
func schemaOf(sent any, veil func(string) string) (json.RawMessage, error) {
	if sent == nil {
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	}
	raw, err := json.Marshal(sent)
	if err != nil || len(raw) > maxFormSchema {
		return nil, errors.New("the schema of the question is too large")
	}
	clean := []byte(veil(string(raw)))
	if !bytes.Equal(clean, raw) && !json.Valid(clean) {
		return nil, errors.New("the schema of the question has a secret in it")
	}
	return clean, nil
}

// read converts a schema to a form.
func read(raw json.RawMessage) (form, error) {
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return form{}, errors.New("the schema of the question is not valid")
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return form{}, errors.New("the schema of the question is not valid")
	}
	if len(schema.Properties) > maxFields {
		return form{}, fmt.Errorf("the question has more than %d fields", maxFields)
	}
	out := form{schema: resolved}
	for name, f := range schema.Properties {
		field, err := readField(name, f)
		if err != nil {
			return form{}, err
		}
		field.Required = slices.Contains(schema.Required, name)
		out.fields = append(out.fields, field)
	}
	slices.SortFunc(out.fields, func(a, b Field) int { // the library doesn't keep the server's order
		if a.Required != b.Required {
			if a.Required {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return out, nil
}

func readField(name string, f *jsonschema.Schema) (Field, error) {
	if f == nil {
		return Field{}, fmt.Errorf("the field %q has no schema", agent.Clip(name, 80))
	}
	clean := func(text string, most int) string { return agent.Visible(agent.Clip(text, most)) }
	out := Field{Name: name, Title: clean(cmp.Or(f.Title, name), 200), Description: clean(f.Description, 1000),
		Kind: f.Type, Format: f.Format}
	of := f
	if f.Type == "array" && f.Items != nil {
		of = f.Items
	}
	values := of.Enum
	titles, _ := of.Extra["enumNames"].([]any)
	for _, one := range append(slices.Clone(of.OneOf), of.AnyOf...) {
		if one.Const != nil {
			values, titles = append(values, *one.Const), append(titles, one.Title)
		}
	}
	for i, v := range values {
		value, ok := v.(string)
		if !ok || i == maxOptions {
			return out, fmt.Errorf("the choices of %q aren't strings, or are too many", agent.Clip(name, 80))
		}
		title := ""
		if i < len(titles) {
			title, _ = titles[i].(string)
		}
		out.Options = append(out.Options, Option{value, clean(cmp.Or(title, value), 200)})
	}
	if d := bytes.TrimSpace(f.Default); len(d) > 0 {
		if f.Type == "array" {
			_ = json.Unmarshal(d, &out.Chosen) // an invalid list selects nothing initially
		} else if json.Unmarshal(d, &out.Default) != nil {
			out.Default = string(d) // a number or a truth value
		}
	}
	switch f.Type {
	case "string", "number", "integer", "boolean":
		return out, nil
	case "array":
		if len(out.Options) > 0 {
			return out, nil
		}
	}
	return out, fmt.Errorf("the field %q has a type that forms don't support", agent.Clip(name, 80))
}
