package skilltool

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	goldhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// maxSlides limits the slides of a deck.
const maxSlides = 300

// slide is one slide: a title and its content.
type slide struct {
	title  []span
	cover  bool // consists of a title and a few lines
	blocks []block
	notes  []block // speaker notes
	source []byte
}

// slides splits a document at lines of ---, or without such lines at its headings of the first two
// levels.
func (d *doc) slides() (out []slide, err error) {
	parts := cutAt(d.source, func(line string) bool { return line == "---" }, false)
	if len(parts) == 1 {
		parts = cutAt(d.source, func(line string) bool {
			return strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "## ")
		}, true)
	}
	for _, part := range parts {
		if len(bytes.TrimSpace(part)) == 0 {
			continue
		}
		halves := cutAt(part, func(line string) bool { _, is := notesLine(line); return is }, true)
		for i, half := range halves[1:] {
			line, rest, _ := bytes.Cut(half, []byte("\n"))
			said, _ := notesLine(strings.TrimRight(string(line), " \t\r"))
			halves[i+1] = append([]byte(said+"\n"), rest...)
		}
		s := slide{source: halves[0]}
		if s.blocks, err = d.read(s.source); err == nil && len(halves) > 1 {
			s.notes, err = d.read(bytes.Join(halves[1:], []byte("\n")))
		}
		if err != nil {
			return nil, fmt.Errorf("slide %d: %w", len(out)+1, err)
		}
		for i, b := range s.blocks {
			if b.kind == heading {
				s.title = b.spans
				s.blocks = append(s.blocks[:i:i], s.blocks[i+1:]...)
				s.cover = b.level == 1 && onlyText(s.blocks) || len(s.blocks) == 0
				break
			}
		}
		out = append(out, s)
	}
	switch {
	case len(out) == 0:
		return nil, fmt.Errorf("there are no slides in the text")
	case len(out) > maxSlides:
		return nil, fmt.Errorf("%d slides are more than %d", len(out), maxSlides)
	}
	return out, nil
}

// notesLine reports whether speaker notes begin with a line, and returns their text on it. The label may be
// emphasized, alone or together with the text behind it.
func notesLine(line string) (said string, is bool) {
	const marks = "* _"
	at := strings.IndexAny(line, ":：")
	if at < 0 {
		return "", false
	}
	_, size := utf8.DecodeRuneInString(line[at:])
	label, said := line[:at], strings.TrimSpace(line[at+size:])
	switch strings.ToLower(strings.Trim(label, marks)) {
	case "notes", "speaker notes", "备注":
	default:
		return "", false
	}
	if strings.Trim(said, marks) == "" { // nothing but the label
		return "", true
	}
	front := strings.TrimLeft(label, " ")
	if len(label)-len(front) > 3 || strings.HasPrefix(front, "* ") { // code, or a point of a list
		return "", false
	}
	opened := front[:len(front)-len(strings.TrimLeft(front, "*_"))]
	if closed := strings.HasSuffix(strings.TrimRight(label, " "), opened); opened != "" && !closed {
		rest, ok := strings.CutPrefix(said, opened)
		if !ok {
			rest = strings.TrimSuffix(said, opened)
		}
		said = strings.TrimSpace(rest)
	}
	return said, true
}

func onlyText(blocks []block) bool {
	for _, b := range blocks {
		if b.kind != para {
			return false
		}
	}
	return len(blocks) <= 4
}

// cutAt splits a text at lines outside of code; keep includes the line in the following part.
func cutAt(source []byte, at func(line string) bool, keep bool) (out [][]byte) {
	var now bytes.Buffer
	fence := ""
	for line := range bytes.Lines(source) {
		bare := strings.TrimRight(string(line), " \t\r\n")
		mark := strings.TrimLeft(bare, " ")
		switch {
		case fence != "":
			if strings.HasPrefix(mark, fence) {
				fence = ""
			}
		case strings.HasPrefix(mark, "```"), strings.HasPrefix(mark, "~~~"):
			fence = mark[:3]
		case at(bare):
			out = append(out, bytes.Clone(now.Bytes()))
			now.Reset()
			if !keep {
				continue
			}
		}
		now.Write(line)
	}
	return append(out, now.Bytes())
}

// inside embeds images in the page, which must not depend on other files.
type inside struct {
	doc *doc
}

// RegisterFuncs implements goldmark's NodeRenderer.
func (in inside) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindImage, func(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkSkipChildren, nil
		}
		img := n.(*ast.Image)
		p, err := in.doc.picture(string(img.Destination), "")
		if err != nil {
			return ast.WalkStop, err
		}
		kind := p.format
		if kind == "svg" {
			kind = "svg+xml"
		}
		r := reader{doc: in.doc, src: src}
		_, err = fmt.Fprintf(w, `<img alt="%s" src="data:image/%s;base64,%s">`,
			html.EscapeString(plain(r.spans(img, span{}))), kind, base64.StdEncoding.EncodeToString(p.data))
		return ast.WalkSkipChildren, err
	})
}

// drawings renders charts into the page and leaves other code unchanged.
type drawings struct {
	doc *doc
}

