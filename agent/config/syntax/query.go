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
	var out []Field
	for _, f := range n.entries() {
		if !fits(path[0], f.Key) {
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

// Take removes the keys at a path, as Matching finds them, and returns them.
func (n *Node) Take(path []string, at string) []Field {
	if n == nil {
		return nil
	}
	var out []Field
	if len(path) == 1 {
		kept := n.Fields[:0:0]
		for _, f := range n.Fields {
			if !fits(path[0], f.Key) {
				kept = append(kept, f)
				continue
			}
			f.Key = Join(at, f.Key)
			out = append(out, f)
		}
		n.Fields = kept
		return out
	}
	for _, f := range n.entries() {
		if fits(path[0], f.Key) {
			out = append(out, f.Value.Take(path[1:], Join(at, f.Key))...)
		}
	}
	return out
}

// entries returns the keys of a section, or the entries of a list by their names.
func (n *Node) entries() []Field {
	if n == nil {
		return nil
	}
	out := slices.Clip(n.Fields)
	for _, item := range n.Items {
		out = append(out, Field{item.Name(), item, item.Line, item.Col})
	}
	return out
}

// fits reports whether a key is the one of a path.
func fits(pattern, key string) bool { return pattern == "*" || pattern == key }

// Asks reports whether this node requests something: a disabled section, an empty one or an acceptable value doesn't.
func (n *Node) Asks(fine []string) bool {
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
