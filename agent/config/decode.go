package config

import (
	"reflect"
	"sort"
	"strconv"
	"strings"
	"time"
)

// decoder lays a tree over a struct which already holds the defaults. It goes on after a problem so
// that the owner sees all of them at once.
type decoder struct {
	problems []Problem
	warnings []Problem
}

func (d *decoder) fail(n *node, format string, args ...any) {
	d.problems = append(d.problems, n.problem(format, args...))
}

func (d *decoder) warn(p Problem) { d.warnings = append(d.warnings, p) }

// schema is what the tags of a struct type say.
type schema struct {
	keys   map[string]key // canonical names and aliases
	names  []string       // canonical names
	inline int            // index of the field for other keys; -1 = there is none
	flat   string         // key whose own keys may also stand at this level
}

type key struct {
	name  string
	field reflect.StructField
}

func schemaOf(t reflect.Type) schema {
	s := schema{keys: map[string]key{}, inline: -1}
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
		s.keys[name] = key{name, f}
		s.names = append(s.names, name)
		if f.Tag.Get("flat") != "" {
			s.flat = name
		}
		if aliases := f.Tag.Get("alias"); aliases != "" {
			for alias := range strings.SplitSeq(aliases, ",") {
				s.keys[alias] = key{name, f}
			}
		}
	}
	return s
}

