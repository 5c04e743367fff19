package skilltool

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"image"
	"image/color"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/go-fonts/liberation/liberationsansbold"
	"github.com/go-fonts/liberation/liberationsansbolditalic"
	"github.com/go-fonts/liberation/liberationsansitalic"
	"github.com/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// Fonts of a PDF. Gothic and Korean aren't embedded: readers have them or a substitute.
const (
	regular = iota
	boldface
	italic
	boldItalic
	mono
	gothic
	korean
	machine // letters of the machine's font, as drawings inside the file
	machineBold
	fonts
)

// face is a font inside the PDF.
type face struct {
	data   []byte
	font   *sfnt.Font
	glyphs map[rune]sfnt.GlyphIndex
	wide   map[sfnt.GlyphIndex]float64
	used   map[sfnt.GlyphIndex]rune
}

// pdfPage is one page: its drawing and its links.
type pdfPage struct {
	draw  bytes.Buffer
	links []pdfLink
	pics  []string
}

type pdfLink struct {
	x, y, w, h float64
	to         string
}

// pdfFile builds a PDF.
type pdfFile struct {
	faces   [gothic]*face
	buf     sfnt.Buffer
	uses    [fonts]bool
	missing map[rune]bool
	pages   []*pdfPage
	images  []pdfImage
	marks   []pdfMark
	drawn   []letter       // of the machine's font, in the order of their use
	places  map[letter]int // their positions in drawn
}

// pdfMark is an entry of the PDF's outline.
type pdfMark struct {
	title string
	level int
	page  int // from 0
	y     float64
}

// outline adds the headings as a tree and returns its root, 0 if there are none.
func (f *pdfFile) outline(o *objects, pages []int) int {
	if len(f.marks) == 0 {
		return 0
	}
	root := o.reserve()
	ids := make([]int, len(f.marks))
	up, first, last, next, before := make([]int, len(ids)), map[int]int{}, map[int]int{}, map[int]int{}, map[int]int{}
	below := map[int]int{}
	var open []int // headings that the next one may be below
	for i, m := range f.marks {
		ids[i] = o.reserve()
		for len(open) > 0 && f.marks[open[len(open)-1]].level >= m.level {
			open = open[:len(open)-1]
		}
		up[i] = root
		if len(open) > 0 {
			up[i] = ids[open[len(open)-1]]
		}
		if before[i] = last[up[i]]; before[i] != 0 {
			next[before[i]] = ids[i]
		} else {
			first[up[i]] = ids[i]
		}
		last[up[i]] = ids[i]
		below[up[i]]++
		open = append(open, i)
	}
	for i, m := range f.marks {
		body := fmt.Sprintf("<< /Title %s /Parent %d 0 R /Dest [%d 0 R /XYZ 0 %.2f null]", hex(m.title), up[i], pages[m.page], m.y)
		for _, l := range []struct {
			name string
			to   int
		}{{"Prev", before[i]}, {"Next", next[ids[i]]}, {"First", first[ids[i]]}, {"Last", last[ids[i]]}} {
			if l.to != 0 {
				body += fmt.Sprintf(" /%s %d 0 R", l.name, l.to)
			}
		}
		if n := below[ids[i]]; n > 0 {
			body += fmt.Sprintf(" /Count %d", -n)
		}
		o.set(ids[i], body+" >>")
	}
	o.set(root, fmt.Sprintf("<< /Type /Outlines /First %d 0 R /Last %d 0 R /Count %d >>", first[root], last[root], below[root]))
	return root
}

// letter is a glyph of the machine's font.
type letter struct {
	r    rune
	bold bool
}

// perFont limits the letters of a drawing font, whose codes are bytes.
const perFont = 250

type pdfImage struct {
	dict string
	data []byte
}

func newPDF() (*pdfFile, error) {
	f := &pdfFile{missing: map[rune]bool{}, places: map[letter]int{}}
	for i, data := range [][]byte{liberationsansregular.TTF, liberationsansbold.TTF, liberationsansitalic.TTF, liberationsansbolditalic.TTF, gomono.TTF} {
		parsed, err := sfnt.Parse(data)
		if err != nil {
			return nil, fmt.Errorf("read a font: %w", err)
		}
		f.faces[i] = &face{data, parsed, map[rune]sfnt.GlyphIndex{}, map[sfnt.GlyphIndex]float64{},
			map[sfnt.GlyphIndex]rune{}}
	}
	return f, nil
}

