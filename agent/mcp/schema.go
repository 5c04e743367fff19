package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fawn/agent"
)

// maxLevels limits the depth of a schema; anything below is accepted.
const maxLevels = 24

// mended returns the schema of a tool's arguments in the form every provider accepts: an object whose property names
// models can write, with keywords of the types that JSON Schema requires and resolved references. An error is the
// reason why that is impossible. renamed maps changed property names to the tool's own.
func mended(raw json.RawMessage) (_ json.RawMessage, renamed names, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, nil, errors.New("has a schema that isn't JSON")
	}
	root, ok := v.(map[string]any)
	if !ok {
		return nil, nil, errors.New("has no schema of an object")
	}
	m := &mender{root: root}
	if ref, ok := root["$ref"].(string); ok {
		if target, ok := m.find(ref).(map[string]any); ok {
			delete(root, "$ref")
			for k, v := range target {
				if root[k] == nil {
					root[k] = v
				}
			}
		}
	}
	if t := m.types(root["type"]); root["type"] != nil && len(t) > 0 && !slices.Contains(t, any("object")) {
		return nil, nil, fmt.Errorf("has no schema of an object: its arguments are of type %v", t[0])
	}
	m.flatten(root, 0)
	root["type"] = "object"
	renamed = m.schema(root, 0)
	if root["properties"] == nil {
		root["properties"] = map[string]any{}
	}
	out, err := json.Marshal(root)
	if err != nil { // it was decoded from JSON
		return nil, nil, fmt.Errorf("has a schema that cannot be written: %w", err)
	}
	if len(out) > maxSchema {
		return nil, nil, fmt.Errorf("has a schema of more than %d KiB", maxSchema>>10)
	}
	return out, renamed, nil
}

// names map property names shown to models to the tool's own, recursively.
type names map[string]renaming

type renaming struct {
	own   string
	below names
}

// restored returns arguments with the tool's original names.
func (n names) restored(args json.RawMessage) json.RawMessage {
	if n == nil {
		return args
	}
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return args
	}
	out, err := agent.Encode(n.rename(v))
	if err != nil { // it was decoded from JSON
		return args
	}
	return out
}

func (n names) rename(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = n.rename(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, below := range v {
			r, ok := n[key]
			if !ok {
				out[key] = below
				continue
			}
			if r.below != nil {
				below = r.below.rename(below)
			}
			out[r.own] = below
		}
		return out
	}
	return v
}

// Limits of inlined references, which may be recursive.
const (
	maxCopies = 100           // references below the top, and those at the top
	maxCopied = maxSchema / 2 // bytes of all copies below the top
	maxMerged = 4 * maxSchema // bytes of all that is merged at the top
)

type mender struct {
	root           map[string]any
	copies, merges int
	copied, merged int // bytes
}

// flatten merges top-level alternatives, which providers refuse, into one object with the properties of each; a
// property is required if all of them require it.
func (m *mender) flatten(root map[string]any, level int) {
	props := maps.Clone(properties(root["properties"])) // a reference may lead to them
	required := m.required(root["required"])
	for _, word := range []string{"allOf", "anyOf", "oneOf"} {
		list, ok := root[word].([]any)
		delete(root, word)
		if !ok {
			continue
		}
		var common []any
		for i, one := range list {
			branch, _ := one.(map[string]any)
			if ref, ok := branch["$ref"].(string); ok {
				branch, _ = m.find(ref).(map[string]any)
				m.merges++
				m.merged += weight(branch, maxMerged)
				if m.merges > maxCopies || m.merged > maxMerged {
					if word != "allOf" { // omitted alternatives must not be required
						common = nil
					}
					continue
				}
			}
			branch = maps.Clone(branch)
			if level < maxLevels && (branch["anyOf"] != nil || branch["oneOf"] != nil || branch["allOf"] != nil) {
				m.flatten(branch, level+1)
			}
			inner, _ := branch["properties"].(map[string]any)
			for key, schema := range inner {
				if old, taken := props[key]; taken && !equal(old, schema) {
					props[key] = map[string]any{"anyOf": alternatives(old, schema)}
				} else {
					props[key] = schema
				}
			}
			own := m.required(branch["required"])
			switch {
			case word == "allOf" || i == 0:
				common = append(common, own...)
			default:
				common = slices.DeleteFunc(common, func(v any) bool { return !slices.Contains(own, v) })
			}
		}
		required = append(required, common...)
	}
	for _, word := range []string{"not", "enum", "const", "if", "then", "else", "default", "items"} {
		delete(root, word)
	}
	root["properties"] = props
	if len(required) > 0 {
		root["required"] = required
	}
}

