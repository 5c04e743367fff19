package syntax

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Limits of one file. An owner's file is far below them; a hostile or broken one is rejected.
const (
	MaxBytes   = 1 << 20
	maxValues  = 200_000 // after aliases are followed
	maxAliased = 10_000  // limit of values reached through aliases
	maxDepth   = 64
)

// ParseYAML parses a file into a tree. An empty file is an empty mapping.
func ParseYAML(src *Source) (*Node, error) {
	empty := &Node{Shape: Map, Source: src, Line: 1, Col: 1}
	if len(src.Data) > MaxBytes {
		return nil, src.Fail(0, 0, "the file is larger than 1 MiB, which no configuration needs")
	}
	loader, err := yaml.NewLoader(bytes.NewReader(src.Data))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", src.Name, err)
	}
	var docs []*yaml.Node
	for {
		var doc yaml.Node
		if err := loader.Load(&doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, yamlError(src, err)
		}
		docs = append(docs, &doc)
	}
	docs = slices.DeleteFunc(docs, func(d *yaml.Node) bool {
		return d == nil || len(d.Content) == 0 || d.Content[0].ShortTag() == "!!null" && d.Content[0].Value == ""
	})
	if len(docs) == 0 {
		return empty, nil
	}
	if len(docs) > 1 {
		second := docs[1].Content[0]
		return nil, src.Fail(second.Line, second.Column,
			"a second document starts here; only one is allowed in this file")
	}
	b := yamlBuilder{src: src}
	n, err := b.build(docs[0].Content[0], 0, false)
	if err != nil {
		return nil, err
	}
	switch n.Shape {
	case Null:
		return empty, nil
	case Map:
		return n, nil
	}
	return nil, src.Fail(n.Line, n.Col, "the file must hold keys and values at its top level, not %s", n.Shape)
}

func yamlError(src *Source, err error) error {
	var load *yaml.LoadError
	if !errors.As(err, &load) {
		return src.Fail(0, 0, "not valid YAML: %s", err)
	}
	mark := load.Mark
	if mark.Line == 0 {
		mark = load.ContextMark
	}
	hint := ""
	if strings.Contains(load.Message, "cannot start any token") {
		hint = "; indent with spaces, not with tabs, and quote text that starts with @, ` or %"
	}
	return src.Fail(mark.Line, mark.Column, "not valid YAML: %s%s", load.Message, hint)
}

// yamlBuilder copies the library's tree, following aliases and merge keys within bounds.
type yamlBuilder struct {
	src     *Source
	values  int
	aliased int
}

func (b *yamlBuilder) build(y *yaml.Node, depth int, aliased bool) (*Node, error) {
	for y.Kind == yaml.AliasNode && y.Alias != nil {
		y, aliased = y.Alias, true
		if depth++; depth > maxDepth {
			break
		}
	}
	b.values++
	if aliased {
		b.aliased++
	}
	switch {
	case depth > maxDepth:
		return nil, b.src.Fail(y.Line, y.Column,
			"values are nested more than %d levels deep, or an alias contains itself", maxDepth)
	case b.aliased > maxAliased:
		return nil, b.src.Fail(y.Line, y.Column, "the aliases of this file stand for more than %d values", maxAliased)
	case b.values > maxValues:
		return nil, b.src.Fail(y.Line, y.Column, "the file holds more than %d values", maxValues)
	}
	n := &Node{Source: b.src, Line: y.Line, Col: y.Column}
	switch y.Kind {
	case yaml.ScalarNode:
		return n, b.scalar(n, y)
	case yaml.SequenceNode:
		n.Shape = List
		for _, c := range y.Content {
			item, err := b.build(c, depth+1, aliased)
			if err != nil {
				return nil, err
			}
			n.Items = append(n.Items, item)
		}
		return n, nil
	case yaml.MappingNode:
		n.Shape = Map
		return n, b.mapping(n, y, depth, aliased)
	}
	return nil, b.src.Fail(y.Line, y.Column, "this value cannot be read")
}

func (b *yamlBuilder) scalar(n *Node, y *yaml.Node) error {
	n.Shape, n.Text, n.Tag = Text, y.Value, y.ShortTag()
	switch n.Tag {
	case "!!null":
		n.Shape, n.Text = Null, ""
	case "!!str":
		if y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0 &&
			OneOf(strings.ToLower(y.Value), "yes|no|on|off") {
			n.Tag = tagWord
		}
	case "!!int", "!!float", "!!bool":
	case "!!timestamp":
		n.Tag = "!!str"
	default:
		return b.src.Fail(y.Line, y.Column, "the type %s is not supported here", n.Tag)
	}
	return nil
}

func (b *yamlBuilder) mapping(n *Node, y *yaml.Node, depth int, aliased bool) error {
	seen := make(map[string]int, len(y.Content)/2)
	var merged []*yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		for hops := 0; k.Kind == yaml.AliasNode && k.Alias != nil && hops < maxDepth; hops++ {
			k = k.Alias
		}
		if k.Kind != yaml.ScalarNode {
			return b.src.Fail(k.Line, k.Column, "a key must be plain text")
		}
		if k.ShortTag() == "!!merge" {
			merged = append(merged, v)
			continue
		}
		if first, dup := seen[k.Value]; dup {
			return b.src.Fail(k.Line, k.Column, "the key %s is already given on line %d", strconv.Quote(k.Value), first)
		}
		seen[k.Value] = k.Line
		value, err := b.build(v, depth+1, aliased)
		if err != nil {
			return err
		}
		n.Fields = append(n.Fields, Field{Key: k.Value, Value: value, Line: k.Line, Col: k.Column})
	}
	for _, m := range merged {
		from, err := b.build(m, depth+1, true)
		if err != nil {
			return err
		}
		parts := []*Node{from}
		if from.Shape == List {
			parts = from.Items
		}
		for _, part := range parts {
			if part.Shape != Map {
				return b.src.Fail(m.Line, m.Column, "<< must name a mapping, not %s", part.Shape)
			}
			for _, f := range part.Fields {
				if _, own := seen[f.Key]; !own {
					seen[f.Key] = f.Line
					n.Fields = append(n.Fields, f)
				}
			}
		}
	}
	return nil
}
