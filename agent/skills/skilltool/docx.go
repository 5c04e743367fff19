package skilltool

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"time"
)

// part is a file of an office document.
type part struct {
	name string
	data []byte
}

// zipped packs parts reproducibly.
func zipped(parts []part) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, p := range parts {
		w, err := z.Create(p.name)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(p.data); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return b.Bytes(), err
}

// esc escapes text for XML; invalid characters become replacement characters.
func esc(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // writes to a buffer never fail
	return b.String()
}

const (
	xmlHead = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"
	relNS   = `xmlns="http://schemas.openxmlformats.org/package/2006/relationships"`
	office  = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
	emu     = 12700 // English Metric Units per point
)

// coreProps returns the title, author and date.
func coreProps(d *doc) part {
	now := time.Now().UTC().Format(time.RFC3339)
	return part{"docProps/core.xml", []byte(xmlHead + `<cp:coreProperties ` +
		`xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" ` +
		`xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" ` +
		`xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><dc:title>` + esc(d.title) + `</dc:title><dc:creator>` +
		esc(d.author) + `</dc:creator><dcterms:created xsi:type="dcterms:W3CDTF">` + now +
		`</dcterms:created></cp:coreProperties>`)}
}

func rootRels(main string) part {
	return part{"_rels/.rels", []byte(xmlHead + `<Relationships ` + relNS + `><Relationship Id="rId1" Type="` + office +
		`officeDocument" Target="` + main + `"/><Relationship Id="rId2" ` +
		`Type="http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties" ` +
		`Target="docProps/core.xml"/></Relationships>`)}
}

// relations are the references of a part.
type relations struct {
	rows []string
}

func (r *relations) add(kind, target string, outside bool) string {
	id := fmt.Sprintf("rId%d", len(r.rows)+1)
	mode := ""
	if outside {
		mode = ` TargetMode="External"`
	}
	r.rows = append(r.rows, fmt.Sprintf(`<Relationship Id="%s" Type="%s%s" Target="%s"%s/>`, id, office, kind,
		esc(target), mode))
	return id
}

func (r *relations) part(name string) part {
	return part{name, []byte(xmlHead + `<Relationships ` + relNS + `>` + strings.Join(r.rows, "") + `</Relationships>`)}
}

// word builds a Word document.
type word struct {
	body  strings.Builder
	rels  relations
	media []part
	lists []int // start numbers of the ordered lists
	// charts is the number of charts; their types are declared with those of other parts.
	charts int
	next   kind // kind of the following block, -1 at the end
}

const textWidth = 451.0 // points between the margins of A4

func writeDocx(_ call, d *doc) ([]byte, error) {
	w := &word{}
	w.rels.add("styles", "styles.xml", false)
	w.rels.add("numbering", "numbering.xml", false)
	w.rels.add("settings", "settings.xml", false)
	footer := w.rels.add("footer", "footer1.xml", false)
	for i, b := range d.blocks {
		w.next = -1
		if i+1 < len(d.blocks) {
			w.next = d.blocks[i+1].kind
		}
		if err := w.block(b, i == 0); err != nil {
			return nil, err
		}
	}
	body := `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" ` +
		`xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" ` +
		`xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" ` +
		`xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" ` +
		`xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"><w:body>` + w.body.String() +
		`<w:sectPr><w:footerReference w:type="default" r:id="` + footer + `"/><w:pgSz w:w="11906" w:h="16838"/><w:pgMar w:top="1440" w:right="1440" w:bottom="1440" ` +
		`w:left="1440" w:header="708" w:footer="708" w:gutter="0"/></w:sectPr></w:body></w:document>`
	types := `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
		`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
		`<Default Extension="xml" ContentType="application/xml"/><Default Extension="png" ContentType="image/png"/>` +
		`<Default Extension="jpeg" ContentType="image/jpeg"/><Default Extension="gif" ContentType="image/gif"/>`
	types += `<Default Extension="xlsx" ContentType="` + bookType + `"/>`
	for n := range w.charts {
		types += fmt.Sprintf(`<Override PartName="/word/charts/chart%d.xml" ContentType="%s"/>`, n+1, chartType)
	}
	for _, name := range []string{"document", "styles", "numbering", "footer1", "settings"} {
		kind := strings.Replace(strings.TrimRight(name, "1"), "document", "document.main", 1)
		types += `<Override PartName="/word/` + name +
			`.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.` + kind + `+xml"/>`
	}
	types += `<Override PartName="/docProps/core.xml" ` +
		`ContentType="application/vnd.openxmlformats-package.core-properties+xml"/></Types>`
	parts := []part{{"[Content_Types].xml", []byte(xmlHead + types)}, rootRels("word/document.xml"),
		{"word/document.xml", []byte(xmlHead + body)}, {"word/styles.xml", []byte(xmlHead + wordStyles())},
		{"word/numbering.xml", []byte(xmlHead + w.numbering())}, w.rels.part("word/_rels/document.xml.rels"),
		{"word/footer1.xml", []byte(xmlHead + wordFooter(d.title))}, {"word/settings.xml", []byte(xmlHead + wordSettings)}, coreProps(d)}
	return zipped(append(parts, w.media...))
}

