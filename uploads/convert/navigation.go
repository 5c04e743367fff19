package convert

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// dropNavigation removes lines with links to neighbouring pages, as in manuals of latex2html, Texinfo and DocBook:
// "Next: … Up: … Previous: …", as text or as pictures with these words.
func dropNavigation(doc *html.Node) {
	var gone []*html.Node
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || inlineElement(n) {
			continue
		}
		var line []*html.Node
		end := func() {
			if leadsAround(line) {
				gone = append(gone, line...)
			}
			line = nil
		}
		for k := range n.ChildNodes() {
			switch {
			case k.Type == html.TextNode, k.Type == html.ElementNode && k.DataAtom != atom.Br && inlineElement(k):
				line = append(line, k)
			case k.Type == html.CommentNode && !strings.HasPrefix(strings.TrimSpace(k.Data), "tex2html"):
				end()
			case k.Type != html.CommentNode:
				end()
			}
		}
		end()
	}
	for _, n := range gone {
		n.Parent.RemoveChild(n)
	}
}

// leadsAround reports whether a line has links, at least one of them to the next, the previous or the page above, and
// outside of its links only the names of such places.
func leadsAround(line []*html.Node) bool {
	links, around, within, named := 0, 0, 0, false
	var walk func(n *html.Node) bool
	walk = func(n *html.Node) bool {
		switch {
		case n.Type == html.TextNode, n.DataAtom == atom.Img:
			text := n.Data
			if n.DataAtom == atom.Img {
				text = attribute(n, "alt")
			}
			named = named || strings.Contains(text, ":")
			for _, w := range strings.FieldsFunc(strings.ToLower(text), noWord) {
				switch {
				case slices.Contains(placesAround(), w):
					around++
				case slices.Contains(placesWithin(), w):
					within++
				default:
					return false
				}
			}
			return true
		case n.DataAtom == atom.A && attribute(n, "href") != "":
			links++
			if pictured(n) {
				break
			}
			return true
		}
		for k := range n.ChildNodes() {
			if !walk(k) {
				return false
			}
		}
		return true
	}
	for _, n := range line {
		if !walk(n) {
			return false
		}
	}
	return around > 0 && around+within <= 3*links+6 && (links > 1 || links == 1 && named)
}

func noWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// pictured reports whether a link is a picture without text.
func pictured(n *html.Node) bool {
	image := false
	for k := range n.Descendants() {
		image = image || k.DataAtom == atom.Img
		if k.Type == html.TextNode && strings.TrimSpace(k.Data) != "" {
			return false
		}
	}
	return image
}

// placesAround returns the words with which manuals name the pages around one.
func placesAround() []string {
	return []string{"next", "previous", "prev", "up", "nächste", "nächstes", "weiter", "zurück", "vorherige", "vorheriges",
		"aufwärts", "suivant", "précédent", "monter", "siguiente", "anterior", "subir", "次", "前", "上"}
}

// placesWithin returns the anchors of the manual's parts.
func placesWithin() []string {
	return []string{"contents", "content", "index", "home", "top", "toc", "table", "of", "title", "page", "chapter", "section",
		"back", "forward", "inhalt", "start", "sommaire", "índice", "group", "search"}
}
