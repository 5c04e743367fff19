package markdown

import (
	"bufio"
	"bytes"
	"html"
	"io"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	gmhtml "github.com/yuin/goldmark/renderer/html"
	nethtml "golang.org/x/net/html"

	"fawn/views/i18n"
)

// writer renders one parsed text. It adds no white space, and writes attributes in alphabetical order, as the patches
// do.
type writer struct {
	b       *bytes.Buffer
	o       Options
	src     []byte
	segment bool // one part of a growing text: footnotes stand alone, no list of notes
	open    bool // the last block of the text is still growing
	depth   int
	inLink  int            // number of enclosing links: a nested link would end the outer one
	refs    map[int]string // footnote index to label

	looked                int // references looked up
	formulas, formulaText int // number of formulas, and their bytes
}

func (w *writer) render(src string) {
	w.src = []byte(src)
	doc := parse(w.src)
	w.refs = footnoteLabels(doc)
	w.children(doc)
}

func (w *writer) t(key string, args ...any) string { return i18n.T(w.o.Lang, key, args...) }

func (w *writer) raw(s string)  { w.b.WriteString(s) }
func (w *writer) text(s string) { w.b.WriteString(html.EscapeString(s)) }

func (w *writer) note(key string) {
	w.raw(`<p class="note">`)
	w.text(w.t(key))
	if w.o.Whole != "" {
		w.raw(" ")
		end := w.anchor(target{href: w.o.Whole, external: true}, "", "")
		w.text(w.t("step.output.raw"))
		w.raw(end)
	}
	w.raw(`</p>`)
}

func (w *writer) children(n ast.Node) {
	if w.depth >= maxDepth {
		w.flat(n)
		return
	}
	w.depth++
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.node(c)
	}
	w.depth--
}

func (w *writer) wrap(tag string, n ast.Node) {
	w.raw("<" + tag + ">")
	w.children(n)
	w.raw("</" + tag + ">")
}

// flat writes the text below a node that is nested too deep to have a shape.
func (w *writer) flat(n ast.Node) {
	_ = ast.Walk(n, func(c ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := c.(*ast.Text); ok && entering {
			w.text(string(t.Segment.Value(w.src)) + " ")
		}
		if f, ok := c.(*formula); ok && entering {
			w.text(f.tex + " ")
		}
		if r, ok := c.(*reference); ok && entering {
			w.text(SafeText(r.written) + " ")
		}
		return ast.WalkContinue, nil
	})
}

func (w *writer) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.Paragraph:
		w.wrap("p", n)
	case *ast.TextBlock:
		w.children(n)
	case *ast.Heading:
		// The page has the h1; answers begin one level below.
		w.wrap("h"+strconv.Itoa(min(n.Level+1, 6)), n)
	case *ast.ThematicBreak:
		w.raw("<hr>")
	case *ast.Blockquote:
		w.raw(`<blockquote dir="auto">`)
		w.children(n)
		w.raw("</blockquote>")
	case *ast.List:
		w.list(n)
	case *ast.ListItem:
		w.wrap("li", n)
	case *ast.FencedCodeBlock:
		w.code(w.lines(n), string(n.Language(w.src)), w.open && n.NextSibling() == nil)
	case *ast.CodeBlock:
		w.code(w.lines(n), "", false)
	case *ast.HTMLBlock:
		w.htmlBlock(n)
	case *ast.Text:
		w.inline(n.Segment.Value(w.src))
		switch {
		case n.HardLineBreak():
			w.raw("<br>")
		case n.SoftLineBreak():
			w.raw("\n")
		}
	case *ast.String:
		w.text(string(n.Value))
	case *ast.CodeSpan:
		w.codeSpan(n)
	case *ast.Emphasis:
		if n.Level == 2 {
			w.wrap("strong", n)
		} else {
			w.wrap("em", n)
		}
	case *ast.Link:
		w.link(n)
	case *ast.AutoLink:
		w.autoLink(n)
	case *ast.Image:
		w.image(n)
	case *ast.RawHTML:
		if isBreak(n.Segments.Value(w.src)) {
			w.raw("<br>")
		}
	case *extast.Strikethrough:
		w.wrap("del", n)
	case *extast.TaskCheckBox:
		w.checkBox(n.IsChecked)
	case *extast.Table:
		w.table(n)
	case *extast.FootnoteLink:
		w.footnoteLink(n)
	case *extast.FootnoteList:
		w.footnotes(n)
	case *extast.FootnoteBacklink:
	case *formula:
		w.formula(n.tex, n.display)
	case *reference:
		w.reference(n)
	case *display:
		w.display(n)
	default:
		w.children(n)
	}
}

