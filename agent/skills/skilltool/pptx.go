package skilltool

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Measures of a slide of 16:9, in points.
const (
	slideWide, slideHigh = 960.0, 540.0
	slideEdge            = 56.0
	bodyTop, bodyHigh    = 126.0, 372.0
)

// box is a place on a slide, in points.
type box struct{ x, y, w, h float64 }

func (b box) xfrm(tag string) string {
	return fmt.Sprintf(`<%s:xfrm><a:off x="%d" y="%d"/><a:ext cx="%d" cy="%d"/></%[1]s:xfrm>`, tag,
		int(b.x*emu), int(b.y*emu), int(b.w*emu), int(b.h*emu))
}

// show is a presentation in the making.
type show struct {
	c      call
	slides []string
	rels   []*relations
	media  []part
}

const drawNS = `xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" ` +
	`xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" ` +
	`xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"`

func writePptx(c call, d *doc) ([]byte, error) {
	list, err := d.slides()
	if err != nil {
		return nil, err
	}
	w := &show{c: c}
	for i, s := range list {
		if err := w.slide(i+1, s); err != nil {
			return nil, fmt.Errorf("slide %d: %w", i+1, err)
		}
	}
	return zipped(append(w.parts(d), w.media...))
}

// sheet is one slide in the making.
type sheet struct {
	show   *show
	number int
	rels   *relations
	tree   strings.Builder
	last   int // id of the last shape
}

func (w *show) slide(number int, s slide) error {
	sh := &sheet{show: w, number: number, rels: &relations{}, last: 1}
	layout := "slideLayout2.xml"
	if s.cover {
		layout = "slideLayout1.xml"
	}
	sh.rels.add("slideLayout", "../slideLayouts/"+layout, false)
	var texts, things []block
	for _, b := range s.blocks {
		switch b.kind {
		case table, picture, code:
			things = append(things, b)
		case rule:
		default:
			texts = append(texts, b)
		}
	}
	if len(s.title) > 0 {
		sh.text(`<p:ph type="title"/>`, "Title", nil, []block{{spans: s.title}}, 0)
	}
	area := box{slideEdge, bodyTop, slideWide - 2*slideEdge, bodyHigh}
	if s.cover {
		sh.text(`<p:ph type="body" idx="1"/>`, "Subtitle", nil, texts, 0)
		texts = nil
	}
	room := area
	if len(texts) > 0 {
		place := area
		switch {
		case len(things) > 0 && wideThings(things): // below each other
			place.h = min(area.h/2, 30*float64(lines(texts, area.w, 18)))
			room.y, room.h = area.y+place.h+10, area.h-place.h-10
		case len(things) > 0: // side by side
			place.w = area.w*0.46 - 12
			room.x, room.w = area.x+area.w*0.46+12, area.w*0.54-12
		}
		size := sh.size(texts, place)
		sh.text(`<p:ph type="body" idx="1"/>`, "Text", &place, texts, size)
	}
	for i, b := range things {
		part := room.h / float64(len(things))
		at := box{room.x, room.y + float64(i)*part, room.w, part - 8}
		if err := sh.thing(b, at); err != nil {
			return err
		}
	}
	w.slides = append(w.slides,
		`<p:sld `+drawNS+`><p:cSld><p:spTree><p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/>`+
			`</p:nvGrpSpPr><p:grpSpPr/>`+sh.tree.String()+
			`</p:spTree></p:cSld><p:clrMapOvr><a:masterClrMapping/></p:clrMapOvr></p:sld>`)
	w.rels = append(w.rels, sh.rels)
	return nil
}

func wideThings(list []block) bool {
	for _, b := range list {
		if b.kind != picture {
			return true
		}
	}
	return false
}

// lines estimates how many lines text takes.
func lines(list []block, width float64, size int) int {
	n := 0
	for _, b := range list {
		room := (width - 24*float64(b.level+1)) / float64(size)
		chars := 0.0
		for _, r := range plain(b.spans) {
			if wide(r) {
				chars++
			} else {
				chars += 0.5
			}
		}
		n += max(1, int(chars/max(room, 4)+0.999))
	}
	return n
}