func (f *pdfFile) glyph(font int, r rune) sfnt.GlyphIndex {
	a := f.faces[font]
	g, ok := a.glyphs[r]
	if !ok {
		g, _ = a.font.GlyphIndex(&f.buf, r) // 0 if there is none
		a.glyphs[r] = g
	}
	return g
}

func (f *pdfFile) has(font int, r rune) bool { return f.glyph(font, r) != 0 }

// advance returns the width of a character in thousandths of its size.
func (f *pdfFile) advance(i int, r rune) float64 {
	if i == machine || i == machineBold {
		own := machineFont()
		g, _ := own.GlyphIndex(&f.buf, r)
		n, _ := own.GlyphAdvance(&f.buf, g, fixed.I(1000), font.HintingNone) // 0 if there is none
		return float64(n) / 64
	}
	if i >= gothic {
		return 1000
	}
	a, g := f.faces[i], f.glyph(i, r)
	w, ok := a.wide[g]
	if !ok {
		n, _ := a.font.GlyphAdvance(&f.buf, g, fixed.I(1000), font.HintingNone) // 0 if there is none
		w = float64(n) / 64
		a.wide[g] = w
	}
	return w
}

func (f *pdfFile) add() *pdfPage {
	f.pages = append(f.pages, &pdfPage{})
	return f.pages[len(f.pages)-1]
}

// put writes pieces on one line.
func (f *pdfFile) put(page *pdfPage, x, y float64, list []piece) {
	for _, p := range list {
		f.uses[p.font] = true
		shade := "0.11 0.14 0.19"
		switch {
		case p.link != "" && !strings.HasPrefix(p.link, "#"):
			shade = "0.07 0.33 0.7"
		case p.gray:
			shade = "0.36 0.4 0.45"
		}
		w := f.width([]piece{p})
		switch {
		case p.white:
			shade = "1 1 1"
		case p.blue && p.link == "":
			shade = "0.078 0.22 0.373"
		}
		if p.font == machine || p.font == machineBold {
			f.putDrawn(page, x, y, p, shade)
		} else {
			f.putText(page, x, y, p, shade)
		}
		if p.struck {
			page.line(x, y+p.size*0.28, x+w, y+p.size*0.28, 0.3)
		}
		if strings.Contains(p.link, "://") || strings.HasPrefix(p.link, "mailto:") {
			page.links = append(page.links, pdfLink{x, y - p.size*0.25, w, p.size * 1.2, p.link})
		}
		x += w
	}
}

// putText writes a piece in a standard PDF font.
func (f *pdfFile) putText(page *pdfPage, x, y float64, p piece, shade string) {
	fmt.Fprintf(&page.draw, "BT %s rg /F%d %.2f Tf %.2f %.2f Td <", shade, p.font, p.size, x, y)
	for _, r := range p.text {
		if p.font >= gothic {
			fmt.Fprintf(&page.draw, "%04X", r)
			continue
		}
		g := f.glyph(p.font, r)
		f.faces[p.font].used[g] = r
		fmt.Fprintf(&page.draw, "%04X", uint16(g))
	}
	page.draw.WriteString("> Tj ET\n")
}

// putDrawn writes a piece in glyphs of the machine's font.
func (f *pdfFile) putDrawn(page *pdfPage, x, y float64, p piece, shade string) {
	fmt.Fprintf(&page.draw, "BT %s rg %[1]s RG %.2f %.2f Td", shade, x, y)
	last := -1
	for _, r := range p.text {
		l := letter{r, p.font == machineBold}
		at, ok := f.places[l]
		if !ok {
			at = len(f.drawn)
			f.places[l], f.drawn = at, append(f.drawn, l)
		}
		if at/perFont != last {
			if last >= 0 {
				page.draw.WriteString("> Tj")
			}
			last = at / perFont
			fmt.Fprintf(&page.draw, " /M%d %.2f Tf <", last, p.size)
		}
		fmt.Fprintf(&page.draw, "%02X", at%perFont)
	}
	page.draw.WriteString("> Tj ET\n")
}

