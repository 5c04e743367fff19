package skilltool

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Dimensions of a 16:9 slide, in points.
const (
	slideWide, slideHigh = 960.0, 540.0
	slideEdge            = 56.0
	bodyTop, bodyHigh    = 130.0, 356.0
	titleTop, titleHigh  = 34.0, 82.0
	footTop              = 502.0
)

// box is an area of a slide, in points.
type box struct{ x, y, w, h float64 }

func (b box) xfrm(tag string) string {
	return fmt.Sprintf(`<%s:xfrm><a:off x="%d" y="%d"/><a:ext cx="%d" cy="%d"/></%[1]s:xfrm>`, tag,
		int(b.x*emu), int(b.y*emu), int(b.w*emu), int(b.h*emu))
}

// show builds a presentation.
type show struct {
	c      call
	slides []string
	rels   []*relations
	media  []part
	notes  map[int]string // of slides by their number
	charts int
	title  string
}

const drawNS = `xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" ` +
	`xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" ` +
	`xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"`

func writePptx(c call, d *doc) ([]byte, error) {
	list, err := d.slides()
	if err != nil {
		return nil, err
	}
	w := &show{c: c, notes: map[int]string{}, title: d.title}
	for i, s := range list {
		if err := w.slide(i+1, s); err != nil {
			return nil, fmt.Errorf("slide %d: %w", i+1, err)
		}
	}
	return zipped(append(w.parts(d), w.media...))
}

// sheet builds one slide.
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
	var texts, things, said, below []block
	for _, b := range s.blocks {
		switch {
		case b.kind == table, b.kind == picture, b.kind == code, b.kind == graph:
			things = append(things, b)
		case b.kind == rule:
		case b.quote && !s.cover:
			said = append(said, b)
		case len(things) > 0 && wideThings(things):
			below = append(below, b)
		default:
			texts = append(texts, b)
		}
	}
	if len(s.title) > 0 {
		size := 0
		if room := slideWide - 2*slideEdge; !s.cover && lines([]block{{spans: s.title}}, room, 30) > 1 {
			size = 26
			if lines([]block{{spans: s.title}}, room, 26) > 2 {
				size = 20
			}
		}
		sh.text(`<p:ph type="title"/>`, "Title", nil, []block{{spans: s.title}}, size)
	}
	if !s.cover {
		sh.foot()
	}
	if len(s.notes) > 0 {
		w.notes[number] = notesText(s.notes)
		sh.rels.add("notesSlide", fmt.Sprintf("../notesSlides/notesSlide%d.xml", number), false)
	}
	area := box{slideEdge, bodyTop, slideWide - 2*slideEdge, bodyHigh}
	if s.cover {
		sh.text(`<p:ph type="body" idx="1"/>`, "Subtitle", nil, texts, 0)
		texts = nil
	}
	if len(said) > 0 { // stands out at the end
		high := min(27*float64(lines(said, area.w-40, 20))+22, area.h/2)
		sh.callout(said, box{area.x, area.y + area.h - high, area.w, high})
		area.h -= high + 14
	}
	room := area
	small := 16 // letters of the text below
	if len(below) > 0 {
		most := area.h / 3
		for small > 10 && belowHigh(below, area.w, small) > most {
			small--
		}
		high := belowHigh(below, area.w, small)
		if high > most {
			fmt.Fprintf(w.c.warn, "slide %d: the text does not fit; split it\n", number)
		}
		room.h -= min(high, most)
	}
	if len(texts) > 0 {
		place := area
		switch {
		case len(things) > 0 && wideThings(things): // below each other
			place.h = min(room.h/2, 32*float64(lines(texts, area.w, 20))+6)
			room.y, room.h = area.y+place.h+14, room.h-place.h-14
		case len(things) > 0: // side by side
			place.w = area.w*0.4 - 12
			room.x, room.w = area.x+area.w*0.4+12, area.w*0.6-12
		}
		size := sh.size(texts, place)
		sh.text(`<p:ph type="body" idx="1"/>`, "Text", &place, texts, size)
	}
	places := sh.stack(things, room)
	for i, b := range things {
		if err := sh.thing(b, places[i]); err != nil {
			return err
		}
	}
	if len(below) > 0 {
		last, at := things[len(things)-1], places[len(things)-1]
		end := max(room.y+room.h, at.y+at.h)
		if last.kind == table { // close to the table
			end = min(end, at.y+total(rowHeights(last, at.w, tableLetters(last, at)))+12)
		}
		sh.text(`<p:ph type="body" idx="13"/>`, "Text", &box{area.x, end, area.w, max(area.y+area.h-end, 24)}, below, small)
	}
	w.slides = append(w.slides,
		`<p:sld `+drawNS+`><p:cSld><p:spTree><p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/>`+
			`</p:nvGrpSpPr><p:grpSpPr/>`+sh.tree.String()+
			`</p:spTree></p:cSld><p:clrMapOvr><a:masterClrMapping/></p:clrMapOvr></p:sld>`)
	w.rels = append(w.rels, sh.rels)
	return nil
}

