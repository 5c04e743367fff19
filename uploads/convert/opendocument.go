package convert

import (
	"bytes"
	"path"
	"strconv"
	"strings"
)

// openDocument reads texts, sheets and slides of the Open Document Format.
func openDocument(d *draft, a *archive) error {
	manifest, err := a.read("META-INF/manifest.xml")
	if err != nil {
		return err
	}
	if bytes.Contains(manifest, []byte("encryption-data")) {
		return Encrypted
	}
	t, err := a.tree("content.xml")
	if err != nil {
		return err
	}
	o := &odf{d: d, a: a}
	o.read(t.kid("document-content", "body"))
	return nil
}

// flatDocument reads a document in a single XML file.
func flatDocument(d *draft, data []byte) error {
	t, err := parseXML(data)
	if err != nil {
		return err
	}
	o := &odf{d: d}
	o.read(t.kid("document", "body"))
	return nil
}

func (o *odf) read(body *node) {
	d := o.d
	for _, k := range body.kids {
		switch k.name {
		case "text":
			o.blocks(k)
		case "spreadsheet":
			for i, table := range k.all("table") {
				d.anchor("sheet", i+1)
				d.heading(2, table.attr("table:name"))
				o.table(table)
			}
		case "presentation", "drawing":
			pages := k.all("page")
			for i, p := range pages {
				d.anchor("slide", i+1)
				o.slide(p)
				d.step(i+1, len(pages))
			}
		}
	}
	for i, note := range o.notes {
		d.block("[^" + strconv.Itoa(i+1) + "]: " + note)
	}
}

type odf struct {
	d     *draft
	a     *archive // nil for a single file
	notes []string
}

func (o *odf) blocks(n *node) {
	for _, k := range n.kids {
		if o.d.full() {
			o.d.lack(Long)
			return
		}
		switch k.name {
		case "h":
			level, err := strconv.Atoi(k.attr("outline-level"))
			if err != nil {
				level = 1
			}
			o.d.heading(level, o.inline(k))
		case "p":
			o.d.block(o.inline(k))
		case "list":
			o.list(k, 0)
		case "table":
			o.table(k)
		case "tracked-changes", "sequence-decls", "forms":
		case "", "table-of-content-source":
		default:
			o.blocks(k)
		}
	}
}

func (o *odf) list(n *node, depth int) {
	for _, item := range n.kids {
		for _, k := range item.kids {
			switch k.name {
			case "p", "h":
				if text := oneLine(o.inline(k)); text != "" {
					o.d.line(strings.Repeat("  ", min(depth, 8)) + "- " + text)
				}
			case "list":
				o.list(k, depth+1)
			}
		}
	}
}

func (o *odf) inline(n *node) string {
	var b strings.Builder
	for _, k := range n.kids {
		switch k.name {
		case "":
			b.WriteString(k.text)
		case "s":
			count, err := strconv.Atoi(k.attr("c"))
			if err != nil {
				count = 1
			}
			b.WriteString(strings.Repeat(" ", min(max(count, 1), 100)))
		case "tab":
			b.WriteByte('\t')
		case "line-break":
			b.WriteByte('\n')
		case "a":
			text, to := o.inline(k), k.attr("href")
			if strings.Contains(to, ":") && strings.TrimSpace(text) != "" {
				text = "[" + text + "](" + to + ")"
			}
			b.WriteString(text)
		case "note":
			o.notes = append(o.notes, oneLine(k.kid("note-body").content()))
			b.WriteString("[^" + strconv.Itoa(len(o.notes)) + "]")
		case "annotation", "change-start", "change-end", "change":
		case "object":
			b.WriteString(o.formula(k))
		case "image":
			b.WriteString("[image]")
		case "p", "h":
			b.WriteString(o.inline(k) + "\n")
		case "text-box", "custom-shape", "rect", "ellipse", "table", "list":
			b.WriteString("\n" + o.inline(k) + "\n")
		case "table-cell":
			b.WriteString(oneLine(o.inline(k)) + " ")
		case "table-row":
			b.WriteString(o.inline(k) + "\n")
		case "desc", "title": // descriptions of drawings
		default:
			b.WriteString(o.inline(k))
		}
	}
	return b.String()
}

// formula returns the content of a formula object, which has a fallback image.
func (o *odf) formula(object *node) string {
	math := object.kid("math")
	if part := path.Clean(object.attr("href")); math.name == "" && o.a != nil && part != "." {
		t, err := o.a.tree(part + "/content.xml")
		if err != nil {
			o.d.lack(Damaged)
			return ""
		}
		math = t.kid("math")
	}
	if tex := oneLine(texOfMathML(math)); tex != "" {
		return "$" + tex + "$"
	}
	return ""
}

// table writes rows with formatted values. Repeated empty ones, which fill a sheet to its end, are skipped.
func (o *odf) table(t *node) {
	var rows [][]string
	size := 0
	for _, tr := range t.all("table-row") {
		var row []string
		for _, c := range tr.kids {
			if c.name != "table-cell" && c.name != "covered-table-cell" {
				continue
			}
			var lines []string
			for _, p := range c.all("p") {
				lines = append(lines, o.inline(p))
			}
			text := strings.Join(lines, " ")
			if len(lines) == 0 {
				text = unshown(c)
			}
			for range repeats(c.attr("number-columns-repeated"), text == "") {
				row = append(row, text)
				size += len(text)
			}
			if len(row) > maxWide {
				row = row[:maxWide]
				break
			}
		}
		empty := strings.TrimSpace(strings.Join(row, "")) == ""
		for range repeats(tr.attr("number-rows-repeated"), empty) {
			if len(rows) == maxRows || size > maxText {
				o.d.lack(Long)
				break
			}
			rows = append(rows, row)
			size += len(row)
		}
	}
	o.d.table(rows)
}

// unshown returns the value of a cell that its program doesn't show as text, or its formula if it has no value either.
func unshown(cell *node) string {
	for _, name := range []string{"string-value", "date-value", "time-value", "boolean-value", "value"} {
		if v := cell.attr("office:" + name); v != "" {
			return v
		}
	}
	_, formula, _ := strings.Cut(cell.attr("formula"), "=")
	if formula == "" {
		return ""
	}
	return "=" + formula
}

func repeats(s string, empty bool) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return 1
	}
	if empty {
		return min(n, 64)
	}
	return min(n, 10_000)
}

func (o *odf) slide(page *node) {
	for _, k := range page.kids {
		switch k.name {
		case "frame":
			if k.attr("presentation:class") == "title" {
				o.d.heading(1, o.inline(k.kid("text-box")))
				continue
			}
			if table := k.kid("table"); table.name != "" {
				o.table(table)
				continue
			}
			if box := k.kid("text-box"); box.name != "" {
				o.blocks(box)
				continue
			}
			if k.kid("image").name != "" {
				o.d.block("[image]")
			}
		case "custom-shape", "rect":
			o.blocks(k)
		case "g":
			o.slide(k)
		case "notes":
			for _, f := range k.all("frame") {
				if text := o.inline(f.kid("text-box")); strings.TrimSpace(text) != "" {
					o.d.block("Notes: " + strings.TrimSpace(text))
				}
			}
		}
	}
}
