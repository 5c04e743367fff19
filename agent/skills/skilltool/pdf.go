package skilltool

import (
	"fmt"
	"image/color"
	"strings"
	"unicode"
)

// Dimensions of an A4 page, in points.
const (
	pageWide, pageHigh = 595.28, 841.89
	margin             = 64.0
	bottom             = 70.0
	textRoom           = pageWide - 2*margin
	bodySize           = 10.5
	leading            = 1.42
)

// paper lays out a document on pages.
type paper struct {
	pdf   *pdfFile
	page  *pdfPage
	y     float64 // y position of the next line, from the bottom
	marks map[[2]int]int
	title string
}

func writePDF(c call, d *doc) ([]byte, error) {
	f, err := newPDF()
	if err != nil {
		return nil, err
	}
	p := &paper{pdf: f, marks: map[[2]int]int{}, title: brief(d.title, 80)}
	p.turn()
	for i, b := range d.blocks {
		if b.kind == heading {
			p.need(p.together(d.blocks[i:]))
		}
		if err := p.block(b, i); err != nil {
			return nil, err
		}
	}
	if lost := f.lost(); lost != "" {
		fmt.Fprintf(c.warn, "the fonts of the PDF lack these characters, shown as ?: %s\n", lost)
	}
	if f.uses[gothic] || f.uses[korean] {
		fmt.Fprintln(c.warn, "Chinese, Japanese and Korean text is shown with a font of the reader's computer; it is not inside the PDF, "+
			"as this machine has no such font")
	}
	return f.bytes(d)
}

func (p *paper) turn() {
	p.page = p.pdf.add()
	p.y = pageHigh - margin
	number := []piece{{text: fmt.Sprint(len(p.pdf.pages)), font: regular, size: 8.5, gray: true}}
	p.pdf.put(p.page, margin+textRoom-p.pdf.width(number), 38, number)
	if len(p.pdf.pages) > 1 {
		p.pdf.put(p.page, margin, 38, p.pdf.sorted([]piece{{text: p.title, font: regular, size: 8.5, gray: true}}))
	}
	p.page.line(margin, 52, margin+textRoom, 52, 0.8)
}

// need begins a new page if less room is left.
func (p *paper) need(high float64) {
	if p.y-high < bottom && p.y < pageHigh-margin {
		p.turn()
	}
}

// together returns the space in points that headings need together with the start of the following content.
func (p *paper) together(list []block) (high float64) {
	for _, b := range list {
		switch b.kind {
		case heading:
			size := headingSize(b.level)
			high += size*0.7 + size*1.25*float64(len(p.pdf.wrap(p.pdf.pieces(b.spans, size, true, false), textRoom))) + size*0.3
			continue
		case picture:
			_, h := fit(b.pic, textRoom, pageHigh-margin-bottom-120)
			return high + h
		case graph:
			return high + textRoom*chartHigh/chartWide
		case table:
			if h := p.tableHigh(b); h < 260 {
				return high + h
			}
			return high + 70
		case code:
			return high + 12*float64(min(4, 1+strings.Count(b.text, "\n")))
		}
		return high + 2*bodySize*leading
	}
	return high
}

func headingSize(level int) float64 {
	return []float64{21, 15.5, 12.5, 11, 10.5, 10.5}[min(level, 6)-1]
}

func (p *paper) block(b block, i int) error {
	indent := 0.0
	if b.quote {
		indent = 14
	}
	switch b.kind {
	case heading:
		size := headingSize(b.level)
		if i > 0 {
			p.y -= size * 0.7
		}
		list := p.pdf.pieces(b.spans, size, true, false)
		for n := range list {
			list[n].blue = true
		}
		p.pdf.marks = append(p.pdf.marks, pdfMark{plain(b.spans), b.level, len(p.pdf.pages) - 1, min(p.y+size, pageHigh)})
		p.text(list, 0, size*1.25, false)
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
		p.table(b)
	case picture:
		return p.picture(b.pic)
	case graph:
		p.chart(b.graph)
	}
	return nil
}

// chart draws a chart with lines and text.
func (p *paper) chart(c *chart) {
	scale := textRoom / chartWide
	p.need(chartHigh * scale)
	one := *c
	one.canvas = &pdfCanvas{p, p.y, scale}
	one.draw()
	p.y -= chartHigh*scale + 10
}

// pdfCanvas is the part of a page on which a chart is drawn.
type pdfCanvas struct {
	paper      *paper
	top, scale float64
}

func (c *pdfCanvas) path(list []point) string {
	var b strings.Builder
	for i, q := range list {
		fmt.Fprintf(&b, "%.2f %.2f %s ", margin+q.x*c.scale, c.top-q.y*c.scale, []string{"m", "l"}[btoi(i > 0)])
	}
	return b.String()
}

