package syntax

import (
	"slices"
	"strings"
)

// Names returns the names of the entries of a list.
func (n *Node) Names(key string) []string {
	var out []string
	if list := n.Get(key); list != nil {
		for _, item := range list.Items {
			if name := item.Name(); name != "" {
				out = append(out, name)
			}
		}
	}
	return out
}

// Entry returns the item of a list with that name, or nil.
func (n *Node) Entry(key, name string) *Node {
	if list := n.Get(key); list != nil {
		for _, item := range list.Items {
			if item.Name() == name {
				return item
			}
		}
	}
	return nil
}

// All returns the fields of a possibly nil node.
func (n *Node) All() []Field {
	if n == nil {
		return nil
	}
	return n.Fields
}

// Matching returns the nodes at a path in which * matches any key of a section or entry of a list. The keys of the
// fields are whole paths.
func (n *Node) Matching(path []string, at string) []Field {
	if n == nil {
		return nil
	}
	below := n.Fields
	for _, item := range n.Items {
		below = append(below, Field{item.Name(), item, item.Line, item.Col})
	}
	var out []Field
	for _, f := range below {
		if path[0] != "*" && path[0] != f.Key {
			continue
		}
		f.Key = Join(at, f.Key)
		if len(path) == 1 {
			out = append(out, f)
		} else {
			out = append(out, f.Value.Matching(path[1:], f.Key)...)
		}
	}
	return out
}

// Asks reports whether this node requests something: a disabled section, an empty one or an acceptable value doesn't.
func (n *Node) Asks(fine []string) bool {
	if n.Disabled != "" || n.Unset != "" {
		return false // reported already
	}
	if slices.Contains(fine, "*") {
		return false
	}
	switch n.Shape {
	case Text:
		return !slices.Contains(fine, strings.ToLower(n.Text))
	case List:
		return len(n.Items) > 0
	case Map:
		if on := n.Get("enabled"); on != nil {
			if enabled, ok := ParseBool(on); ok && !enabled {
				return false
			}
		}
		return slices.ContainsFunc(n.Fields, func(f Field) bool { return f.Value.Asks(nil) })
	}
	return false
}

// UnsetUnder collects the reasons of references to nothing, each once, in the order written.
// References to empty variables count if emptyToo, and become empty text if not.
func (n *Node) UnsetUnder(emptyToo bool, into []string) []string {
	if n == nil {
		return into
	}
	if n.Unset != "" {
		if n.Text == "" && !emptyToo {
			n.Unset = ""
		} else if !slices.Contains(into, n.Unset) {
			into = append(into, n.Unset)
		}
	}
	for _, f := range n.Fields {
		into = f.Value.UnsetUnder(emptyToo, into)
	}
	for _, item := range n.Items {
		into = item.UnsetUnder(emptyToo, into)
	}
	return into
}
