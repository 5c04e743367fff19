package config

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

// Bounds of one file. An owner's file is far below them; a hostile or broken one is told so.
const (
	maxFileBytes = 1 << 20
	maxValues    = 200_000 // after aliases are followed
	maxAliased   = 10_000  // of those, the values reached through aliases
	maxDepth     = 64
)

// parseYAML turns a file into a tree. An empty file gives an empty mapping.
func parseYAML(src *source) (*node, error) {
	empty := &node{shape: shapeMap, src: src, line: 1, col: 1}
	if len(src.data) > maxFileBytes {
		return nil, src.fail(0, 0, "the file is larger than 1 MiB, which no configuration needs")
	}
	loader, err := yaml.NewLoader(bytes.NewReader(src.data))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", src.name, err)
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
		return nil, src.fail(second.Line, second.Column, "a second document starts here; only one is allowed in this file")
	}
	b := yamlBuilder{src: src}
	n, err := b.build(docs[0].Content[0], 0, false)
	if err != nil {
		return nil, err
	}
	switch n.shape {
	case shapeNull:
		return empty, nil
	case shapeMap:
		return n, nil
	}
	return nil, src.fail(n.line, n.col, "the file must hold keys and values at its top level, not %s", n.shape)
}

func yamlError(src *source, err error) error {
	var load *yaml.LoadError
	if !errors.As(err, &load) {
		return src.fail(0, 0, "not valid YAML: %s", err)
	}
	mark := load.Mark
	if mark.Line == 0 {
		mark = load.ContextMark
	}
	hint := ""
	if strings.Contains(load.Message, "cannot start any token") {
		hint = "; indent with spaces, not with tabs, and quote text that starts with @, ` or %"
	}
	return src.fail(mark.Line, mark.Column, "not valid YAML: %s%s", load.Message, hint)
}

// yamlBuilder copies the library's tree, following aliases and merge keys within bounds.
type yamlBuilder struct {
	src     *source
	values  int
	aliased int
}

func (b *yamlBuilder) build(y *yaml.Node, depth int, aliased bool) (*node, error) {
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
		return nil, b.src.fail(y.Line, y.Column, "values are nested more than %d levels deep, or an alias contains itself",
			maxDepth)
	case b.aliased > maxAliased:
		return nil, b.src.fail(y.Line, y.Column, "the aliases of this file stand for more than %d values", maxAliased)
	case b.values > maxValues:
		return nil, b.src.fail(y.Line, y.Column, "the file holds more than %d values", maxValues)
	}
	n := &node{src: b.src, line: y.Line, col: y.Column}
	switch y.Kind {
	case yaml.ScalarNode:
		return n, b.scalar(n, y)
	case yaml.SequenceNode:
		n.shape = shapeList
		for _, c := range y.Content {
			item, err := b.build(c, depth+1, aliased)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}
		return n, nil
	case yaml.MappingNode:
		n.shape = shapeMap
		return n, b.mapping(n, y, depth, aliased)
	}
	return nil, b.src.fail(y.Line, y.Column, "this value cannot be read")
}

func (b *yamlBuilder) scalar(n *node, y *yaml.Node) error {
	n.shape, n.text, n.tag = shapeText, y.Value, y.ShortTag()
	switch n.tag {
	case "!!null":
		n.shape, n.text = shapeNull, ""
	case "!!str":
		if y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0 &&
			oneOf(strings.ToLower(y.Value), "yes|no|on|off") {
			n.tag = tagWord
		}
	case "!!int", "!!float", "!!bool":
	case "!!timestamp":
		n.tag = "!!str"
	default:
		return b.src.fail(y.Line, y.Column, "the type %s is not supported here", n.tag)
	}
	return nil
}

func (b *yamlBuilder) mapping(n *node, y *yaml.Node, depth int, aliased bool) error {
	seen := make(map[string]int, len(y.Content)/2)
	var merged []*yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		for hops := 0; k.Kind == yaml.AliasNode && k.Alias != nil && hops < maxDepth; hops++ {
			k = k.Alias
		}
		if k.Kind != yaml.ScalarNode {
			return b.src.fail(k.Line, k.Column, "a key must be plain text")
		}
		if k.ShortTag() == "!!merge" {
			merged = append(merged, v)
			continue
		}
		if first, dup := seen[k.Value]; dup {
			return b.src.fail(k.Line, k.Column, "the key %s is already given on line %d", strconv.Quote(k.Value), first)
		}
		seen[k.Value] = k.Line
		value, err := b.build(v, depth+1, aliased)
		if err != nil {
			return err
		}
		n.fields = append(n.fields, field{key: k.Value, value: value, line: k.Line, col: k.Column})
	}
	for _, m := range merged {
		from, err := b.build(m, depth+1, true)
		if err != nil {
			return err
		}
		parts := []*node{from}
		if from.shape == shapeList {
			parts = from.items
		}
		for _, part := range parts {
			if part.shape != shapeMap {
				return b.src.fail(m.Line, m.Column, "<< must name a mapping, not %s", part.shape)
			}
			for _, f := range part.fields {
				if _, own := seen[f.key]; !own {
					seen[f.key] = f.line
					n.fields = append(n.fields, f)
				}
			}
		}
	}
	return nil
}
