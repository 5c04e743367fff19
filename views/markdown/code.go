package markdown

import (
	"embed"
	"html"
	"io/fs"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/chroma/v2"
)

// The lexers are a selection: the complete set costs more start-up time than
// the rest of the program together.
//
//go:embed lexers/*.xml
var lexerFiles embed.FS

var lexers = sync.OnceValue(func() *chroma.LexerRegistry {
	r := chroma.NewLexerRegistry()
	paths, err := fs.Glob(lexerFiles, "lexers/*.xml")
	if err != nil {
		return r
	}
	for _, p := range paths {
		if l, err := chroma.NewXMLLexer(lexerFiles, p); err == nil {
			r.Register(l)
		}
	}
	if l, err := chroma.NewLexer(&chroma.Config{Name: "Go", Aliases: []string{"go", "golang"},
		Filenames: []string{"*.go"}}, goRules); err == nil {
		r.Register(l)
	}
	return r
})

// lexing serialises the registry's caches; a lexer compiles itself at first use.
var lexing sync.Mutex

func goRules() chroma.Rules {
	return chroma.Rules{"root": {
		{Pattern: `\s+`, Type: chroma.TextWhitespace},
		{Pattern: `//[^\n]*`, Type: chroma.CommentSingle},
		{Pattern: `/\*[\s\S]*?(\*/|$)`, Type: chroma.CommentMultiline},
		{Pattern: chroma.Words(``, `\b`, strings.Fields(
			"break case chan const continue default defer else fallthrough for func go goto if import interface map "+
				"package range return select struct switch type var")...), Type: chroma.Keyword},
		{Pattern: chroma.Words(``, `\b`, strings.Fields("true false iota nil")...), Type: chroma.KeywordConstant},
		{Pattern: chroma.Words(``, `\b`, strings.Fields(
			"any bool byte complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string "+
				"uint uint8 uint16 uint32 uint64 uintptr")...), Type: chroma.KeywordType},
		{Pattern: "`[^`]*`?", Type: chroma.LiteralString},
		{Pattern: `"(\\.|[^"\\\n])*"?`, Type: chroma.LiteralString},
		{Pattern: `'(\\.[^']*|[^'\\\n])'`, Type: chroma.LiteralStringChar},
		{Pattern: `(0[xXbBoO][0-9a-fA-F_]+|[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?i?)`, Type: chroma.LiteralNumber},
		{Pattern: `[^\W\d]\w*(?=\()`, Type: chroma.NameFunction},
		{Pattern: `[^\W\d]\w*`, Type: chroma.Name},
		{Pattern: `[^\s\w"'` + "`" + `]`, Type: chroma.Punctuation},
	}}
}

// code writes a code block with its head: language, wrapping and copy button. A frame draws a diagram once the block
// has ended; growing means that it hasn't. A long block of a finished text is folded. Both switches are check boxes
// styled by CSS, so they need no script.
func (w *writer) code(src, lang string, growing bool) {
	lang = SafeText(strings.ToLower(lang))
	if i := strings.IndexAny(lang, ":{ ,"); i >= 0 {
		lang = lang[:i]
	}
	lang = lang[:runeCut(lang, 24)]
	label := w.t("code.plain")
	if lang != "" {
		label = w.t("code.block", lang)
	}
	drawn := lang == "mermaid" && !growing && len(src) <= maxDiagram && strings.TrimSpace(src) != ""
	lines := strings.Count(strings.TrimRight(src, "\n"), "\n") + 1
	long := lines > foldOver && !drawn && !w.segment
	w.raw(`<div class="cb`)
	if long {
		w.raw(` long`)
	}
	w.raw(`"><div class="cbh"><span>`)
	w.text(lang)
	w.raw(`</span><label class="btn"><input class="vh" name="wrap" type="checkbox">`)
	w.text(w.t("code.wrap"))
	w.raw(`</label><button aria-label="` + html.EscapeString(w.t("code.copy.label")) +
		`" class="btn js" data-copy="code" type="button">`)
	w.text(w.t("code.copy"))
	w.raw(`</button></div>`)
	if drawn {
		w.raw(`<iframe class="dg" loading="lazy" sandbox="allow-scripts" src="/ui/diagram#` +
			html.EscapeString(url.PathEscape(src)) + `" title="` +
			html.EscapeString(w.t("md.diagram")) + `"></iframe><details><summary>`)
		w.text(w.t("md.source"))
		w.raw(`</summary>`)
	}
	w.raw(`<pre aria-label="` + html.EscapeString(label) + `" role="group" tabindex="0"><code>`)
	w.colour(src, lang)
	w.raw(`</code></pre>`)
	if drawn {
		w.raw(`</details>`)
	}
	if long {
		w.raw(`<label class="all"><input class="vh" name="all" type="checkbox"><span>`)
		w.text(w.t("code.all", lines))
		w.raw(`</span><span>`)
		w.text(w.t("code.less"))
		w.raw(`</span></label>`)
	}
	w.raw(`</div>`)
}

