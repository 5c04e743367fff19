package ui_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"fawn/views"
)

// dom is a page in a browser, as far as the page's script changes it. It follows the
// words of the live protocol in package views.
type dom struct {
	root  *html.Node
	title string
	done  bool
}

func parsePage(t *testing.T, page string) *dom {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return &dom{root: root}
}

func walk(n *html.Node, visit func(*html.Node) bool) bool {
	if !visit(n) {
		return false
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if !walk(c, visit) {
			return false
		}
	}
	return true
}

func (d *dom) id(id string) *html.Node {
	var found *html.Node
	walk(d.root, func(n *html.Node) bool {
		if n.Type == html.ElementNode && attr(n, "id") == id {
			found = n
		}
		return found == nil
	})
	return found
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func setAttr(n *html.Node, name, value string, set bool) {
	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
	if set {
		n.Attr = append(n.Attr, html.Attribute{Key: name, Val: value})
	}
}

func fragmentOf(s string) []*html.Node {
	nodes, err := html.ParseFragment(strings.NewReader(s),
		&html.Node{Type: html.ElementNode, Data: "template", DataAtom: atom.Template})
	if err != nil {
		panic(err)
	}
	return nodes
}

func elements(nodes []*html.Node) []*html.Node {
	return slices.DeleteFunc(nodes, func(n *html.Node) bool { return n.Type != html.ElementNode })
}

// event applies one event of the stream.
func (d *dom) event(kind, data string) error {
	switch kind {
	case "md":
		return d.patch(data)
	case "beat", "wait": // for the script alone
		return nil
	}
	var f views.Frame
	if err := json.Unmarshal([]byte(data), &f); err != nil {
		return err
	}
	if err := d.apply(f); err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	if kind == "done" {
		d.done = true
		d.foldLast()
	}
	return nil
}

func (d *dom) apply(f views.Frame) error {
	for _, s := range f.Swap {
		if err := d.swap(s); err != nil {
			return err
		}
	}
	if f.Title != "" {
		d.title = f.Title
	}
	return nil
}

func (d *dom) swap(s views.Swap) error {
	el := d.id(s.Target)
	if el == nil {
		return nil
	}
	switch s.How {
	case views.SwapOuter:
		return d.replace(el, s.HTML)
	case views.SwapInner:
		for el.FirstChild != nil {
			el.RemoveChild(el.FirstChild)
		}
		for _, n := range fragmentOf(s.HTML) {
			el.AppendChild(n)
		}
	case views.SwapAppend, views.SwapBefore:
		for _, n := range elements(fragmentOf(s.HTML)) {
			if same := d.id(attr(n, "id")); same != nil && attr(n, "id") != "" {
				same.Parent.InsertBefore(n, same)
				same.Parent.RemoveChild(same)
			} else if s.How == views.SwapAppend {
				el.AppendChild(n)
			} else {
				el.Parent.InsertBefore(n, el)
			}
		}
	case views.SwapRemove:
		el.Parent.RemoveChild(el)
	case views.SwapClass:
		setAttr(el, "class", s.HTML, true)
		words := strings.Fields(s.HTML)
		setAttr(el, "aria-busy", "true", slices.Contains(words, "run") || slices.Contains(words, "wait"))
	case views.SwapClose:
		setAttr(el, "open", "", false)
	default:
		return fmt.Errorf("unknown swap %q", s.How)
	}
	return nil
}

func (d *dom) replace(el *html.Node, s string) error {
	nodes := elements(fragmentOf(s))
	if len(nodes) != 1 {
		return fmt.Errorf("outer swap with %d elements: %s", len(nodes), s)
	}
	el.Parent.InsertBefore(nodes[0], el)
	el.Parent.RemoveChild(el)
	return nil
}

func (d *dom) patch(data string) error {
	var p struct {
		M   string  `json:"m"`
		Ops [][]any `json:"ops"`
	}
	if err := json.Unmarshal([]byte(data), &p); err != nil {
		return err
	}
	root := d.id(p.M)
	if root == nil {
		return fmt.Errorf("md: no element %s", p.M)
	}
	for _, op := range p.Ops {
		depth, drop := int(op[0].(float64)), int(op[1].(float64))
		markup, text := op[2].(string), op[3].(string)
		if depth < 0 {
			child := root.FirstChild
			for range -1 - depth {
				child = child.NextSibling
			}
			for _, n := range fragmentOf(markup) {
				root.InsertBefore(n, child)
			}
			root.RemoveChild(child)
			continue
		}
		n := root
		for range depth {
			n = n.LastChild
		}
		for range drop {
			n.RemoveChild(n.LastChild)
		}
		if text != "" {
			if n.LastChild == nil || n.LastChild.Type != html.TextNode {
				return fmt.Errorf("md: %s: no text to append to", p.M)
			}
			n.LastChild.Data += text
		}
		if markup != "" {
			nodes, err := html.ParseFragment(strings.NewReader(markup), n)
			if err != nil {
				return err
			}
			for _, c := range nodes {
				n.AppendChild(c)
			}
		}
	}
	return nil
}

// foldLast closes the trail of the last answer, as the script does at the end.
func (d *dom) foldLast() {
	var last *html.Node
	walk(d.root, func(n *html.Node) bool {
		if attr(n, "class") == "md" && n.Parent != nil && attr(n.Parent, "class") == "ans" && n.FirstChild != nil {
			last = n
		}
		return true
	})
	if last == nil {
		return
	}
	turn := last.Parent.Parent
	for c := turn.FirstChild; c != nil; c = c.NextSibling {
		if attr(c, "class") == "trail" {
			setAttr(c, "open", "", false)
		}
	}
}

// section is the HTML of the parts of the page that a run changes.
func (d *dom) section(ids ...string) string {
	var b strings.Builder
	for _, id := range ids {
		n := d.id(id)
		if n == nil {
			fmt.Fprintf(&b, "no %s\n", id)
			continue
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			sortAttrs(c)
			if err := html.Render(&b, c); err != nil {
				fmt.Fprint(&b, err)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func sortAttrs(n *html.Node) {
	walk(n, func(n *html.Node) bool {
		slices.SortFunc(n.Attr, func(a, b html.Attribute) int { return strings.Compare(a.Key, b.Key) })
		return true
	})
}

// still takes out what depends on the moment: clocks, and whether a trail is folded, which
// is the reader's own business.
func still(s string) string {
	clock := regexp.MustCompile(`(<time [^>]*class="tick"[^>]*>)[^<]*(</time>)`)
	trail := regexp.MustCompile(`(<details class="trail" id="[^"]*") open=""`)
	return trail.ReplaceAllString(clock.ReplaceAllString(s, "$1$2"), "$1")
}

// firstDifference shows where two texts part.
func firstDifference(got, want string) string {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	from := max(0, i-200)
	return fmt.Sprintf("at byte %d\n got: …%s\nwant: …%s", i, got[from:min(len(got), i+300)],
		want[from:min(len(want), i+300)])
}
