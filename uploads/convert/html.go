package convert

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

// page reads a web page.
func page(d *draft, data []byte) error {
	if len(data) > maxPart {
		return Limits
	}
	text, err := markdown(data, "text/html")
	d.block(text)
	return err
}

// markdown translates HTML. Pictures that are written out in the page are dropped.
func markdown(data []byte, kind string) (string, error) {
	r, err := charset.NewReader(bytes.NewReader(data), kind)
	if err != nil {
		return "", fmt.Errorf("%w: %w", Damaged, err)
	}
	doc, err := html.Parse(r) // refuses what is nested too deep
	if err != nil {
		return "", fmt.Errorf("%w: %w", Limits, err)
	}
	return markdownOf(doc)
}

// markdownOf translates a part of a page.
func markdownOf(doc *html.Node) (string, error) {
	shorten(doc)
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
		for i, a := range at.Attr {
			if strings.HasPrefix(a.Val, "data:") {
				at.Attr[i].Val = "data:"
			}
		}
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
