package convert

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"

	readability "codeberg.org/readeck/go-readability"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// PageExt is the ending of the name under which a page of the web is converted: its address on the
// first line, the rest HTML in UTF-8.
const PageExt = ".webpage"

const (
	maxPageNodes = 300_000
	// shortArticle is the minimum length of an article: a shorter page is a list, form or table and taken entirely.
	shortArticle = 250
)

// article converts a web page. Parts outside of the text, such as menus and advertisements, are left out.
func article(d *draft, data []byte) error {
	address, rest, _ := bytes.Cut(data, []byte("\n"))
	base, err := url.Parse(string(address))
	if err != nil {
		return Damaged
	}
	if len(rest) > maxPart {
		return Limits
	}
	doc, err := html.Parse(bytes.NewReader(rest)) // rejects too deep nesting
	if err != nil {
		return fmt.Errorf("%w: %w", Limits, err)
	}
	nodes := 0
	for range doc.Descendants() {
		if nodes++; nodes > maxPageNodes {
			return Limits
		}
	}
	absolute(doc, base)
	dropNavigation(doc)
	title := pageTitle(doc)
	p := readability.NewParser()
	p.MaxElemsToParse = maxPageNodes
	found, err := p.ParseDocument(doc, base)
	body := found.Node
	if err != nil || body == nil || len(strings.TrimSpace(found.TextContent)) < shortArticle {
		body = whole(doc)
	} else if more := fuller(doc, visible(found.TextContent)); more != nil {
		body = more
	} else {
		prune(body, false)
	}
	if t := oneLine(found.Title); t != "" {
		title = t
	}
	d.heading(1, title)
	if by := oneLine(found.Byline); by != "" && len(by) < 200 {
		d.block("By " + by)
	}
	if at := found.PublishedTime; at != nil && !at.IsZero() {
		d.block("Published " + at.Format("2006-01-02"))
	}
	d.wrote = false // a title alone doesn't count as text
	text, err := markdownOf(body)
	d.block(text)
	return err
}

// pageTitle returns a page's title.
func pageTitle(doc *html.Node) string {
	for n := range doc.Descendants() {
		if n.DataAtom == atom.Title && n.Namespace == "" {
			var b strings.Builder
			for t := range n.Descendants() {
				b.WriteString(t.Data)
			}
			return b.String()
		}
	}
	return ""
}

// absolute makes links absolute and drops images without information.
func absolute(doc *html.Node, base *url.URL) {
	var gone []*html.Node
	for n := range doc.Descendants() {
		if n.DataAtom == atom.Base {
			if u, err := base.Parse(attribute(n, "href")); err == nil && u.Host != "" {
				base = u
			}
		}
		if n.DataAtom == atom.Img && strings.TrimSpace(attribute(n, "alt")) == "" {
			gone = append(gone, n)
		}
		for i, a := range n.Attr {
			if a.Key != "href" && a.Key != "src" || a.Val == "" || strings.HasPrefix(a.Val, "data:") {
				continue
			}
			if u, err := base.Parse(strings.TrimSpace(a.Val)); err == nil {
				n.Attr[i].Val = u.String()
			}
		}
	}
	for _, n := range gone {
		n.Parent.RemoveChild(n)
	}
}

// whole returns a page without elements that never contain its text.
func whole(doc *html.Node) *html.Node {
	var gone []*html.Node
	body := doc
	for n := range doc.Descendants() {
		switch n.DataAtom {
		case atom.Body:
			body = n
		case atom.Nav, atom.Footer, atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Svg, atom.Iframe,
			atom.Form, atom.Button, atom.Dialog, atom.Aside:
			gone = append(gone, n)
		default:
			if attribute(n, "aria-hidden") == "true" || strings.Contains(attribute(n, "style"), "display:none") {
				gone = append(gone, n)
			}
		}
	}
	for _, n := range gone {
		if n.Parent != nil {
			n.Parent.RemoveChild(n)
		}
	}
	return body
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