func join(path, key string) string {
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

// value decodes n into v; tag is that of the struct field v belongs to.
func (d *decoder) value(n *node, v reflect.Value, path string, tag reflect.StructTag) {
	if n.shape == shapeNull || n.unset != "" {
		return
	}
	switch {
	case v.Type() == extraType:
		if d.expect(n, shapeMap, path) {
			v.Set(reflect.ValueOf(Extra(plainMap(n))))
		}
		return
	case v.Type() == durationType || v.Kind() != reflect.Struct && v.Kind() != reflect.Map &&
		v.Kind() != reflect.Slice && v.Kind() != reflect.Pointer && v.Kind() != reflect.Interface:
		if d.expect(n, shapeText, path) {
			d.scalar(n, v, path, tag)
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		setDefaults(p)
		d.value(n, p.Elem(), path, tag)
		v.Set(p)
	case reflect.Struct:
		if d.expect(n, shapeMap, path) {
			d.mapping(n, v, path)
		}
	case reflect.Map:
		if !d.expect(n, shapeMap, path) {
			return
		}
		out := reflect.MakeMapWithSize(v.Type(), len(n.fields))
		for _, f := range n.fields {
			if f.value.unset != "" {
				continue
			}
			item := reflect.New(v.Type().Elem())
			setDefaults(item)
			d.value(f.value, item.Elem(), join(path, f.key), tag)
			setOrigin(item.Elem(), f.value)
			out.SetMapIndex(reflect.ValueOf(f.key), item.Elem())
		}
		v.Set(out)
	case reflect.Slice:
		d.list(n, v, path, tag)
	case reflect.Interface:
		v.Set(reflect.ValueOf(plain(n)))
	}
}

func (d *decoder) list(n *node, v reflect.Value, path string, tag reflect.StructTag) {
	items := n.items
	if n.shape == shapeMap && tag.Get("one") != "" {
		items = []*node{n}
	} else if !d.expect(n, shapeList, path) {
		return
	}
	out := reflect.MakeSlice(v.Type(), 0, len(items))
	for i, item := range items {
		if item.shape == shapeNull || item.unset != "" {
			continue
		}
		e := reflect.New(v.Type().Elem())
		setDefaults(e)
		d.value(item, e.Elem(), path+"["+strconv.Itoa(i)+"]", tag)
		setOrigin(e.Elem(), item)
		out = reflect.Append(out, e.Elem())
	}
	v.Set(out)
}

// mapping decodes the keys of n into the fields of v and renames aliases in n, so that paths of
// origins use one name per key.
func (d *decoder) mapping(n *node, v reflect.Value, path string) {
	s := schemaOf(v.Type())
	if s.flat != "" {
		unflatten(n, s)
	}
	var extra Extra
	seen := map[string]bool{}
	for i := range n.fields {
		f := &n.fields[i]
		k, known := s.keys[f.key]
		if !known {
			where := &node{src: f.value.src, line: f.line, col: f.col}
			if s.inline < 0 {
				d.warn(where.problem("unknown key %s is ignored%s", strconv.Quote(join(path, f.key)),
					suggest(f.key, s.names, true)))
				continue
			}
			if hint := suggest(f.key, s.names, false); hint != "" {
				d.warn(where.problem("unknown key %s is passed on%s", strconv.Quote(join(path, f.key)), hint))
			}
			if f.value.shape != shapeNull && f.value.unset == "" {
				if extra == nil {
					extra = Extra{}
				}
				extra[f.key] = plain(f.value)
			}
			continue
		}
		if f.value.shape == shapeNull {
			continue
		}
		if seen[k.name] {
			where := &node{src: f.value.src, line: f.line, col: f.col}
			d.warn(where.problem("%s is an alias of %s, which is also set; it is ignored", strconv.Quote(f.key),
				strconv.Quote(k.name)))
			continue
		}
		seen[k.name] = true
		d.value(f.value, v.FieldByIndex(k.field.Index), join(path, k.name), k.field.Tag)
		f.key = k.name
	}
	if s.inline >= 0 && extra != nil {
		v.Field(s.inline).Set(reflect.ValueOf(extra))
	}
	for _, name := range s.names {
		if s.keys[name].field.Tag.Get("required") != "" && !seen[name] {
			d.fail(n, "%s needs the key %s", orTop(path), strconv.Quote(name))
		}
	}
}

func orTop(path string) string {
	if path == "" {
		return "the file"
	}
	return path
}

// unflatten moves keys of the section s.flat which stand one level too high into it; a key that is
// given in both places counts where it belongs.
func unflatten(n *node, s schema) {
	inner := schemaOf(s.keys[s.flat].field.Type)
	section := n.get(s.flat)
	if section != nil && section.shape != shapeMap && section.shape != shapeNull {
		return
	}
	kept := n.fields[:0:0]
	moved := &node{shape: shapeMap, src: n.src, line: n.line, col: n.col}
	for _, f := range n.fields {
		_, outer := s.keys[f.key]
		if _, known := inner.keys[f.key]; known && !outer {
			moved.fields = append(moved.fields, f)
		} else {
			kept = append(kept, f)
		}
	}
	if len(moved.fields) > 0 {
		n.fields = kept
		n.set(field{key: s.flat, value: merge(moved, section), line: n.line, col: n.col})
	}
}

func setDefaults(p reflect.Value) {
	if x, ok := p.Interface().(defaulter); ok {
		x.setDefaults()
	}
}

// setOrigin fills the fields Origin and Disabled of an entry which has them.
func setOrigin(v reflect.Value, n *node) {
	if v.Kind() != reflect.Struct {
		return
	}
	if f := v.FieldByName("Origin"); f.IsValid() && f.Type() == reflect.TypeFor[Origin]() {
		f.Set(reflect.ValueOf(n.origin()))
		v.FieldByName("Disabled").SetString(n.disabled)
	}
}

// plain turns a tree into values of the kinds that Extra promises.
func plain(n *node) any {
	switch n.shape {
	case shapeMap:
		return plainMap(n)
	case shapeList:
		out := make([]any, 0, len(n.items))
		for _, item := range n.items {
			if item.shape != shapeNull && item.unset == "" {
				out = append(out, plain(item))
			}
		}
		return out
	case shapeText:
		return plainText(n)
	}
	return nil
}

func plainMap(n *node) map[string]any {
	out := make(map[string]any, len(n.fields))
	for _, f := range n.fields {
		if f.value.shape != shapeNull && f.value.unset == "" {
			out[f.key] = plain(f.value)
		}
	}
	return out
}

// expect reports a problem unless n has the shape.
func (d *decoder) expect(n *node, want shape, path string) bool {
	if n.shape != want {
		d.fail(n, "%s must be %s, not %s", orTop(path), want, n.shape)
	}
	return n.shape == want
}

// suggest names the known key nearest to an unknown one: any near one, or only one so near that the
// key is most likely a slip.
func suggest(unknown string, known []string, any bool) string {
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

// distance counts the edits between two keys, a swap of neighbours being one; limit or more is told as limit.
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
