package chat

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// A dialect describes a platform's markup. Text from the model is always escaped, so it can neither mention anyone nor
// break out of its element.
type dialect struct {
	escape    func(string) string // text
	verbatim  func(string) string // code
	lineStart string              // characters that mean something at the start of a line only

	bold, italic, strike string
	link                 func(label, address string) string
	languages            bool   // a fence names its language
	bullet               string // of a list
	border               bool   // marks only count at word boundaries
	entities             bool   // no marks: formatted ranges are listed separately
}

// An entity is a formatted range of a message, in UTF-16 units, as in Telegram's API.
type entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
	URL      string `json:"url,omitempty"`
	Language string `json:"language,omitempty"`
}

// render turns Markdown into a platform's text. Raw HTML is text, images are links.
func (d *dialect) render(source string) (string, []entity) {
	doc, src := parse(source)
	w := &writer{d: d, src: src, fresh: true}
	w.blocks(doc, false)
	return w.finish()
}

// parse reads Markdown.
func parse(source string) (doc ast.Node, src []byte) {
	src = []byte(source)
	md := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify,
		extension.TaskList))
	return md.Parser().Parse(text.NewReader(src)), src
}

// Headings lists the headings of Markdown, as plain text.
func Headings(source string) (all []string) {
	doc, src := parse(source)
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			if text := strings.TrimSpace(unescape(inlineText(h, src), false)); text != "" {
				all = append(all, text)
			}
		}
	}
	return all
}

// plain escapes text that isn't Markdown.
func (d *dialect) plain(source string) string {
	w := &writer{d: d, fresh: true}
	w.text(source)
	out, _ := w.finish()
	return out
}

// writer writes text in a platform's format.
type writer struct {
	d   *dialect
	src []byte

	out    strings.Builder
	units  int      // UTF-16 units in out
	prefix []string // prefix of each line
	fresh  bool     // at the start of a line
	last   rune
	after  bool // right after a closing mark
	depth  int  // depth of spans that may contain no code or links
	spans  []entity
}

func (w *writer) finish() (string, []entity) {
	out := strings.TrimRight(w.out.String(), "\n ")
	n := utf16Len(out)
	kept := w.spans[:0]
	for _, e := range w.spans {
		if e.Length = min(e.Length, n-e.Offset); e.Length > 0 {
			kept = append(kept, e)
		}
	}
	return out, kept
}

// put writes s, with the prefix of each line that is not empty.
func (w *writer) put(s string) {
	for s != "" {
		if s[0] == '\n' {
			w.raw("\n")
			w.fresh, s = true, s[1:]
			continue
		}
		line := s
		if i := strings.IndexByte(s, '\n'); i >= 0 {
			line = s[:i]
		}
		if w.fresh {
			for _, p := range w.prefix {
				w.raw(p)
			}
			w.fresh = false
		}
		w.raw(line)
		s = s[len(line):]
	}
}

func (w *writer) raw(s string) {
	if s == "" {
		return
	}
	w.out.WriteString(s)
	w.units += utf16Len(s)
	w.last, _ = utf8.DecodeLastRuneInString(s)
	w.after = false
}

// text writes plain text, escaped.
func (w *writer) text(s string) {
	if s == "" {
		return
	}
	first, _ := utf8.DecodeRuneInString(s)
	if w.after && w.d.border && inWord(first) {
		w.put("\u200b")
	}
	lines := strings.SplitAfter(s, "\n")
	for _, line := range lines {
		if w.fresh && line != "" && strings.IndexByte(w.d.lineStart, line[0]) >= 0 {
			w.put("\\")
		}
		w.put(w.d.escape(line))
	}
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// span writes formatted text.
func (w *writer) span(kind, mark string, e entity, inside func()) {
	if w.d.entities {
		if w.fresh { // keep the line's prefix outside
			for _, p := range w.prefix {
				w.raw(p)
			}
			w.fresh = false
		}
		e.Type, e.Offset = kind, w.units
		at := len(w.spans)
		w.spans = append(w.spans, e)
		inside()
		w.spans[at].Length = w.units - e.Offset
		return
	}
	if w.d.border && !w.fresh && inWord(w.last) {
		w.put("\u200b")
	}
	w.put(mark)
	inside()
	w.put(mark)
	w.after = true
}

// blocks writes the children of n, with an empty line between two unless tight.
func (w *writer) blocks(n ast.Node, tight bool) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if c != n.FirstChild() {
			w.put("\n")
			if !tight {
				w.put("\n")
			}
		}
		w.block(c)
	}
}

