package convert

import (
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Readability selects one block of prose. Manuals, forums, recipes and product pages have several; if too much is left
// out to be decoration, the whole page is used, without known surroundings of a text.

// leftOut is the share of a page's text that an article may omit: a fifth.
const leftOut = 0.2

// fuller returns the page's content if an article of that length omits too much of it, else nil. The page is modified.
func fuller(doc *html.Node, article int) *html.Node {
	body := whole(doc)
	main := mainOf(body)
	prune(main, main == body)
	w := weigh(main)[main]
	if float64(article) >= (1-leftOut)*float64(w.text) || main == body && 3*w.linked > 2*w.text {
		return nil
	}
	return main
}

// mainOf returns the part that a page calls its main one, or all of it.
func mainOf(body *html.Node) *html.Node {
	var found *html.Node
	for n := range body.Descendants() {
		if n.DataAtom == atom.Main || attribute(n, "role") == "main" {
			if found != nil && !within(n, found) {
				return body
			}
			if found == nil {
				found = n
			}
		}
	}
	if found == nil {
		return body
	}
	if all := weigh(body); 3*all[found].text < all[body].text {
		return body
	}
	return found
}

func within(n, top *html.Node) bool {
	for ; n != nil; n = n.Parent {
		if n == top {
			return true
		}
	}
	return false
}

// prune removes elements named like decoration and, on pages without a marked main text, elements that consist mostly
// of links.
func prune(top *html.Node, links bool) {
	all := weigh(top)
	var gone []*html.Node
	for n := range top.Descendants() {
		if n.Type != html.ElementNode || n.DataAtom == atom.Body {
			continue
		}
		w := all[n]
		switch {
		case 2*w.text > all[top].text: // a name that every entry has means nothing
		case decorates(attribute(n, "class")), decorates(attribute(n, "id")), attribute(n, "role") == "navigation",
			attribute(n, "role") == "complementary", attribute(n, "role") == "search":
			gone = append(gone, n)
		case links && isBlock(n) && 10*w.linked > 7*w.text && w.links > 3:
			gone = append(gone, n)
		}
	}
	for _, n := range gone {
		if n.Parent != nil {
			n.Parent.RemoveChild(n)
		}
	}
}

func isBlock(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Ul, atom.Ol, atom.Div, atom.Section, atom.P, atom.Table, atom.Td, atom.Dl:
		return true
	}
	return false
}

// decorates reports whether a class or id names surroundings of a text.
func decorates(names string) bool {
	words := strings.FieldsFunc(strings.ToLower(names), func(r rune) bool { return !unicode.IsLetter(r) })
	for _, w := range words {
		switch w {
		case "comments", "related", "share", "sharing", "social", "cookie", "cookies", "consent", "promo", "newsletter",
			"signup", "subscribe", "breadcrumb", "breadcrumbs", "advert", "advertisement", "ad", "ads", "banner",
			"modal", "popup", "footer", "menu", "navbar", "toolbar", "sponsor", "sponsored", "pagination", "pager",
			"prevnext", "headerlink", "catlinks", "sphinxsidebar", "skip", "topbar", "toc":
			return true
		}
		if strings.HasPrefix(w, "nav") || strings.HasSuffix(w, "nav") {
			return true
		}
	}
	return false
}

// weight measures a node: non-blank characters, those within links, and links.
type weight struct{ text, linked, links int }

// weights are those of a node and its descendants.
type weights map[*html.Node]weight

func weigh(top *html.Node) weights {
	all := weights{}
	all.of(top)
	return all
}

func (all weights) of(n *html.Node) (w weight) {
	if n.Type == html.TextNode {
		return weight{text: visible(n.Data)}
	}
	for c := range n.ChildNodes() {
		one := all.of(c)
		w.text, w.linked, w.links = w.text+one.text, w.linked+one.linked, w.links+one.links
	}
	if n.DataAtom == atom.A && attribute(n, "href") != "" {
		w.linked, w.links = w.text, w.links+1
	}
	all[n] = w
	return w
}

// visible counts non-space characters.
func visible(s string) int {
	count := 0
	for _, r := range s {
		if !unicode.IsSpace(r) {
			count++
		}
	}
	return count
}
