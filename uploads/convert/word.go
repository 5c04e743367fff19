package convert

import (
	"fmt"
	"strconv"
	"strings"
)

// wordReader is a text document of Word's kind.
type wordReader struct {
	d       *draft
	rel     relations
	heads   map[string]int             // heading level by style
	ordered map[string]map[string]bool // by list and level
	notes   []string                   // footnotes in the order they are met
	known   map[string]string
}

func word(d *draft, a *archive) error {
	w := &wordReader{d: d, heads: map[string]int{}, ordered: map[string]map[string]bool{}, known: map[string]string{}}
	body, err := a.tree("word/document.xml")
	if err != nil {
		return err
	}
	if w.rel, err = a.relations("word/document.xml"); err != nil {
		return err
	}
	for part, take := range map[string]func(*node){
		"word/styles.xml": w.styles, "word/numbering.xml": w.numbering,
		"word/footnotes.xml": w.footnotes("footnote"), "word/endnotes.xml": w.footnotes("endnote"),
	} {
		t, err := a.tree(part)
		if err != nil {
			return err
		}
		take(t)
	}
	w.blocks(body.kid("document", "body"))
	for i, note := range w.notes {
		d.block(fmt.Sprintf("[^%d]: %s", i+1, note))
	}
	return nil
}

func (w *wordReader) styles(t *node) {
	for _, s := range t.all("style") {
		name := strings.ToLower(s.kid("name").attr("val"))
		level := 0
		if n, err := strconv.Atoi(s.kid("pPr", "outlineLvl").attr("val")); err == nil && n < 9 {
			level = n + 1
		}
		if n, err := strconv.Atoi(strings.TrimPrefix(name, "heading ")); err == nil {
			level = n
		}
		if name == "title" {
			level = 1
		}
		if level > 0 {
			w.heads[s.attr("styleId")] = level
		}
	}
}

func (w *wordReader) numbering(t *node) {
	kinds := map[string]map[string]bool{}
	for _, n := range t.all("abstractNum") {
		levels := map[string]bool{}
		for _, l := range n.all("lvl") {
			f := l.kid("numFmt").attr("val")
			levels[l.attr("ilvl")] = f != "bullet" && f != "none" && f != ""
		}
		kinds[n.attr("abstractNumId")] = levels
	}
	for _, n := range t.all("num") {
		w.ordered[n.attr("numId")] = kinds[n.kid("abstractNumId").attr("val")]
	}
}

func (w *wordReader) footnotes(kind string) func(*node) {
	return func(t *node) {
		for _, n := range t.all(kind) {
			if n.attr("type") == "" {
				w.known[kind+n.attr("id")] = oneLine(w.inline(n))
			}
		}
	}
}

func (w *wordReader) blocks(n *node) {
	for _, k := range n.kids {
		if w.d.full() {
			w.d.lack(Long)
			return
		}
		switch k.name {
		case "p":
			w.paragraph(k)
		case "tbl":
			w.d.table(w.rows(k))
		case "sdt":
			w.blocks(k.kid("sdtContent"))
		case "ins", "moveTo", "customXml", "smartTag":
			w.blocks(k)
		case "AlternateContent":
			w.blocks(k.kid("Choice"))
		}
	}
}

func (w *wordReader) paragraph(p *node) {
	text := strings.TrimSpace(w.inline(p))
	props := p.kid("pPr")
	level := w.heads[props.kid("pStyle").attr("val")]
	if n, err := strconv.Atoi(props.kid("outlineLvl").attr("val")); err == nil && n < 9 {
		level = n + 1
	}
	list, depth := props.kid("numPr", "numId").attr("val"), props.kid("numPr", "ilvl").attr("val")
	switch {
	case text == "":
	case level > 0:
		w.d.heading(level, strings.ReplaceAll(text, "**", ""))
	case list != "" && list != "0":
		mark := "- "
		if w.ordered[list][depth] {
			mark = "1. "
		}
		n, err := strconv.Atoi(depth)
		if err != nil {
			n = 0
		}
		w.d.line(strings.Repeat("   ", min(max(n, 0), 8)) + mark + oneLine(text))
	default:
		w.d.block(text)
	}
}

// inline is the text of a paragraph: what was deleted is not, nor what stands in for
// programs that know less.
func (w *wordReader) inline(n *node) string {
	var b strings.Builder
	for _, k := range n.kids {
		switch k.name {
		case "", "del", "moveFrom", "pPr", "rPr", "Fallback", "instrText":
		case "t":
			b.WriteString(k.content())
		case "r":
			b.WriteString(w.run(k))
		case "tab":
			b.WriteByte('\t')
		case "br", "cr":
			b.WriteByte('\n')
		case "noBreakHyphen":
			b.WriteByte('-')
		case "hyperlink":
			text, to := w.inline(k), w.rel.byID[k.attr("r:id")]
			if to != "" && strings.TrimSpace(text) != "" {
				text = "[" + text + "](" + to + ")"
			}
			b.WriteString(text)
		case "footnoteReference", "endnoteReference":
			w.notes = append(w.notes, w.known[strings.TrimSuffix(k.name, "Reference")+k.attr("id")])
			fmt.Fprintf(&b, "[^%d]", len(w.notes))
		case "drawing", "pict":
			b.WriteString(w.picture(k))
		case "p":
			b.WriteString(w.inline(k) + "\n")
		default:
			b.WriteString(w.inline(k))
		}
	}
	return b.String()
}

// run is a piece in one style; only bold says something about the text.
func (w *wordReader) run(r *node) string {
	text := w.inline(r)
	props := r.kid("rPr")
	bold := props.kid("b")
	word := strings.TrimSpace(text)
	if bold.name == "" || bold.attr("val") == "0" || bold.attr("val") == "false" || word == "" ||
		strings.Contains(word, "\n") {
		return text
	}
	before, after, _ := strings.Cut(text, word)
	return before + "**" + word + "**" + after
}

// picture is the text of a text box, or a word for an image.
func (w *wordReader) picture(n *node) string {
	var boxes []string
	for _, box := range n.all("txbxContent") {
		boxes = append(boxes, w.inline(box))
	}
	if len(boxes) > 0 {
		return strings.Join(boxes, "\n")
	}
	for _, p := range n.all("docPr") {
		if alt := oneLine(p.attr("descr")); alt != "" {
			return "[image: " + alt + "]"
		}
	}
	return "[image]"
}

// rows are the cells of a table: one that spans columns is followed by empty ones, and one
// that goes on from above is empty.
func (w *wordReader) rows(t *node) (rows [][]string) {
	for _, tr := range t.all("tr") {
		var row []string
		for _, tc := range tr.all("tc") {
			props := tc.kid("tcPr")
			text := w.inline(tc)
			if merge := props.kid("vMerge"); merge.name != "" && merge.attr("val") != "restart" {
				text = ""
			}
			row = append(row, text)
			span, err := strconv.Atoi(props.kid("gridSpan").attr("val"))
			for ; err == nil && span > 1 && len(row) < 1000; span-- {
				row = append(row, "")
			}
		}
		rows = append(rows, row)
	}
	return rows
}