func (w *word) block(b block, first bool) error {
	switch b.kind {
	case heading:
		style := fmt.Sprintf("Heading%d", min(b.level, 6))
		if first && b.level == 1 {
			style = "Title"
		}
		if long := lines([]block{{spans: b.spans}}, textWidth, 26); style == "Title" && long > 2 {
			b.spans = sized(b.spans, 20)
		}
		w.para(`<w:pStyle w:val="`+style+`"/>`, b.spans)
	case para:
		props := ""
		if b.quote {
			props = `<w:pStyle w:val="Quote"/>`
		}
		if w.next == table || w.next == picture || w.next == graph || w.next == item && strings.HasSuffix(plain(b.spans), ":") {
			props += `<w:keepNext/>` // keep introductory text with its table
		}
		w.para(props, b.spans)
	case item:
		level, keep := min(b.level, 8), ""
		if w.next == table || w.next == graph || w.next == picture {
			keep = `<w:keepNext/>`
		}
		room := ""
		if keep != "" {
			room = `<w:spacing w:after="180"/>`
		}
		props := fmt.Sprintf(`<w:pStyle w:val="ListParagraph"/>%s%s<w:ind w:left="%d"/>`, keep, room, 720*(level+1))
		if b.number > 0 {
			props = fmt.Sprintf(`<w:pStyle w:val="ListParagraph"/>%s<w:numPr><w:ilvl w:val="%d"/><w:numId w:val="%d"/></w:numPr>%s`,
				keep, level, w.list(b), room)
		}
		w.para(props, b.spans)
	case code:
		for line := range strings.SplitSeq(b.text, "\n") {
			w.para(`<w:pStyle w:val="Code"/>`, []span{{text: line, mono: true}})
		}
	case rule:
		w.body.WriteString(`<w:p><w:pPr><w:pBdr><w:bottom w:val="single" w:sz="6" w:space="1" w:color="BBBBBB"/></w:pBdr></w:pPr></w:p>`)
	case table:
		w.table(b)
	case picture:
		return w.picture(b.pic)
	case graph:
		return w.chart(b.graph)
	}
	return nil
}

// chart adds a chart that Word draws and edits.
func (w *word) chart(c *chart) error {
	w.charts++
	made, err := c.office(fmt.Sprintf("../embeddings/chart%d.xlsx", w.charts), 10)
	if err != nil {
		return err
	}
	w.media = append(w.media, part{fmt.Sprintf("word/charts/chart%d.xml", w.charts), made.chart},
		part{fmt.Sprintf("word/charts/_rels/chart%d.xml.rels", w.charts), made.rels},
		part{fmt.Sprintf("word/embeddings/chart%d.xlsx", w.charts), made.book})
	id := w.rels.add("chart", fmt.Sprintf("charts/chart%d.xml", w.charts), false)
	fmt.Fprintf(&w.body, `<w:p><w:pPr><w:spacing w:before="120"/></w:pPr><w:r><w:drawing><wp:inline><wp:extent cx="%d" cy="%d"/><wp:docPr id="%d" name="Chart %d" descr="%s"/>`+
		`<a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/chart"><c:chart `+
		`xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" r:id="%s"/></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>`,
		int(textWidth*emu), int(textWidth*0.52*emu), 1000+w.charts, w.charts, esc(c.alt()), id)
	return nil
}