// size is the largest letters with which text fits; where none do, it says so.
func (sh *sheet) size(list []block, at box) int {
	for size := 24; size >= 12; size -= 2 {
		if float64(lines(list, at.w, size)*size)*1.35 <= at.h {
			return size
		}
	}
	fmt.Fprintf(sh.show.c.warn, "slide %d: the text does not fit; split it\n", sh.number)
	return 12
}

func (sh *sheet) shape(name string) string {
	sh.last++
	return fmt.Sprintf(`<p:cNvPr id="%d" name="%s %d"/>`, sh.last, name, sh.last)
}

// text adds a shape with text. Size 0 leaves it to the layout, as a nil place does.
func (sh *sheet) text(holder, name string, at *box, list []block, size int) {
	sh.tree.WriteString(`<p:sp><p:nvSpPr>` + sh.shape(name) + `<p:cNvSpPr><a:spLocks noGrp="1"/></p:cNvSpPr><p:nvPr>` +
		holder + `</p:nvPr></p:nvSpPr><p:spPr>`)
	if at != nil {
		sh.tree.WriteString(at.xfrm("a"))
	}
	sh.tree.WriteString(`</p:spPr><p:txBody><a:bodyPr/><a:lstStyle/>`)
	number := map[[2]int]int{}
	for _, b := range list {
		props := `<a:buNone/>`
		attrs := ` marL="0" indent="0"`
		if b.kind == item {
			attrs = fmt.Sprintf(` marL="%d" indent="-%d" lvl="%d"`, (b.level+1)*24*emu, 20*emu, min(b.level, 8))
			props = `<a:buFont typeface="Arial"/><a:buChar char="•"/>`
			if b.ordered {
				at := [2]int{b.list, b.level}
				number[at]++
				props = fmt.Sprintf(`<a:buFont typeface="+mj-lt"/><a:buAutoNum type="arabicPeriod" startAt="%d"/>`,
					number[at])
			}
		}
		if name != "Text" {
			attrs, props = "", ""
		}
		sh.tree.WriteString(`<a:p><a:pPr` + attrs + `>` + props + `</a:pPr>`)
		sh.runs(b.spans, size, b.kind == heading)
		sh.tree.WriteString(`</a:p>`)
	}
	if len(list) == 0 {
		sh.tree.WriteString(`<a:p/>`)
	}
	sh.tree.WriteString(`</p:txBody></p:sp>`)
}

func (sh *sheet) runs(spans []span, size int, bold bool) {
	for _, s := range spans {
		attrs, props := ` lang="en-US"`, ""
		if size > 0 {
			attrs += fmt.Sprintf(` sz="%d"`, size*100)
		}
		if s.bold || bold {
			attrs += ` b="1"`
		}
		if s.italic {
			attrs += ` i="1"`
		}
		if s.struck {
			attrs += ` strike="sngStrike"`
		}
		switch {
		case s.mono:
			props = `<a:latin typeface="Consolas"/>`
		case size > 0: // tables would take a font of their own
			props = `<a:latin typeface="+mn-lt"/><a:ea typeface="+mn-ea"/>`
		}
		if s.link != "" && !strings.HasPrefix(s.link, "#") {
			props += `<a:hlinkClick r:id="` + sh.rels.add("hyperlink", s.link, true) + `"/>`
		}
		for i, line := range strings.Split(s.text, "\n") {
			if i > 0 {
				sh.tree.WriteString(`<a:br/>`)
			}
			sh.tree.WriteString(`<a:r><a:rPr` + attrs + `>` + props + `</a:rPr><a:t>` + esc(line) + `</a:t></a:r>`)
		}
	}
}

// thing adds what is not text.
func (sh *sheet) thing(b block, at box) error {
	switch b.kind {
	case picture:
		return sh.picture(b.pic, at)
	case table:
		sh.table(b.rows, at)
	case code:
		sh.code(b.text, at)
	}
	return nil
}

