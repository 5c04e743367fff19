package chat

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// Limits of Block Kit, in characters, rows and blocks.
const (
	slackBlocksMost  = 50
	slackSectionMost = 3000
	slackHeaderMost  = 150
	slackRowsMost    = 100
	slackColumnsMost = 20
	slackTableMost   = 10000
)

type slackObject = map[string]any

// slackBlocks converts Markdown to blocks: headers, sections, code, lines and one table. It is nil for Markdown that
// doesn't need blocks, or doesn't fit: the message's text has everything.
func slackBlocks(source string) []slackObject {
	doc, src := parse(source)
	b := &slackLayout{src: src}
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		b.block(n)
	}
	b.flush()
	if b.unfit || !b.special || len(b.out) > slackBlocksMost {
		return nil
	}
	return b.out
}

type slackLayout struct {
	src     []byte
	out     []slackObject
	text    []ast.Node // for the next section
	special bool       // there is more than text
	table   bool       // the message has its table
	unfit   bool
}

func (b *slackLayout) add(block slackObject) {
	b.flush()
	b.special = true
	b.out = append(b.out, block)
}

func (b *slackLayout) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		text := strings.TrimSpace(unescape(inlineText(n, b.src), false))
		if n.Level <= 2 && text != "" && utf8.RuneCountInString(text) <= slackHeaderMost {
			b.add(slackObject{"type": "header", "text": slackObject{"type": "plain_text", "text": text, "emoji": false}})
			return
		}
	case *ast.FencedCodeBlock:
		b.code(string(n.Lines().Value(b.src)))
		return
	case *ast.CodeBlock:
		b.code(string(n.Lines().Value(b.src)))
		return
	case *ast.ThematicBreak:
		b.add(slackObject{"type": "divider"})
		return
	case *extast.Table:
		if table := slackTable(n, b.src); table != nil && !b.table {
			b.add(table)
			b.table = true
			return
		}
	}
	b.text = append(b.text, n)
}

func (b *slackLayout) code(body string) {
	if body = strings.TrimRight(body, "\n"); strings.TrimSpace(body) != "" {
		b.add(slackObject{"type": "rich_text", "elements": []any{slackObject{"type": "rich_text_preformatted", "border": 0,
			"elements": []any{slackObject{"type": "text", "text": body}}}}})
	}
}

// flush makes sections of the text so far. A long one is cut between lines.
func (b *slackLayout) flush() {
	if len(b.text) == 0 {
		return
	}
	w := &writer{d: slackText(), src: b.src, fresh: true}
	for i, n := range b.text {
		if i > 0 {
			w.put("\n\n")
		}
		w.block(n)
	}
	b.text = nil
	rest, _ := w.finish()
	for rest != "" {
		part := rest
		if utf8.RuneCountInString(rest) > slackSectionMost {
			head := string([]rune(rest)[:slackSectionMost])
			end := strings.LastIndexByte(head, '\n')
			if end <= 0 {
				b.unfit = true
				return
			}
			part = head[:end]
		}
		rest = strings.TrimPrefix(rest[len(part):], "\n")
		if part = strings.Trim(part, "\n"); part != "" {
			b.out = append(b.out, slackObject{"type": "section", "expand": true,
				"text": slackObject{"type": "mrkdwn", "text": part, "verbatim": true}})
		}
	}
}

// slackTable returns a table block, or nil if the table is too large.
func slackTable(n *extast.Table, src []byte) slackObject {
	wide := len(n.Alignments)
	if wide == 0 || wide > slackColumnsMost {
		return nil
	}
	var rows []any
	size := 0
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		var row []any
		for c := r.FirstChild(); c != nil && len(row) < wide; c = c.NextSibling() {
			cell, n := slackCell(c, src, r.Kind() == extast.KindTableHeader)
			row, size = append(row, cell), size+n
		}
		for len(row) < wide {
			row = append(row, slackRaw(""))
		}
		rows = append(rows, row)
	}
	if len(rows) > slackRowsMost || size > slackTableMost {
		return nil
	}
	columns := make([]any, wide)
	for i, a := range n.Alignments {
		one := slackObject{"is_wrapped": true}
		switch a {
		case extast.AlignRight:
			one["align"] = "right"
		case extast.AlignCenter:
			one["align"] = "center"
		}
		columns[i] = one
	}
	return slackObject{"type": "table", "rows": rows, "column_settings": columns}
}

// slackRaw returns an unformatted cell. Slack rejects empty ones.
func slackRaw(text string) slackObject {
	return slackObject{"type": "raw_text", "text": cmp.Or(text, "–")}
}

// slackCell returns a cell of a table and its size in characters. A cell of the head is bold.
func slackCell(n ast.Node, src []byte, head bool) (slackObject, int) {
	w := &slackSpans{src: src}
	style := slackObject{}
	if head {
		style["bold"] = true
	}
	w.inline(n, style, "")
	if !w.marked {
		text := strings.TrimSpace(w.plain.String())
		return slackRaw(text), utf8.RuneCountInString(text)
	}
	return slackObject{"type": "rich_text", "elements": []any{slackObject{"type": "rich_text_section",
		"elements": w.out}}}, w.size
}

// slackSpans makes elements of a rich text.
type slackSpans struct {
	src    []byte
	out    []any
	plain  strings.Builder
	size   int
	marked bool
}

func (w *slackSpans) put(text string, style slackObject, address string) {
	if text = strings.ReplaceAll(text, "\n", " "); text == "" {
		return
	}
	w.plain.WriteString(text)
	w.size += utf8.RuneCountInString(text)
	one := slackObject{"type": "text", "text": text}
	if address != "" {
		one = slackObject{"type": "link", "url": address, "text": text}
	}
	if len(style) > 0 {
		one["style"] = style
	}
	w.marked = w.marked || len(one) > 2
	w.out = append(w.out, one)
}

func (w *slackSpans) inline(n ast.Node, style slackObject, address string) {
	with := func(name string) slackObject {
		more := slackObject{name: true}
		for k := range style {
			more[k] = true
		}
		return more
	}
	to := func(target string) string {
		if target = unescape([]byte(target), false); webAddress(target) {
			return target
		}
		return address
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			w.put(unescape(c.Segment.Value(w.src), c.IsRaw()), style, address)
			if c.SoftLineBreak() || c.HardLineBreak() {
				w.put(" ", style, address)
			}
		case *ast.String:
			w.put(string(c.Value), style, address)
		case *ast.CodeSpan:
			w.put(string(inlineText(c, w.src)), with("code"), address)
		case *ast.Emphasis:
			name := "italic"
			if c.Level == 2 {
				name = "bold"
			}
			w.inline(c, with(name), address)
		case *extast.Strikethrough:
			w.inline(c, with("strike"), address)
		case *ast.Link:
			w.inline(c, style, to(string(c.Destination)))
		case *ast.Image:
			w.inline(c, style, to(string(c.Destination)))
		case *ast.AutoLink:
			w.put(string(c.Label(w.src)), style, to(string(c.URL(w.src))))
		case *ast.RawHTML:
			w.put(string(c.Segments.Value(w.src)), style, address)
		default:
			w.inline(c, style, address)
		}
	}
}
