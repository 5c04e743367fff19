package skilltool

import (
	"fmt"
	"strings"
	"unicode"
)

// Measures of a page, in points: A4.
const (
	pageWide, pageHigh = 595.28, 841.89
	margin             = 64.0
	bottom             = 70.0
	textRoom           = pageWide - 2*margin
	bodySize           = 10.5
	leading            = 1.42
)

// paper lays a document out on pages.
type paper struct {
	pdf   *pdfFile
	page  *pdfPage
	y     float64 // of the next line, from the bottom
	marks map[[2]int]int
}

func writePDF(c call, d *doc) ([]byte, error) {
	f, err := newPDF()
	if err != nil {
		return nil, err
	}
	p := &paper{pdf: f, marks: map[[2]int]int{}}
	p.turn()
	for i, b := range d.blocks {
		if err := p.block(b, i); err != nil {
			return nil, err
		}
	}
	if lost := f.lost(); lost != "" {
		fmt.Fprintf(c.warn, "the fonts of the PDF lack these characters, shown as ?: %s\n", lost)
	}
	if f.uses[gothic] || f.uses[korean] {
		fmt.Fprintln(c.warn, "Chinese, Japanese and Korean text is shown with a font of the reader's computer; it is not inside the PDF")
	}
	return f.bytes(d)
}

func (p *paper) turn() {
	p.page = p.pdf.add()
	p.y = pageHigh - margin
	number := []piece{{text: fmt.Sprint(len(p.pdf.pages)), font: regular, size: 8.5, gray: true}}
	p.pdf.put(p.page, (pageWide-p.pdf.width(number))/2, 38, number)
}

// need begins a new page where less room is left.
func (p *paper) need(high float64) {
	if p.y-high < bottom && p.y < pageHigh-margin {
		p.turn()
	}
}

func (p *paper) block(b block, i int) error {
	indent := 0.0
	if b.quote {
		indent = 14
	}
	switch b.kind {
	case heading:
		size := []float64{21, 15.5, 12.5, 11, 10.5, 10.5}[min(b.level, 6)-1]
		if i > 0 {
			p.y -= size * 0.7
		}
		p.need(size * 4) // a heading stays with what it is above
		p.text(p.pdf.pieces(b.spans, size, true, false), 0, size*1.25, false)
		p.y -= size * 0.3
	case para:
		p.text(p.pdf.pieces(b.spans, bodySize, false, b.quote), indent, bodySize*leading, b.quote)
		p.y -= 6
	case item:
		p.item(b)
	case code:
		p.code(b.text)
	case rule:
		p.need(20)
		p.page.line(margin, p.y-6, margin+textRoom, p.y-6, 0.75)
		p.y -= 18
	case table:
		p.table(b.rows)
	case picture:
		return p.picture(b.pic)
	}
	return nil
}

func (p *paper) item(b block) {
	indent := 18 * float64(b.level+1)
	p.need(bodySize * leading)
	if b.number > 0 {
		mark := "•"
		if b.ordered {
			mark = fmt.Sprintf("%d.", b.number)
		}
		sign := []piece{{text: mark, font: regular, size: bodySize}}
		p.pdf.put(p.page, margin+indent-5-p.pdf.width(sign), p.y-bodySize, sign)
	}
	p.text(p.pdf.pieces(b.spans, bodySize, false, false), indent, bodySize*leading, false)
	p.y -= 3
}

// text sets a paragraph.
func (p *paper) text(list []piece, indent, high float64, bar bool) {
	for _, line := range p.pdf.wrap(list, textRoom-indent) {
		p.need(high)
		p.pdf.put(p.page, margin+indent, p.y-high/leading, line)
		if bar {
			p.page.rect(margin, p.y-high, 3, high, 0.8)
		}
		p.y -= high
	}
}

func (p *paper) code(text string) {
	const size, high = 8.8, 12.0
	p.y -= 2
	for line := range strings.SplitSeq(text, "\n") {
		list := []piece{{text: strings.ReplaceAll(line, "\t", "    "), font: mono, size: size}}
		for _, l := range p.pdf.wrap(p.pdf.sorted(list), textRoom-16) {
			p.need(high)
			p.page.rect(margin, p.y-high, textRoom, high, 0.955)
			p.pdf.put(p.page, margin+8, p.y-9, l)
			p.y -= high
		}
	}
	p.y -= 9
}

func (p *paper) picture(pic *pic) error {
	w, h := fit(pic, textRoom, pageHigh-margin-bottom-20)
	if err := pic.drawn(); err != nil {
		return err
	}
	name, err := p.pdf.image(pic)
	if err != nil {
		return err
	}
	p.need(h)
	p.page.image(name, margin, p.y-h, w, h)
	p.y -= h + 10
	return nil
}

const cellPad = 5.0

// table sets a table; its head comes again on each page.
func (p *paper) table(rows [][][]span) {
	const size, high = 9.2, 12.6
	columns := len(rows[0])
	widths := p.columns(rows, size)
	set := func(row [][]span, head bool) (cells [][][]piece, tall float64) {
		for i := range columns {
			var list []piece
			if i < len(row) {
				list = p.pdf.pieces(row[i], size, head, false)
			}
			cell := p.pdf.wrap(list, widths[i]-2*cellPad)
			tall = max(tall, float64(len(cell))*high)
			cells = append(cells, cell)
		}
		return cells, max(tall, high) + 2*cellPad - 2
	}
	draw := func(cells [][][]piece, tall float64, head bool) {
		if head {
			p.page.rect(margin, p.y-tall, textRoom, tall, 0.93)
		}
		x := margin
		for i, cell := range cells {
			for n, line := range cell {
				p.pdf.put(p.page, x+cellPad, p.y-cellPad-size+1-float64(n)*high, line)
			}
			x += widths[i]
		}
		p.y -= tall
		p.page.line(margin, p.y, margin+textRoom, p.y, 0.75)
	}
	top, topHigh := set(rows[0], true)
	p.need(topHigh * 2)
	draw(top, topHigh, true)
	for _, row := range rows[1:] {
		cells, tall := set(row, false)
		if p.y-tall < bottom && p.y < pageHigh-margin-topHigh-1 {
			p.turn()
			draw(top, topHigh, true)
		}
		draw(cells, tall, false)
	}
	p.y -= 12
}

// columns shares the width by what the cells hold.
func (p *paper) columns(rows [][][]span, size float64) []float64 {
	widths := make([]float64, len(rows[0]))
	sum := 0.0
	for i := range widths {
		for _, row := range rows {
			if i < len(row) {
				widths[i] = max(widths[i], p.pdf.width(p.pdf.pieces(row[i], size, true, false))+2*cellPad)
			}
		}
		widths[i] = min(max(widths[i], 30), 260)
		sum += widths[i]
	}
	for i := range widths {
		widths[i] *= textRoom / sum
	}
	return widths
}

// wide tells characters that have the width of their height.
func wide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) ||
		r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xff60 || r >= 0x1f300 && r <= 0x1faff
}