func (w *writer) lines(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		s := n.Lines().At(i)
		b.Write(s.Value(w.src))
	}
	return b.String()
}

// inline writes text with escapes and entities resolved.
func (w *writer) inline(b []byte) {
	bw := bufio.NewWriter(w.b)
	gmhtml.DefaultWriter.Write(bw, b)
	_ = bw.Flush()
}

func (w *writer) codeSpan(n *ast.CodeSpan) {
	w.raw("<code>")
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			w.text(strings.ReplaceAll(string(t.Segment.Value(w.src)), "\n", " "))
			if t.SoftLineBreak() {
				w.raw(" ")
			}
		}
	}
	w.raw("</code>")
}

func (w *writer) list(n *ast.List) {
	tag := "ul"
	if n.IsOrdered() {
		tag = "ol"
	}
	w.raw("<" + tag + ` dir="auto"`) // list marks follow the text direction; style sets it for elements without one
	if isTaskList(n) {
		w.raw(` class="tasks"`)
	}
	if n.IsOrdered() && n.Start != 1 {
		w.raw(` start="` + strconv.Itoa(n.Start) + `"`)
	}
	w.raw(">")
	w.children(n)
	w.raw("</" + tag + ">")
}

func isTaskList(n *ast.List) bool {
	for li := n.FirstChild(); li != nil; li = li.NextSibling() {
		if b := li.FirstChild(); b != nil {
			if _, ok := b.FirstChild().(*extast.TaskCheckBox); ok {
				return true
			}
		}
	}
	return false
}

func (w *writer) checkBox(done bool) {
	if done {
		w.raw(`<span aria-label="✓" class="box on" role="img"></span>`)
		return
	}
	w.raw(`<span aria-label="☐" class="box" role="img"></span>`)
}

func (w *writer) table(n *extast.Table) {
	w.raw(`<div aria-label="` + html.EscapeString(w.t("md.table")) + `" class="tbl" role="group" tabindex="0"><table>`)
	rows := 0
	body := false
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		if _, ok := r.(*extast.TableHeader); ok {
			w.raw("<thead>")
			w.cells(r, "th")
			w.raw("</thead>")
			continue
		}
		if rows++; rows > maxRows {
			break
		}
		if !body {
			w.raw("<tbody>")
			body = true
		}
		w.cells(r, "td")
	}
	if body {
		w.raw("</tbody>")
	}
	w.raw("</table></div>")
	if rows > maxRows {
		w.note("md.rows")
	}
}

func (w *writer) cells(row ast.Node, tag string) {
	w.raw("<tr>")
	for c := row.FirstChild(); c != nil; c = c.NextSibling() {
		tag := tag
		if c.FirstChild() == nil {
			tag = "td" // a corner isn't a heading
		}
		w.raw("<" + tag)
		if cell, ok := c.(*extast.TableCell); ok {
			switch cell.Alignment {
			case extast.AlignRight:
				w.raw(` class="r"`)
			case extast.AlignCenter:
				w.raw(` class="m"`)
			}
		}
		w.raw(">")
		w.children(c)
		w.raw("</" + tag + ">")
	}
	w.raw("</tr>")
}

// htmlBlock keeps the words of an HTML block and drops its tags.
func (w *writer) htmlBlock(n *ast.HTMLBlock) {
	src := w.lines(n)
	if n.HasClosure() {
		src += string(n.ClosureLine.Value(w.src))
	}
	if w.mark(src) {
		return
	}
	z := nethtml.NewTokenizer(strings.NewReader(src))
	z.SetMaxBuf(maxParagraph)
	var words strings.Builder
	skip := ""
	for {
		switch z.Next() {
		case nethtml.ErrorToken:
			if z.Err() != io.EOF {
				words.WriteString(" …")
			}
			if s := strings.Join(strings.Fields(words.String()), " "); s != "" {
				w.raw("<p>")
				w.text(s)
				w.raw("</p>")
			}
			return
		case nethtml.TextToken:
			if skip == "" {
				words.WriteString(string(z.Text()))
			}
		case nethtml.StartTagToken:
			if name, _ := z.TagName(); string(name) == "script" || string(name) == "style" {
				skip = string(name)
			}
			words.WriteByte(' ')
		case nethtml.EndTagToken:
			if name, _ := z.TagName(); string(name) == skip {
				skip = ""
			}
			words.WriteByte(' ')
		}
	}
}

// isBreak recognizes <br>, the only HTML tag that models need, to break lines inside a table.
func isBreak(b []byte) bool {
	s := strings.ToLower(string(bytes.TrimSpace(b)))
	return s == "<br>" || s == "<br/>" || s == "<br />"
}