// alternatives returns schemas without duplicates.
func alternatives(list ...any) (out []any) {
	for _, s := range list {
		if m, ok := s.(map[string]any); ok && len(m) == 1 {
			if inner, ok := m["anyOf"].([]any); ok {
				out = append(out, inner...)
				continue
			}
		}
		out = append(out, s)
	}
	return slices.CompactFunc(out, equal)
}

func equal(a, b any) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}

// find resolves a reference inside the schema; nil if it leads nowhere.
func (m *mender) find(ref string) any {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	var at any = m.root
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if part == "" {
			continue
		}
		part = strings.NewReplacer("~1", "/", "~0", "~", "%24", "$").Replace(part)
		switch v := at.(type) {
		case map[string]any:
			at = v[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			at = v[i]
		default:
			return nil
		}
	}
	return at
}

// one mends any value that should be a schema.
func (m *mender) one(v any, level int) (any, names) {
	switch v := v.(type) {
	case map[string]any:
		if level > maxLevels {
			return map[string]any{}, nil
		}
		return v, m.schema(v, level)
	case string: // the name of a type
		s := map[string]any{"type": v}
		return s, m.schema(s, level)
	case []any:
		s := map[string]any{"anyOf": v}
		return s, m.schema(s, level)
	case bool:
		if !v {
			return map[string]any{"not": map[string]any{}}, nil
		}
	}
	return map[string]any{}, nil
}

// schema mends a schema in place.
func (m *mender) schema(s map[string]any, level int) names {
	if ref, ok := s["$ref"]; ok {
		text, isText := ref.(string)
		_, leads := m.find(text).(map[string]any)
		if isText && leads && (strings.HasPrefix(text, "#/$defs/") || strings.HasPrefix(text, "#/definitions/")) {
			for key := range s { // providers refuse most keywords next to a reference
				if key != "$ref" && key != "description" && key != "$defs" && key != "definitions" {
					delete(s, key)
				}
			}
		} else {
			delete(s, "$ref")
			if target, ok := m.find(text).(map[string]any); isText && ok && level <= maxLevels && strings.Trim(text, "#/") != "" &&
				m.copy(target) {
				copied, _ := clone(target).(map[string]any)
				delete(copied, "$ref")
				for k, v := range copied {
					if s[k] == nil {
						s[k] = v
					}
				}
			}
		}
	}
	m.words(s)
	var required []any
	out := m.properties(s, level, &required)
	required = append(required, m.required(s["required"])...)
	props, _ := s["properties"].(map[string]any)
	own := map[string]string{}
	for name, r := range out {
		own[r.own] = name
	}
	var kept []any
	for _, r := range required {
		name, _ := r.(string)
		if props[name] == nil && own[name] != "" {
			name = own[name]
		}
		if _, there := props[name]; there && !slices.Contains(kept, any(name)) {
			kept = append(kept, name)
		}
	}
	if delete(s, "required"); len(kept) > 0 {
		s["required"] = kept
	}
	for _, word := range []string{"$defs", "definitions", "patternProperties", "dependentSchemas"} {
		if group, ok := s[word].(map[string]any); ok {
			for key, v := range group {
				group[key], _ = m.one(v, level+1)
			}
		} else {
			delete(s, word)
		}
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf"} {
		list, ok := s[word].([]any)
		if !ok || len(list) == 0 {
			delete(s, word)
			continue
		}
		for i, v := range list {
			var below names
			if list[i], below = m.one(v, level+1); out == nil {
				out = below
			}
		}
	}
	for _, word := range []string{"not", "if", "then", "else", "contains", "propertyNames", "unevaluatedProperties"} {
		if v, ok := s[word]; ok {
			if _, isObject := v.(map[string]any); !isObject {
				delete(s, word)
				continue
			}
			s[word], _ = m.one(v, level+1)
		}
	}
	switch v := s["additionalProperties"].(type) {
	case nil:
		delete(s, "additionalProperties")
	case bool:
	case map[string]any:
		s["additionalProperties"], _ = m.one(v, level+1)
	default:
		delete(s, "additionalProperties")
	}
	if below := m.items(s, level); out == nil {
		out = below
	}
	return out
}

