package syntax

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ParseJSON parses a file into a tree. An empty file is an empty mapping. ParseYAML can't do it: its library rejects
// surrogate pairs such as "\ud83d\ude00", turns U+0085 into a blank, and accepts comments, trailing commas and bare words.
func ParseJSON(src *Source) (*Node, error) {
	if len(src.Data) > MaxBytes {
		return nil, src.Fail(0, 0, "the file is larger than 1 MiB, which no configuration needs")
	}
	data := bytes.TrimPrefix(src.Data, []byte("\uFEFF"))
	if len(bytes.TrimSpace(data)) == 0 {
		return &Node{Shape: Map, Source: src, Line: 1, Col: 1}, nil
	}
	b := jsonBuilder{src: src, data: data, dec: json.NewDecoder(bytes.NewReader(data)), line: 1, col: 1}
	b.dec.UseNumber()
	// Unmarshal checks the whole file first: its errors have exact offsets, unlike those of Token.
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			b.advance(int(syntax.Offset) - 1)
		}
		return nil, src.Fail(b.line, b.col, "not valid JSON: %s", err)
	}
	n, err := b.build(0)
	if err == nil && n.Shape != Map {
		err = src.Fail(n.Line, n.Col, "the file must hold one JSON object, not %s", n.Shape)
	}
	return n, err
}

// jsonBuilder builds the tree of a valid file.
type jsonBuilder struct {
	src       *Source
	data      []byte
	dec       *json.Decoder
	offset    int // of line and col
	line, col int // from 1
	values    int
}

// advance moves line and col forward to an offset.
func (b *jsonBuilder) advance(offset int) {
	passed := b.data[b.offset:offset]
	if last := bytes.LastIndexByte(passed, '\n'); last >= 0 {
		b.line += bytes.Count(passed, []byte("\n"))
		b.col, passed = 1, passed[last+1:]
	}
	b.col += utf8.RuneCount(passed)
	b.offset = offset
}

// token returns the next token, whose place is in line and col.
func (b *jsonBuilder) token() (json.Token, error) {
	rest := b.data[b.dec.InputOffset():]
	b.advance(len(b.data) - len(bytes.TrimLeft(rest, " \t\r\n,:")))
	return b.dec.Token()
}

func (b *jsonBuilder) build(depth int) (*Node, error) {
	tok, err := b.token()
	if err != nil {
		return nil, err
	}
	n := &Node{Shape: Text, Source: b.src, Line: b.line, Col: b.col}
	if b.values++; b.values > maxValues {
		return nil, b.src.Fail(n.Line, n.Col, "the file holds more than %d values", maxValues)
	}
	if depth > maxDepth {
		return nil, b.src.Fail(n.Line, n.Col, "values are nested more than %d levels deep", maxDepth)
	}
	switch tok := tok.(type) {
	case nil:
		n.Shape = Null
	case string:
		n.Text, n.Tag = tok, "!!str"
	case bool:
		n.Text, n.Tag = strconv.FormatBool(tok), "!!bool"
	case json.Number:
		n.Text, n.Tag = tok.String(), "!!int"
		if strings.ContainsAny(n.Text, ".eE") {
			n.Tag = "!!float"
		}
	case json.Delim:
		n.Shape = List
		if tok == '{' {
			n.Shape = Map
		}
		return n, b.inside(n, depth)
	}
	return n, nil
}

// inside adds the items or fields of n.
func (b *jsonBuilder) inside(n *Node, depth int) error {
	seen := map[string]int{}
	for b.dec.More() {
		var f Field
		if n.Shape == Map {
			key, err := b.token()
			if err != nil {
				return err
			}
			f = Field{Key: key.(string), Line: b.line, Col: b.col}
			if first, dup := seen[f.Key]; dup {
				return b.src.Fail(f.Line, f.Col, "the key %s is already given on line %d", strconv.Quote(f.Key), first)
			}
			seen[f.Key] = f.Line
		}
		value, err := b.build(depth + 1)
		if err != nil {
			return err
		}
		if f.Value = value; n.Shape == Map {
			n.Fields = append(n.Fields, f)
		} else {
			n.Items = append(n.Items, value)
		}
	}
	_, err := b.token()
	return err
}
