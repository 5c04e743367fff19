package convert

import (
	"cmp"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// wordReader is a text document of Word's kind.
type wordReader struct {
	d       *draft
	a       *archive
	rel     relations
	looks   map[string]look // looks of paragraphs, by style
	numbers numbering
	notes   []string // footnotes in the order they are met
	known   map[string]string
	list    string // the list of the last written item
	base    int    // the level at which it began
}

// look holds the paragraph properties of a style.
type look struct {
	heading int // its level
	list    string
	level   int // in the list; -1 if the list defines it
	basedOn string
}

func newWordReader(d *draft, a *archive) *wordReader {
	return &wordReader{d: d, a: a, looks: map[string]look{}, known: map[string]string{}}
}

// word reads a document given the name of its main part.
func word(d *draft, a *archive, main string) error {
	w := newWordReader(d, a)
	doc, err := a.tree(main)
	if err != nil {
		return err
	}
	if w.rel, err = a.relations(main); err != nil {
		return err
	}
	body := w.rel
	for _, p := range []struct {
		kind string
		take func(*node)
	}{
		{"styles", w.styles}, {"numbering", w.readNumbering}, {"footnotes", w.footnotes("footnote")},
		{"endnotes", w.footnotes("endnote")},
	} {
		part := cmp.Or(body.byKind[p.kind], path.Join(path.Dir(main), p.kind+".xml"))
		t, err := a.tree(part)
		if err != nil {
			return err
		}
		if w.rel, err = a.relations(part); err != nil {
			return err
		}
		p.take(t)
	}
	w.rel = body
	w.blocks(doc.kid("document", "body"))
	w.endNotes()
	return nil
}

// endNotes writes the notes that were met.
func (w *wordReader) endNotes() {
	for i, note := range w.notes {
		w.d.block(fmt.Sprintf("[^%d]: %s", i+1, note))
	}
}

func (w *wordReader) styles(t *node) {
	for _, s := range t.all("style") {
		name := strings.ToLower(s.kid("name").attr("val"))
		props := s.kid("pPr")
		l := look{list: props.kid("numPr", "numId").attr("val"), level: -1, basedOn: s.kid("basedOn").attr("val")}
		if n, err := strconv.Atoi(props.kid("numPr", "ilvl").attr("val")); err == nil {
			l.level = n
		}
		if n, err := strconv.Atoi(props.kid("outlineLvl").attr("val")); err == nil && n < 9 {
			l.heading = n + 1
		}
		if n, err := strconv.Atoi(strings.TrimPrefix(name, "heading ")); err == nil {
			l.heading = n
		}
		if name == "title" {
			l.heading = 1
		}
		w.looks[s.attr("styleId")] = l
	}
	for id := range w.looks { // lists are inherited
		l := w.looks[id]
		for up, n := w.looks[l.basedOn], 0; l.list == "" && n < 20; up, n = w.looks[up.basedOn], n+1 {
			if l.list = up.list; up.list != "" && l.level < 0 {
				l.level = up.level
			}
		}
		w.looks[id] = l
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
			w.list = ""
			w.d.table(w.rows(k))
		case "altChunk":
			w.list = ""
			w.chunk(w.rel.byID[k.attr("r:id")])
		case "sdt":
			w.blocks(k.kid("sdtContent"))
		case "ins", "moveTo", "customXml", "smartTag", "sect", "sub-section":
			w.blocks(k)
		case "AlternateContent":
			w.blocks(k.kid("Choice"))
		}
	}
}

// place returns the level of a paragraph's heading, its list and its level there.
func (w *wordReader) place(p *node) (heading int, list string, level int) {
	props := p.kid("pPr")
	style := props.kid("pStyle").attr("val")
	l := w.looks[style]
	heading = l.heading
	if n, err := strconv.Atoi(props.kid("outlineLvl").attr("val")); err == nil && n < 9 {
		heading = n + 1
	}
	list, level = l.list, l.level
	if own := props.kid("numPr"); own.name != "" {
		if id := own.kid("numId").attr("val"); id != "" {
			list = id
		}
		if n, err := strconv.Atoi(own.kid("ilvl").attr("val")); err == nil {
			level = n
		}
	}
	if list == "0" {
		list = ""
	}
	if level < 0 {
		level = 0
		if known := w.numbers.lists[list]; known != nil {
			level = known.levelOf(style)
		}
	}
	return heading, list, min(level, listLevels-1)
}

