package syntax

import (
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Decoder applies a tree to a struct that holds the defaults. It continues after a problem in order to report all of
// them.
type Decoder struct {
	Problems []Problem
	Warnings []Problem
}

// Fail records a problem that makes the configuration unusable.
func (d *Decoder) Fail(n *Node, format string, args ...any) {
	d.Problems = append(d.Problems, n.Problem(format, args...))
}

// Warn records a warning for the owner.
func (d *Decoder) Warn(p Problem) { d.Warnings = append(d.Warnings, p) }

// Schema holds the tags of a struct type.
type Schema struct {
	Keys   map[string]Key // canonical names and aliases
	Names  []string       // canonical names
	inline int            // index of the field for other keys; -1 = none
	flat   string         // key whose children may also stand at this level
}

// Key is one key of a section.
type Key struct {
	Name  string
	Field reflect.StructField
}

// SchemaOf reads the tags of a struct type.
func SchemaOf(t reflect.Type) Schema {
	s := Schema{Keys: map[string]Key{}, inline: -1}
	for i := range t.NumField() {
		f := t.Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case option == "inline":
			s.inline = i
			continue
		case name == "" || name == "-":
			continue
		}
		s.Keys[name] = Key{name, f}
		s.Names = append(s.Names, name)
		if f.Tag.Get("flat") != "" {
			s.flat = name
		}
		if aliases := f.Tag.Get("alias"); aliases != "" {
			for alias := range strings.SplitSeq(aliases, ",") {
				s.Keys[alias] = Key{name, f}
			}
		}
	}
	return s
}

// Join returns the path of a key below another.
func Join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	secretType   = reflect.TypeFor[Secret]()
	extraType    = reflect.TypeFor[Extra]()
)

