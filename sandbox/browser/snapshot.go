package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/page"
)

const (
	// SnapshotBytes is the size of one part of a page's text.
	SnapshotBytes = 10 << 10
	maxNodes      = 60_000 // limit per page
	maxRun        = 400    // characters of one text among elements
	maxOptions    = 30     // limit of listed options
)

// numbers are the element numbers of a page. They stay valid until the page changes.
type numbers struct {
	of   map[cdp.BackendNodeID]int
	node map[int]cdp.BackendNodeID
	last int
}

func (n *numbers) clear() { *n = numbers{} }

func (n *numbers) take(id cdp.BackendNodeID) int {
	if n.of == nil {
		n.of, n.node = map[cdp.BackendNodeID]int{}, map[int]cdp.BackendNodeID{}
	}
	if at, ok := n.of[id]; ok {
		return at
	}
	n.last++
	n.of[id], n.node[n.last] = n.last, id
	return n.last
}

// tree is the accessibility tree of a page with its frames.
type tree struct {
	nodes  map[accessibility.NodeID]*accessibility.Node // keyed by frame and id, since ids are unique per frame only
	roots  map[cdp.FrameID]accessibility.NodeID
	frames map[cdp.BackendNodeID]cdp.FrameID // by the element that shows them
	top    cdp.FrameID
}

// capture reads a tab's content.
func capture(ctx context.Context, t *tab) (*tree, error) {
	all, err := cdp.Call(ctx, t.t, page.GetFrameTree, cdp.Empty{})
	if err != nil {
		return nil, err
	}
	tr := &tree{nodes: map[accessibility.NodeID]*accessibility.Node{}, roots: map[cdp.FrameID]accessibility.NodeID{},
		frames: map[cdp.BackendNodeID]cdp.FrameID{}, top: all.FrameTree.Frame.ID}
	return tr, tr.frame(ctx, t, all.FrameTree)
}

func (tr *tree) frame(ctx context.Context, t *tab, f *page.FrameTree) error {
	got, err := cdp.Call(ctx, t.t, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{FrameID: f.Frame.ID})
	if err != nil {
		if f.Frame.ID == tr.top {
			return err
		}
		return nil // the node is gone
	}
	key := func(id accessibility.NodeID) accessibility.NodeID {
		return accessibility.NodeID(string(f.Frame.ID) + "/" + string(id))
	}
	for i, n := range got.Nodes {
		if len(tr.nodes) >= maxNodes {
			break
		}
		if i == 0 {
			tr.roots[f.Frame.ID] = key(n.NodeID)
		}
		for k, id := range n.ChildIDs {
			n.ChildIDs[k] = key(id)
		}
		tr.nodes[key(n.NodeID)] = n
	}
	for _, child := range f.ChildFrames {
		owner, err := cdp.Call(ctx, t.t, dom.GetFrameOwner, dom.GetFrameOwnerParams{FrameID: child.Frame.ID})
		if err != nil {
			continue
		}
		tr.frames[owner.BackendNodeID] = child.Frame.ID
		if err := tr.frame(ctx, t, child); err != nil {
			return err
		}
	}
	return nil
}

// text returns the text of a value, "" for none.
func text(v *accessibility.Value) string {
	if v == nil || len(v.Value) == 0 {
		return ""
	}
	var s string
	if json.Unmarshal(v.Value, &s) == nil {
		return s
	}
	return strings.Trim(string(v.Value), `"`)
}

func property(n *accessibility.Node, name accessibility.PropertyName) string {
	for _, p := range n.Properties {
		if p.Name == name {
			return text(p.Value)
		}
	}
	return ""
}

