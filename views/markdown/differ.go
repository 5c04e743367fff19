package markdown

import (
	"bytes"
	"encoding/json"
	"strings"

	nethtml "golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Op is one step of a patch. Depth >= 0: from the message element go Depth times
// to the last child; there remove the last Drop children, then append Text to
// the last text node, then append HTML. Depth < 0: replace the top-level child
// with index -1-Depth by HTML.
type Op struct {
	Depth, Drop int
	HTML, Text  string
}

// MarshalJSON writes the form the browser reads: [depth, drop, html, text].
func (o Op) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode([]any{o.Depth, o.Drop, o.HTML, o.Text}); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// Differ turns a growing Markdown text into patches of the HTML that shows it. It is for one message and one position:
// readers that saw the same patches can share it. It is not safe for concurrent use.
//
// The HTML depends on the text only, never on the steps in between, so a page rendered with Partial can continue a
// Differ that was fed the same text once.
type Differ struct {
	o     Options
	split splitter
	done  []block // finished top-level blocks, for the last check
	cut   int     // start of the open tail
	tail  *nethtml.Node
	seen  int
	stop  bool // size limit reached: nothing more is shown until the end
}

type block struct{ html string }

// NewDiffer returns a Differ that starts with an empty message.
func NewDiffer(o Options) *Differ { return &Differ{o: o, tail: newRoot()} }

// Patch returns the steps that bring the reader from the last text to full. full must begin with the last text; if it
// is shorter, everything is shown again. With final the result is exactly Render(full), and the Differ is used up. The
// work of a patch that is not final depends on the open tail only.
func (d *Differ) Patch(full string, final bool) []Op {
	var ops []Op
	if len(full) < d.seen {
		if n := len(d.done) + len(kids(d.tail)); n > 0 {
			ops = append(ops, Op{Drop: n})
		}
		*d = *NewDiffer(d.o)
	}
	d.seen = len(full)
	if final {
		return append(ops, d.finish(full)...)
	}
	if len(full) > maxSource {
		if d.stop {
			return ops
		}
		d.stop, full = true, full[:runeCut(full, maxSource)]
	}
	for {
		next := d.split.next(full)
		if next < 0 {
			break
		}
		fin := parseTree(d.segment(full[d.cut:next], false))
		diff(d.tail, fin, 0, &ops)
		for _, n := range kids(fin) {
			d.done = append(d.done, block{outer(n)})
		}
		d.tail, d.cut = newRoot(), next
	}
	mended, open := mend(full[d.cut:])
	tree := parseTree(d.segment(mended, open))
	diff(d.tail, tree, 0, &ops)
	d.tail = tree
	return merge(ops)
}

// HTML returns the currently shown HTML.
func (d *Differ) HTML() string {
	var b strings.Builder
	for _, bl := range d.done {
		b.WriteString(bl.html)
	}
	for _, n := range kids(d.tail) {
		b.WriteString(outer(n))
	}
	return b.String()
}

func (d *Differ) segment(src string, open bool) string {
	o := d.o
	o.Whole = "" // an unfinished text has no address
	src, _ = capSource(src, o)
	var b bytes.Buffer
	w := &writer{b: &b, o: o, segment: true, open: open}
	w.render(declareNotes(src))
	return clean(b.Bytes())
}

// finish updates the blocks to the rendering of the whole text, where link definitions and footnotes may change earlier
// blocks.
func (d *Differ) finish(full string) []Op {
	want := kids(parseTree(Render(full, d.o)))
	have := d.done
	for _, n := range kids(d.tail) {
		have = append(have, block{outer(n)})
	}
	tail := len(have) - 1
	var ops []Op
	for i := 0; i < len(have) && i < len(want); i++ {
		h := outer(want[i])
		if h == have[i].html {
			continue
		}
		if i == tail && d.tail.LastChild != nil {
			// The open block is mended, not replaced: a selection in it survives.
			old, fin := newRoot(), newRoot()
			old.AppendChild(clone(d.tail.LastChild))
			fin.AppendChild(clone(want[i]))
			diff(old, fin, 0, &ops)
			continue
		}
		ops = append(ops, Op{Depth: -1 - i, HTML: h})
	}
	if len(have) > len(want) {
		ops = append(ops, Op{Drop: len(have) - len(want)})
	}
	if len(want) > len(have) {
		var b strings.Builder
		for _, n := range want[len(have):] {
			b.WriteString(outer(n))
		}
		ops = append(ops, Op{HTML: b.String()})
	}
	d.done, d.tail = nil, newRoot()
	for _, n := range want {
		d.done = append(d.done, block{outer(n)})
	}
	return ops
}

// merge joins top-level appends of HTML, as produced by many finished blocks in one tick.
func merge(ops []Op) []Op {
	out := ops[:0]
	for _, o := range ops {
		if n := len(out); n > 0 && o.Depth == 0 && o.Drop == 0 && o.Text == "" &&
			out[n-1].Depth == 0 && out[n-1].Text == "" && out[n-1].HTML != "" {
			out[n-1].HTML += o.HTML
			continue
		}
		out = append(out, o)
	}
	return out
}

// diff appends the steps from old to new. It walks only the right spine, because changes are always at the end.
func diff(old, new *nethtml.Node, depth int, out *[]Op) {
	a, b := old.FirstChild, new.FirstChild
	for a != nil && b != nil && equal(a, b) {
		a, b = a.NextSibling, b.NextSibling
	}
	drop := 0
	for c := a; c != nil; c = c.NextSibling {
		drop++
	}
	if drop == 1 && b != nil {
		switch {
		case a.Type == nethtml.TextNode && b.Type == nethtml.TextNode && strings.HasPrefix(b.Data, a.Data):
			*out = append(*out, Op{Depth: depth, Text: b.Data[len(a.Data):]})
			drop, b = 0, b.NextSibling
		case sameTag(a, b) && a.FirstChild != nil && a.Namespace == "": // a formula is either whole or missing
			diff(a, b, depth+1, out)
			drop, b = 0, b.NextSibling
		}
	}
	if drop == 0 && b == nil {
		return
	}
	var html strings.Builder
	for ; b != nil; b = b.NextSibling {
		_ = nethtml.Render(&html, b)
	}
	*out = append(*out, Op{Depth: depth, Drop: drop, HTML: html.String()})
}

func equal(a, b *nethtml.Node) bool {
	if a.Type != b.Type || a.Data != b.Data || len(a.Attr) != len(b.Attr) {
		return false
	}
	for i := range a.Attr {
		if a.Attr[i] != b.Attr[i] {
			return false
		}
	}
	x, y := a.FirstChild, b.FirstChild
	for x != nil && y != nil {
		if !equal(x, y) {
			return false
		}
		x, y = x.NextSibling, y.NextSibling
	}
	return x == nil && y == nil
}

func sameTag(a, b *nethtml.Node) bool {
	if a.Type != nethtml.ElementNode || b.Type != nethtml.ElementNode || a.Data != b.Data ||
		len(a.Attr) != len(b.Attr) {
		return false
	}
	for i := range a.Attr {
		if a.Attr[i] != b.Attr[i] {
			return false
		}
	}
	return true
}

func newRoot() *nethtml.Node {
	return &nethtml.Node{Type: nethtml.ElementNode, Data: "div", DataAtom: atom.Div}
}

func parseTree(s string) *nethtml.Node {
	root := newRoot()
	if s == "" {
		return root
	}
	nodes, err := nethtml.ParseFragment(strings.NewReader(s), newRoot())
	if err != nil {
		// Cannot happen with the depth the writer allows; the words survive.
		root.AppendChild(&nethtml.Node{Type: nethtml.TextNode, Data: s})
		return root
	}
	for _, n := range nodes {
		root.AppendChild(n)
	}
	return root
}

func kids(n *nethtml.Node) (k []*nethtml.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		k = append(k, c)
	}
	return k
}

func outer(n *nethtml.Node) string {
	var b strings.Builder
	_ = nethtml.Render(&b, n)
	return b.String()
}

func clone(n *nethtml.Node) *nethtml.Node {
	c := &nethtml.Node{Type: n.Type, Data: n.Data, DataAtom: n.DataAtom, Namespace: n.Namespace, Attr: n.Attr}
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		c.AppendChild(clone(k))
	}
	return c
}
