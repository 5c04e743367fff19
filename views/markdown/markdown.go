// Package markdown turns the Markdown of models into safe HTML and streams it
// as small patches.
//
// Everything here treats its input as hostile: raw HTML is dropped, addresses
// with schemes other than a few known ones are inert, pictures load only from
// this server, characters that turn the reading direction around are removed,
// and size is capped. The output has no white space between blocks and only
// elements at its top level, which the patches of Differ rely on.
package markdown

import (
	"bytes"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// Limits of one message. Excess content is replaced by a note.
const (
	maxSource    = 512 << 10 // bytes of source rendered
	maxLine      = 16 << 10  // bytes of one line outside a code block; inline parsing is superlinear
	maxParagraph = 64 << 10  // bytes of one paragraph, for the same reason
	maxMarks     = 600       // limit of possible marks per paragraph, item or row; more are plain
	maxBars      = 64        // limit of columns per table
	maxRows      = 1000      // rows of one table
	maxCells     = 60_000    // cells of all tables
	maxDepth     = 40        // nested blocks and spans; browsers stop at 512
	maxHighlight = 64 << 10  // bytes of one code block that are coloured
)

// Options describe a text's context.
type Options struct {
	Lang   string // language of labels such as "Copy"; empty means English
	Thread string // id of the thread, for links to its files; empty makes them inert
	// Dir is the folder of the thread that relative image addresses start from, such as mnt/user-data/outputs; empty
	// makes them inert.
	Dir    string
	Links  bool            // relative links start there, too
	Whole  string          // address of the text itself, linked in truncation notes; empty for no link
	Share  string          // token of the share link, through which files are read, too
	Shared map[string]bool // with Share: paths of readable files; links to others are inert
	// Uploaded reports whether the thread has an upload with this name; references to uploads then become links.
	// Without it they are text.
	Uploaded func(name string) bool
	Marks    bool   // keep the page starts of a converted text
	Prefix   string // unique prefix of footnote ids; usually the message id
}

// Render returns the HTML of a finished text.
func Render(src string, o Options) string {
	src, cut := capSource(src, o)
	var b bytes.Buffer
	w := &writer{b: &b, o: o}
	w.render(src)
	if cut {
		w.note("md.cut")
	}
	return clean(b.Bytes())
}

// Partial returns the HTML of a growing text: a Differ's output after src, regardless of the steps.
func Partial(src string, o Options) string {
	d := NewDiffer(o)
	d.Patch(src, false)
	return d.HTML()
}

// Plain returns the text of src without marks, cut to about limit bytes at a rune; for titles and announcements.
func Plain(src string, limit int) string {
	src = src[:runeCut(src, min(4*limit+256, 64<<10))]
	source := []byte(src)
	var b strings.Builder
	_ = ast.Walk(parse(source), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if b.Len() > limit {
			return ast.WalkStop, nil
		}
		if n.Type() == ast.TypeBlock && entering && b.Len() > 0 {
			b.WriteByte(' ')
		}
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
			if t.SoftLineBreak() || t.HardLineBreak() {
				b.WriteByte(' ')
			}
		}
		if entering {
			b.WriteString(inert(n, source))
		}
		return ast.WalkContinue, nil
	})
	s := strings.Join(strings.Fields(b.String()), " ")
	return s[:runeCut(s, limit)]
}

// inert returns the text of an inline without text nodes: formulas, bare addresses, and HTML, which isn't Markdown and
// stays verbatim.
func inert(n ast.Node, source []byte) string {
	switch n := n.(type) {
	case *formula:
		return n.tex
	case *reference:
		return n.written
	case *ast.AutoLink:
		return string(n.Label(source))
	case *ast.RawHTML:
		return string(n.Segments.Value(source))
	}
	return ""
}

var engine = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(
		extension.Table, extension.Strikethrough, extension.Linkify, extension.TaskList, extension.Footnote, math{},
		references{},
	))
})

func parse(source []byte) ast.Node { return engine().Parser().Parse(text.NewReader(source)) }

// runeCut returns the largest length up to n at which s can be cut without splitting a rune.
func runeCut(s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}
