package mathml

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	nethtml "golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// sanitize rebuilds the translator's output from elements and attributes that only draw formulas. Its inline styles,
// which the pages' policy forbids, become classes or attributes where they matter and are dropped elsewhere.
func sanitize(markup string, f formula) (string, error) {
	body := &nethtml.Node{Type: nethtml.ElementNode, Data: "div", DataAtom: atom.Div}
	nodes, err := nethtml.ParseFragment(strings.NewReader(markup), body)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if len(nodes) != 1 || nodes[0].Data != "math" || nodes[0].Namespace != "math" {
		return "", fmt.Errorf("%w: it isn't a formula", ErrRefused)
	}
	math, err := rebuild(nodes[0], 0)
	if err != nil {
		return "", err
	}
	math.Attr = []nethtml.Attribute{{Key: "alttext", Val: strings.TrimSpace(f.tex)}}
	if f.display {
		math.Attr = append(math.Attr, nethtml.Attribute{Key: "display", Val: "block"})
	}
	var b strings.Builder
	if err := nethtml.Render(&b, math); err != nil {
		return "", fmt.Errorf("write a formula: %w", err)
	}
	return b.String(), nil
}

// maxDepth of elements; browsers and the patches of a growing text stop at 512.
const maxDepth = 200

func rebuild(n *nethtml.Node, depth int) (*nethtml.Node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%w: nests deeper than %d elements", ErrRefused, maxDepth)
	}
	name, extra := n.Data, ""
	if name == "menclose" { // browsers no longer support it
		name, extra = "mrow", "struck"
	}
	if !draws(name) {
		return nil, fmt.Errorf("%w: element %q", ErrRefused, name)
	}
	out := &nethtml.Node{Type: nethtml.ElementNode, Data: name, Namespace: "math", Attr: attributes(n, extra)}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.Type {
		case nethtml.TextNode:
			out.AppendChild(&nethtml.Node{Type: nethtml.TextNode, Data: c.Data})
		case nethtml.ElementNode:
			if c.Data == "span" { // an equation number, which needs a style sheet's counter
				continue
			}
			kid, err := rebuild(c, depth+1)
			if err != nil {
				return nil, err
			}
			out.AppendChild(kid)
		}
	}
	return out, nil
}

func draws(element string) bool {
	switch element {
	case "math", "mrow", "mi", "mn", "mo", "ms", "mtext", "mspace", "mfrac", "msqrt", "mroot", "mpadded", "mphantom",
		"msub", "msup", "msubsup", "munder", "mover", "munderover", "mmultiscripts", "mprescripts", "mtable",
		"mtr", "mtd":
		return true
	}
	return false
}

// attributes returns the allowed attributes of n, in alphabetical order.
func attributes(n *nethtml.Node, extra string) []nethtml.Attribute {
	var keep []nethtml.Attribute
	var classes []string
	if extra != "" {
		classes = append(classes, extra)
	}
	for _, a := range n.Attr {
		switch a.Key {
		case "class":
			for c := range strings.FieldsSeq(a.Val) {
				switch c {
				case "tml-left":
					classes = append(classes, "l")
				case "tml-right":
					classes = append(classes, "r")
				}
			}
		case "style":
			for rule := range strings.SplitSeq(a.Val, ";") {
				key, val, _ := strings.Cut(rule, ":")
				switch {
				case key == "padding-left" && val == "0em":
					classes = append(classes, "nl")
				case key == "padding-right" && val == "0em":
					classes = append(classes, "nr")
				case key == "border" && n.Data != "mtable":
					classes = append(classes, "boxed")
				case key == "color" && patterns().colour.MatchString(val):
					keep = append(keep, nethtml.Attribute{Key: "mathcolor", Val: val})
				}
			}
		default:
			if mayHave(a.Key, a.Val) {
				keep = append(keep, nethtml.Attribute{Key: a.Key, Val: a.Val})
			}
		}
	}
	if len(classes) > 0 {
		slices.Sort(classes)
		keep = append(keep, nethtml.Attribute{Key: "class", Val: strings.Join(slices.Compact(classes), " ")})
	}
	slices.SortStableFunc(keep, func(a, b nethtml.Attribute) int { return strings.Compare(a.Key, b.Key) })
	return slices.CompactFunc(keep, func(a, b nethtml.Attribute) bool { return a.Key == b.Key })
}

var patterns = sync.OnceValue(func() (p struct{ colour, word *regexp.Regexp }) {
	p.colour = regexp.MustCompile(`^(#[0-9A-Fa-f]{3,8}|[a-zA-Z]{3,20})$`)
	p.word = regexp.MustCompile(`^[a-z-]{1,20}$`)
	return p
})

// mayHave reports whether an attribute only affects drawing within the formula: lengths that would leave its box are
// refused.
func mayHave(key, val string) bool {
	switch key {
	case "accent", "accentunder", "displaystyle", "fence", "form", "largeop", "mathvariant", "movablelimits",
		"separator", "stretchy", "symmetric":
		return patterns().word.MatchString(val)
	case "columnspan", "rowspan", "scriptlevel":
		n, err := strconv.Atoi(strings.TrimPrefix(val, "+"))
		return err == nil && n >= 0 && n <= 40
	case "linethickness", "lspace", "rspace", "width", "height", "depth", "voffset", "minsize", "maxsize":
		return isLength(val)
	}
	return false
}

func isLength(val string) bool {
	num := strings.TrimRight(val, "abcdefghijklmnopqrstuvwxyz%")
	f, err := strconv.ParseFloat(num, 64)
	if err != nil || strings.ContainsAny(num, "eExXnNiI_") {
		return false
	}
	switch val[len(num):] {
	case "em", "ex", "":
		return f >= -2 && f <= 40
	case "pt", "px", "mu":
		return f >= -20 && f <= 400
	case "%":
		return f >= 0 && f <= 300
	}
	return false
}