// drawnFont adds a font of drawings: letters n*perFont and so on.
func (f *pdfFile) drawnFont(o *objects, n int) int {
	own := machineFont()
	list := f.drawn[n*perFont : min(len(f.drawn), (n+1)*perFont)]
	var procs, names, widths, uni strings.Builder
	for i, l := range list {
		font := machine
		if l.bold {
			font = machineBold
		}
		w := f.advance(font, l.r)
		fmt.Fprintf(&procs, "/g%d %d 0 R ", i, o.stream("/Filter /FlateDecode", deflate(outline(own, &f.buf, l, w))))
		fmt.Fprintf(&names, "/g%d ", i)
		fmt.Fprintf(&widths, "%.0f ", w)
	}
	for start := 0; start < len(list); start += 100 {
		chunk := list[start:min(len(list), start+100)]
		fmt.Fprintf(&uni, "%d beginbfchar\n", len(chunk))
		for i, l := range chunk {
			fmt.Fprintf(&uni, "<%02X> %s\n", start+i, strings.Replace(hex(string(l.r)), "FEFF", "", 1))
		}
		uni.WriteString("endbfchar\n")
	}
	cmap := o.stream("/Filter /FlateDecode", deflate([]byte("/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n"+
		"/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def\n/CMapName /Adobe-Identity-UCS def /CMapType 2 def\n"+
		"1 begincodespacerange <00> <FF> endcodespacerange\n"+uni.String()+"endcmap CMapName currentdict /CMap defineresource pop end end")))
	return o.add(fmt.Sprintf("<< /Type /Font /Subtype /Type3 /FontBBox [-100 -300 1200 1000] /FontMatrix [0.001 0 0 0.001 0 0] "+
		"/CharProcs << %s>> /Encoding << /Type /Encoding /Differences [0 %s] >> /FirstChar 0 /LastChar %d /Widths [%s] /Resources << >> /ToUnicode %d 0 R >>",
		procs.String(), names.String(), len(list)-1, widths.String(), cmap))
}

// outline returns the drawing of a letter, 1000 units to its size.
func outline(own *sfnt.Font, buf *sfnt.Buffer, l letter, wide float64) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%.0f 0 -100 -300 1200 1000 d1\n", wide)
	g, err := own.GlyphIndex(buf, l.r)
	if err != nil {
		return b.Bytes()
	}
	segments, err := own.LoadGlyph(buf, g, fixed.I(1000), nil)
	if err != nil {
		return b.Bytes()
	}
	at := func(p fixed.Point26_6) (float64, float64) { return float64(p.X) / 64, -float64(p.Y) / 64 }
	var px, py float64
	open := false
	for _, s := range segments {
		x, y := at(s.Args[0])
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			if open {
				b.WriteString("h\n")
			}
			open = true
			fmt.Fprintf(&b, "%.0f %.0f m\n", x, y)
			px, py = x, y
		case sfnt.SegmentOpLineTo:
			fmt.Fprintf(&b, "%.0f %.0f l\n", x, y)
			px, py = x, y
		case sfnt.SegmentOpQuadTo:
			ex, ey := at(s.Args[1])
			fmt.Fprintf(&b, "%.0f %.0f %.0f %.0f %.0f %.0f c\n", px+(x-px)*2/3, py+(y-py)*2/3, ex+(x-ex)*2/3, ey+(y-ey)*2/3, ex, ey)
			px, py = ex, ey
		case sfnt.SegmentOpCubeTo:
			x2, y2 := at(s.Args[1])
			ex, ey := at(s.Args[2])
			fmt.Fprintf(&b, "%.0f %.0f %.0f %.0f %.0f %.0f c\n", x, y, x2, y2, ex, ey)
			px, py = ex, ey
		}
	}
	switch {
	case !open:
	case l.bold:
		b.WriteString("h 34 w 1 j B\n")
	default:
		b.WriteString("h f\n")
	}
	return b.Bytes()
}

func (p *pdfPage) line(x1, y1, x2, y2, gray float64) {
	fmt.Fprintf(&p.draw, "%.2f G 0.6 w %.2f %.2f m %.2f %.2f l S\n", gray, x1, y1, x2, y2)
}

func (p *pdfPage) rect(x, y, w, h, gray float64) {
	fmt.Fprintf(&p.draw, "%.3f g %.2f %.2f %.2f %.2f re f\n", gray, x, y, w, h)
}

func (p *pdfPage) image(name string, x, y, w, h float64) {
	fmt.Fprintf(&p.draw, "q %.2f 0 0 %.2f %.2f %.2f cm /%s Do Q\n", w, h, x, y, name)
	p.pics = append(p.pics, name)
}

