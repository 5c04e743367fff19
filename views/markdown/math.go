package markdown

import (
	"html"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"fawn/views/mathml"
)

// Formulas stand between $ or \( \) in a line, and between $$ or \[ \] as
// display, there also over several lines without an empty one between them.

// Limits of a text's formulas. Others are shown verbatim.
const (
	maxFormulas    = 400
	maxFormulaText = 48 << 10 // total bytes of formulas
)

var (
	kindFormula = ast.NewNodeKind("Formula")
	kindDisplay = ast.NewNodeKind("Display")
)

// formula is one in a line of text.
type formula struct {
	ast.BaseInline
	tex     string
	display bool
}

func (*formula) Kind() ast.NodeKind       { return kindFormula }
func (n *formula) Dump(src []byte, l int) { ast.DumpHelper(n, src, l, nil, nil) }

// display is a formula on separate lines.
type display struct {
	ast.BaseBlock
	end string // its closing mark; empty once it was found
}

func (*display) Kind() ast.NodeKind       { return kindDisplay }
func (*display) IsRaw() bool              { return true }
func (n *display) Dump(src []byte, l int) { ast.DumpHelper(n, src, l, nil, nil) }

// math is the extension of the parser.
type math struct{}

func (math) Extend(m goldmark.Markdown) {
	m.Parser().AddOptions(
		parser.WithBlockParsers(util.Prioritized(displayParser{}, 690)),
		parser.WithInlineParsers(util.Prioritized(formulaParser{}, 90)),
	)
}

type formulaParser struct{}

func (formulaParser) Trigger() []byte { return []byte{'$', '\\'} }

func (formulaParser) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	before := block.PrecendingCharacter()
	n, _ := mathSpan(line, before, false)
	if n == 0 {
		return nil
	}
	block.Advance(n)
	tex, shown := inner(string(line[:n]))
	return &formula{tex: tex, display: shown}
}

type displayParser struct{}

func (displayParser) Trigger() []byte { return []byte{'$', '\\'} }

func (displayParser) Open(_ ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	_, segment := reader.PeekLine()
	pos := pc.BlockOffset()
	if pos < segment.Padding || pc.BlockIndent() > 3 {
		return nil, parser.NoChildren
	}
	// If the formula continues, its rest is in the lines below, verbatim.
	start := segment.Start + pos - segment.Padding
	rest := reader.Source()[start:]
	if n, _ := mathSpan(rest, '\n', true); n == 0 || !isDisplay(rest) || !endsLine(rest[n:]) {
		return nil, parser.NoChildren
	}
	node := &display{end: closer(rest)}
	node.add(text.NewSegment(start, segment.Stop), reader.Source(), 2)
	return node, parser.NoChildren
}

func (displayParser) Continue(n ast.Node, reader text.Reader, _ parser.Context) parser.State {
	node := n.(*display)
	line, segment := reader.PeekLine()
	if node.end == "" || util.IsBlank(line) {
		return parser.Close
	}
	node.add(segment, reader.Source(), 0)
	reader.Advance(segment.Len() - 1)
	return parser.Continue | parser.NoChildren
}

// add adds a line and reports whether the formula ends in it.
func (n *display) add(s text.Segment, src []byte, from int) {
	n.Lines().Append(s)
	if strings.Contains(string(s.Value(src)[from:]), n.end) {
		n.end = ""
	}
}

func (displayParser) Close(ast.Node, text.Reader, parser.Context) {}
func (displayParser) CanInterruptParagraph() bool                 { return true }
func (displayParser) CanAcceptIndentedLine() bool                 { return false }

func isDisplay[T string | []byte](s T) bool { return at(s, 0, "$$") || at(s, 0, `\[`) }

// closer returns the closing mark of the formula at the start of s, empty if there is none.
func closer[T string | []byte](s T) string {
	switch {
	case at(s, 0, "$$"):
		return "$$"
	case at(s, 0, `\[`):
		return `\]`
	case at(s, 0, `\(`):
		return `\)`
	case at(s, 0, "$"):
		return "$"
	}
	return ""
}

func at[T string | []byte](s T, i int, what string) bool {
	return len(s)-i >= len(what) && string(s[i:i+len(what)]) == what
}

// inner returns a formula without its delimiters.
func inner(s string) (tex string, display bool) {
	end := closer(s)
	return strings.TrimSpace(s[len(end) : len(s)-len(end)]), isDisplay(s)
}

