package config

import (
	"fmt"
	"strconv"
	"strings"
)

// shape is what a node holds.
type shape uint8

const (
	shapeNull shape = iota
	shapeText
	shapeList
	shapeMap
)

func (s shape) String() string {
	return [...]string{"nothing", "a single value", "a list", "a mapping"}[s]
}

// node is a value of a configuration file that knows where it was written. YAML and JSON both become
// trees of nodes, so that merging, environment variables and checks exist once.
type node struct {
	shape     shape
	text      string // of shapeText
	tag       string // of shapeText: !!str, !!int, !!float, !!bool
	fields    []field
	items     []*node
	src       *source
	line, col int
	variable  string // the environment variable that gave text
	where     string // where that variable is set
	unset     string // why the variable gave nothing
	disabled  string // why the entry this node holds cannot be used
}

// field is one key of a mapping, in the order written.
type field struct {
	key       string
	value     *node
	line, col int
}

func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for _, f := range n.fields {
		if f.key == key {
			return f.value
		}
	}
	return nil
}

// set replaces or adds a key.
func (n *node) set(f field) {
	for i := range n.fields {
		if n.fields[i].key == f.key {
			n.fields[i].value = f.value
			return
		}
	}
	n.fields = append(n.fields, f)
}

func (n *node) remove(key string) {
	for i := range n.fields {
		if n.fields[i].key == key {
			n.fields = append(n.fields[:i:i], n.fields[i+1:]...)
			return
		}
	}
}

func (n *node) problem(format string, args ...any) Problem {
	if n.src == nil {
		return Problem{Message: fmt.Sprintf(format, args...)}
	}
	return n.src.problem(n.line, n.col, format, args...)
}

func (n *node) origin() Origin {
	o := Origin{Source: "default", Line: n.line, Variable: n.variable}
	if n.src != nil {
		o.Source = n.src.label
	}
	if o.From = n.where; n.where != "" {
		o.Source = "environment"
	}
	return o
}

// name is the value of the key "name", by which entries of lists are told apart.
func (n *node) name() string {
	if v := n.get("name"); v != nil && v.shape == shapeText {
		return v.text
	}
	return ""
}

// named reports whether every item is a mapping with a name.
func (n *node) named() bool {
	for _, item := range n.items {
		if item.name() == "" {
			return false
		}
	}
	return len(n.items) > 0
}

// merge lays over on top of base: mappings key by key, lists of named entries name by name;
// everything else is replaced. A null changes nothing.
func merge(base, over *node) *node {
	switch {
	case base == nil:
		return over
	case over == nil || over.shape == shapeNull:
		return base
	case base.shape == shapeNull:
		return over
	case base.shape == shapeMap && over.shape == shapeMap:
		out := *base
		out.fields = append([]field(nil), base.fields...)
		for _, f := range over.fields {
			f.value = merge(out.get(f.key), f.value)
			out.set(f)
		}
		return &out
	case base.shape == shapeList && over.shape == shapeList && base.named() && over.named():
		out := *base
		out.items = append([]*node(nil), base.items...)
		for _, item := range over.items {
			at := -1
			for i, old := range out.items {
				if old.name() == item.name() {
					at = i
					break
				}
			}
			if at < 0 {
				out.items = append(out.items, item)
			} else {
				out.items[at] = merge(out.items[at], item)
			}
		}
		return &out
	}
	return over
}

// find follows a path of keys, list names and list indexes joined by dots. Keys may contain dots.
func (n *node) find(path string) *node {
	if n == nil || path == "" {
		return n
	}
	try := func(key string, value *node) *node {
		if rest, ok := strings.CutPrefix(path, key); ok && key != "" {
			if rest == "" {
				return value
			}
			if strings.HasPrefix(rest, ".") {
				return value.find(rest[1:])
			}
		}
		return nil
	}
	for _, f := range n.fields {
		if hit := try(f.key, f.value); hit != nil {
			return hit
		}
	}
	for i, item := range n.items {
		if hit := try(item.name(), item); hit != nil {
			return hit
		}
		if hit := try(strconv.Itoa(i), item); hit != nil {
			return hit
		}
	}
	return nil
}
