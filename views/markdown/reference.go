package markdown

import (
	"context"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// A reference names a place in a file of the reader's: [file.pdf, p. 7] or (file.pdf, p. 7), or in a document of a
// collection: [Handbook/guide.pdf, p. 7]. It becomes a link where there is such an upload or document.

// Limits of references. Excess ones are plain text.
const (
	maxReference  = 400 // bytes of one
	maxReferences = 400 // limit of references per text, as each is looked up
)

// uploadsFolder is the folder of files named in references.
const uploadsFolder = filesRoot + "uploads/"

// knowledgeFolder is the path of collections' documents named in references.
const knowledgeFolder = filesRoot + "knowledge/"

var kindReference = ast.NewNodeKind("Reference")

// reference is one in a line of text.
type reference struct {
	ast.BaseInline
	written string // as written, with brackets
	whole   *citedPlace
	parts   []citedPlace // references if there are several between the brackets
}

// citedPlace is a place in a file that a reference names.
type citedPlace struct {
	written string
	file    string
	at      string // for instance page-7
}

func (*reference) Kind() ast.NodeKind       { return kindReference }
func (n *reference) Dump(src []byte, l int) { ast.DumpHelper(n, src, l, nil, nil) }

type references struct{}

func (references) Extend(m goldmark.Markdown) {
	m.Parser().AddOptions(parser.WithInlineParsers(util.Prioritized(referenceParser{}, 150))) // before links
}

type referenceParser struct{}

func (referenceParser) Trigger() []byte { return []byte{'[', '('} }

func (referenceParser) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	end := closing(line)
	if end < 0 || line[0] == '[' && end+1 < len(line) && strings.IndexByte("([:", line[end+1]) >= 0 {
		return nil
	}
	inside := string(util.UnescapePunctuations(line[1:end]))
	n := &reference{written: string(line[:1]) + inside + string(line[end]), parts: citedPlaces(inside)}
	if one, ok := citedIn(inside); ok {
		n.whole = &one // a name may have semicolons
	} else if n.parts == nil {
		return nil
	}
	block.Advance(end + 1)
	return n
}

func citedIn(s string) (citedPlace, bool) {
	file, place, ok := cutLast(s, ", ")
	at := PlaceOf(place)
	return citedPlace{s, file, at}, ok && at != "" && (isFileName(file) || isDocumentPath(file))
}

// citedPlaces returns the places separated by semicolons. A place without a file refers to the previous file.
func citedPlaces(s string) []citedPlace {
	if !strings.Contains(s, ";") {
		return nil
	}
	var all []citedPlace
	for part := range strings.SplitSeq(s, ";") {
		part = strings.TrimSpace(part)
		one, ok := citedIn(part)
		if at := PlaceOf(part); !ok && at != "" && len(all) > 0 {
			one, ok = citedPlace{part, all[len(all)-1].file, at}, true
		}
		if !ok {
			return nil
		}
		all = append(all, one)
	}
	return all
}

