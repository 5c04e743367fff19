package openapi

import (
	"maps"
	"slices"
	"strings"
)

// Schema is a JSON Schema.
type Schema map[string]any

// Prop is a member of an object.
type Prop struct {
	Name     string
	Schema   Schema
	Required bool
}

// String describes any text.
func String() Schema { return Schema{"type": "string"} }

// File returns the bytes of a file.
func File() Schema {
	return Schema{"type": "string", "format": "binary", "contentMediaType": "application/octet-stream"}
}

// ID returns the id of a thread as clients may choose it.
func ID() Schema { return Schema{"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"} }

// Enum describes one of a few words.
func Enum(words ...string) Schema { return Schema{"type": "string", "enum": words} }

// Int returns a whole number of at least low.
func Int(low int) Schema { return Schema{"type": "integer", "minimum": low} }

// Range returns a whole number from low to high.
func Range(low, high int) Schema { return Schema{"type": "integer", "minimum": low, "maximum": high} }

// Whole describes any whole number.
func Whole() Schema { return Schema{"type": "integer"} }

// Number describes any number.
func Number() Schema { return Schema{"type": "number"} }

// Bool describes true or false.
func Bool() Schema { return Schema{"type": "boolean"} }

// Any describes any JSON value.
func Any() Schema { return Schema{} }

// Time returns a moment in RFC 3339.
func Time() Schema { return Schema{"type": "string", "format": "date-time"} }

// Map returns an object with arbitrary members. Client generators create a closed type for an object unless this is
// declared.
func Map(of Schema) Schema {
	s := Schema{"type": "object", "additionalProperties": true}
	if len(of) > 0 {
		s["additionalProperties"] = of
	}
	return s
}

// Open allows members that s doesn't name.
func Open(s Schema) Schema {
	out := maps.Clone(s)
	out["additionalProperties"] = true
	return out
}

// List returns an array.
func List(of Schema) Schema { return Schema{"type": "array", "items": of} }

// Ref points at a schema of the document's components.
func Ref(name string) Schema { return Schema{"$ref": "#/components/schemas/" + name} }

// AnyOf describes one of several schemas.
func AnyOf(of ...Schema) Schema { return Schema{"anyOf": of} }

// Nullable describes s or null.
func Nullable(s Schema) Schema {
	if len(s) == 0 || slices.Contains(s.Types(), "null") {
		return s
	}
	if t, ok := s["type"].(string); ok && s["enum"] == nil {
		out := maps.Clone(s)
		out["type"] = []string{t, "null"}
		return out
	}
	return AnyOf(s, Schema{"type": "null"})
}

// Req returns a member which is always there.
func Req(name string, s Schema) Prop { return Prop{Name: name, Schema: s, Required: true} }

// Opt returns a member which may be missing.
func Opt(name string, s Schema) Prop { return Prop{Name: name, Schema: s} }

// Object returns an object with these members and possibly others.
func Object(props ...Prop) Schema {
	all, required := map[string]Schema{}, []string{}
	for _, p := range props {
		all[p.Name] = p.Schema
		if p.Required {
			required = append(required, p.Name)
		}
	}
	s := Schema{"type": "object", "properties": all}
	if len(required) > 0 {
		slices.Sort(required)
		s["required"] = required
	}
	return s
}

// Body returns an object a client sends: a member that may be missing may also be null.
func Body(props ...Prop) Schema {
	out := make([]Prop, len(props))
	for i, p := range props {
		if !p.Required {
			p.Schema = Nullable(p.Schema)
		}
		out[i] = p
	}
	return Object(out...)
}

// Partly returns an object with optional members, for responses limited to selected ones.
func Partly(s Schema) Schema {
	out := maps.Clone(s)
	delete(out, "required")
	return out
}

// Props returns the members of an object, by name.
func (s Schema) Props() []Prop {
	all, _ := s["properties"].(map[string]Schema)
	required, _ := s["required"].([]string)
	out := make([]Prop, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, Prop{Name: name, Schema: all[name], Required: slices.Contains(required, name)})
	}
	return out
}

// Types returns the JSON types s allows, none when it allows all or points elsewhere.
func (s Schema) Types() []string {
	switch t := s["type"].(type) {
	case string:
		return []string{t}
	case []string:
		return t
	}
	var out []string
	of, _ := s["anyOf"].([]Schema)
	for _, one := range of {
		types := one.Types()
		if len(types) == 0 {
			return nil
		}
		out = append(out, types...)
	}
	return out
}

// Words returns the values of an enumeration, of s or of the part of it that is one.
func (s Schema) Words() []string {
	if words, ok := s["enum"].([]string); ok {
		return words
	}
	of, _ := s["anyOf"].([]Schema)
	for _, one := range of {
		if words := one.Words(); words != nil {
			return words
		}
	}
	return nil
}

// Name describes s in a few words.
func (s Schema) Name() string {
	if ref, ok := s["$ref"].(string); ok {
		return ref[strings.LastIndexByte(ref, '/')+1:]
	}
	if of, ok := s["anyOf"].([]Schema); ok {
		names := make([]string, len(of))
		for i, one := range of {
			names[i] = one.Name()
		}
		return strings.Join(names, " | ")
	}
	if items, ok := s["items"].(Schema); ok {
		return "list of " + items.Name()
	}
	if words := s.Words(); words != nil {
		return strings.Join(words, " | ")
	}
	if types := s.Types(); len(types) > 0 {
		return strings.Join(types, " | ")
	}
	return "any"
}