// wordFooter returns a footer with the title and page number.
func wordFooter(title string) string {
	field := func(name string) string {
		return `<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText xml:space="preserve"> ` + name + ` </w:instrText></w:r>` +
			`<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>1</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>`
	}
	return `<w:ftr xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:p><w:pPr><w:pStyle w:val="Footer"/></w:pPr>` +
		`<w:r><w:t xml:space="preserve">` + esc(brief(title, 70)) + `</w:t></w:r><w:r><w:tab/></w:r>` + field("PAGE") +
		`<w:r><w:t xml:space="preserve"> / </w:t></w:r>` + field("NUMPAGES") + `</w:p></w:ftr>`
}

// list returns the number of a list: 1 is shared by all bulleted lists.
func (w *word) list(b block) int {
	if !b.ordered {
		return 1
	}
	i := slices.Index(w.lists, b.list)
	if i < 0 {
		i = len(w.lists)
		w.lists = append(w.lists, b.list)
	}
	return i + 2
}

func (w *word) numbering() string {
	var b strings.Builder
	b.WriteString(`<w:numbering xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">`)
	for id, format := range []string{"bullet", "decimal"} {
		fmt.Fprintf(&b, `<w:abstractNum w:abstractNumId="%d"><w:multiLevelType w:val="hybridMultilevel"/>`, id)
		for level := range 9 {
			mark := fmt.Sprintf("%%%d.", level+1)
			if format == "bullet" {
				mark = []string{"•", "–", "▪"}[level%3]
			}
			fmt.Fprintf(&b, `<w:lvl w:ilvl="%d"><w:start w:val="1"/><w:numFmt w:val="%s"/><w:lvlText w:val="%s"/><w:lvlJc w:val="left"/>`+
				`<w:pPr><w:ind w:left="%d" w:hanging="360"/></w:pPr></w:lvl>`, level, format, mark, 720*(level+1))
		}
		b.WriteString(`</w:abstractNum>`)
	}
	b.WriteString(`<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>`)
	for i := range w.lists {
		fmt.Fprintf(&b, `<w:num w:numId="%d"><w:abstractNumId w:val="1"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num>`, i+2)
	}
	b.WriteString(`</w:numbering>`)
	return b.String()
}

func (w *word) para(props string, spans []span) {
	w.body.WriteString(`<w:p><w:pPr>` + props + `</w:pPr>`)
	w.runs(spans, "")
	w.body.WriteString(`</w:p>`)
}

func (w *word) runs(spans []span, more string) {
	for _, s := range spans {
		var p strings.Builder
		link := s.link != "" && !strings.HasPrefix(s.link, "#")
		if link {
			p.WriteString(`<w:rStyle w:val="Hyperlink"/>`)
		}
		if s.mono {
			p.WriteString(`<w:rFonts w:ascii="Consolas" w:hAnsi="Consolas" w:cs="Consolas"/>`)
		}
		if s.bold || more != "" {
			p.WriteString(`<w:b/>`)
		}
		if s.italic {
			p.WriteString(`<w:i/>`)
		}
		if s.struck {
			p.WriteString(`<w:strike/>`)
		}
		if s.size > 0 {
			fmt.Fprintf(&p, `<w:sz w:val="%d"/>`, 2*s.size)
		}
		if languageOf(s.text) == "zh-CN" {
			p.WriteString(`<w:lang w:eastAsia="zh-CN"/>`)
		}
		if link {
			id := w.rels.add("hyperlink", s.link, true)
			w.body.WriteString(`<w:hyperlink r:id="` + id + `">`)
		}
		w.body.WriteString(`<w:r><w:rPr>` + p.String() + `</w:rPr>`)
		for i, line := range strings.Split(s.text, "\n") {
			if i > 0 {
				w.body.WriteString(`<w:br/>`)
			}
			w.body.WriteString(`<w:t xml:space="preserve">` + esc(line) + `</w:t>`)
		}
		w.body.WriteString(`</w:r>`)
		if link {
			w.body.WriteString(`</w:hyperlink>`)
		}
	}
}