// closing returns the position of the bracket that closes the first one of s, -1 if there is none.
func closing(s []byte) int {
	open, shut := s[0], byte(']')
	if open == '(' {
		shut = ')'
	}
	depth := 0
	for i := 0; i < len(s) && i < maxReference; i++ {
		switch s[i] {
		case '\\':
			i++
		case open:
			depth++
		case shut:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// isFileName reports whether a text can be the name of an upload.
func isFileName(s string) bool {
	return s == strings.TrimSpace(s) && strings.LastIndexByte(s, '.') > 0 && len(s) <= 255 && SafeText(s) == s &&
		!strings.ContainsAny(s, "/\\\x00\n") && !strings.HasPrefix(s, ".")
}

// isDocumentPath reports whether a text can be the path of a document of a collection: Handbook/guide.md.
func isDocumentPath(s string) bool {
	name, doc, ok := strings.Cut(s, "/")
	return ok && name != "" && doc != "" && s == strings.TrimSpace(s) && SafeText(s) == s &&
		!strings.ContainsAny(s, "\\\x00\n") && !strings.HasPrefix(s, ".") && !strings.HasPrefix(s, "http:") && !strings.HasPrefix(s, "https:")
}

// PlaceOf returns the place in a file that words name, such as page-7 for "p. 7" or "pp. 7–9", in the form that
// addresses have; empty when they name none.
func PlaceOf(words string) string {
	for _, k := range []struct{ word, kind string }{
		{"pages", "page"}, {"page", "page"}, {"pp.", "page"}, {"p.", "page"}, {"slide", "slide"}, {"sheet", "sheet"},
		{"chapter", "chapter"}, {"line", "line"}, {"l.", "line"},
	} {
		rest, ok := strings.CutPrefix(words, k.word)
		if !ok {
			continue
		}
		rest = strings.TrimLeft(rest, " \u00a0")
		digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 || n > 9_999_999 || strings.Trim(rest[len(digits):], "0123456789-–— ") != "" {
			return ""
		}
		return fmt.Sprintf("%s-%d", k.kind, n)
	}
	return ""
}

// IsPlace reports whether s is a place as addresses have it.
func IsPlace(s string) bool {
	kind, n, ok := strings.Cut(s, "-")
	return ok && PlaceOf(kind+" "+n) == s
}

// cutPlace splits the place off the address of a file: "#page=7" after it.
func cutPlace(escaped string) (file, at string) {
	file, part, ok := cutLast(escaped, "#")
	if !ok {
		return escaped, ""
	}
	at = strings.Replace(part, "=", "-", 1)
	if !IsPlace(at) {
		return escaped, ""
	}
	return file, at
}

func (w *writer) reference(n *reference) {
	if n.whole != nil {
		if t := w.cited(*n.whole); t.href != "" {
			w.citeFile(t, n.whole.written)
			return
		}
	}
	links, some := make([]target, len(n.parts)), false
	for i, p := range n.parts {
		links[i] = w.cited(p)
		some = some || links[i].href != ""
	}
	if !some {
		w.text(SafeText(n.written))
		return
	}
	for i, p := range n.parts {
		switch {
		case i > 0 && links[i-1].href != "" && links[i].href != "":
			w.raw(" ")
		case i > 0:
			w.raw("; ")
		}
		if links[i].href == "" {
			w.text(SafeText(p.written))
			continue
		}
		w.citeFile(links[i], p.written)
	}
}

// cited returns the target of a place; nothing if there is no such upload.
func (w *writer) cited(p citedPlace) target {
	if w.o.Uploaded == nil || w.inLink > 0 || w.looked == maxReferences {
		return target{}
	}
	w.looked++
	folder, parts := uploadsFolder, strings.Split(p.file, "/")
	if len(parts) > 1 {
		folder = knowledgeFolder
	}
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	t := w.resolveFile(folder + strings.Join(parts, "/"))
	if t.href == "" || !w.o.Uploaded(p.file) {
		return target{}
	}
	return t.in(p.at)
}

func (w *writer) citeFile(t target, written string) {
	end := w.anchor(t, "cite", "")
	w.text(written)
	w.raw(end)
}

// in returns a file's address at a place in it.
func (t target) in(at string) target {
	if t.file != "" && at != "" {
		t.at, t.href = at, t.href+"?at="+at+"#at-"+at
	}
	return t
}

// mark writes where a page of a converted text begins, so that links can lead there; false if src
// isn't such a line.
func (w *writer) mark(src string) bool {
	inside, ok := strings.CutPrefix(strings.TrimSpace(src), "<!-- ")
	if !ok || !w.o.Marks {
		return false
	}
	at := strings.Replace(strings.TrimSuffix(inside, " -->"), " ", "-", 1)
	if !IsPlace(at) {
		return false
	}
	w.raw(`<div id="` + html.EscapeString("at-"+at) + `"></div>`)
	return true
}

// uploadsKey is for the context in which texts are rendered.
type uploadsKey struct{}

// WithUploads returns a context in which references to uploads become links: has reports whether a thread has an upload
// with a name, or its reader a document with a path.
func WithUploads(ctx context.Context, has func(thread, name string) bool) context.Context {
	return context.WithValue(ctx, uploadsKey{}, has)
}

// UploadsOf returns Options.Uploaded for a thread's texts in a context; nil without one.
func UploadsOf(ctx context.Context, thread string) func(name string) bool {
	has, _ := ctx.Value(uploadsKey{}).(func(thread, name string) bool)
	if has == nil || thread == "" {
		return nil
	}
	var known []string // a text often names the same file again
	return func(name string) bool {
		if slices.Contains(known, name) {
			return true
		}
		if !has(thread, name) {
			return false
		}
		known = append(known, name)
		return true
	}
}
