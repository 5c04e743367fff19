package syntax

import (
	"fmt"
	"strconv"
	"strings"
)

// Shape is the kind of a node.
type Shape uint8

// The shapes.
const (
	Null Shape = iota // no value
	Text              // a single value
	List
	Map
)

// String returns the name of a shape for problems.
func (s Shape) String() string {
	return [...]string{"nothing", "a single value", "a list", "a mapping"}[s]
}

// Node is a configuration value with its place in the file. YAML and JSON both become trees of nodes, so merging,
// environment variables and checks exist once.
type Node struct {
	Shape     Shape
	Text      string // value of a Text
	Tag       string // tag of a Text: !!str, !!int, !!float, !!bool
	Fields    []Field
	Items     []*Node
	Source    *Source
	Line, Col int
	Variable  string // the environment variable that gave text
	Where     string // where that variable is set
	Unset     string // reason why the variable is unset
	Disabled  string // why the entry this node holds cannot be used
}

// Field is one key of a mapping, in the order written.
type Field struct {
	Key       string
	Value     *Node
	Line, Col int
}

// Get returns the value of a key, or nil. The node may be nil.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for _, f := range n.Fields {
		if f.Key == key {
			return f.Value
		}
	}
	return nil
}

// Set replaces or adds a key.
func (n *Node) Set(f Field) {
	for i := range n.Fields {
		if n.Fields[i].Key == f.Key {
			n.Fields[i].Value = f.Value
			return
		}
	}
	n.Fields = append(n.Fields, f)
}

// Remove removes a key.
func (n *Node) Remove(key string) {
	for i := range n.Fields {
		if n.Fields[i].Key == key {
			n.Fields = append(n.Fields[:i:i], n.Fields[i+1:]...)
			return
		}
	}
}

// Problem returns a problem located at this node.
func (n *Node) Problem(format string, args ...any) Problem {
	if n.Source == nil {
		return Problem{Message: fmt.Sprintf(format, args...)}
	}
	return n.Source.problem(n.Line, n.Col, format, args...)
}

// Origin reports where the value was written.
func (n *Node) Origin() Origin {
	o := Origin{Source: "default", Line: n.Line, Variable: n.Variable}
	if n.Source != nil {
		o.Source = n.Source.Label
	}
	if o.From = n.Where; n.Where != "" {
		o.Source = "environment"
	}
	return o
}

// Name returns the value of the key "name", which identifies entries of lists.
func (n *Node) Name() string {
	if v := n.Get("name"); v != nil && v.Shape == Text {
		return v.Text
	}
	return ""
}

// named reports whether every item is a mapping with a name.
func (n *Node) named() bool {
	for _, item := range n.Items {
		if item.Name() == "" {
			return false
		}
	}
	return len(n.Items) > 0
}

// Merge lays over on top of base: mappings key by key, lists of named entries name by name;
// everything else is replaced. A null changes nothing.
func Merge(base, over *Node) *Node {
	switch {
	case base == nil:
		return over
	case over == nil || over.Shape == Null:
		return base
	case base.Shape == Null:
		return over
	case base.Shape == Map && over.Shape == Map:
		out := *base
		out.Fields = append([]Field(nil), base.Fields...)
		for _, f := range over.Fields {
			f.Value = Merge(out.Get(f.Key), f.Value)
			out.Set(f)
		}
		return &out
	case base.Shape == List && over.Shape == List && base.named() && over.named():
		out := *base
		out.Items = append([]*Node(nil), base.Items...)
		for _, item := range over.Items {
			at := -1
			for i, old := range out.Items {
				if old.Name() == item.Name() {
					at = i
					break
				}
			}
			if at < 0 {
				out.Items = append(out.Items, item)
			} else {
				out.Items[at] = Merge(out.Items[at], item)
			}
		}
		return &out
	}
	return over
}

// Find follows a path of keys, list names and list indexes joined by dots. Keys may contain dots.
func (n *Node) Find(path string) *Node {
	if n == nil || path == "" {
		return n
	}
	try := func(key string, value *Node) *Node {
		if rest, ok := strings.CutPrefix(path, key); ok && key != "" {
			if rest == "" {
				return value
			}
			if strings.HasPrefix(rest, ".") {
				return value.Find(rest[1:])
			}
		}
		return nil
	}
	for _, f := range n.Fields {
		if hit := try(f.Key, f.Value); hit != nil {
			return hit
		}
	}
	for i, item := range n.Items {
		if hit := try(item.Name(), item); hit != nil {
			return hit
		}
		if hit := try(strconv.Itoa(i), item); hit != nil {
			return hit
		}
	}
	return nil
}

// Origin is the place where a value was written.
type Origin struct {
	Source   string // name of the file, "environment" for a value that came through a variable, or "default"
	Line     int    // line of the file that names the value or its variable; 0 when unknown
	Variable string // the variable named there, if any
	From     string // source of the variable: "environment", "secrets.env", ".env"; empty = unset
}
