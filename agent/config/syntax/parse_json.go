package syntax

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ParseJSON parses a file into a tree. An empty file is an empty mapping.
func ParseJSON(src *Source) (*Node, error) {
	if len(src.Data) > MaxBytes {
		return nil, src.Fail(0, 0, "the file is larger than 1 MiB, which no configuration needs")
	}
	data := bytes.TrimPrefix(src.Data, []byte("\uFEFF"))
	if len(bytes.TrimSpace(data)) == 0 {
		return &Node{Shape: Map, Source: src, Line: 1, Col: 1}, nil
	}
	b := jsonBuilder{src: src, data: data, dec: json.NewDecoder(bytes.NewReader(data)), lines: lineStarts(data)}
	b.dec.UseNumber()
	n, err := b.build(0)
	if err != nil {
		return nil, err
	}
	line, col := b.place(b.skip(b.dec.InputOffset()))
	if _, err := b.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, src.Fail(line, col, "there is something after the end of the JSON value")
	}
	if n.Shape != Map {
		return nil, src.Fail(n.Line, n.Col, "the file must hold one JSON object, not %s", n.Shape)
	}
	return n, nil
}

type jsonBuilder struct {
	src    *Source
	data   []byte
	dec    *json.Decoder
	lines  []int
	values int
}

func lineStarts(data []byte) []int {
	starts := []int{0}
	for i, c := range data {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// place turns an offset into line and column, both from 1.
func (b *jsonBuilder) place(offset int64) (line, col int) {
	at := min(int(offset), len(b.data))
	lo, hi := 0, len(b.lines)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; b.lines[mid] <= at {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo + 1, utf8.RuneCount(b.data[b.lines[lo]:at]) + 1
}

// skip moves an offset over white space and separators to the next token.
func (b *jsonBuilder) skip(offset int64) int64 {
	for int(offset) < len(b.data) && strings.IndexByte(" \t\r\n,:", b.data[offset]) >= 0 {
		offset++
	}
	return offset
}

func (b *jsonBuilder) token() (tok json.Token, line, col int, err error) {
	line, col = b.place(b.skip(b.dec.InputOffset()))
	tok, err = b.dec.Token()
	if err == nil {
		return tok, line, col, nil
	}
	what := err.Error()
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		line, col = b.place(max(syntax.Offset-1, 0))
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		line, col = b.place(int64(len(b.data)))
		what = "the file ends too early"
	}
	return nil, line, col, b.src.Fail(line, col, "not valid JSON: %s", what)
}

func (b *jsonBuilder) build(depth int) (*Node, error) {
	tok, line, col, err := b.token()
	if err != nil {
		return nil, err
	}
	if b.values++; b.values > maxValues {
		return nil, b.src.Fail(line, col, "the file holds more than %d values", maxValues)
	}
	if depth > maxDepth {
		return nil, b.src.Fail(line, col, "values are nested more than %d levels deep", maxDepth)
	}
	n := &Node{Shape: Text, Source: b.src, Line: line, Col: col}
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
		return n, b.inside(n, tok, depth)
	}
	return n, nil
}

func (b *jsonBuilder) inside(n *Node, open json.Delim, depth int) error {
	n.Shape = List
	if open == '{' {
		n.Shape = Map
	}
	seen := map[string]int{}
	for b.dec.More() {
		if n.Shape == List {
			item, err := b.build(depth + 1)
			if err != nil {
				return err
			}
			n.Items = append(n.Items, item)
			continue
		}
		tok, line, col, err := b.token()
		if err != nil {
			return err
		}
		name, ok := tok.(string)
		if !ok {
			return b.src.Fail(line, col, "not valid JSON: a key must be text in quotes")
		}
		if first, dup := seen[name]; dup {
			return b.src.Fail(line, col, "the key %s is already given on line %d", strconv.Quote(name), first)
		}
		seen[name] = line
		value, err := b.build(depth + 1)
		if err != nil {
			return err
		}
		n.Fields = append(n.Fields, Field{Key: name, Value: value, Line: line, Col: col})
	}
	_, _, _, err := b.token()
	return err
}
