package skilltool

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // formats of pictures that documents may have
	_ "image/jpeg" // likewise
	_ "image/png"  // likewise
	"net/url"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// maxPixels limits the size of a picture.
const maxPixels = 50_000_000

// doc is a parsed document.
type doc struct {
	source        []byte // without the front matter
	dir           string // where its pictures are
	title, author string
	blocks        []block
}

// kind is the type of a block.
type kind int

const (
	para kind = iota
	heading
	item
	code
	table
	picture
	rule
	graph
)

// block is a paragraph, or another block of the document.
type block struct {
	kind    kind
	level   int // level of a heading from 1, of an item from 0
	quote   bool
	spans   []span
	ordered bool
	list    int // number of the item's list, unique in the document
	number  int // number of an ordered item; 0 continues the one before
	text    string
	rows    [][][]span // the first is the head
	align   []int      // column alignments given in the Markdown
	said    []bool     // the Markdown sets the column's alignment, even to the default
	pic     *pic
	graph   *chart
}

// span is text in one style.
type span struct {
	text                       string
	bold, italic, mono, struck bool
	link                       string
	size                       int // in points, 0 for that of the style
}

// pic is a picture in a document.
type pic struct {
	data          []byte
	format        string // png, jpeg, gif or svg
	width, height int
	alt           string
}

func markdown() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify))
}

// parse parses Markdown with an optional title and author between lines of ---.
func parse(source []byte, dir string) (*doc, error) {
	source = bytes.ReplaceAll(bytes.TrimPrefix(source, []byte("\ufeff")), []byte("\r\n"), []byte("\n"))
	if !utf8.Valid(source) {
		return nil, errors.New("the text is not UTF-8")
	}
	d := &doc{dir: dir}
	d.source = d.front(source)
	blocks, err := d.read(d.source)
	d.blocks = blocks
	for _, b := range blocks {
		if d.title == "" && b.kind == heading {
			d.title = plain(b.spans)
		}
	}
	return d, err
}

// front removes the front matter.
func (d *doc) front(source []byte) []byte {
	rest, found := bytes.CutPrefix(source, []byte("---\n"))
	if !found {
		return source
	}
	head, body, found := bytes.Cut(rest, []byte("\n---\n"))
	if !found {
		return source
	}
	meta := map[string]string{}
	for line := range strings.Lines(string(head)) {
		key, value, ok := strings.Cut(line, ":")
		if !ok || strings.ContainsAny(key, " #*") {
			return source // slides may begin with a line of ---
		}
		meta[strings.ToLower(key)] = strings.Trim(strings.TrimSpace(value), `"'`)
	}
	d.title, d.author = meta["title"], meta["author"]
	return body
}

// reader converts a Markdown tree to blocks.
type reader struct {
	doc   *doc
	src   []byte
	out   []block
	lists int
	quote bool
}

func (d *doc) read(source []byte) ([]block, error) {
	r := &reader{doc: d, src: source}
	root := markdown().Parser().Parse(text.NewReader(source))
	if err := r.children(root, -1, nil); err != nil {
		return nil, err
	}
	return r.out, nil
}

// place is the list item that contains blocks.
type place struct {
	list, number int
	ordered      bool
}

func (r *reader) children(n ast.Node, depth int, in *place) error {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if err := r.block(c, depth, in); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) add(b block, depth int, in *place) {
	b.quote = r.quote
	if in != nil && b.kind == para {
		b.kind, b.level, b.list, b.ordered, b.number = item, depth, in.list, in.ordered, in.number
		in.number = 0
	}
	r.out = append(r.out, b)
}

func (r *reader) block(n ast.Node, depth int, in *place) error {
	switch n := n.(type) {
	case *ast.Heading:
		r.add(block{kind: heading, level: n.Level, spans: r.spans(n, span{})}, depth, nil)
	case *ast.Paragraph, *ast.TextBlock:
		if img, ok := n.FirstChild().(*ast.Image); ok && img.NextSibling() == nil {
			p, err := r.doc.picture(string(img.Destination), plain(r.spans(img, span{})))
			if err != nil {
				return err
			}
			r.add(block{kind: picture, pic: p}, depth, nil)
			return nil
		}
		r.add(block{kind: para, spans: r.spans(n, span{})}, depth, in)
	case *ast.List:
		r.lists++
		at := r.lists
		if in != nil {
			at = in.list // nested lists belong to the one around them
		}
		number := max(n.Start, 1)
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if err := r.children(c, depth+1, &place{at, number, n.IsOrdered()}); err != nil {
				return err
			}
			number++
		}
	case *ast.FencedCodeBlock:
		if isChart(string(n.Language(r.src))) {
			ch, err := r.doc.figure(r.lines(n), r.above(n))
			if err != nil {
				return err
			}
			r.add(block{kind: graph, graph: ch}, depth, nil)
			return nil
		}
		r.add(block{kind: code, text: r.lines(n)}, depth, nil)
	case *ast.CodeBlock:
		r.add(block{kind: code, text: r.lines(n)}, depth, nil)
	case *ast.Blockquote:
		old := r.quote
		r.quote = true
		err := r.children(n, depth, in)
		r.quote = old
		return err
	case *ast.ThematicBreak:
		r.add(block{kind: rule}, depth, nil)
	case *east.Table:
		b := block{kind: table, rows: r.rows(n)}
		for _, a := range n.Alignments {
			b.align = append(b.align, map[east.Alignment]int{east.AlignRight: right, east.AlignCenter: middle}[a])
			b.said = append(b.said, a != east.AlignNone)
		}
		r.add(b, depth, nil)
	case *ast.HTMLBlock: // HTML has no meaning in these documents
	default:
		return r.children(n, depth, in)
	}
	return nil
}

