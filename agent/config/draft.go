package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"fawn/agent/config/syntax"
)

// draft is the future content of DIR/settings.yaml and DIR/secrets.env. Comments of the first are kept.
type draft struct {
	root    *yaml.Node // a mapping
	secrets map[string]string
	before  map[string]string // secrets as stored on disk
	env     *environment
}

// tried creates a draft and loads the configuration with it, without writing anything.
func (s *Store) tried(change func(*draft) error, may func(next *Snapshot) error) (*draft, error) {
	cur := s.Current()
	d, err := s.readDraft(cur)
	if err != nil {
		return nil, err
	}
	if err := change(d); err != nil {
		return nil, err
	}
	settings, err := d.yaml()
	if err != nil {
		return nil, err
	}
	o := s.loading()
	if s.fixed {
		o = Options{Config: cur.ConfigPath, DataDir: cur.DataDir}
	}
	o.put(map[string][]byte{cur.SettingsPath(): settings, cur.SecretsPath(): envFileOf(d.secrets)})
	next, _, err := load(o)
	if err == nil && may != nil {
		err = may(next)
	}
	return d, err
}

// readDraft reads the two files. A file that can't be parsed is not overwritten.
func (s *Store) readDraft(cur *Snapshot) (*draft, error) {
	d := &draft{secrets: map[string]string{}, env: cur.env}
	data, err := s.document(settingsName, cur.SettingsPath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	if _, err := syntax.ParseYAML(&syntax.Source{Label: settingsName, Name: cur.SettingsPath(),
		Data: data}); err != nil {
		return nil, err
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	var doc yaml.Node
	if err := loader.Load(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	if d.root = mappingOf(&doc); d.root == nil {
		d.root = &yaml.Node{Kind: yaml.MappingNode,
			HeadComment: "Written by Fawn's settings page; overrides config.yaml."}
	}
	data, err = s.document(secretsName, cur.SecretsPath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read secrets: %w", err)
	}
	values, problems := ParseEnv(cur.SecretsPath(), data)
	if len(problems) > 0 { // rewriting the file would lose the line
		return nil, &Invalid{Problems: problems}
	}
	maps.Copy(d.secrets, values)
	d.before = maps.Clone(d.secrets)
	return d, nil
}

// mappingOf returns the mapping a document holds, or nil.
func mappingOf(doc *yaml.Node) *yaml.Node {
	if doc.Kind == yaml.DocumentNode && len(doc.Content) == 1 && doc.Content[0].Kind == yaml.MappingNode {
		return doc.Content[0]
	}
	return nil
}

func (d *draft) yaml() ([]byte, error) {
	if len(d.root.Content) == 0 {
		return []byte("{}\n"), nil
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(d.root), enc.Close()); err != nil {
		return nil, fmt.Errorf("write settings: %w", err)
	}
	return b.Bytes(), nil
}

func envFileOf(values map[string]string) []byte {
	return append([]byte("# Written by Fawn's settings page; other comments are not kept.\n"), FormatEnv(values)...)
}

// valueOf returns the value of a key, or nil.
func valueOf(m *yaml.Node, key string) *yaml.Node {
	for i := 0; m != nil && i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	return nil
}

// setValue replaces, adds or, with nil, removes a key.
func setValue(m *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value != key {
			continue
		}
		if value == nil {
			m.Content = slices.Delete(m.Content, i, i+2)
		} else {
			value.LineComment = m.Content[i+1].LineComment
			m.Content[i+1] = value
		}
		return
	}
	if value != nil {
		m.Content = append(m.Content, keyNode(key), value)
	}
}

func (d *draft) set(key string, value *yaml.Node) { setValue(d.root, key, value) }

func (d *draft) text(key string) string {
	if n := valueOf(d.root, key); n != nil {
		return n.Value
	}
	return ""
}

// model returns the entry of that name, or nil.
func (d *draft) model(name string) *yaml.Node {
	if list := valueOf(d.root, "models"); list != nil {
		for _, item := range list.Content {
			if n := valueOf(item, "name"); n != nil && n.Value == name {
				return item
			}
		}
	}
	return nil
}

// put applies an edit to the entry with its name, creating it if necessary.
func (d *draft) put(e ModelEdit) error {
	entry := d.model(e.Name)
	if entry == nil {
		list := valueOf(d.root, "models")
		if list == nil || list.Kind != yaml.SequenceNode {
			list = &yaml.Node{Kind: yaml.SequenceNode}
			d.set("models", list)
		}
		list.Style = 0 // a one-line list becomes unreadable as it grows
		entry = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{keyNode("name"), literal(e.Name)}}
		list.Content = append(list.Content, entry)
	}
	left, known := maxEditValues, syntax.SchemaOf(reflect.TypeFor[Model]()).Keys
	for _, key := range sorted(e.Fields) {
		v := e.Fields[key]
		if k, ok := known[key]; ok {
			key = k.Name // one name per key, so that the newest value counts
		}
		if v == nil {
			setValue(entry, key, nil)
			continue
		}
		n, err := valueNode(v, &left)
		if err != nil {
			return &EditError{key, BadValue, err.Error()}
		}
		setValue(entry, key, n)
	}
	if e.Key != nil {
		d.putKey(entry, e.Name, e.Key.Value())
	}
	return nil
}

// putKey stores a model's key separately from its entry, which refers to the variable.
func (d *draft) putKey(entry *yaml.Node, model, key string) {
	own := d.ownKey(entry)
	if _, ref := syntax.Reference(key); ref || key == "" {
		delete(d.secrets, own)
		if key == "" {
			setValue(entry, "api_key", nil)
		} else {
			setValue(entry, "api_key", literal(key))
		}
		return
	}
	if own == "" {
		own = d.freeName(model)
	}
	d.secrets[own] = key
	setValue(entry, "api_key", literal("$"+own))
}

// keyPrefix is the prefix of variables in which settings store keys.
const keyPrefix = "FAWN_MODEL_"

// ownKey returns the variable in secrets.env that holds the entry's key, if the settings put it there.
func (d *draft) ownKey(entry *yaml.Node) string {
	if n := valueOf(entry, "api_key"); n != nil {
		if name, ref := syntax.Reference(n.Value); ref && strings.HasPrefix(name, keyPrefix) {
			return name
		}
	}
	return ""
}

// freeName returns a variable for a model's key that nothing else uses.
func (d *draft) freeName(model string) string {
	word := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z' || r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, model)
	for i := 1; ; i++ {
		name := keyPrefix + word + "_KEY"
		if i > 1 {
			name = keyPrefix + word + "_" + strconv.Itoa(i) + "_KEY"
		}
		if _, _, taken := d.env.lookup(name); taken {
			continue
		}
		if _, taken := d.secrets[name]; !taken {
			return name
		}
	}
}

func (d *draft) remove(name string) {
	list, entry := valueOf(d.root, "models"), d.model(name)
	if own := d.ownKey(entry); own != "" {
		delete(d.secrets, own)
	}
	list.Content = slices.DeleteFunc(list.Content, func(n *yaml.Node) bool { return n == entry })
	if len(list.Content) == 0 {
		d.set("models", nil)
	}
}

// keyNode returns a key, without quotes where it needs none.
func keyNode(key string) *yaml.Node {
	n := literal(key)
	if syntax.IsVariable(key) && !syntax.OneOf(strings.ToLower(key), "yes|no|on|off|y|n|true|false|null") {
		n.Style = 0
	}
	return n
}

// literal returns a text whose parsed form is unchanged.
func literal(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Style: yaml.DoubleQuotedStyle}
}