// Value decodes n into v; tag is the tag of v's struct field.
func (d *Decoder) Value(n *Node, v reflect.Value, path string, tag reflect.StructTag) {
	if n.Shape == Null || n.Unset != "" {
		return
	}
	switch {
	case v.Type() == extraType:
		if d.expect(n, Map, path) {
			v.Set(reflect.ValueOf(Extra(plainMap(n))))
		}
		return
	case v.Type() == durationType || v.Kind() != reflect.Struct && v.Kind() != reflect.Map &&
		v.Kind() != reflect.Slice && v.Kind() != reflect.Pointer && v.Kind() != reflect.Interface:
		if d.expect(n, Text, path) {
			d.scalar(n, v, path, tag)
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		setDefaults(p)
		d.Value(n, p.Elem(), path, tag)
		v.Set(p)
	case reflect.Struct:
		if d.expect(n, Map, path) {
			d.mapping(n, v, path)
		}
	case reflect.Map:
		if !d.expect(n, Map, path) {
			return
		}
		out := reflect.MakeMapWithSize(v.Type(), len(n.Fields))
		for _, f := range n.Fields {
			if f.Value.Unset != "" {
				continue
			}
			item := reflect.New(v.Type().Elem())
			setDefaults(item)
			d.Value(f.Value, item.Elem(), Join(path, f.Key), tag)
			setOrigin(item.Elem(), f.Value)
			out.SetMapIndex(reflect.ValueOf(f.Key), item.Elem())
		}
		v.Set(out)
	case reflect.Slice:
		d.list(n, v, path, tag)
	case reflect.Interface:
		v.Set(reflect.ValueOf(n.Plain()))
	}
}

func (d *Decoder) list(n *Node, v reflect.Value, path string, tag reflect.StructTag) {
	items := n.Items
	if n.Shape == Map && tag.Get("one") != "" {
		items = []*Node{n}
	} else if !d.expect(n, List, path) {
		return
	}
	out := reflect.MakeSlice(v.Type(), 0, len(items))
	for i, item := range items {
		if item.Shape == Null || item.Unset != "" {
			continue
		}
		e := reflect.New(v.Type().Elem())
		setDefaults(e)
		d.Value(item, e.Elem(), path+"["+strconv.Itoa(i)+"]", tag)
		setOrigin(e.Elem(), item)
		out = reflect.Append(out, e.Elem())
	}
	v.Set(out)
}

// mapping decodes the keys of n into the fields of v and renames aliases in n, so that paths of
// origins use one name per key.
func (d *Decoder) mapping(n *Node, v reflect.Value, path string) {
	s := SchemaOf(v.Type())
	if s.flat != "" {
		unflatten(n, s)
	}
	var extra Extra
	seen := map[string]bool{}
	for i := range n.Fields {
		f := &n.Fields[i]
		k, known := s.Keys[f.Key]
		if !known {
			where := &Node{Source: f.Value.Source, Line: f.Line, Col: f.Col}
			if s.inline < 0 {
				d.Warn(where.Problem("unknown key %s is ignored%s", strconv.Quote(Join(path, f.Key)),
					Suggest(f.Key, s.Names, true)))
				continue
			}
			if hint := Suggest(f.Key, s.Names, false); hint != "" {
				d.Warn(where.Problem("unknown key %s is passed on%s", strconv.Quote(Join(path, f.Key)), hint))
			}
			if f.Value.Shape != Null && f.Value.Unset == "" {
				if extra == nil {
					extra = Extra{}
				}
				extra[f.Key] = f.Value.Plain()
			}
			continue
		}
		if f.Value.Shape == Null {
			continue
		}
		if seen[k.Name] {
			where := &Node{Source: f.Value.Source, Line: f.Line, Col: f.Col}
			d.Warn(where.Problem("%s is an alias of %s, which is also set; it is ignored", strconv.Quote(f.Key),
				strconv.Quote(k.Name)))
			continue
		}
		seen[k.Name] = true
		d.Value(f.Value, v.FieldByIndex(k.Field.Index), Join(path, k.Name), k.Field.Tag)
		f.Key = k.Name
	}
	if s.inline >= 0 && extra != nil {
		v.Field(s.inline).Set(reflect.ValueOf(extra))
	}
	for _, name := range s.Names {
		if s.Keys[name].Field.Tag.Get("required") != "" && !seen[name] {
			d.Fail(n, "%s needs the key %s", orTop(path), strconv.Quote(name))
		}
	}
}

func orTop(path string) string {
	if path == "" {
		return "the file"
	}
	return path
}

// unflatten moves keys of the section s.flat from one level above into it; a key given in both places counts in the
// section.
func unflatten(n *Node, s Schema) {
	inner := SchemaOf(s.Keys[s.flat].Field.Type)
	section := n.Get(s.flat)
	if section != nil && section.Shape != Map && section.Shape != Null {
		return
	}
	kept := n.Fields[:0:0]
	moved := &Node{Shape: Map, Source: n.Source, Line: n.Line, Col: n.Col}
	for _, f := range n.Fields {
		_, outer := s.Keys[f.Key]
		if _, known := inner.Keys[f.Key]; known && !outer {
			moved.Fields = append(moved.Fields, f)
		} else {
			kept = append(kept, f)
		}
	}
	if len(moved.Fields) > 0 {
		n.Fields = kept
		n.Set(Field{Key: s.flat, Value: Merge(moved, section), Line: n.Line, Col: n.Col})
	}
}

// Defaulter is implemented by entries of lists or maps with non-zero defaults.
type Defaulter interface{ SetDefaults() }

func setDefaults(p reflect.Value) {
	if x, ok := p.Interface().(Defaulter); ok {
		x.SetDefaults()
	}
}

// setOrigin fills the fields Origin and Disabled of an entry which has them.
func setOrigin(v reflect.Value, n *Node) {
	if v.Kind() != reflect.Struct {
		return
	}
	if f := v.FieldByName("Origin"); f.IsValid() && f.Type() == reflect.TypeFor[Origin]() {
		f.Set(reflect.ValueOf(n.Origin()))
		v.FieldByName("Disabled").SetString(n.Disabled)
	}
}

// Plain turns a tree into values of the kinds that Extra promises.
func (n *Node) Plain() any {
	switch n.Shape {
	case Map:
		return plainMap(n)
	case List:
		out := make([]any, 0, len(n.Items))
		for _, item := range n.Items {
			if item.Shape != Null && item.Unset == "" {
				out = append(out, item.Plain())
			}
		}
		return out
	case Text:
		return plainText(n)
	}
	return nil
}

func plainMap(n *Node) map[string]any {
	out := make(map[string]any, len(n.Fields))
	for _, f := range n.Fields {
		if f.Value.Shape != Null && f.Value.Unset == "" {
			out[f.Key] = f.Value.Plain()
		}
	}
	return out
}

// expect reports a problem unless n has the shape.
func (d *Decoder) expect(n *Node, want Shape, path string) bool {
	if n.Shape != want {
		d.Fail(n, "%s must be %s, not %s", orTop(path), want, n.Shape)
	}
	return n.Shape == want
}

// Suggest names the known key nearest to an unknown one: any near one, or only one so near that the
// key is most likely a slip.
func Suggest(unknown string, known []string, any bool) string {
	limit := len(unknown) / 3
	if !any {
		limit = min(limit, len(unknown)/4)
	}
	limit = min(max(limit, 1), 3)
	best := limit + 1
	hit := ""
	sorted := append([]string(nil), known...)
	sort.Strings(sorted)
	for _, k := range sorted {
		if d := distance(unknown, k, best); d < best {
			best, hit = d, k
		}
	}
	if hit == "" || !any && len(unknown) < 5 {
		return ""
	}
	return "; did you mean " + strconv.Quote(hit) + "?"
}

// distance counts the edits between two keys, with a swap of neighbors as one; limit or more is returned as limit.
func distance(a, b string, limit int) int {
	if diff := len(a) - len(b); diff >= limit || -diff >= limit {
		return limit
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], limit)
}

// WarnUnset warns about references to unset variables outside of disabled entries.
func (d *Decoder) WarnUnset(n *Node, path string) {
	if n == nil || n.Disabled != "" {
		return
	}
	if n.Unset != "" {
		if n.Text == "" {
			n.Unset = ""
		} else {
			d.Warn(n.Problem("%s is treated as missing: %s", path, n.Unset))
		}
	}
	for _, f := range n.Fields {
		d.WarnUnset(f.Value, Join(path, f.Key))
	}
	for i, item := range n.Items {
		d.WarnUnset(item, fmt.Sprintf("%s[%d]", path, i))
	}
}