// image embeds a picture and returns its name.
func (f *pdfFile) image(p *pic) (string, error) {
	img, _, err := image.Decode(bytes.NewReader(p.data))
	if err != nil {
		return "", fmt.Errorf("picture: %w", err)
	}
	name := fmt.Sprintf("I%d", len(f.images))
	dict := fmt.Sprintf("/Type /XObject /Subtype /Image /Width %d /Height %d /BitsPerComponent 8 /ColorSpace /DeviceRGB",
		p.width, p.height)
	if _, ok := img.(*image.YCbCr); ok && p.format == "jpeg" {
		f.images = append(f.images, pdfImage{dict + " /Filter /DCTDecode", p.data})
		return name, nil
	}
	at := img.Bounds()
	rgb := make([]byte, 0, at.Dx()*at.Dy()*3)
	for y := at.Min.Y; y < at.Max.Y; y++ {
		for x := at.Min.X; x < at.Max.X; x++ {
			c := color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
			over := func(v uint8) byte { return byte((int(v)*int(c.A) + 255*(255-int(c.A))) / 255) } // blended over white
			rgb = append(rgb, over(c.R), over(c.G), over(c.B))
		}
	}
	f.images = append(f.images, pdfImage{dict + " /Filter /FlateDecode", deflate(rgb)})
	return name, nil
}

func deflate(data []byte) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write(data) // writes to a buffer never fail
	_ = z.Close()        // likewise
	return b.Bytes()
}

// lost returns the characters that no font has.
func (f *pdfFile) lost() string {
	all := slices.Sorted(maps.Keys(f.missing))
	more := ""
	if len(all) > 20 {
		all, more = all[:20], " …"
	}
	return string(all) + more
}

// objects numbers the objects of a PDF in the order they are added.
type objects struct {
	out     bytes.Buffer
	offsets []int
}

func (o *objects) reserve() int {
	o.offsets = append(o.offsets, 0)
	return len(o.offsets)
}

func (o *objects) set(id int, body string) {
	o.offsets[id-1] = o.out.Len()
	fmt.Fprintf(&o.out, "%d 0 obj\n%s\nendobj\n", id, body)
}

func (o *objects) add(body string) int {
	id := o.reserve()
	o.set(id, body)
	return id
}

func (o *objects) stream(dict string, data []byte) int {
	return o.add(fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", dict, len(data), data))
}

// hex encodes text for titles in a PDF.
func hex(s string) string {
	var b strings.Builder
	b.WriteString("<FEFF")
	for _, u := range utf16.Encode([]rune(s)) {
		fmt.Fprintf(&b, "%04X", u)
	}
	b.WriteString(">")
	return b.String()
}

// bytes returns the whole file.
func (f *pdfFile) bytes(d *doc) ([]byte, error) {
	o := &objects{}
	o.out.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	catalog, tree := o.reserve(), o.reserve()
	var names strings.Builder
	for n := range (len(f.drawn) + perFont - 1) / perFont {
		fmt.Fprintf(&names, "/M%d %d 0 R ", n, f.drawnFont(o, n))
	}
	for i := range machine {
		if f.uses[i] {
			id, err := f.font(o, i)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&names, "/F%d %d 0 R ", i, id)
		}
	}
	var pics strings.Builder
	for i, img := range f.images {
		fmt.Fprintf(&pics, "/I%d %d 0 R ", i, o.stream(img.dict, img.data))
	}
	resources := o.add("<< /Font << " + names.String() + ">> /XObject << " + pics.String() + ">> >>")
	var kids strings.Builder
	var pages []int
	for _, p := range f.pages {
		content := o.stream("/Filter /FlateDecode", deflate(p.draw.Bytes()))
		var links strings.Builder
		for _, l := range p.links {
			id := o.add(fmt.Sprintf("<< /Type /Annot /Subtype /Link /Border [0 0 0] /Rect [%.2f %.2f %.2f %.2f] /A << /S /URI /URI (%s) >> >>",
				l.x, l.y, l.x+l.w, l.y+l.h, escapePDF(l.to)))
			fmt.Fprintf(&links, "%d 0 R ", id)
		}
		id := o.add(fmt.Sprintf("<< /Type /Page /Parent %d 0 R /MediaBox [0 0 %.2f %.2f] /Resources %d 0 R /Contents %d 0 R /Annots [%s] >>",
			tree, pageWide, pageHigh, resources, content, links.String()))
		fmt.Fprintf(&kids, "%d 0 R ", id)
		pages = append(pages, id)
	}
	list := ""
	if root := f.outline(o, pages); root != 0 {
		list = fmt.Sprintf(" /Outlines %d 0 R", root)
	}
	o.set(tree, fmt.Sprintf("<< /Type /Pages /Count %d /Kids [%s] >>", len(f.pages), kids.String()))
	o.set(catalog, fmt.Sprintf("<< /Type /Catalog /Pages %d 0 R%s >>", tree, list))
	facts := o.add("<< /Title " + hex(d.title) + " /Author " + hex(d.author) + " >>")
	at := o.out.Len()
	fmt.Fprintf(&o.out, "xref\n0 %d\n0000000000 65535 f \n", len(o.offsets)+1)
	for _, off := range o.offsets {
		fmt.Fprintf(&o.out, "%010d 00000 n \n", off)
	}
	fmt.Fprintf(&o.out, "trailer\n<< /Size %d /Root %d 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(o.offsets)+1,
		catalog, facts, at)
	return o.out.Bytes(), nil
}