// mathSpan returns the length of the formula that s begins with, 0 if there is none. open means that the text may still
// become one. before is the character before s. With lines the formula may span lines, but not an empty one.
//
// It scans only up to the next possible formula, so a text of many openings takes linear time.
func mathSpan[T string | []byte](s T, before rune, lines bool) (n int, open bool) {
	end := closer(s)
	if end == "" || end == "$" && (isWord(before) || before == '$') {
		return 0, false
	}
	lines = lines && isDisplay(s)
	for i := len(end); i < len(s); i++ {
		switch {
		case at(s, i, end):
			tex := string(s[len(end):i])
			if strings.TrimSpace(tex) == "" || end == "$" && (!tight(tex) || i+1 < len(s) && isDigit(s[i+1]) ||
				isProse(tex)) {
				return 0, false
			}
			return i + len(end), false
		case i >= mathml.MaxSource, at(s, i, string(s[:len(end)])), s[i] == '\n' && (!lines || blankLine(s[i+1:])):
			return 0, false
		case s[i] == '\\':
			i++
		}
	}
	if end == "$" && len(s) > 1 && (s[1] == ' ' || isProse(string(s[1:]))) {
		return 0, false
	}
	return 0, true
}

// blankLine reports whether s begins with a whole line that is empty.
func blankLine[T string | []byte](s T) bool {
	for i := range len(s) {
		switch s[i] {
		case '\n':
			return true
		case ' ', '\t', '>':
		default:
			return false
		}
	}
	return false
}

func isWord(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func tight(tex string) bool { return strings.TrimSpace(tex) == tex }

// endsLine reports whether only punctuation follows in the line.
func endsLine(s []byte) bool {
	for _, c := range s {
		if c == '\n' {
			return true
		}
		if strings.IndexByte(".,;:!? \t", c) < 0 {
			return false
		}
	}
	return true
}

// isProse reports whether the text after a dollar sign looks like an amount of money with words: two words of four
// letters, or a number followed by a word.
func isProse(s string) bool {
	if s != "" && isDigit(s[0]) {
		rest := strings.TrimLeft(s, "0123456789.,")
		if word := strings.TrimLeft(rest, " "); len(word) < len(rest) && letters(word) >= 2 {
			return true
		}
	}
	words := 0
	for i := 0; i < len(s); {
		switch n := letters(s[i:]); {
		case s[i] == '\\':
			n = letters(s[i+1:])
			i += 1 + n
			if strings.HasPrefix(s[i:], "{") && n >= 4 { // \text{some words}
				if end := strings.IndexByte(s[i:], '}'); end >= 0 {
					i += end
				} else {
					return false
				}
			}
		case n >= 4:
			words++
			i += n
		default:
			i += max(n, 1)
		}
	}
	return words >= 2
}

func letters(s string) int {
	n := 0
	for n < len(s) && (s[n] >= 'a' && s[n] <= 'z' || s[n] >= 'A' && s[n] <= 'Z') {
		n++
	}
	return n
}

// openMath returns where a formula begins at the end of a growing block that is not whole yet, or the length of the
// block.
func openMath(block string) int {
	if len(block) > maxMend {
		return len(block)
	}
	before := '\n'
	for i := 0; i < len(block); {
		step := 1
		switch block[i] {
		case '`':
			k := run(block[i:])
			step = k
			if end := strings.Index(block[i+k:], block[i:i+k]); end >= 0 {
				step = end + 2*k
			}
		case '$', '\\':
			n, open := mathSpan(block[i:], before,
				strings.TrimSpace(block[strings.LastIndexByte(block[:i], '\n')+1:i]) == "")
			if open {
				return i
			}
			step = max(n, 1)
			if n == 0 && block[i] == '\\' {
				step = min(2, len(block)-i)
			}
		}
		i += step
		before = rune(block[i-1])
	}
	return len(block)
}

// formula writes one in a line of text.
func (w *writer) formula(tex string, shown bool) {
	m, ok := w.mathML(tex, shown)
	switch {
	case !ok:
		w.raw("<code>")
		w.text(tex)
		w.raw("</code>")
	case shown:
		w.formulaBox("span", m)
	default:
		w.raw(m)
	}
}

// display writes a formula on separate lines.
func (w *writer) display(n *display) {
	src := strings.TrimSpace(w.lines(n))
	open, end := closer(src), strings.LastIndex(src, closer(src))
	if open == "" || n.end != "" || end < len(open) {
		w.raw("<p>")
		w.text(src)
		w.raw("</p>")
		return
	}
	tex := strings.TrimSpace(src[len(open):end]) +
		strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(src[end:], "$$"), `\]`))
	m, ok := w.mathML(tex, true)
	switch {
	case ok:
		w.formulaBox("div", m)
	case w.tooManyFormulas():
		w.raw("<p>")
		w.text(src)
		w.raw("</p>")
	default:
		w.code(tex, "latex", false)
	}
}

// formulaBox makes a wide formula scrollable.
func (w *writer) formulaBox(tag, m string) {
	w.raw(`<` + tag + ` aria-label="` + html.EscapeString(w.t("md.formula")) +
		`" class="tex" role="group" tabindex="0">` + m + `</` + tag + `>`)
}

func (w *writer) mathML(tex string, shown bool) (string, bool) {
	w.formulas++
	w.formulaText += len(tex)
	if w.tooManyFormulas() {
		return "", false
	}
	m, err := mathml.Render(tex, shown)
	return m, err == nil
}

func (w *writer) tooManyFormulas() bool {
	return w.formulas > maxFormulas || w.formulaText > maxFormulaText
}