// foldOver is the number of code lines shown initially.
const foldOver = 40

// maxDiagram is the longest source in bytes that is drawn.
const maxDiagram = 6 << 10

// openHighlight limits the highlighted part of a growing block: the rest stays plain until the block ends, so that each
// patch is an append.
const openHighlight = 8 << 10

func (w *writer) colour(src, lang string) {
	head, tail := src, ""
	if w.open && len(src) > openHighlight {
		n := strings.LastIndexByte(src[:openHighlight], '\n') + 1
		head, tail = src[:n], src[n:]
	}
	w.raw(Highlight(head, lang))
	w.text(tail)
}

// Highlight returns src as escaped HTML with spans of class k (keyword), s (string), c (comment), m (number), f
// (function), t (tag or type), a (attribute), p (inserted), d (deleted). lang is a language or file name; unknown, very
// long or slow input has no spans.
func Highlight(src, lang string) string {
	if lang == "" || len(src) > maxHighlight || longestLine(src) > 4000 {
		return html.EscapeString(src)
	}
	lexing.Lock()
	lexer := lexers().Get(lang)
	lexing.Unlock()
	if lexer == nil {
		return html.EscapeString(src)
	}
	it, err := lexer.Tokenise(&chroma.TokeniseOptions{State: "root", EnsureLF: false}, src)
	if err != nil {
		return html.EscapeString(src)
	}
	var b strings.Builder
	b.Grow(len(src) * 2)
	seen, last := 0, ""
	limit := time.Now().Add(400 * time.Millisecond)
	for n := 0; ; n++ {
		tok := it()
		if tok == chroma.EOF || n&255 == 255 && time.Now().After(limit) {
			break
		}
		seen += len(tok.Value)
		c := class(tok.Type)
		if c != last {
			if last != "" {
				b.WriteString("</span>")
			}
			if c != "" {
				b.WriteString(`<span class="` + c + `">`)
			}
			last = c
		}
		b.WriteString(html.EscapeString(tok.Value))
	}
	if last != "" {
		b.WriteString("</span>")
	}
	if seen < len(src) {
		b.WriteString(html.EscapeString(src[seen:]))
	}
	return b.String()
}

func longestLine(s string) int {
	longest := 0
	for l := range strings.Lines(s) {
		longest = max(longest, len(l))
	}
	return longest
}

func class(t chroma.TokenType) string {
	switch {
	case t == chroma.KeywordType, t == chroma.NameTag, t == chroma.NameClass, t == chroma.NameNamespace:
		return "t"
	case t == chroma.NameFunction, t == chroma.NameFunctionMagic, t == chroma.NameDecorator, t == chroma.NameBuiltin:
		return "f"
	case t == chroma.NameAttribute, t == chroma.NameProperty, t == chroma.NameVariable:
		return "a"
	case t == chroma.GenericInserted:
		return "p"
	case t == chroma.GenericDeleted:
		return "d"
	case t == chroma.GenericHeading, t == chroma.GenericSubheading:
		return "k"
	case t.InCategory(chroma.Keyword):
		return "k"
	case t.InCategory(chroma.Comment):
		return "c"
	case t.InSubCategory(chroma.LiteralString):
		return "s"
	case t.InSubCategory(chroma.LiteralNumber):
		return "m"
	}
	return ""
}
