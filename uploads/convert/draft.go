package convert

import (
	"fmt"
	"strings"
)

// draft is the Markdown of a document as it grows, up to a limit.
type draft struct {
	text     strings.Builder
	wrote    bool // something besides anchors
	partial  Reason
	progress func(done, of int)
	chosen   string // the encoding selected for the text
	encoding string // encoding it was read in, if worth a note
	inside   int    // documents within documents that are being read
}

// full reports that the limit is reached.
func (d *draft) full() bool { return d.text.Len() > maxText }

// lack notes that something is missing; the first reason stays.
func (d *draft) lack(r Reason) {
	if d.partial == "" {
		d.partial = r
	}
}

func (d *draft) step(done, of int) {
	if d.progress != nil {
		d.progress(done, of)
	}
}

// anchor marks where a page, a slide or a sheet begins.
func (d *draft) anchor(kind string, n int) {
	d.gap()
	fmt.Fprintf(&d.text, "<!-- %s %d -->\n\n", kind, n)
}

// sheet begins a sheet of a workbook.
func (d *draft) sheet(n int, title string) {
	d.anchor("sheet", n)
	d.heading(2, title)
}

// gap ends a block with an empty line.
func (d *draft) gap() {
	s := d.text.String()
	switch {
	case s == "" || strings.HasSuffix(s, "\n\n"):
	case strings.HasSuffix(s, "\n"):
		d.text.WriteByte('\n')
	default:
		d.text.WriteString("\n\n")
	}
}

// block writes a separate paragraph.
func (d *draft) block(s string) {
	s = strings.TrimSpace(s)
	if s == "" {
		return
	}
	d.gap()
	d.line(s)
}

// line writes a line below the one before.
func (d *draft) line(s string) {
	if d.full() {
		d.lack(Long)
		return
	}
	d.wrote = true
	// Text of the document must not look like one of our anchors.
	d.text.WriteString(strings.ReplaceAll(clean(s), "<!--", "&lt;!--"))
	d.text.WriteByte('\n')
}

func (d *draft) heading(level int, s string) {
	if s = oneLine(s); s != "" {
		d.block(strings.Repeat("#", min(max(level, 1), 6)) + " " + s)
	}
}

// table writes rows of cells; the first is the head. Columns that are empty everywhere at
// the end are left out.
func (d *draft) table(rows [][]string) {
	t := tableWriter{d: d}
	for _, row := range rows {
		for i := len(row); i > t.width; i-- {
			if oneLine(row[i-1]) != "" {
				t.width = i
			}
		}
	}
	for _, row := range rows {
		t.row(row)
	}
}

// tableWriter writes a table row by row. Rows without text are left out.
type tableWriter struct {
	d     *draft
	width int
	begun bool
}

func (t *tableWriter) row(cells []string) {
	if t.width == 0 || strings.TrimSpace(strings.Join(cells, "")) == "" {
		return
	}
	var b strings.Builder
	for i := range max(t.width, 1) {
		cell := ""
		if i < len(cells) {
			cell = strings.ReplaceAll(oneLine(cells[i]), "|", `\|`)
		}
		b.WriteString("| " + cell + " ")
	}
	b.WriteString("|")
	if !t.begun {
		t.begun = true
		t.d.gap()
		b.WriteString("\n" + strings.Repeat("| --- ", t.width) + "|")
	}
	t.d.line(b.String())
}

// oneLine joins the words of a text by single spaces.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// clean drops characters that no text should have.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == 0xFEFF {
			return -1
		}
		return r
	}, s)
}