// usable returns the roles of elements that accept clicks or text.
func usable(n *accessibility.Node) bool {
	switch text(n.Role) {
	case "link", "button", "textbox", "searchbox", "combobox", "checkbox", "radio", "switch", "slider", "spinbutton",
		"menuitem", "menuitemcheckbox", "menuitemradio", "tab", "treeitem", "listbox", "option", "Date", "DateTime",
		"InputTime", "ColorWell", "DisclosureTriangle":
		return true
	case "RootWebArea", "Iframe", "IframePresentational", "WebArea", "StaticText", "InlineTextBox", "Video", "Audio":
		return false
	}
	return property(n, accessibility.PropertyNameFocusable) == "true"
}

// writer formats a tree as lines.
type writer struct {
	tr     *tree
	number func(cdp.BackendNodeID) int // assigns numbers to elements; nil numbers none
	lines  []string
	line   strings.Builder
	depth  int
	plain  bool // text only
	seen   map[accessibility.NodeID]bool
	names  map[string]bool // names of usable elements
}

// write returns the lines of the page's content.
func (tr *tree) write(number func(cdp.BackendNodeID) int) []string {
	w := &writer{tr: tr, number: number, plain: number == nil, seen: map[accessibility.NodeID]bool{},
		names: map[string]bool{}}
	for _, n := range tr.nodes {
		if usable(n) {
			w.names[oneLine(text(n.Name))] = true
		}
	}
	w.node(tr.roots[tr.top], "")
	w.flush()
	return w.lines
}

func (w *writer) flush() {
	if s := strings.TrimSpace(w.line.String()); s != "" {
		w.lines = append(w.lines, strings.Repeat("  ", min(w.depth, 12))+s)
	}
	w.line.Reset()
}

func (w *writer) put(s string) {
	if s = oneLine(s); s == "" {
		return
	}
	if w.line.Len() > 0 {
		w.line.WriteByte(' ')
	}
	w.line.WriteString(s)
}

// block writes a block on separate lines, with its heading if it has one.
func (w *writer) block(n *accessibility.Node, head, within string) {
	w.flush()
	if head != "" {
		w.put(head)
		w.flush()
		w.depth++
	}
	w.children(n, within)
	w.flush()
	if head != "" {
		w.depth--
	}
}

func (w *writer) children(n *accessibility.Node, within string) {
	for _, id := range n.ChildIDs {
		w.node(id, within)
	}
}

// node writes an element. within is the name of the enclosing element, which is not repeated.
func (w *writer) node(id accessibility.NodeID, within string) {
	n := w.tr.nodes[id]
	if n == nil || w.seen[id] {
		return
	}
	w.seen[id] = true
	role, name := text(n.Role), oneLine(text(n.Name))
	if n.Ignored {
		w.children(n, within)
		return
	}
	if frame, ok := w.tr.frames[n.BackendDOMNodeID]; ok {
		head := "frame " + quoted(name) + ":"
		if w.plain {
			head = ""
		}
		w.flush()
		if head != "" {
			w.put(head)
			w.flush()
			w.depth++
			defer func() { w.depth-- }()
		}
		w.node(w.tr.roots[frame], "")
		w.flush()
		return
	}
	switch role {
	case "StaticText":
		if within == "" || !strings.Contains(within, name) {
			if !w.plain {
				name = clip(name, maxRun)
			}
			w.put(name)
		}
		return
	case "InlineTextBox", "ListMarker":
		return
	case "LineBreak":
		w.flush()
		return
	}
	if usable(n) && (!w.plain || name != "") {
		w.element(n, role, name)
		return
	}
	if w.plain {
		switch role {
		case "generic", "none", "emphasis", "strong", "code", "LabelText", "superscript", "subscript", "mark":
			w.children(n, within)
		case "image", "img":
			w.put(name)
		case "cell", "gridcell", "columnheader", "rowheader":
			w.children(n, within)
			w.line.WriteString("\t")
		default:
			w.block(n, "", within)
		}
		return
	}
	w.other(n, role, name, within)
}