func (w *writer) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		if w.d.bold == "" && !w.d.entities {
			w.inline(n)
			return
		}
		w.depth++
		w.span("bold", w.d.bold, entity{}, func() { w.plainInline(n) })
		w.depth--
	case *ast.FencedCodeBlock:
		w.code(string(n.Lines().Value(w.src)), string(n.Language(w.src)))
	case *ast.CodeBlock:
		w.code(string(n.Lines().Value(w.src)), "")
	case *ast.HTMLBlock:
		html := string(n.Lines().Value(w.src))
		if n.HasClosure() {
			html += string(n.ClosureLine.Value(w.src))
		}
		w.text(strings.TrimRight(html, "\n"))
	case *ast.ThematicBreak:
		w.put("———")
	case *ast.Blockquote:
		w.quote(n)
	case *ast.List:
		w.list(n)
	case *extast.Table:
		w.table(n)
	default:
		w.inline(n)
	}
}

func (w *writer) quote(n ast.Node) {
	if w.d.entities && w.depth == 0 && !w.holdsOthers(n) {
		w.depth++
		w.span("blockquote", "", entity{}, func() { w.blocks(n, false) })
		w.depth--
		return
	}
	mark := "> "
	if w.d.entities {
		mark = "│ "
	}
	w.prefix = append(w.prefix, mark)
	w.blocks(n, false)
	w.prefix = w.prefix[:len(w.prefix)-1]
}

// holdsOthers reports whether an element contains blocks that Telegram doesn't allow in a quotation.
func (w *writer) holdsOthers(n ast.Node) bool {
	found := false
	_ = ast.Walk(n, func(c ast.Node, _ bool) (ast.WalkStatus, error) {
		switch c.Kind() {
		case ast.KindLink, ast.KindImage, ast.KindCodeSpan, ast.KindFencedCodeBlock, ast.KindCodeBlock,
			extast.KindTable:
			found = true
			return ast.WalkStop, nil
		case ast.KindBlockquote:
			if c != n {
				found = true
				return ast.WalkStop, nil
			}
		}
		return ast.WalkContinue, nil
	})
	return found
}

func (w *writer) list(n *ast.List) {
	number := n.Start
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if c != n.FirstChild() {
			w.put("\n")
			if !n.IsTight {
				w.put("\n")
			}
		}
		mark := w.d.bullet
		if n.IsOrdered() {
			mark = strconv.Itoa(number) + ". "
			number++
		}
		w.put(mark)
		w.prefix = append(w.prefix, "  ")
		w.blocks(c, n.IsTight)
		w.prefix = w.prefix[:len(w.prefix)-1]
	}
}

// code writes a code block.
func (w *writer) code(body, language string) {
	body = strings.TrimRight(body, "\n")
	if w.d.entities {
		if w.depth > 0 {
			w.put(body)
			return
		}
		before := w.prefix
		w.prefix = nil
		w.span("pre", "", entity{Language: cleanLanguage(language)}, func() { w.put(body) })
		w.prefix = before
		return
	}
	fence := "```"
	if w.d.languages {
		w.put(fence + cleanLanguage(language) + "\n")
	} else {
		w.put(fence + "\n")
	}
	w.put(w.d.verbatim(body) + "\n" + fence)
}

func cleanLanguage(s string) string {
	if i := strings.IndexFunc(s, func(r rune) bool {
		return r > 127 || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("+-#._", r)
	}); i >= 0 {
		s = s[:i]
	}
	return s[:min(len(s), 32)]
}

// utf16Len counts as most platforms do.
func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}