// escapePDF escapes an address for a PDF string.
func escapePDF(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '(' || c == ')' || c == '\\':
			b.WriteString(`\` + string(rune(c)))
		case c < 0x20 || c > 0x7e:
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// font adds a font with its dependent objects.
func (f *pdfFile) font(o *objects, i int) (int, error) {
	if i >= gothic {
		name, order, cmap := "STSong-Light", "GB1", "UniGB-UCS2-H"
		if i == korean {
			name, order, cmap = "HYSMyeongJo-Medium", "Korea1", "UniKS-UCS2-H"
		}
		facts := o.add("<< /Type /FontDescriptor /FontName /" + name +
			" /Flags 6 /FontBBox [-25 -254 1000 880] /ItalicAngle 0 /Ascent 880 /Descent -120 /CapHeight 880 /StemV 93 >>")
		inner := o.add(fmt.Sprintf("<< /Type /Font /Subtype /CIDFontType0 /BaseFont /%s /CIDSystemInfo << /Registry (Adobe) /Ordering (%s) /Supplement 2 >> /DW 1000 /FontDescriptor %d 0 R >>",
			name, order, facts))
		return o.add(fmt.Sprintf(
			"<< /Type /Font /Subtype /Type0 /BaseFont /%s /Encoding /%s /DescendantFonts [%d 0 R] >>",
			name, cmap, inner)), nil
	}
	a := f.faces[i]
	glyphs := slices.Sorted(maps.Keys(a.used))
	data, err := subset(a.data, glyphs)
	if err != nil {
		return 0, err
	}
	name := "FAWNAA+" + []string{"LiberationSans", "LiberationSans-Bold", "LiberationSans-Italic", "LiberationSans-BoldItalic", "GoMono"}[i]
	file := o.stream(fmt.Sprintf("/Filter /FlateDecode /Length1 %d", len(data)), deflate(data))
	facts := o.add(fmt.Sprintf("<< /Type /FontDescriptor /FontName /%s /Flags 4 /FontBBox [-440 -432 2160 1075] /ItalicAngle %d "+
		"/Ascent 935 /Descent -211 /CapHeight 723 /StemV 80 /FontFile2 %d 0 R >>", name,
		-12*btoi(i == italic || i == boldItalic), file))
	var wide, uni strings.Builder
	for _, g := range glyphs {
		fmt.Fprintf(&wide, "%d [%.0f] ", g, f.advance(i, a.used[g]))
	}
	for chunk := range slices.Chunk(glyphs, 100) {
		fmt.Fprintf(&uni, "%d beginbfchar\n", len(chunk))
		for _, g := range chunk {
			fmt.Fprintf(&uni, "<%04X> %s\n", uint16(g), strings.Replace(hex(string(a.used[g])), "FEFF", "", 1))
		}
		uni.WriteString("endbfchar\n")
	}
	inner := o.add(fmt.Sprintf("<< /Type /Font /Subtype /CIDFontType2 /BaseFont /%s /CIDSystemInfo << /Registry (Adobe) "+
		"/Ordering (Identity) /Supplement 0 >> /DW 600 /W [%s] /CIDToGIDMap /Identity /FontDescriptor %d 0 R >>", name, wide.String(), facts))
	cmap := o.stream("/Filter /FlateDecode",
		deflate([]byte("/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n"+
			"/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def\n/CMapName /Adobe-Identity-UCS def /CMapType 2 def\n"+
			"1 begincodespacerange <0000> <FFFF> endcodespacerange\n"+uni.String()+
			"endcmap CMapName currentdict /CMap defineresource pop end end")))
	return o.add(fmt.Sprintf("<< /Type /Font /Subtype /Type0 /BaseFont /%s /Encoding /Identity-H /DescendantFonts [%d 0 R] /ToUnicode %d 0 R >>",
		name, inner, cmap)), nil
}