// other writes a non-clickable element.
func (w *writer) other(n *accessibility.Node, role, name, within string) {
	switch role {
	case "heading":
		w.flush()
		level, _ := strconv.Atoi(property(n, accessibility.PropertyNameLevel)) // 0 for none
		w.put(strings.Repeat("#", min(max(level, 1), 6)) + " " + name)
		w.children(n, name)
		w.flush()
	case "image", "img":
		if name != "" {
			w.put("image " + quoted(name))
		}
	case "LabelText": // the name is written with its element
		if w.plain {
			within = ""
		} else if words := w.words(n); w.names[words] {
			within = words
		}
		w.children(n, within)
	case "generic", "none", "emphasis", "strong", "code", "superscript", "subscript", "mark", "time", "Abbr", "insertion",
		"deletion":
		w.children(n, within)
	case "listitem":
		w.flush()
		w.put("-")
		w.children(n, within)
		w.flush()
	case "row":
		w.flush()
		for i, id := range n.ChildIDs {
			if i > 0 {
				w.put("|")
			}
			w.node(id, within)
		}
		w.flush()
	case "cell", "gridcell", "columnheader", "rowheader":
		w.children(n, within)
	case "progressbar", "meter":
		w.put(role + " " + quoted(name) + " = " + text(n.Value))
	case "alert", "status":
		w.block(n, role+":", "")
	case "navigation", "dialog", "alertdialog", "form", "table", "grid", "tree", "menu", "tablist", "toolbar":
		head := role + ":"
		if name != "" {
			head = role + " " + quoted(name) + ":"
		}
		if role == "form" && name == "" {
			head = ""
		}
		w.block(n, head, within)
	case "main", "region", "group", "search", "list", "figure", "article", "banner", "contentinfo", "radiogroup":
		head := ""
		if name != "" && role != "article" {
			head = role + " " + quoted(name) + ":"
		}
		w.block(n, head, within)
	default:
		w.block(n, "", within)
	}
}

