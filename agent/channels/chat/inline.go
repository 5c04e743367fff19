package chat

import (
	"bytes"
	"net/url"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"
)

// inline writes the inline children of n.
func (w *writer) inline(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.inlineNode(c)
	}
}

// plainInline writes n without bold, for text that is bold as a whole.
func (w *writer) plainInline(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if e, ok := c.(*ast.Emphasis); ok {
			w.plainInline(e)
			continue
		}
		w.inlineNode(c)
	}
}

func (w *writer) inlineNode(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		w.text(unescape(n.Segment.Value(w.src), n.IsRaw()))
		if n.SoftLineBreak() || n.HardLineBreak() {
			w.put("\n")
		}
	case *ast.String:
		w.text(string(n.Value))
	case *ast.Emphasis:
		kind, mark := "italic", w.d.italic
		if n.Level == 2 {
			kind, mark = "bold", w.d.bold
		}
		w.marked(kind, mark, n)
	case *extast.Strikethrough:
		w.marked("strikethrough", w.d.strike, n)
	case *ast.CodeSpan:
		w.codeSpan(n)
	case *ast.Link:
		w.link(n, string(n.Destination))
	case *ast.Image:
		w.link(n, string(n.Destination))
	case *ast.AutoLink:
		w.address(string(n.Label(w.src)), string(n.URL(w.src)))
	case *ast.RawHTML:
		w.text(string(n.Segments.Value(w.src)))
	case *extast.TaskCheckBox:
		if n.IsChecked {
			w.put("☑ ")
		} else {
			w.put("☐ ")
		}
	default:
		w.inline(n)
	}
}

func (w *writer) marked(kind, mark string, n ast.Node) {
	if mark == "" && !w.d.entities {
		w.inline(n)
		return
	}
	w.depth++
	w.span(kind, mark, entity{}, func() { w.inline(n) })
	w.depth--
}

func (w *writer) codeSpan(n ast.Node) {
	code := strings.ReplaceAll(string(inlineText(n, w.src)), "\n", " ")
	switch {
	case w.d.entities && w.depth > 0:
		w.put(code)
	case w.d.entities:
		w.span("code", "", entity{}, func() { w.put(code) })
	case strings.Contains(code, "`"):
		w.text(code)
	default:
		w.span("code", "`", entity{}, func() { w.put(w.d.verbatim(code)) })
	}
}

// link writes a link if it leads somewhere on the web, else its label.
func (w *writer) link(n ast.Node, address string) {
	label := string(bytes.TrimSpace(inlineText(n, w.src)))
	label = strings.ReplaceAll(unescape([]byte(label), false), "\n", " ")
	address = unescape([]byte(address), false)
	if label == "" {
		label = address
	}
	if !webAddress(address) {
		w.text(label)
		return
	}
	w.address(label, address)
}

func (w *writer) address(label, address string) {
	switch {
	case !webAddress(address):
		w.text(label)
	case w.d.entities && label == address:
		w.put(label) // clients detect links by themselves
	case w.d.entities && w.depth > 0:
		w.put(label + " (" + address + ")")
	case w.d.entities:
		w.span("text_link", "", entity{URL: address}, func() { w.put(label) })
	default:
		w.put(w.d.link(label, address))
		w.after = true
	}
}

// webAddress reports whether s is the address of a page or mailbox without characters that could end a link early.
func webAddress(s string) bool {
	u, err := url.Parse(s)
	if err != nil || strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("<>|\"`", r)
	}) {
		return false
	}
	switch strings.ToLower(u.Scheme) {
	case "https", "http":
		return u.Host != ""
	case "mailto":
		return u.Opaque != ""
	}
	return false
}

// inlineText returns the text below n without any marks.
func inlineText(n ast.Node, src []byte) []byte {
	var b []byte
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			b = append(b, c.Segment.Value(src)...)
			if c.SoftLineBreak() || c.HardLineBreak() {
				b = append(b, '\n')
			}
		case *ast.String:
			b = append(b, c.Value...)
		case *ast.AutoLink:
			b = append(b, c.Label(src)...)
		case *ast.RawHTML:
			b = append(b, c.Segments.Value(src)...)
		default:
			b = append(b, inlineText(c, src)...)
		}
	}
	return b
}

// unescape resolves backslashes and character references.
func unescape(b []byte, raw bool) string {
	if raw {
		return string(b)
	}
	return string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(b))))
}
