package config

import (
	"strings"

	"fawn/agent/config/syntax"
)

// environment answers for variables: the real environment first, then secrets.env, then .env.
type environment struct {
	real  func(string) (string, bool)
	files []envFile
}

type envFile struct {
	label  string
	values map[string]string
}

// lookup returns the value and its source: "environment", "secrets.env" or ".env".
func (e *environment) lookup(name string) (value, where string, ok bool) {
	if e == nil {
		return "", "", false
	}
	if v, ok := e.real(name); ok {
		return v, "environment", true
	}
	for _, f := range e.files {
		if v, ok := f.values[name]; ok {
			return v, f.label, true
		}
	}
	return "", "", false
}

// substitute replaces every text that is a reference. A text that starts with $$ loses one $. References to unset
// variables are recorded on the node; the caller decides what to disable.
func (e *environment) substitute(n *syntax.Node) {
	if n == nil {
		return
	}
	for _, f := range n.Fields {
		e.substitute(f.Value)
	}
	for _, item := range n.Items {
		e.substitute(item)
	}
	if n.Shape != syntax.Text || n.Variable != "" {
		return
	}
	if rest, ok := strings.CutPrefix(n.Text, "$$"); ok {
		n.Text = "$" + rest
		return
	}
	name, ok := syntax.Reference(n.Text)
	otherwise := ""
	if !ok {
		if name, otherwise, ok = syntax.Default(n.Text); !ok {
			return
		}
	}
	value, where, found := e.lookup(name)
	if value == "" && strings.Contains(n.Text, ":-") {
		n.Text, n.Tag = otherwise, syntax.TagVariable // as in a shell, also for an empty variable
		return
	}
	n.Variable, ok = name, found
	switch {
	case !ok:
		n.Unset = name + " is not set"
	case value == "":
		n.Unset, n.Text, n.Where = name+" is empty", "", where
	default:
		n.Text, n.Tag, n.Where = value, syntax.TagVariable, where
	}
}

// overlay adds the keys that DeerFlow takes from the environment. Files take precedence, except that origins from the
// environment are added to those of the file.
func (e *environment) overlay(tree *syntax.Node) *syntax.Node {
	put := func(section, key string, value *syntax.Node) {
		inner := &syntax.Node{Shape: syntax.Map, Fields: []syntax.Field{{Key: key, Value: value}}}
		tree = syntax.Merge(&syntax.Node{Shape: syntax.Map, Fields: []syntax.Field{{Key: section, Value: inner}}}, tree)
	}
	text := func(name, value, where string) *syntax.Node {
		return &syntax.Node{Shape: syntax.Text, Text: value, Tag: syntax.TagVariable, Variable: name, Where: where}
	}
	for _, known := range [...]struct{ name, section, key string }{
		{"DEER_FLOW_SKILLS_PATH", "skills", "path"},
		{"DEERFLOW_WRITE_FILE_MAX_BYTES", "sandbox", "write_file_max_bytes"},
	} {
		if v, where, ok := e.lookup(known.name); ok && v != "" {
			put(known.section, known.key, text(known.name, v, where))
		}
	}
	const cors = "GATEWAY_CORS_ORIGINS"
	if v, where, ok := e.lookup(cors); ok && v != "" {
		list := &syntax.Node{Shape: syntax.List}
		if have := tree.Get("server").Get("cors_origins"); have != nil {
			if have.Shape != syntax.List {
				return tree
			}
			list.Source, list.Line, list.Col = have.Source, have.Line, have.Col
			list.Items = append(list.Items, have.Items...)
			tree.Get("server").Remove("cors_origins")
		}
		for origin := range strings.SplitSeq(v, ",") {
			if origin = strings.TrimSpace(origin); origin != "" {
				list.Items = append(list.Items, text(cors, origin, where))
			}
		}
		put("server", "cors_origins", list)
	}
	return tree
}