// above returns the rows of the table right before a block, nil without one.
func (r *reader) above(n ast.Node) [][][]span {
	if t, ok := n.PreviousSibling().(*east.Table); ok {
		return r.rows(t)
	}
	return nil
}

// rows returns the cells of a table.
func (r *reader) rows(t *east.Table) (out [][][]span) {
	for row := t.FirstChild(); row != nil; row = row.NextSibling() {
		var cells [][]span
		for c := row.FirstChild(); c != nil; c = c.NextSibling() {
			cells = append(cells, r.spans(c, span{}))
		}
		out = append(out, cells)
	}
	return out
}

// plainText returns the text of a block.
func (b block) plainText() string {
	switch b.kind {
	case item:
		if b.ordered && b.number > 0 {
			return fmt.Sprintf("%d. %s", b.number, plain(b.spans))
		}
		return "• " + plain(b.spans)
	case code:
		return b.text
	}
	return plain(b.spans)
}

func (r *reader) lines(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		s := n.Lines().At(i)
		b.Write(s.Value(r.src))
	}
	return strings.TrimRight(b.String(), "\n")
}

// spans returns the text of a node; look is the surrounding style.
func (r *reader) spans(n ast.Node, look span) (out []span) {
	put := func(s string) {
		look := look
		look.text = s
		out = append(out, look)
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		inner := look
		switch c := c.(type) {
		case *ast.Text:
			put(bound(unescape(string(c.Segment.Value(r.src)))))
			switch {
			case c.HardLineBreak():
				put("\n")
			case c.SoftLineBreak():
				put(" ")
			}
			continue
		case *ast.String:
			put(string(c.Value))
			continue
		case *ast.AutoLink:
			inner.link = string(c.URL(r.src))
			inner.text = string(c.Label(r.src))
			out = append(out, inner)
			continue
		case *ast.RawHTML:
			if seg := c.Segments.At(0); strings.HasPrefix(strings.ToLower(string(seg.Value(r.src))), "<br") {
				put("\n")
			}
			continue
		case *ast.Emphasis:
			inner.bold = inner.bold || c.Level == 2
			inner.italic = inner.italic || c.Level == 1
		case *ast.CodeSpan:
			inner.mono = true
		case *east.Strikethrough:
			inner.struck = true
		case *ast.Link:
			inner.link = string(c.Destination)
		}
		out = append(out, r.spans(c, inner)...)
	}
	return out
}

// bound keeps numbers and their units on one line.
func bound(s string) string {
	if !strings.ContainsAny(s, "%‰€$£¥") {
		return s
	}
	list := []rune(s)
	for i := 1; i+1 < len(list); i++ {
		before, after := list[i-1], list[i+1]
		if list[i] == ' ' && (unicode.IsDigit(before) && strings.ContainsRune("%‰€$£¥", after) ||
			strings.ContainsRune("€$£¥", before) && unicode.IsDigit(after)) {
			list[i] = '\u00a0'
		}
	}
	return string(list)
}

// unescape resolves backslashes and the usual character references.
func unescape(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", s[i+1]) >= 0 {
			i++
		}
		b.WriteByte(s[i])
	}
	return strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">", "&quot;", `"`, "&nbsp;", "\u00a0",
		"&mdash;", "—", "&ndash;", "–", "&hellip;", "…").Replace(b.String())
}

func plain(spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(s.text)
	}
	return b.String()
}

// beside returns the path of a file that the document refers to.
func (d *doc) beside(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(d.dir, name)
}

// picture reads a picture beside the document.
func (d *doc) picture(name, alt string) (*pic, error) {
	if strings.Contains(name, "://") || strings.HasPrefix(name, "data:") {
		return nil, fmt.Errorf("picture %.80s: only files can be shown; load it first", name)
	}
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	data, err := readFile(d.beside(name))
	if err != nil {
		return nil, fmt.Errorf("picture %s: %w", name, err)
	}
	p := &pic{data: data, alt: alt}
	if bytes.Contains(data[:min(len(data), 1024)], []byte("<svg")) {
		p.format = "svg"
		return p, nil
	}
	conf, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("picture %s: neither PNG, JPEG, GIF nor SVG", name)
	}
	if conf.Width*conf.Height > maxPixels || conf.Width == 0 || conf.Height == 0 {
		return nil, fmt.Errorf("picture %s: %d×%d pixels are too many", name, conf.Width, conf.Height)
	}
	p.format, p.width, p.height = format, conf.Width, conf.Height
	return p, nil
}

// drawn rejects pictures that an office format can't show.
func (p *pic) drawn() error {
	if p.format == "svg" {
		return errors.New("SVG pictures can be shown in html and deck only; use the PNG (chart makes one)")
	}
	return nil
}