// RegisterFuncs implements goldmark's NodeRenderer.
func (in drawings) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, func(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkSkipChildren, nil
		}
		text := (&reader{doc: in.doc, src: src}).lines(n)
		if !isChart(string(n.(*ast.FencedCodeBlock).Language(src))) {
			_, err := fmt.Fprintf(w, "<pre><code>%s\n</code></pre>\n", html.EscapeString(text))
			return ast.WalkSkipChildren, err
		}
		ch, err := in.doc.figure(text, (&reader{doc: in.doc, src: src}).above(n))
		if err != nil {
			return ast.WalkStop, err
		}
		data, err := ch.vector()
		if err == nil {
			_, err = fmt.Fprintf(w, "<p><img class=\"chart\" alt=\"%s\" src=\"data:image/svg+xml;base64,%s\"></p>\n",
				html.EscapeString(ch.alt()), base64.StdEncoding.EncodeToString(data))
		}
		return ast.WalkSkipChildren, err
	})
}

// numbered marks the cells of numeric columns, which are right-aligned.
type numbered struct{}

// Transform implements goldmark's ASTTransformer.
func (numbered) Transform(root *ast.Document, r text.Reader, _ parser.Context) {
	look := reader{src: r.Source()}
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		t, ok := n.(*east.Table)
		if !ok {
			continue
		}
		b := block{rows: look.rows(t)}
		for _, a := range t.Alignments {
			b.align, b.said = append(b.align, left), append(b.said, a != east.AlignNone)
		}
		for i, side := range b.sides() {
			if side == right && i < len(t.Alignments) && t.Alignments[i] == east.AlignNone {
				t.Alignments[i] = east.AlignRight
				for row := t.FirstChild(); row != nil; row = row.NextSibling() {
					c := row.FirstChild()
					for range i {
						if c != nil {
							c = c.NextSibling()
						}
					}
					if cell, ok := c.(*east.TableCell); ok {
						cell.Alignment = east.AlignRight
					}
				}
			}
		}
	}
}

// rendered converts Markdown to HTML.
func (d *doc) rendered(source []byte) (string, error) {
	md := markdown()
	md.Parser().AddOptions(parser.WithASTTransformers(util.Prioritized(numbered{}, 1)))
	md.Renderer().AddOptions(goldhtml.WithXHTML(), renderer.WithNodeRenderers(util.Prioritized(inside{d}, 1),
		util.Prioritized(drawings{d}, 1)))
	var b bytes.Buffer
	root := md.Parser().Parse(text.NewReader(source))
	err := md.Renderer().Render(&b, source, root)
	return b.String(), err
}

func writePage(_ call, d *doc) ([]byte, error) {
	body, err := d.rendered(d.source)
	if err != nil {
		return nil, err
	}
	return []byte(htmlHead(d.title) + pageStyle + "</head>\n<body>\n<main>\n" + body +
		"</main>\n</body>\n</html>\n"), nil
}

func htmlHead(title string) string {
	language := ""
	if languageOf(title) == "zh-CN" {
		language = ` lang="zh-CN"`
	}
	return "<!doctype html>\n<html" + language + ">\n<head>\n<meta charset=\"utf-8\">\n" +
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" + html.EscapeString(title) +
		"</title>\n"
}

const pageStyle = `<style>
body { margin: 0; background: #fff; color: #1d2530; font: 16px/1.6 system-ui, "Segoe UI", Roboto, sans-serif; }
main { max-width: 46rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; overflow-wrap: break-word; }
h1, h2, h3 { line-height: 1.25; margin: 1.8em 0 .5em; }
h1 { font-size: 2rem; margin-top: 0; }
img { max-width: 100%; height: auto; }
table { border-collapse: collapse; display: block; overflow-x: auto; font-variant-numeric: tabular-nums; }
th, td { border: 1px solid #d5dae1; padding: .35rem .7rem; text-align: left; }
[align=right] { text-align: right; }
[align=center] { text-align: center; }
th { background: #f1f4f8; }
pre { background: #f4f6f8; padding: .9rem 1rem; overflow-x: auto; border-radius: 6px; }
code { font-family: ui-monospace, Consolas, monospace; font-size: .9em; }
blockquote { margin: 1em 0; padding-left: 1em; border-left: 4px solid #cfd6df; color: #515c69; }
a { color: #1459b3; }
</style>
`

func writeDeck(_ call, d *doc) ([]byte, error) {
	list, err := d.slides()
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString(htmlHead(d.title) + deckStyle + "</head>\n<body>\n")
	for i, s := range list {
		body, err := d.rendered(s.source)
		if err != nil {
			return nil, fmt.Errorf("slide %d: %w", i+1, err)
		}
		class := ""
		if s.cover {
			class = ` class="cover"`
		}
		notes := ""
		if len(s.notes) > 0 {
			var text []string
			for _, n := range s.notes {
				text = append(text, html.EscapeString(n.plainText()))
			}
			notes = "<aside hidden>" + strings.Join(text, "<br>") + "</aside>\n"
		}
		fmt.Fprintf(&b, "<section%s id=\"s%d\">\n%s%s</section>\n", class, i+1, body, notes)
	}
	b.WriteString("<nav aria-label=\"Slides\"><button id=\"back\" aria-label=\"Previous slide\">‹</button>" +
		"<output id=\"at\"></output><button id=\"next\" aria-label=\"Next slide\">›</button>" +
		"<button id=\"notes\" aria-pressed=\"false\" hidden>Notes</button></nav>\n" +
		deckScript + "</body>\n</html>\n")
	return []byte(b.String()), nil
}