// belowHigh estimates the height of the text below a table, with the space above it.
func belowHigh(list []block, width float64, size int) float64 {
	return 1.5*float64(size*lines(list, width, size)) + 14
}

// Heights on a slide, in points.
const (
	thingGap  = 8.0
	leastHigh = 130.0 // of a chart or a picture beside tables
)

// stack places tables, code, charts and pictures below each other: first tables and code get the height of their lines
// at 14 points, then charts and pictures share the rest. It warns where tables or code do not fit.
func (sh *sheet) stack(list []block, room box) []box {
	free := room.h - thingGap*float64(len(list))
	wants, least := make([]float64, len(list)), make([]float64, len(list))
	elastic := 0.0 // how many take any height
	for i, b := range list {
		switch b.kind {
		case table:
			wants[i] = total(rowHeights(b, room.w, min(14, widestLetters(b, room.w))))
			least[i] = total(rowHeights(b, room.w, 9))
		case code:
			n := strings.Count(b.text, "\n") + 1
			wants[i], least[i] = codeHigh(14, n), codeHigh(8, n)
		default:
			elastic++
		}
	}
	fixed := free
	if elastic > 0 {
		fixed = min(total(wants), free-elastic*min(leastHigh, free/float64(len(list))))
	}
	scale, used := fixed/max(total(wants), 1), 0.0
	for i := range wants {
		wants[i] = max(wants[i]*scale, least[i])
		used += wants[i]
	}
	if used > free+0.1-60*elastic {
		what := "code has too many lines"
		if slices.ContainsFunc(list, func(b block) bool { return b.kind == table }) {
			what = "table has too many rows"
		}
		fmt.Fprintf(sh.show.c.warn, "slide %d: the %s; split it\n", sh.number, what)
	}
	out, y := make([]box, len(list)), room.y
	for i, high := range wants {
		if high == 0 {
			high = max((free-used)/elastic, 60)
		}
		out[i] = box{room.x, y, room.w, high}
		y += high + thingGap
	}
	return out
}

func total(list []float64) (sum float64) {
	for _, v := range list {
		sum += v
	}
	return sum
}