func (sh *sheet) picture(p *pic, at box) error {
	if err := p.drawn(); err != nil {
		return err
	}
	name := fmt.Sprintf("image%d.%s", len(sh.show.media)+1, p.format)
	sh.show.media = append(sh.show.media, part{"ppt/media/" + name, p.data})
	id := sh.rels.add("image", "../media/"+name, false)
	scale := min(at.w/float64(p.width), at.h/float64(p.height))
	w, h := float64(p.width)*scale, float64(p.height)*scale
	place := box{at.x + (at.w-w)/2, at.y + (at.h-h)/2, w, h}
	sh.last++
	fmt.Fprintf(&sh.tree, `<p:pic><p:nvPicPr><p:cNvPr id="%d" name="Picture %[1]d" descr="%s"/><p:cNvPicPr/><p:nvPr/></p:nvPicPr>`+
		`<p:blipFill><a:blip r:embed="%s"/><a:stretch><a:fillRect/></a:stretch></p:blipFill><p:spPr>%s`+
		`<a:prstGeom prst="rect"><a:avLst/></a:prstGeom></p:spPr></p:pic>`, sh.last, esc(p.alt), id, place.xfrm("a"))
	return nil
}

func (sh *sheet) table(rows [][][]span, at box) {
	columns := len(rows[0])
	size := 16
	for size > 9 && float64(len(rows)*size)*1.9 > at.h {
		size--
	}
	if float64(len(rows)*size)*1.9 > at.h {
		fmt.Fprintf(sh.show.c.warn, "slide %d: the table has too many rows; split it\n", sh.number)
	}
	high := float64(size) * 1.9
	place := box{at.x, at.y, at.w, high * float64(len(rows))}
	sh.tree.WriteString(`<p:graphicFrame><p:nvGraphicFramePr>` + sh.shape("Table") +
		`<p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr>` +
		place.xfrm("p") + `<a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/table"><a:tbl>` +
		`<a:tblPr firstRow="1" bandRow="1"/><a:tblGrid>`)
	for range columns {
		fmt.Fprintf(&sh.tree, `<a:gridCol w="%d"/>`, int(at.w*emu)/columns)
	}
	sh.tree.WriteString(`</a:tblGrid>`)
	for i, row := range rows {
		fmt.Fprintf(&sh.tree, `<a:tr h="%d">`, int(high*emu))
		for _, cell := range row {
			sh.tree.WriteString(`<a:tc><a:txBody><a:bodyPr/><a:lstStyle/><a:p>`)
			sh.runs(cell, size, i == 0)
			sh.tree.WriteString(`</a:p></a:txBody><a:tcPr marL="76200" marR="76200" marT="30480" marB="30480">`)
			fmt.Fprintf(&sh.tree, `<a:lnB w="%d"><a:solidFill><a:srgbClr val="C4CCD6"/></a:solidFill></a:lnB>`,
				9525+12700*btoi(i == 0))
			fill := `<a:noFill/>`
			if i == 0 {
				fill = `<a:solidFill><a:srgbClr val="EAF0F7"/></a:solidFill>`
			}
			sh.tree.WriteString(fill + `</a:tcPr></a:tc>`)
		}
		sh.tree.WriteString(`</a:tr>`)
	}
	sh.tree.WriteString(`</a:tbl></a:graphicData></a:graphic></p:graphicFrame>`)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (sh *sheet) code(text string, at box) {
	all := strings.Split(text, "\n")
	longest := 1
	for _, l := range all {
		longest = max(longest, utf8.RuneCountInString(l))
	}
	size := 16
	for size > 8 && (float64(size)*0.56*float64(longest) > at.w-24 || float64(size*len(all))*1.25 > at.h-16) {
		size--
	}
	at.h = min(at.h, float64(size*len(all))*1.25+20)
	sh.tree.WriteString(`<p:sp><p:nvSpPr>` + sh.shape("Code") + `<p:cNvSpPr txBox="1"/><p:nvPr/></p:nvSpPr><p:spPr>` +
		at.xfrm("a") + `<a:prstGeom prst="rect"><a:avLst/></a:prstGeom><a:solidFill><a:srgbClr val="F1F4F8"/></a:solidFill></p:spPr>` +
		`<p:txBody><a:bodyPr wrap="square"/><a:lstStyle/>`)
	for _, l := range all {
		sh.tree.WriteString(`<a:p>`)
		sh.runs([]span{{text: l, mono: true}}, size, false)
		sh.tree.WriteString(`</a:p>`)
	}
	sh.tree.WriteString(`</p:txBody></p:sp>`)
}