// element writes an interactive element with its number.
func (w *writer) element(n *accessibility.Node, role, name string) {
	if w.plain {
		w.put(name)
		w.children(n, name)
		return
	}
	switch role {
	case "generic", "none":
		role = "element"
	case "DisclosureTriangle":
		role = "button"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[%d] %s", w.number(n.BackendDOMNodeID), role)
	if name != "" {
		b.WriteString(" " + quoted(clip(name, maxRun)))
	}
	if v := oneLine(text(n.Value)); v != "" {
		if strings.Trim(v, "•*") == "" {
			v = "(hidden)"
		}
		b.WriteString(" = " + quoted(clip(v, maxRun)))
	}
	var state []string
	for _, p := range []accessibility.PropertyName{accessibility.PropertyNameChecked, accessibility.PropertyNamePressed,
		accessibility.PropertyNameSelected, accessibility.PropertyNameDisabled, accessibility.PropertyNameRequired,
		accessibility.PropertyNameReadonly} {
		switch v := property(n, p); v {
		case "true":
			state = append(state, string(p))
		case "mixed":
			state = append(state, "partly "+string(p))
		}
	}
	switch property(n, accessibility.PropertyNameExpanded) {
	case "true":
		state = append(state, "expanded")
	case "false":
		if role != "combobox" { // the browser always draws it as closed
			state = append(state, "collapsed")
		}
	}
	if v := property(n, accessibility.PropertyNameInvalid); v != "" && v != "false" {
		state = append(state, "invalid")
	}
	if property(n, accessibility.PropertyNameFocused) == "true" {
		state = append(state, "focused")
	}
	if len(state) > 0 {
		b.WriteString(" (" + strings.Join(state, ", ") + ")")
	}
	lone := slices.Contains([]string{"textbox", "searchbox", "combobox", "checkbox", "radio", "switch", "slider",
		"spinbutton", "tab", "option", "menuitem", "treeitem", "listbox", "Date", "DateTime", "InputTime", "ColorWell"}, role)
	if lone {
		w.flush()
	}
	if role == "combobox" || role == "listbox" {
		if options := w.options(n); len(options) > 0 {
			b.WriteString(" options: " + strings.Join(options, " | "))
			w.put(b.String())
			w.flush()
			return
		}
	}
	w.put(b.String())
	switch role {
	case "textbox", "searchbox", "combobox", "spinbutton", "Date", "DateTime", "InputTime", "ColorWell", "slider":
		w.flush() // its content is its value
		return
	}
	if !slices.Contains([]string{"link", "button", "tab", "option", "checkbox", "radio", "menuitem", "switch"}, role) {
		w.block(n, "", name)
		return
	}
	w.children(n, name)
	if lone {
		w.flush()
	}
}

// words returns the texts in an element, except those of interactive ones.
func (w *writer) words(n *accessibility.Node) string {
	var b strings.Builder
	var walk func(n *accessibility.Node)
	walk = func(n *accessibility.Node) {
		for _, id := range n.ChildIDs {
			c := w.tr.nodes[id]
			switch {
			case c == nil || usable(c):
			case text(c.Role) == "StaticText":
				b.WriteString(" " + text(c.Name))
			default:
				walk(c)
			}
		}
	}
	walk(n)
	return oneLine(b.String())
}

// options returns the options of a list drawn by the browser itself.
func (w *writer) options(n *accessibility.Node) (list []string) {
	left := 0
	var walk func(id accessibility.NodeID)
	walk = func(id accessibility.NodeID) {
		o := w.tr.nodes[id]
		if o == nil || w.seen[id] {
			return
		}
		w.seen[id] = true
		if text(o.Role) != "option" {
			for _, c := range o.ChildIDs {
				walk(c)
			}
			return
		}
		if len(list) == maxOptions {
			left++
			return
		}
		name := clip(oneLine(text(o.Name)), 80)
		if property(o, accessibility.PropertyNameSelected) == "true" && text(n.Role) == "listbox" {
			name += " (selected)"
		}
		list = append(list, name)
	}
	for _, id := range n.ChildIDs {
		walk(id)
	}
	if left > 0 {
		list = append(list, fmt.Sprintf("and %d more", left))
	}
	return list
}

// named returns the elements with this name: interactive ones, else texts.
func (tr *tree) named(name string) []*accessibility.Node {
	want := strings.ToLower(oneLine(name))
	var same, part, words []*accessibility.Node
	for _, n := range tr.nodes {
		if n.Ignored || n.BackendDOMNodeID == 0 {
			continue
		}
		has := strings.ToLower(oneLine(text(n.Name)))
		switch {
		case has == "":
		case usable(n) && has == want:
			same = append(same, n)
		case usable(n) && strings.Contains(has, want):
			part = append(part, n)
		case text(n.Role) == "StaticText" && has == want:
			words = append(words, n)
		}
	}
	for _, list := range [][]*accessibility.Node{same, part, words} {
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

// pageOf returns part of the lines, from a line on, limited to the size of a snapshot.
func pageOf(lines []string, from int) string {
	if from < 0 || from >= len(lines) && from > 0 {
		return fmt.Sprintf("[There is nothing from line %d on: the page has %d lines.]", from, len(lines))
	}
	var b strings.Builder
	for i := from; i < len(lines); i++ {
		one := clip(lines[i], SnapshotBytes/2)
		if b.Len()+len(one) > SnapshotBytes {
			fmt.Fprintf(&b, "[%d more lines: browser_read with from=%d goes on.]", len(lines)-i, i)
			return b.String()
		}
		b.WriteString(one + "\n")
	}
	if len(lines) == 0 {
		return "[The page shows nothing.]"
	}
	return strings.TrimRight(b.String(), "\n")
}

func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
}

func quoted(s string) string { return `"` + strings.ReplaceAll(s, `"`, "'") + `"` }

// clip truncates a text to a number of bytes.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}
