package convert

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

// page reads a web page.
func page(d *draft, data []byte) error {
	if len(data) > maxPart {
		return Limits
	}
	doc, err := d.parsePage(data)
	if err != nil {
		return err
	}
	text, err := markdownOf(doc)
	d.block(text)
	return err
}

// parsePage reads a page in the chosen encoding, otherwise in the declared one, otherwise in the
// detected one.
func (d *draft) parsePage(data []byte) (*html.Node, error) {
	head := data[:min(len(data), 1024)]
	_, name, _ := charset.DetermineEncoding(head, "")
	declared := bytes.Contains(bytes.ToLower(head), []byte("charset")) && name != "utf-8"
	if d.chosen == "" && (declared || utf8.Valid(data)) {
		return parsed(data, "text/html")
	}
	text, err := d.decode(data)
	if err != nil {
		return nil, err
	}
	return parsed([]byte(text), "text/html; charset=utf-8")
}

// parsed returns a page of a content type.
func parsed(data []byte, kind string) (*html.Node, error) {
	r, err := charset.NewReader(bytes.NewReader(data), kind)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", Damaged, err)
	}
	doc, err := html.Parse(r) // rejects too deep nesting
	if err != nil {
		return nil, fmt.Errorf("%w: %w", Limits, err)
	}
	return doc, nil
}

// markdown translates HTML. Pictures that are written out in the page are dropped.
func markdown(data []byte, kind string) (string, error) {
	doc, err := parsed(data, kind)
	if err != nil {
		return "", err
	}
	return markdownOf(doc)
}

// markdownOf translates a part of a page.
func markdownOf(doc *html.Node) (string, error) {
	shorten(doc)
	oneLineCells(doc)
	c := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(),
		strikethrough.NewStrikethroughPlugin(), table.NewTablePlugin(table.WithHeaderPromotion(true))))
	b, err := c.ConvertNode(doc)
	if err != nil {
		return "", fmt.Errorf("%w: %w", Damaged, err)
	}
	return strings.ReplaceAll(string(b), "<!--THE END-->\n\n", ""), nil
}

func shorten(n *html.Node) {
	for at := range n.Descendants() {
		if at.DataAtom == atom.A && attribute(at, "href") == "" { // an anchor that links refer to
			at.Data, at.DataAtom = "span", atom.Span
		}
		for i, a := range at.Attr {
			if strings.HasPrefix(a.Val, "data:") {
				at.Attr[i].Val = "data:"
			}
		}
	}
}

// oneLineCells reduces table cells to content that Markdown allows. An outer table is removed if it is for layout, and
// otherwise contains the inner ones as text.
func oneLineCells(doc *html.Node) {
	var tables []*html.Node
	for n := range doc.Descendants() {
		if n.DataAtom == atom.Table {
			tables = append(tables, n)
		}
	}
	for _, t := range tables {
		if t.Parent == nil { // it was inside another one
			continue
		}
		inner, all := innermost(t), 0
		if len(inner) > 0 {
			within := 0
			for _, in := range inner {
				within += visible(spaced(in))
			}
			if all = visible(spaced(t)); 2*within > all || attribute(t, "role") == "presentation" {
				unwrapTable(t)
				continue
			}
		}
		for _, in := range inner {
			var rows []string
			for _, row := range cellsOf(in) {
				rows = append(rows, oneLine(strings.Join(row, " ")))
			}
			in.Parent.InsertBefore(&html.Node{Type: html.TextNode, Data: " " + strings.Join(rows, "; ") + " "}, in)
			in.Parent.RemoveChild(in)
		}
		for n := range t.Descendants() {
			if (n.DataAtom == atom.Td || n.DataAtom == atom.Th) && nearest(n, atom.Table) == t {
				flatten(n)
			}
		}
	}
}

// innermost returns the tables directly within one.
func innermost(t *html.Node) (found []*html.Node) {
	for n := range t.Descendants() {
		if n.DataAtom == atom.Table && nearest(n.Parent, atom.Table) == t {
			found = append(found, n)
		}
	}
	return found
}

// unwrapTable replaces a layout table by its content.
func unwrapTable(t *html.Node) {
	var parts []*html.Node
	for n := range t.Descendants() {
		switch n.DataAtom {
		case atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption:
			if nearest(n, atom.Table) == t {
				parts = append(parts, n)
			}
		}
	}
	for _, n := range append(parts, t) {
		n.Data, n.DataAtom, n.Attr = "div", atom.Div, nil
	}
}

// flatten puts a cell's content on one line.
func flatten(cell *html.Node) {
	var blocks []*html.Node
	for n := range cell.Descendants() {
		if n.Type == html.ElementNode && n.DataAtom != atom.Img && n.DataAtom != atom.Script && n.DataAtom != atom.Style &&
			!inlineElement(n) {
			blocks = append(blocks, n)
		}
	}
	for _, n := range blocks {
		mark := " "
		if n.DataAtom == atom.Li {
			mark = " • "
		}
		n.Parent.InsertBefore(&html.Node{Type: html.TextNode, Data: mark}, n)
		n.Parent.InsertBefore(&html.Node{Type: html.TextNode, Data: " "}, n.NextSibling)
		n.Data, n.DataAtom, n.Attr = "span", atom.Span, nil
	}
}

// book reads the chapters of an EPUB in reading order.
func book(d *draft, a *archive) error {
	t, err := a.tree("META-INF/container.xml")
	if err != nil {
		return err
	}
	var root string
	for _, r := range t.all("rootfile") {
		root = r.attr("full-path")
		break
	}
	opf, err := a.tree(root)
	if err != nil {
		return err
	}
	files := map[string]string{}
	for _, item := range opf.all("item") {
		files[item.attr("id")] = path.Join(path.Dir(root), item.attr("href"))
	}
	chapters := opf.all("itemref")
	for i, ref := range chapters {
		b, err := a.read(files[ref.attr("idref")])
		if err != nil {
			return err
		}
		d.anchor("chapter", i+1)
		text, err := markdown(b, "application/xhtml+xml; charset=utf-8")
		if err != nil {
			return err
		}
		d.block(text)
		d.step(i+1, len(chapters))
	}
	return nil
}
