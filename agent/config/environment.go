package config

import (
	"fmt"
	"slices"
	"strings"
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

// lookup returns the value and where it was found: "environment", "secrets.env" or ".env".
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

// reference returns NAME when the whole text is $NAME or ${NAME}.
func reference(text string) (string, bool) {
	name, ok := strings.CutPrefix(text, "$")
	if !ok {
		return "", false
	}
	if inner, braced := strings.CutPrefix(name, "{"); braced {
		if name, ok = strings.CutSuffix(inner, "}"); !ok {
			return "", false
		}
	}
	return name, isVariable(name)
}

func isVariable(name string) bool {
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// substitute replaces every text that is a reference. A text that starts with $$ loses one $.
// References to nothing are noted on the node; the caller decides what that disables.
func (e *environment) substitute(n *node) {
	if n == nil {
		return
	}
	for _, f := range n.fields {
		e.substitute(f.value)
	}
	for _, item := range n.items {
		e.substitute(item)
	}
	if n.shape != shapeText || n.variable != "" {
		return
	}
	if rest, ok := strings.CutPrefix(n.text, "$$"); ok {
		n.text = "$" + rest
		return
	}
	name, ok := reference(n.text)
	if !ok {
		return
	}
	n.variable = name
	value, where, ok := e.lookup(name)
	switch {
	case !ok:
		n.unset = name + " is not set"
	case value == "":
		n.unset, n.text, n.where = name+" is empty", "", where
	default:
		n.text, n.tag, n.where = value, tagVariable, where
	}
}

// tagVariable marks text from a variable: it has no type of its own and is read as what its key needs.
const tagVariable = "!variable"

// unsetUnder collects the reasons of references to nothing, each once, in the order written.
// References to empty variables count if emptyToo, and become empty text if not.
func (n *node) unsetUnder(emptyToo bool, into []string) []string {
	if n == nil {
		return into
	}
	if n.unset != "" {
		if n.text == "" && !emptyToo {
			n.unset = ""
		} else if !slices.Contains(into, n.unset) {
			into = append(into, n.unset)
		}
	}
	for _, f := range n.fields {
		into = f.value.unsetUnder(emptyToo, into)
	}
	for _, item := range n.items {
		into = item.unsetUnder(emptyToo, into)
	}
	return into
}

// warnUnset tells of references to nothing outside of disabled entries.
func (d *decoder) warnUnset(n *node, path string) {
	if n == nil || n.disabled != "" {
		return
	}
	if n.unset != "" {
		if n.text == "" {
			n.unset = ""
		} else {
			d.warn(n.problem("%s is treated as missing: %s", path, n.unset))
		}
	}
	for _, f := range n.fields {
		d.warnUnset(f.value, join(path, f.key))
	}
	for i, item := range n.items {
		d.warnUnset(item, fmt.Sprintf("%s[%d]", path, i))
	}
}

// overlay adds the keys that DeerFlow takes from the environment. What a file says wins, except that
// origins from the environment are added to those of the file.
func (e *environment) overlay(tree *node) *node {
	put := func(section, key string, value *node) {
		inner := &node{shape: shapeMap, fields: []field{{key: key, value: value}}}
		tree = merge(&node{shape: shapeMap, fields: []field{{key: section, value: inner}}}, tree)
	}
	text := func(name, value, where string) *node {
		return &node{shape: shapeText, text: value, tag: tagVariable, variable: name, where: where}
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
		list := &node{shape: shapeList}
		if have := tree.get("server").get("cors_origins"); have != nil {
			if have.shape != shapeList {
				return tree
			}
			list.src, list.line, list.col = have.src, have.line, have.col
			list.items = append(list.items, have.items...)
			tree.get("server").remove("cors_origins")
		}
		for origin := range strings.SplitSeq(v, ",") {
			if origin = strings.TrimSpace(origin); origin != "" {
				list.items = append(list.items, text(cors, origin, where))
			}
		}
		put("server", "cors_origins", list)
	}
	return tree
}