// tint returns a colour blended over white.
func tint(c color.NRGBA) string {
	part := func(v uint8) float64 { return (float64(v)*float64(c.A) + 255*(255-float64(c.A))) / 255 / 255 }
	return fmt.Sprintf("%.3f %.3f %.3f", part(c.R), part(c.G), part(c.B))
}

func (c *pdfCanvas) area(shade color.NRGBA, list []point) {
	if len(list) > 2 {
		fmt.Fprintf(&c.paper.page.draw, "%s rg %sh f\n", tint(shade), c.path(list))
	}
}

func (c *pdfCanvas) line(shade color.NRGBA, width float64, list []point) {
	if len(list) > 1 {
		fmt.Fprintf(&c.paper.page.draw, "%s RG %.2f w 1 j %sS\n", tint(shade), width*c.scale, c.path(list))
	}
}

func (c *pdfCanvas) text(at point, s string, size float64, bold bool, anchor int, _ bool) {
	c.write(at, piece{text: s, font: []int{regular, boldface}[btoi(bold)], size: size * c.scale * 1.05}, anchor)
}

func (c *pdfCanvas) light(at point, s string, size float64, anchor int) {
	c.write(at, piece{text: s, font: boldface, size: size * c.scale * 1.05, white: true}, anchor)
}

func (c *pdfCanvas) write(at point, one piece, anchor int) {
	list := c.paper.pdf.sorted([]piece{one})
	off := c.paper.pdf.width(list) * float64(anchor+1) / 2
	c.paper.pdf.put(c.paper.page, margin+at.x*c.scale-off, c.top-at.y*c.scale, list)
}

func (c *pdfCanvas) bytes() ([]byte, error) { return nil, nil }

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
	all := p.pdf.wrap(list, textRoom-indent)
	for i, line := range all {
		switch left := len(all) - i; {
		case i == 0 && left > 2, left == 2 && i > 1: // no single line of a paragraph is left alone on a page
			p.need(2 * high)
		default:
			p.need(high)
		}
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
	w, h := fit(pic, textRoom, pageHigh-margin-bottom-120)
	if err := pic.drawn(); err != nil {
		return err
	}
	name, err := p.pdf.image(pic)
	if err != nil {
		return err
	}
	p.need(h + 20*float64(btoi(pic.alt != "")))
	p.page.image(name, margin, p.y-h, w, h)
	p.y -= h + 4
	if pic.alt != "" {
		note := p.pdf.pieces([]span{{text: pic.alt, italic: true}}, 9, false, true)
		p.text(note, 0, 9*leading, false)
	}
	p.y -= 8
	return nil
}

// Dimensions of tables, in points.
const (
	cellPad   = 6.0 // at the sides
	cellAir   = 5.0 // above and below
	tableSize = 9.2
	tableLine = 12.6
)

// tableHigh returns the height of a table.
func (p *paper) tableHigh(b block) (high float64) {
	widths := p.columns(b.rows, tableSize)
	for i, row := range b.rows {
		most := 1
		for n, cell := range row {
			if n < len(widths) {
				most = max(most, len(p.pdf.wrap(p.pdf.pieces(cell, tableSize, i == 0, false), widths[n]-2*cellPad)))
			}
		}
		high += float64(most)*tableLine + 2*cellAir - 2
	}
	return high
}

// table draws a table and repeats its head on each page.
func (p *paper) table(b block) {
	const size, high = tableSize, tableLine
	rows, sides := b.rows, b.sides()
	columns := len(rows[0])
	p.y -= 4
	if all := p.tableHigh(b); all < 260 { // a short table stays on one page
		p.need(all)
	}
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
		return cells, max(tall, high) + 2*cellAir - 2
	}
	draw := func(cells [][][]piece, tall float64, head bool) {
		if head {
			p.page.rect(margin, p.y-tall, textRoom, tall, 0.93)
		}
		x := margin
		for i, cell := range cells {
			for n, line := range cell {
				off := 0.0
				if free := widths[i] - 2*cellPad - p.pdf.width(line); sides[i] == right {
					off = free
				} else if sides[i] == middle {
					off = free / 2
				}
				p.pdf.put(p.page, x+cellPad+off, p.y-cellAir-size+1-float64(n)*high, line)
			}
			x += widths[i]
		}
		p.y -= tall
		if head {
			fmt.Fprintf(&p.page.draw, "0.184 0.435 0.718 RG 1.2 w %.2f %.2f m %.2f %.2f l S\n", margin, p.y, margin+textRoom, p.y)
		} else {
			p.page.line(margin, p.y, margin+textRoom, p.y, 0.78)
		}
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

// columns divides the width by the content of the cells.
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

// wide reports whether a character is as wide as high.
func wide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) ||
		r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xff60 || r >= 0x1f300 && r <= 0x1faff
}