// valueNode writes a value of an edit. A text that would name a variable is escaped.
func valueNode(v any, left *int) (*yaml.Node, error) {
	if *left--; *left < 0 {
		return nil, fmt.Errorf("more than %d values", maxEditValues)
	}
	scalar := func(tag, text string) (*yaml.Node, error) {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}, nil
	}
	switch v := v.(type) {
	case nil:
		return scalar("!!null", "null")
	case string:
		if strings.HasPrefix(v, "$") {
			v = "$" + v
		}
		return literal(v), nil
	case bool:
		return scalar("!!bool", strconv.FormatBool(v))
	case int:
		return scalar("!!int", strconv.Itoa(v))
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return scalar("!!int", strconv.FormatInt(int64(v), 10))
		}
		return scalar("!!float", strconv.FormatFloat(v, 'g', -1, 64))
	case []any:
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range v {
			n, err := valueNode(item, left)
			if err != nil {
				return nil, err
			}
			list.Content = append(list.Content, n)
		}
		return list, nil
	case map[string]any:
		m := &yaml.Node{Kind: yaml.MappingNode}
		for _, key := range sorted(v) {
			n, err := valueNode(v[key], left)
			if err != nil {
				return nil, err
			}
			m.Content = append(m.Content, keyNode(key), n)
		}
		return m, nil
	}
	return nil, fmt.Errorf("a value of type %T cannot be written", v)
}

// replace atomically writes a file that only its owner can read.
func replace(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // 0600
	if err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write settings: %w", errors.Join(err, os.Remove(f.Name())))
		}
	}()
	if _, err := f.Write(data); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