// paragraph writes a paragraph with its number in its list.
func (w *wordReader) paragraph(p *node) {
	text := strings.TrimSpace(w.inline(p))
	heading, list, level := w.place(p)
	if text == "" {
		return
	}
	label, tight := "", false
	if list != "" {
		label, tight = w.numbers.next(list, level)
	}
	numbered := label + " " + text
	if tight || label == "" {
		numbered = label + text
	}
	switch {
	case heading > 0:
		w.list = ""
		w.d.heading(heading, strings.ReplaceAll(numbered, "**", ""))
	case list != "" && (label == "" || simpleLabel(label)):
		if w.list == "" {
			w.base = level
			if label != "" && !strings.HasPrefix(label, "1") { // or it would belong to the paragraph above
				w.d.gap()
			}
		}
		w.list, w.base = list, min(w.base, level)
		mark := "- "
		if label != "" {
			mark = label + " "
		}
		w.d.line(strings.Repeat("   ", min(level-w.base, 8)) + mark + oneLine(text))
	default:
		w.list = ""
		w.d.block(numbered)
	}
}

// simpleLabel reports whether Markdown takes a label for that of a list.
func simpleLabel(s string) bool {
	n := strings.TrimRight(s, ".)")
	return len(s) == len(n)+1 && len(n) > 0 && len(n) < 9 && strings.Trim(n, "0123456789") == ""
}

// inline returns the text of a paragraph without deleted text and fallbacks for older programs.
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
		case "oMathPara":
			for _, m := range k.named("oMath") {
				if tex := formula(m); tex != "" {
					b.WriteString("$$" + tex + "$$")
				}
			}
		case "oMath":
			if tex := formula(k); tex != "" {
				b.WriteString("$" + tex + "$")
			}
		case "ruby": // the pronunciation is above the text
			b.WriteString(w.inline(k.kid("rubyBase")))
		case "sym":
			b.WriteString(symbol(k.attr("font"), k.attr("char")))
		case "p":
			if _, list, level := w.place(k); list != "" {
				if label, _ := w.numbers.next(list, level); label != "" {
					b.WriteString(label + " ")
				}
			}
			b.WriteString(w.inline(k) + "\n")
		default:
			b.WriteString(w.inline(k))
		}
	}
	return b.String()
}

// chunk writes a document of another format that Word imports when it opens this one.
func (w *wordReader) chunk(part string) {
	data, err := w.a.read(part)
	read := reader(part, data)
	w.d.inside++
	switch {
	case err != nil || data == nil || read == nil:
		w.d.lack(Unsupported)
	case w.d.inside > 3:
		w.d.lack(Limits)
	default:
		if why := read(w.d, data); why != nil {
			w.d.lack(Damaged)
		}
	}
	w.d.inside--
}

// symbol returns a sign of a font that has signs in the places of letters.
func symbol(font, code string) string {
	n, err := strconv.ParseUint(code, 16, 32)
	if err != nil {
		return ""
	}
	if n >= 0xF000 && n < 0xF100 {
		n -= 0xF000
		if strings.Contains(font, "Wingdings") {
			switch n {
			case 0xFC, 0x50:
				return "✓"
			case 0xFE, 0x52:
				return "☑"
			case 0xFD, 0x53:
				return "☒"
			case 0xA8, 0x6F:
				return "☐"
			case 0xE0, 0xF0:
				return "→"
			}
			return "•"
		}
		if font == "Symbol" {
			if r, ok := map[uint64]string{0xB7: "•", 0xAE: "→", 0xA3: "≤", 0xB3: "≥", 0xB1: "±", 0xB4: "×", 0xB0: "°",
				0x61: "α", 0x62: "β", 0x67: "γ", 0x64: "δ", 0x65: "ε", 0x6C: "λ", 0x6D: "μ", 0x70: "π", 0x73: "σ",
				0x77: "ω", 0x57: "Ω", 0x44: "Δ", 0x53: "Σ", 0xA5: "∞", 0xB9: "≠", 0xBB: "≈"}[n]; ok {
				return r
			}
		}
		if n < 0x20 {
			return ""
		}
	}
	return string(rune(n))
}

// run returns a piece in one style; only bold affects the text.
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

// picture returns the text of a text box, a chart or a diagram, or a word for an image.
func (w *wordReader) picture(n *node) string {
	var boxes []string
	for _, box := range n.all("txbxContent") {
		boxes = append(boxes, w.inline(box))
	}
	if len(boxes) > 0 {
		return strings.Join(boxes, "\n")
	}
	if text, err := w.a.graphics(n, w.rel); err != nil {
		w.d.lack(Damaged)
	} else if text != "" {
		return "\n\n" + text + "\n\n"
	}
	for _, p := range n.all("docPr") {
		if alt := oneLine(p.attr("descr")); alt != "" {
			return "[image: " + alt + "]"
		}
	}
	return "[image]"
}

// rows returns the cells of a table: spanned columns and rows become empty cells.
func (w *wordReader) rows(t *node) (rows [][]string) {
	for _, tr := range t.all("tr") {
		row := make([]string, min(max(number(tr.kid("trPr", "gridBefore").attr("val")), 0), maxWide))
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
