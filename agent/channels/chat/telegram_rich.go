package chat

import (
	"context"
	"html"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// Limits of a rich message.
const (
	richMax     = 32768 // characters
	richBlocks  = 500
	richDepth   = 16
	richColumns = 20
)

// writeRich converts a message to a rich one. Refused means that it can't be one.
func (t *Telegram) writeRich(ctx context.Context, target map[string]any, source string) error {
	text, ok := richText(source)
	if !ok {
		return &Refused{Reason: "It is not a rich message."}
	}
	body := map[string]any{"chat_id": target["chat_id"], "message_id": target["message_id"],
		"rich_message": map[string]any{"html": text, "skip_entity_detection": true}}
	return t.call(ctx, "editMessageText", body, nil)
}

// richText converts Markdown to the HTML of a rich message. Raw HTML is shown as text, images become links, and
// mentions are disabled. It returns false for text beyond the limits.
func richText(source string) (string, bool) {
	doc, src := parse(source)
	w := &richWriter{src: src}
	w.blocks(doc)
	return w.out.String(), !w.tooMuch && w.chars <= richMax && w.count <= richBlocks
}

type richWriter struct {
	src     []byte
	out     strings.Builder
	chars   int
	count   int // number of blocks
	depth   int
	tooMuch bool
}

// tag writes an element. attr follows its name.
func (w *richWriter) tag(name, attr string, inside func()) {
	w.depth++
	w.tooMuch = w.tooMuch || w.depth > richDepth
	w.out.WriteString("<" + name + attr + ">")
	if !w.tooMuch { // no deeper than that
		inside()
	}
	w.out.WriteString("</" + name + ">")
	w.depth--
}

func (w *richWriter) block(name, attr string, inside func()) {
	w.count++
	w.tag(name, attr, inside)
}

func (w *richWriter) text(s string) {
	w.chars += utf8.RuneCountInString(s)
	w.out.WriteString(strings.ReplaceAll(html.EscapeString(s), "\n", "<br>"))
}

func (w *richWriter) blocks(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.blockNode(c)
	}
}

func (w *richWriter) blockNode(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		w.block("h"+strconv.Itoa(n.Level), "", func() { w.inline(n) })
	case *ast.FencedCodeBlock:
		w.code(string(n.Lines().Value(w.src)), string(n.Language(w.src)))
	case *ast.CodeBlock:
		w.code(string(n.Lines().Value(w.src)), "")
	case *ast.HTMLBlock:
		raw := string(n.Lines().Value(w.src))
		if n.HasClosure() {
			raw += string(n.ClosureLine.Value(w.src))
		}
		w.block("p", "", func() { w.text(strings.TrimRight(raw, "\n")) })
	case *ast.ThematicBreak:
		w.count++
		w.out.WriteString("<hr/>")
	case *ast.Blockquote:
		w.block("blockquote", "", func() { w.blocks(n) })
	case *ast.List:
		w.list(n)
	case *extast.Table:
		w.table(n)
	case *ast.TextBlock: // in a tight list
		w.inline(n)
	default:
		w.block("p", "", func() { w.inline(n) })
	}
}

func (w *richWriter) code(body, language string) {
	w.block("pre", "", func() {
		put := func() {
			body = strings.TrimRight(body, "\n")
			w.chars += utf8.RuneCountInString(body)
			w.out.WriteString(html.EscapeString(body))
		}
		if language = cleanLanguage(language); language == "" {
			put()
			return
		}
		w.tag("code", ` class="language-`+language+`"`, put)
	})
}

func (w *richWriter) list(n *ast.List) {
	name, attr := "ul", ""
	if n.IsOrdered() {
		if name = "ol"; n.Start != 1 {
			attr = ` start="` + strconv.Itoa(n.Start) + `"`
		}
	}
	w.block(name, attr, func() {
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			w.block("li", "", func() { w.blocks(c) })
		}
	})
}

func (w *richWriter) table(n *extast.Table) {
	w.block("table", " bordered", func() {
		for r := n.FirstChild(); r != nil; r = r.NextSibling() {
			cell := "td"
			if r.Kind() == extast.KindTableHeader {
				cell = "th"
			}
			w.tooMuch = w.tooMuch || r.ChildCount() > richColumns
			w.block("tr", "", func() {
				for c := r.FirstChild(); c != nil; c = c.NextSibling() {
					align := ""
					if one, ok := c.(*extast.TableCell); ok && one.Alignment != extast.AlignNone {
						align = ` align="` + one.Alignment.String() + `"`
					}
					w.tag(cell, align, func() { w.inline(c) })
				}
			})
		}
	})
}

func (w *richWriter) inline(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.inlineNode(c)
	}
}

func (w *richWriter) inlineNode(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		w.text(unescape(n.Segment.Value(w.src), n.IsRaw()))
		if n.SoftLineBreak() || n.HardLineBreak() {
			w.text("\n")
		}
	case *ast.String:
		w.text(string(n.Value))
	case *ast.Emphasis:
		name := "i"
		if n.Level == 2 {
			name = "b"
		}
		w.tag(name, "", func() { w.inline(n) })
	case *extast.Strikethrough:
		w.tag("s", "", func() { w.inline(n) })
	case *ast.CodeSpan:
		w.tag("code", "", func() { w.text(strings.ReplaceAll(string(inlineText(n, w.src)), "\n", " ")) })
	case *ast.Link:
		w.link(n, string(n.Destination))
	case *ast.Image:
		w.link(n, string(n.Destination))
	case *ast.AutoLink:
		w.address(string(n.Label(w.src)), string(n.URL(w.src)))
	case *ast.RawHTML:
		w.text(string(n.Segments.Value(w.src)))
	case *extast.TaskCheckBox:
		w.out.WriteString(`<input type="checkbox"`)
		if n.IsChecked {
			w.out.WriteString(" checked")
		}
		w.out.WriteString(">")
	default:
		w.inline(n)
	}
}

// link writes a link if it leads somewhere on the web, else its label.
func (w *richWriter) link(n ast.Node, address string) {
	label := strings.TrimSpace(unescape(inlineText(n, w.src), false))
	address = unescape([]byte(address), false)
	if label == "" {
		label = address
	}
	w.address(label, address)
}

func (w *richWriter) address(label, address string) {
	if !webAddress(address) {
		w.text(label)
		return
	}
	w.tag("a", ` href="`+html.EscapeString(address)+`"`, func() { w.text(label) })
}