func (w *word) table(b block) {
	rows, sides, shares := b.rows, b.sides(), columnShares(b.rows)
	w.body.WriteString(`<w:tbl><w:tblPr><w:tblStyle w:val="TableGrid"/><w:tblW w:w="5000" w:type="pct"/></w:tblPr><w:tblGrid>`)
	for _, share := range shares {
		fmt.Fprintf(&w.body, `<w:gridCol w:w="%d"/>`, int(share*textWidth*20))
	}
	w.body.WriteString(`</w:tblGrid>`)
	for i, row := range rows {
		head, bold, keep := `<w:trPr><w:cantSplit/></w:trPr>`, "", ""
		if i == 0 {
			head, bold = `<w:trPr><w:cantSplit/><w:tblHeader/></w:trPr>`, "head"
		}
		if i == 0 || len(rows) <= 12 && i < len(rows)-1 {
			keep = `<w:keepNext/>` // a short table stays on one page
		}
		w.body.WriteString(`<w:tr>` + head)
		for n, cell := range row {
			if n >= len(shares) {
				break
			}
			fmt.Fprintf(&w.body, `<w:tc><w:tcPr><w:tcW w:w="%d" w:type="dxa"/>`, int(shares[n]*textWidth*20))
			if i == 0 {
				w.body.WriteString(`<w:tcBorders><w:bottom w:val="single" w:sz="12" w:space="0" w:color="2F6FB7"/></w:tcBorders>` +
					`<w:shd w:val="clear" w:color="auto" w:fill="EEF2F7"/>`)
			}
			w.body.WriteString(`</w:tcPr><w:p><w:pPr>` + keep + `<w:spacing w:after="0"/><w:jc w:val="` + []string{"left", "right", "center"}[sides[n]] + `"/></w:pPr>`)
			w.runs(cell, bold)
			w.body.WriteString(`</w:p></w:tc>`)
		}
		w.body.WriteString(`</w:tr>`)
	}
	w.body.WriteString(`</w:tbl><w:p><w:pPr><w:spacing w:after="80" w:line="160" w:lineRule="exact"/></w:pPr></w:p>`)
}

func (w *word) picture(p *pic) error {
	if err := p.drawn(); err != nil {
		return err
	}
	n := len(w.media) + 1
	name := fmt.Sprintf("media/image%d.%s", n, p.format)
	w.media = append(w.media, part{"word/" + name, p.data})
	id := w.rels.add("image", name, false)
	wide, high := fit(p, textWidth, 620)
	keep := ""
	if p.alt != "" {
		keep = `<w:keepNext/>`
	}
	fmt.Fprintf(&w.body, `<w:p><w:pPr>`+keep+`<w:spacing w:before="120" w:after="60"/></w:pPr><w:r><w:drawing><wp:inline><wp:extent cx="%d" cy="%d"/><wp:docPr id="%d" name="Picture %d" descr="%s"/>`+
		`<a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/picture"><pic:pic>`+
		`<pic:nvPicPr><pic:cNvPr id="%d" name="Picture %d"/><pic:cNvPicPr/></pic:nvPicPr>`+
		`<pic:blipFill><a:blip r:embed="%s"/><a:stretch><a:fillRect/></a:stretch></pic:blipFill><pic:spPr><a:xfrm>`+
		`<a:off x="0" y="0"/><a:ext cx="%d" cy="%d"/></a:xfrm><a:prstGeom prst="rect"><a:avLst/></a:prstGeom></pic:spPr>`+
		`</pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>`,
		int(wide*emu), int(high*emu), n, n, esc(p.alt), n, n, id, int(wide*emu), int(high*emu))
	if p.alt != "" {
		w.para(`<w:pStyle w:val="Caption"/>`, []span{{text: p.alt}})
	}
	return nil
}

// fit scales a picture to at most this size in points. A pixel is 3/4 of a point.
func fit(p *pic, wide, high float64) (float64, float64) {
	w, h := float64(p.width)*0.75, float64(p.height)*0.75
	scale := min(1, wide/w, high/h)
	return w * scale, h * scale
}

// wordSettings selects the layout of current Word versions; otherwise Word opens the file in compatibility mode.
const wordSettings = `<w:settings xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:defaultTabStop w:val="720"/>` +
	`<w:characterSpacingControl w:val="doNotCompress"/><w:compat><w:compatSetting w:name="compatibilityMode" ` +
	`w:uri="http://schemas.microsoft.com/office/word" w:val="15"/></w:compat></w:settings>`

// sized returns spans with a font size in points.
func sized(list []span, size int) (out []span) {
	for _, s := range list {
		s.size = size
		out = append(out, s)
	}
	return out
}