// items fixes the element schema of a list, which must be a single one.
func (m *mender) items(s map[string]any, level int) (below names) {
	types := m.types(s["type"])
	_, has := s["items"]
	tuple, isTuple := s["prefixItems"].([]any)
	if list, ok := s["items"].([]any); ok {
		tuple, isTuple = list, true
	}
	delete(s, "prefixItems")
	delete(s, "additionalItems")
	switch {
	case isTuple && len(tuple) == 1:
		s["items"], below = m.one(tuple[0], level+1)
	case isTuple && len(tuple) > 0:
		s["items"], below = m.one(map[string]any{"anyOf": alternatives(tuple...)}, level+1)
	case has:
		s["items"], below = m.one(s["items"], level+1)
		if v, ok := s["items"].(map[string]any); ok && v["not"] != nil {
			s["items"] = map[string]any{}
		}
	}
	if !slices.Contains(types, any("array")) {
		if len(types) > 0 {
			delete(s, "items")
		}
		return below
	}
	if s["items"] == nil {
		s["items"] = map[string]any{}
	}
	return below
}

// properties returns the properties of an object, which may be a list of objects with embedded names.
func properties(v any) map[string]any {
	if props, ok := v.(map[string]any); ok {
		return props
	}
	props := map[string]any{}
	list, _ := v.([]any)
	for _, v := range list {
		one, _ := v.(map[string]any)
		if name, ok := one["name"].(string); ok {
			delete(one, "name")
			props[name] = one
		}
	}
	return props
}

// properties mends the properties of an object and adds the ones marked as required in their own schemas to required.
func (m *mender) properties(s map[string]any, level int, required *[]any) (out names) {
	raw, there := s["properties"]
	if !there {
		return nil
	}
	props := properties(raw)
	good := make(map[string]any, len(props))
	renamed := false
	out = names{}
	for _, name := range slices.Sorted(maps.Keys(props)) {
		if one, ok := props[name].(map[string]any); ok {
			if must, ok := one["required"].(bool); ok {
				if delete(one, "required"); must {
					*required = append(*required, name)
				}
			}
		}
		said := propertyName(name)
		for n := 2; ; n++ {
			_, taken := good[said]
			_, other := props[said]
			if !taken && (!other || said == name) {
				break
			}
			said = propertyName(name)[:min(len(propertyName(name)), 58)] + "_" + strconv.Itoa(n)
		}
		var below names
		good[said], below = m.one(props[name], level+1)
		if said != name || below != nil {
			out[said], renamed = renaming{name, below}, true
		}
	}
	s["properties"] = good
	if !renamed {
		return nil
	}
	return out
}

// propertyName returns a property's name for models.
func propertyName(name string) string {
	good := func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '-'
	}
	out := []byte(name)
	for i, c := range out {
		if !good(c) {
			out[i] = '_'
		}
	}
	if len(out) > 64 {
		out = out[:64]
	}
	if len(out) == 0 {
		return "value"
	}
	return string(out)
}

// types returns the JSON Schema types of a schema.
func (m *mender) types(v any) (out []any) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, t := range list {
		name, _ := t.(string)
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "string", "str", "text", "date", "datetime", "date-time", "file", "uri", "url", "uuid", "enum", "char", "bytes",
			"binary", "password", "email", "time":
			name = "string"
		case "integer", "int", "int32", "int64", "long", "uint", "bigint":
			name = "integer"
		case "number", "float", "double", "decimal", "numeric", "float32", "float64":
			name = "number"
		case "boolean", "bool":
			name = "boolean"
		case "object", "dict", "map", "json", "record", "struct", "hash":
			name = "object"
		case "array", "list", "tuple", "set", "sequence":
			name = "array"
		case "null", "none", "nonetype", "nil", "void":
			name = "null"
		default:
			continue // any value
		}
		if !slices.Contains(out, any(name)) {
			out = append(out, name)
		}
	}
	return out
}