const deckStyle = `<style>
html, body { margin: 0; height: 100%; background: #10151c; color: #1d2530; }
body { font: 3.2vmin/1.45 system-ui, "Segoe UI", Roboto, sans-serif; }
section { box-sizing: border-box; width: min(100vw, 177.78vh); height: min(100vh, 56.25vw); padding: 6vmin 8vmin; background: #fff;
  position: absolute; inset: 0; margin: auto; overflow: auto; display: none; }
section.on { display: flex; flex-direction: column; }
section > * { flex: none; }
h1, h2 { font-size: 1.6em; line-height: 1.2; margin: 0 0 .8em; color: #14385f; }
.cover { background: #14385f; justify-content: center; }
.cover, .cover h1, .cover h2 { color: #fff; }
.cover h1, .cover h2 { font-size: 2.5em; margin: 0 0 .4em; }
.cover h1::after, .cover h2::after { content: ""; display: block; width: 2.4em; height: .1em; margin-top: .4em; background: #e08a2e; }
.cover p { margin: 0; }
ul, ol { margin: 0 0 .6em; padding-left: 1.2em; }
li { margin: .25em 0; }
img { max-width: 100%; max-height: 52vmin; object-fit: contain; }
img.chart { display: block; height: 68vmin; max-height: none; margin: 0 auto; }
blockquote { margin: auto 0 0; padding: .6em 1em; background: #eef2f7; border-left: .3em solid #e08a2e; }
blockquote p { margin: 0; }
section.on:has(> ul, > ol):has(> p > img:only-child) { display: grid; grid-template-columns: 2fr 3fr; grid-auto-rows: min-content; column-gap: 2em; }
section > h1, section > h2, section > table, section > pre { grid-column: 1 / -1; }
section:has(> ul, > ol) > p:has(> img:only-child) { grid-column: 2; grid-row: 2 / span 9; margin: 0; }
section:has(> ul, > ol) > p > img.chart { width: 100%; height: auto; }
table { border-collapse: collapse; font-size: .95em; min-width: 60%; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid #cfd6df; padding: .4em .9em; text-align: left; }
[align=right] { text-align: right; }
[align=center] { text-align: center; }
th { border-bottom: 2px solid #2f6fb7; color: #14385f; }
aside { position: absolute; left: 0; right: 0; bottom: 0; padding: 1em 8vmin; background: #fff8e6; border-top: 2px solid #e08a2e; font-size: .8em; }
pre { background: #f1f4f8; padding: .7em 1em; overflow: auto; font-size: .75em; }
nav { position: fixed; right: 1rem; bottom: .7rem; font: 14px system-ui, sans-serif; color: #7d8896; }
nav button { font: inherit; color: inherit; background: none; border: 0; padding: .3rem .6rem; cursor: pointer; }
@media print { @page { size: 13.333in 7.5in; margin: 0; } html, body { height: auto; background: none; } nav { display: none; }
  section, section.on { display: flex; flex-direction: column; position: relative; width: 13.333in; height: 7.5in; break-after: page; }
  aside { display: none; } * { print-color-adjust: exact; } }
</style>
`

const deckScript = `<script>
const all = [...document.querySelectorAll('section')];
let at = Math.max(0, all.findIndex((s) => '#' + s.id === location.hash));
function show(n) {
  at = Math.min(Math.max(n, 0), all.length - 1);
  all.forEach((s, i) => s.classList.toggle('on', i === at));
  document.getElementById('at').textContent = (at + 1) + ' / ' + all.length;
  const notes = all[at].querySelector('aside');
  document.getElementById('notes').hidden = !notes;
  if (notes) notes.hidden = document.getElementById('notes').getAttribute('aria-pressed') !== 'true';
  try { history.replaceState(null, '', '#' + all[at].id); } catch { /* a frame without an address */ }
}
addEventListener('keydown', (e) => {
  if (['ArrowRight', 'ArrowDown', 'PageDown', ' '].includes(e.key)) show(at + 1);
  else if (['ArrowLeft', 'ArrowUp', 'PageUp'].includes(e.key)) show(at - 1);
  else if (e.key === 'n') document.getElementById('notes').click();
  else if (e.key === 'Home') show(0);
  else if (e.key === 'End') show(all.length - 1);
  else return;
  e.preventDefault();
});
document.getElementById('notes').onclick = (e) => {
  const on = e.currentTarget.getAttribute('aria-pressed') !== 'true';
  e.currentTarget.setAttribute('aria-pressed', on);
  show(at);
};
document.getElementById('back').onclick = () => show(at - 1);
document.getElementById('next').onclick = () => show(at + 1);
show(at);
</script>
`
