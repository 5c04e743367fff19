package openapi

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Of describes what a T is encoded as. Names, types, and what may be missing or null come from its fields: a member may
// be missing if its field is omitted when empty, and null if it is a pointer. A text whose name ends in _at is a time.
// Each of more replaces the schema of the member with its name with information that the type lacks: the words of an
// enumeration, or a component instead of a struct. One without a schema omits the member. An unknown name is a
// programming error and panics.
func Of[T any](more ...Prop) Schema {
	s, left := described(reflect.TypeFor[T](), more, false)
	known(reflect.TypeFor[T](), left)
	return s
}

// Reads describes a body that is decoded into a T. A member may be missing or null, except where one of more requires it.
func Reads[T any](more ...Prop) Schema {
	s, left := described(reflect.TypeFor[T](), more, true)
	known(reflect.TypeFor[T](), left)
	return s
}

// Is adds details to a member, for [Of] and [Reads].
func Is(name string, s Schema) Prop { return Opt(name, s) }

// Without leaves members out.
func Without(names ...string) []Prop {
	out := make([]Prop, len(names))
	for i, name := range names {
		out[i] = Prop{Name: name}
	}
	return out
}

// And joins lists of members.
func And(lists ...[]Prop) []Prop {
	var out []Prop
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

func known(t reflect.Type, left map[string]Prop) {
	for name := range left {
		panic(fmt.Sprintf("openapi: %s has no member %s", t, name))
	}
}

// described returns the object schema of a struct; left holds the entries of more without a member.
func described(t reflect.Type, more []Prop, read bool) (s Schema, left map[string]Prop) {
	left = map[string]Prop{}
	for _, p := range more {
		left[p.Name] = p
	}
	var props []Prop
	for _, f := range members(t) {
		name, omitted := f.name, f.omitted
		p, told := left[name]
		delete(left, name)
		switch {
		case told && p.Schema == nil:
			continue
		case told:
			p.Required = p.Required || !read && !omitted
		default:
			p = Prop{Name: name, Schema: typed(f.of, name, read), Required: !read && !omitted}
			if omitted && f.of.Kind() == reflect.Pointer { // it isn't null where it is
				p.Schema = typed(f.of.Elem(), name, read)
			}
		}
		props = append(props, p)
	}
	if read {
		return Body(props...), left
	}
	return Object(props...), left
}

// member is a field as encoding/json has it.
type member struct {
	name    string
	of      reflect.Type
	omitted bool // omitted when empty
}

// members returns the fields of a struct and of its embedded ones, with outer ones taking precedence.
func members(t reflect.Type) []member {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var out, inner []member
	for i := range t.NumField() {
		f := t.Field(i)
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" && rest == "":
			continue
		case f.Anonymous && name == "":
			inner = append(inner, members(f.Type)...)
			continue
		case !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		out = append(out, member{name, f.Type, strings.Contains(","+rest+",", ",omitempty,") || strings.Contains(","+rest+",", ",omitzero,")})
	}
	has := map[string]bool{}
	for _, m := range out {
		has[m.name] = true
	}
	for _, m := range inner {
		if !has[m.name] {
			has[m.name] = true
			out = append(out, m)
		}
	}
	return out
}

// typed returns the schema of a member.
func typed(t reflect.Type, name string, read bool) Schema {
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return Any()
	case t == reflect.TypeFor[time.Time]():
		return Time()
	case t.Kind() == reflect.Pointer:
		return Nullable(typed(t.Elem(), name, read))
	case !read && t.Implements(reflect.TypeFor[json.Marshaler]()), read && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		return Any()
	}
	switch t.Kind() {
	case reflect.String:
		if !read && strings.HasSuffix(name, "_at") {
			return Time()
		}
		return String()
	case reflect.Bool:
		return Bool()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return Whole()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return Int(0)
	case reflect.Float32, reflect.Float64:
		return Number()
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 { // as base64
			return String()
		}
		return List(typed(element(t), "", read))
	case reflect.Map:
		return Map(typed(element(t), "", read))
	case reflect.Struct:
		s, _ := described(t, nil, read)
		return s
	}
	return Any()
}

// element returns the element type of a list or map; pointers in it are never nil.
func element(t reflect.Type) reflect.Type {
	if t = t.Elem(); t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