// required returns the names of a list of required properties.
func (m *mender) required(v any) (out []any) {
	switch v := v.(type) {
	case string:
		return []any{v}
	case []any:
		for _, name := range v {
			if s, ok := name.(string); ok {
				out = append(out, s)
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if on, ok := v[name].(bool); ok && on {
				out = append(out, name)
			}
		}
	}
	return out
}

// words mends the words of a schema that hold no schemas.
func (m *mender) words(s map[string]any) {
	switch types := m.types(s["type"]); {
	case len(types) == 0:
		delete(s, "type")
		if s["properties"] != nil {
			s["type"] = "object"
		} else if s["items"] != nil || s["prefixItems"] != nil {
			s["type"] = "array"
		}
	case len(types) == 1:
		s["type"] = types[0]
	default:
		s["type"] = types
	}
	for _, word := range []string{"description", "title", "format", "pattern", "$schema", "$id", "$comment", "$anchor",
		"contentEncoding", "contentMediaType"} {
		switch v := s[word].(type) {
		case nil:
			delete(s, word)
		case string:
		case []any:
			var lines []string
			for _, line := range v {
				lines = append(lines, fmt.Sprint(line))
			}
			if s[word] = strings.Join(lines, " "); word != "description" {
				delete(s, word)
			}
		case json.Number:
			s[word] = v.String()
		default:
			delete(s, word)
		}
	}
	if id, _ := s["$id"].(string); id != "" {
		delete(s, "$id") // references are relative to it, and it doesn't exist
	}
	for low, limit := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		if on, ok := s[low].(bool); ok { // in older versions of JSON Schema
			delete(s, low)
			if v := s[limit]; on && v != nil {
				s[low] = v
				delete(s, limit)
			}
		}
	}
	for _, word := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
		"maxLength", "minItems", "maxItems", "minProperties", "maxProperties"} {
		switch v := s[word].(type) {
		case json.Number:
			if f, err := v.Float64(); err != nil || f < 0 && strings.HasPrefix(word, "m") && strings.ContainsAny(word, "LIP") {
				delete(s, word)
			}
		case string:
			if _, err := strconv.ParseFloat(v, 64); err == nil && json.Valid([]byte(v)) {
				s[word] = json.Number(v)
			} else {
				delete(s, word)
			}
		default:
			delete(s, word)
		}
	}
	for _, word := range []string{"uniqueItems", "deprecated", "readOnly", "writeOnly", "nullable"} {
		if _, ok := s[word].(bool); !ok {
			delete(s, word)
		}
	}
	switch v := s["enum"].(type) {
	case []any:
		var values []any
		for _, one := range v {
			if !slices.ContainsFunc(values, func(o any) bool { return equal(o, one) }) {
				values = append(values, one)
			}
		}
		if s["enum"] = values; len(values) == 0 {
			delete(s, "enum")
		}
	case map[string]any:
		var values []any
		for _, key := range slices.Sorted(maps.Keys(v)) {
			values = append(values, key)
		}
		if s["enum"] = values; len(values) == 0 {
			delete(s, "enum")
		}
	case string:
		s["enum"] = []any{v}
	default:
		delete(s, "enum")
	}
	if v, ok := s["examples"]; ok {
		if _, isList := v.([]any); !isList {
			s["examples"] = []any{v}
		}
	}
	for _, word := range []string{"dependencies", "dependentRequired"} {
		if _, ok := s[word].(map[string]any); !ok {
			delete(s, word)
		}
	}
}

// copy reports whether there is room for a copy of a schema, and takes it.
func (m *mender) copy(target map[string]any) bool {
	if m.copies == maxCopies {
		return false
	}
	m.copies++
	n := weight(target, maxCopied-m.copied)
	if m.copied+n > maxCopied {
		return false
	}
	m.copied += n
	return true
}

// weight estimates the JSON size of a value in bytes, counting up to most.
func weight(v any, most int) int {
	n := 4
	switch v := v.(type) {
	case map[string]any:
		for key, below := range v {
			if n > most {
				break
			}
			n += len(key) + 4 + weight(below, most-n)
		}
	case []any:
		for _, below := range v {
			if n > most {
				break
			}
			n += weight(below, most-n)
		}
	case string:
		n += len(v)
	case json.Number:
		n += len(v)
	}
	return n
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, below := range v {
			out[k] = clone(below)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = clone(v[i])
		}
		return out
	}
	return v
}
