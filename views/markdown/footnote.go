package markdown

import (
	"html"
	"net/url"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// Footnotes are identified by label, because a part of a growing text doesn't know the number of earlier notes.

func footnoteLabels(doc ast.Node) map[int]string {
	var m map[int]string
	for n := doc.LastChild(); n != nil; n = n.PreviousSibling() {
		list, ok := n.(*extast.FootnoteList)
		if !ok {
			continue
		}
		m = map[int]string{}
		for c := list.FirstChild(); c != nil; c = c.NextSibling() {
			if f, ok := c.(*extast.Footnote); ok {
				m[f.Index] = string(f.Ref)
			}
		}
	}
	return m
}

func (w *writer) noteID(label string) string {
	return "fn-" + w.o.Prefix + "-" + url.PathEscape(label)
}

func (w *writer) footnoteLink(n *extast.FootnoteLink) {
	label := w.refs[n.Index]
	if w.inLink > 0 {
		w.text("[" + label + "]")
		return
	}
	w.raw(`<sup class="fn"><a href="#` + html.EscapeString(w.noteID(label)) + `">`)
	w.text(label)
	w.raw(`</a></sup>`)
}

func (w *writer) footnotes(list *extast.FootnoteList) {
	if w.segment {
		return
	}
	w.raw(`<section aria-label="` + html.EscapeString(w.t("md.footnotes")) + `" class="fns"><ul>`)
	for c := list.FirstChild(); c != nil; c = c.NextSibling() {
		f, ok := c.(*extast.Footnote)
		if !ok {
			continue
		}
		w.raw(`<li id="` + html.EscapeString(w.noteID(string(f.Ref))) + `"><span class="fn">`)
		w.text(string(f.Ref))
		w.raw(`</span><div>`)
		w.children(f)
		w.raw(`</div></li>`)
	}
	w.raw(`</ul></section>`)
}

// declareNotes adds empty definitions for notes that src refers to, so that their marks are parsed as notes before
// their definitions arrive.
func declareNotes(src string) string {
	if !strings.Contains(src, "[^") {
		return src
	}
	var add strings.Builder
	seen := map[string]bool{}
	for rest := src; len(seen) < 200; {
		i := strings.Index(rest, "[^")
		if i < 0 {
			break
		}
		rest = rest[i+2:]
		end := strings.IndexAny(rest[:min(len(rest), 42)], "] \n[")
		if end <= 0 || rest[end] != ']' {
			continue
		}
		label := rest[:end]
		if strings.HasPrefix(rest[end:], "]:") {
			seen[label] = true
		}
		if !seen[label] && !strings.Contains(src, "[^"+label+"]:") {
			add.WriteString("\n\n[^" + label + "]: -")
		}
		seen[label] = true
	}
	return src + add.String()
}