func wideThings(list []block) bool {
	for _, b := range list {
		if b.kind != picture && b.kind != graph {
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

// size returns the largest font size with which text fits, and warns if none does.
func (sh *sheet) size(list []block, at box) int {
	most := 24
	if at.w > slideWide/2 && len(list) <= 6 && lines(list, at.w, 28) <= 6 {
		most = 28 // a few words fill the slide
	}
	for size := most; size >= 12; size -= 2 {
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

// text adds a shape with text. Size 0 and a nil place leave both to the layout.
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
			hang := max(28, size*5/4) * emu
			if b.ordered {
				hang = max(28, size*8/5) * emu
			}
			attrs = fmt.Sprintf(` marL="%d" indent="-%d" lvl="%d"`, b.level*30*emu+hang, hang, min(b.level, 8))
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
		attrs, props := ` lang="`+languageOf(s.text)+`"`, ""
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
		case size > 0: // tables would otherwise use their own font
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

// thing adds a block that isn't text.
func (sh *sheet) thing(b block, at box) error {
	switch b.kind {
	case picture:
		return sh.picture(b.pic, at)
	case table:
		sh.table(b, at)
	case code:
		sh.code(b.text, at)
	case graph:
		return sh.chart(b.graph, at)
	}
	return nil
}

// languageOf returns the language for spell checking a text.
func languageOf(s string) string {
	for _, r := range s {
		if unicode.Is(unicode.Han, r) {
			return "zh-CN"
		}
	}
	return "en-US"
}

// foot adds the presentation's title and the slide number.
func (sh *sheet) foot() {
	sh.tree.WriteString(`<p:sp><p:nvSpPr>` + sh.shape("Footer") + `<p:cNvSpPr><a:spLocks noGrp="1"/></p:cNvSpPr><p:nvPr><p:ph type="ftr" sz="quarter" idx="11"/></p:nvPr></p:nvSpPr><p:spPr/>` +
		`<p:txBody><a:bodyPr/><a:lstStyle/><a:p><a:r><a:rPr lang="` + languageOf(sh.show.title) + `"/><a:t>` + esc(brief(sh.show.title, 80)) + `</a:t></a:r></a:p></p:txBody></p:sp>`)
	sh.tree.WriteString(`<p:sp><p:nvSpPr>` + sh.shape("Number") + `<p:cNvSpPr><a:spLocks noGrp="1"/></p:cNvSpPr><p:nvPr><p:ph type="sldNum" sz="quarter" idx="12"/></p:nvPr></p:nvSpPr><p:spPr/>` +
		fmt.Sprintf(`<p:txBody><a:bodyPr/><a:lstStyle/><a:p><a:fld id="{B6F15528-21DE-4FAA-801E-634DDDAF4B2B}" type="slidenum"><a:rPr lang="en-US"/><a:t>%d</a:t></a:fld></a:p></p:txBody></p:sp>`, sh.number))
}

// notesText returns the paragraphs of speaker notes.
func notesText(list []block) string {
	var b strings.Builder
	for _, n := range list {
		b.WriteString(`<a:p><a:r><a:rPr lang="` + languageOf(n.plainText()) + `"/><a:t>` + esc(n.plainText()) + `</a:t></a:r></a:p>`)
	}
	return b.String()
}

// chart adds a chart that PowerPoint draws and edits.
func (sh *sheet) chart(c *chart, at box) error {
	sh.show.charts++
	n := sh.show.charts
	made, err := c.office(fmt.Sprintf("../embeddings/chart%d.xlsx", n), 12)
	if err != nil {
		return err
	}
	sh.show.media = append(sh.show.media, part{fmt.Sprintf("ppt/charts/chart%d.xml", n), made.chart},
		part{fmt.Sprintf("ppt/charts/_rels/chart%d.xml.rels", n), made.rels},
		part{fmt.Sprintf("ppt/embeddings/chart%d.xlsx", n), made.book})
	id := sh.rels.add("chart", fmt.Sprintf("../charts/chart%d.xml", n), false)
	sh.last++
	fmt.Fprintf(&sh.tree, `<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="%d" name="Chart %[1]d" descr="%s"/><p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr>%s`+
		`<a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/chart"><c:chart xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" r:id="%s"/>`+
		`</a:graphicData></a:graphic></p:graphicFrame>`, sh.last, esc(c.alt()), at.xfrm("p"), id)
	return nil
}

func (sh *sheet) picture(p *pic, at box) error {
	if err := p.drawn(); err != nil {
		return err
	}
	name := fmt.Sprintf("image%d.%s", len(sh.show.media)+1, p.format) // charts count too; gaps are harmless
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

func (sh *sheet) table(b block, at box) {
	rows, sides, shares := b.rows, b.sides(), columnShares(b.rows)
	size := tableLetters(b, at)
	heights := rowHeights(b, at.w, size)
	place := box{at.x, at.y, at.w, total(heights)}
	sh.tree.WriteString(`<p:graphicFrame><p:nvGraphicFramePr>` + sh.shape("Table") +
		`<p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr>` +
		place.xfrm("p") + `<a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/table"><a:tbl>` +
		`<a:tblPr firstRow="1" bandRow="1"/><a:tblGrid>`)
	for _, share := range shares {
		fmt.Fprintf(&sh.tree, `<a:gridCol w="%d"/>`, int(at.w*share*emu))
	}
	sh.tree.WriteString(`</a:tblGrid>`)
	for i, row := range rows {
		fmt.Fprintf(&sh.tree, `<a:tr h="%d">`, int(heights[i]*emu))
		for n, cell := range row {
			if n >= len(shares) {
				break
			}
			sh.tree.WriteString(`<a:tc><a:txBody><a:bodyPr/><a:lstStyle/><a:p><a:pPr algn="` + []string{"l", "r", "ctr"}[sides[n]] + `"/>`)
			sh.runs(cell, size, i == 0)
			sh.tree.WriteString(`</a:p></a:txBody><a:tcPr marL="91440" marR="91440" marT="45720" marB="45720" anchor="ctr">`)
			line, fill := `<a:srgbClr val="C4CCD6"/>`, `<a:noFill/>`
			if i == 0 {
				line, fill = `<a:schemeClr val="accent1"/>`, `<a:solidFill><a:schemeClr val="bg2"/></a:solidFill>`
			}
			fmt.Fprintf(&sh.tree, `<a:lnB w="%d"><a:solidFill>%s</a:solidFill></a:lnB>`, 9525+12700*btoi(i == 0), line)
			sh.tree.WriteString(fill + `</a:tcPr></a:tc>`)
		}
		sh.tree.WriteString(`</a:tr>`)
	}
	sh.tree.WriteString(`</a:tbl></a:graphicData></a:graphic></p:graphicFrame>`)
}

// rowHeights estimates how high the rows of a table become, in points, with the lines that their cells wrap into.
func rowHeights(b block, width float64, size int) []float64 {
	shares, out := columnShares(b.rows), make([]float64, len(b.rows))
	for i, row := range b.rows {
		most := 1
		for n, cell := range row[:min(len(row), len(shares))] {
			count := 0
			for _, line := range strings.Split(plain(cell), "\n") {
				room := max(width*shares[n]-14.4, 10) // without the margins of the cell
				count += max(1, int(math.Ceil(float64(letters(line)*size)*0.52/room)))
			}
			most = max(most, count)
		}
		out[i] = max(float64(size)*1.9, float64(most*size)*1.2+7.2)
	}
	return out
}

// widestLetters is the largest size of letters with which the cells of a table stay on one line, down to 12 points.
func widestLetters(b block, width float64) int {
	size := 20
	for size > 12 && tableWords(b.rows)*float64(size)*0.55 > width {
		size--
	}
	return size
}

// tableLetters returns the largest font size in points with which a table fits.
func tableLetters(b block, at box) int {
	size := widestLetters(b, at.w)
	for size > 9 && total(rowHeights(b, at.w, size)) > at.h+0.1 {
		size--
	}
	return size
}

// callout adds a quote: a coloured area with a bar at its side.
func (sh *sheet) callout(list []block, at box) {
	for _, part := range []struct {
		shade string
		at    box
	}{{"bg2", at}, {"accent2", box{at.x, at.y, 6, at.h}}} {
		sh.tree.WriteString(`<p:sp><p:nvSpPr>` + sh.shape("Field") + `<p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr>` + part.at.xfrm("a") +
			`<a:prstGeom prst="rect"><a:avLst/></a:prstGeom><a:solidFill><a:schemeClr val="` + part.shade + `"/></a:solidFill><a:ln><a:noFill/></a:ln></p:spPr></p:sp>`)
	}
	sh.tree.WriteString(`<p:sp><p:nvSpPr>` + sh.shape("Quote") + `<p:cNvSpPr txBox="1"/><p:nvPr/></p:nvSpPr><p:spPr>` + at.xfrm("a") +
		`<a:prstGeom prst="rect"><a:avLst/></a:prstGeom><a:noFill/></p:spPr><p:txBody><a:bodyPr wrap="square" lIns="254000" rIns="254000" anchor="ctr"><a:normAutofit/></a:bodyPr><a:lstStyle/>`)
	for _, b := range list {
		sh.tree.WriteString(`<a:p>`)
		sh.runs(b.spans, 20, false)
		sh.tree.WriteString(`</a:p>`)
	}
	sh.tree.WriteString(`</p:txBody></p:sp>`)
}

// tableWords returns the total length of the widest cells of a table's columns.
func tableWords(rows [][][]span) (sum float64) {
	for i := range rows[0] {
		most := 0
		for _, row := range rows {
			if i < len(row) {
				n := 0
				for _, r := range plain(row[i]) {
					n += 1 + btoi(wide(r))
				}
				most = max(most, n)
			}
		}
		sum += float64(min(most, 40)) + 2
	}
	return sum
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// codeHigh is the height of lines of code, with the field around them.
func codeHigh(size, lines int) float64 { return float64(size*lines)*1.25 + 24 }

func (sh *sheet) code(text string, at box) {
	all := strings.Split(text, "\n")
	longest := 1
	for _, l := range all {
		longest = max(longest, utf8.RuneCountInString(l))
	}
	size := 18
	for size > 8 && (float64(size)*0.62*float64(longest) > at.w-24 || float64(size*len(all))*1.25 > at.h-16) {
		size--
	}
	at.h = min(at.h, codeHigh(size, len(all)))
	sh.tree.WriteString(`<p:sp><p:nvSpPr>` + sh.shape("Code") + `<p:cNvSpPr txBox="1"/><p:nvPr/></p:nvSpPr><p:spPr>` +
		at.xfrm("a") + `<a:prstGeom prst="rect"><a:avLst/></a:prstGeom><a:solidFill><a:srgbClr val="F1F4F8"/></a:solidFill></p:spPr>` +
		`<p:txBody><a:bodyPr wrap="square" lIns="152400" tIns="114300" rIns="152400" bIns="114300"/><a:lstStyle/>`)
	for _, l := range all {
		sh.tree.WriteString(`<a:p>`)
		sh.runs([]span{{text: l, mono: true}}, size, false)
		sh.tree.WriteString(`</a:p>`)
	}
	sh.tree.WriteString(`</p:txBody></p:sp>`)
}