func wordStyles() string {
	var b strings.Builder
	b.WriteString(`<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:docDefaults>` +
		`<w:rPrDefault><w:rPr><w:rFonts w:ascii="Calibri" w:hAnsi="Calibri" w:eastAsia="Microsoft YaHei" w:cs="Calibri"/>` +
		`<w:sz w:val="22"/></w:rPr></w:rPrDefault><w:pPrDefault><w:pPr><w:spacing w:after="140" w:line="276" w:lineRule="auto"/>` +
		`</w:pPr></w:pPrDefault></w:docDefaults><w:style w:type="paragraph" w:default="1" w:styleId="Normal">` +
		`<w:name w:val="Normal"/></w:style>`)
	style := func(id, name, para, run string) {
		next := ""
		if strings.HasPrefix(id, "Heading") || id == "Title" {
			next = `<w:next w:val="Normal"/>`
		}
		fmt.Fprintf(&b, `<w:style w:type="paragraph" w:styleId="%s"><w:name w:val="%s"/><w:basedOn w:val="Normal"/>`+next+`<w:qFormat/>`+
			`<w:pPr>%s</w:pPr><w:rPr>%s</w:rPr></w:style>`, id, name, para, run)
	}
	const blue = `<w:color w:val="14385F"/>`
	style("Title", "Title", `<w:pBdr><w:bottom w:val="single" w:sz="12" w:space="8" w:color="2F6FB7"/></w:pBdr><w:spacing w:after="280"/>`,
		`<w:b/>`+blue+`<w:sz w:val="52"/>`)
	for i, size := range []int{34, 28, 25, 23, 22, 22} {
		style(fmt.Sprintf("Heading%d", i+1), fmt.Sprintf("heading %d", i+1),
			fmt.Sprintf(`<w:keepNext/><w:keepLines/><w:spacing w:before="%d" w:after="100"/><w:outlineLvl w:val="%d"/>`, max(200, 340-40*i), i),
			fmt.Sprintf(`<w:b/>%s<w:sz w:val="%d"/>`, blue, size))
	}
	style("ListParagraph", "List Paragraph", `<w:spacing w:after="60"/>`, "")
	style("Quote", "Quote", `<w:pBdr><w:left w:val="single" w:sz="18" w:space="10" w:color="CCCCCC"/></w:pBdr><w:ind w:left="360"/>`,
		`<w:color w:val="555555"/>`)
	style("Caption", "caption", `<w:spacing w:after="200"/>`, `<w:i/><w:color w:val="5B6773"/><w:sz w:val="19"/>`)
	style("Footer", "footer", `<w:pBdr><w:top w:val="single" w:sz="4" w:space="6" w:color="C4C9D0"/></w:pBdr><w:tabs><w:tab w:val="right" w:pos="9026"/></w:tabs><w:spacing w:after="0"/>`,
		`<w:color w:val="5B6773"/><w:sz w:val="18"/>`)
	style("Code", "Code", `<w:keepLines/><w:shd w:val="clear" w:color="auto" w:fill="F4F5F7"/><w:spacing w:after="0" w:line="240" w:lineRule="auto"/>`,
		`<w:rFonts w:ascii="Consolas" w:hAnsi="Consolas" w:cs="Consolas"/><w:sz w:val="19"/>`)
	b.WriteString(`<w:style w:type="character" w:styleId="Hyperlink"><w:name w:val="Hyperlink"/><w:rPr><w:color w:val="1155CC"/>` +
		`<w:u w:val="single"/></w:rPr></w:style><w:style w:type="table" w:styleId="TableGrid"><w:name w:val="Table Grid"/>` +
		`<w:tblPr><w:tblBorders>`)
	for _, side := range []string{"top", "bottom", "insideH"} {
		b.WriteString(`<w:` + side + ` w:val="single" w:sz="4" w:space="0" w:color="C4C9D0"/>`)
	}
	b.WriteString(`</w:tblBorders><w:tblCellMar><w:top w:w="60" w:type="dxa"/><w:left w:w="130" w:type="dxa"/>` +
		`<w:bottom w:w="60" w:type="dxa"/><w:right w:w="130" w:type="dxa"/></w:tblCellMar></w:tblPr></w:style></w:styles>`)
	return b.String()
}
