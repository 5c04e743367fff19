package skilltool

import (
	"fmt"
	"strings"
)

const (
	themeName = "Fawn"
	emptyTree = `<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>`
)

// parts returns all files of a presentation except its pictures.
func (w *show) parts(d *doc) []part {
	const ml = "application/vnd.openxmlformats-officedocument.presentationml."
	types := `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
		`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
		`<Default Extension="xml" ContentType="application/xml"/><Default Extension="png" ContentType="image/png"/>` +
		`<Default Extension="jpeg" ContentType="image/jpeg"/><Default Extension="gif" ContentType="image/gif"/>`
	override := func(name, kind string) {
		types += `<Override PartName="/` + name + `" ContentType="` + kind + `"/>`
	}
	override("ppt/presentation.xml", ml+"presentation.main+xml")
	override("ppt/slideMasters/slideMaster1.xml", ml+"slideMaster+xml")
	override("ppt/slideLayouts/slideLayout1.xml", ml+"slideLayout+xml")
	override("ppt/slideLayouts/slideLayout2.xml", ml+"slideLayout+xml")
	types += `<Default Extension="xlsx" ContentType="` + bookType + `"/>`
	for n := range w.charts {
		override(fmt.Sprintf("ppt/charts/chart%d.xml", n+1), chartType)
	}
	override("ppt/theme/theme1.xml", "application/vnd.openxmlformats-officedocument.theme+xml")
	override("docProps/core.xml", "application/vnd.openxmlformats-package.core-properties+xml")
	main := &relations{}
	master := main.add("slideMaster", "slideMasters/slideMaster1.xml", false)
	main.add("theme", "theme/theme1.xml", false)
	ids, notesMaster := "", ""
	var parts []part
	if len(w.notes) > 0 {
		override("ppt/notesMasters/notesMaster1.xml", ml+"notesMaster+xml")
		override("ppt/theme/theme2.xml", "application/vnd.openxmlformats-officedocument.theme+xml")
		notesMaster = `<p:notesMasterIdLst><p:notesMasterId r:id="` + main.add("notesMaster", "notesMasters/notesMaster1.xml", false) + `"/></p:notesMasterIdLst>`
		rels := &relations{}
		rels.add("theme", "../theme/theme2.xml", false)
		parts = append(parts, part{"ppt/notesMasters/notesMaster1.xml", []byte(xmlHead + notesMasterXML())},
			rels.part("ppt/notesMasters/_rels/notesMaster1.xml.rels"), part{"ppt/theme/theme2.xml", []byte(xmlHead + theme())})
	}
	for i, s := range w.slides {
		name := fmt.Sprintf("slide%d.xml", i+1)
		override("ppt/slides/"+name, ml+"slide+xml")
		ids += fmt.Sprintf(`<p:sldId id="%d" r:id="%s"/>`, 256+i, main.add("slide", "slides/"+name, false))
		parts = append(parts, part{"ppt/slides/" + name, []byte(xmlHead + s)},
			w.rels[i].part("ppt/slides/_rels/"+name+".rels"))
		text, ok := w.notes[i+1]
		if !ok {
			continue
		}
		notes := fmt.Sprintf("notesSlide%d.xml", i+1)
		override("ppt/notesSlides/"+notes, ml+"notesSlide+xml")
		rels := &relations{}
		rels.add("notesMaster", "../notesMasters/notesMaster1.xml", false)
		rels.add("slide", "../slides/"+name, false)
		parts = append(parts, part{"ppt/notesSlides/" + notes, []byte(xmlHead + notesXML(text))}, rels.part("ppt/notesSlides/_rels/"+notes+".rels"))
	}
	presentation := fmt.Sprintf(`<p:presentation %s><p:sldMasterIdLst><p:sldMasterId id="2147483648" r:id="%s"/></p:sldMasterIdLst>%s`+
		`<p:sldIdLst>%s</p:sldIdLst><p:sldSz cx="%d" cy="%d"/><p:notesSz cx="6858000" cy="9144000"/></p:presentation>`,
		drawNS, master, notesMaster, ids, int(slideWide*emu), int(slideHigh*emu))
	masterRels, layoutRels := &relations{}, &relations{}
	first := masterRels.add("slideLayout", "../slideLayouts/slideLayout1.xml", false)
	second := masterRels.add("slideLayout", "../slideLayouts/slideLayout2.xml", false)
	masterRels.add("theme", "../theme/theme1.xml", false)
	layoutRels.add("slideMaster", "../slideMasters/slideMaster1.xml", false)
	out := []part{{"[Content_Types].xml", []byte(xmlHead + types + `</Types>`)}, rootRels("ppt/presentation.xml"),
		{"ppt/presentation.xml", []byte(xmlHead + presentation)}, main.part("ppt/_rels/presentation.xml.rels"),
		{"ppt/slideMasters/slideMaster1.xml", []byte(xmlHead + slideMaster(first, second))},
		masterRels.part("ppt/slideMasters/_rels/slideMaster1.xml.rels"),
		{"ppt/slideLayouts/slideLayout1.xml", []byte(xmlHead + coverLayout())},
		layoutRels.part("ppt/slideLayouts/_rels/slideLayout1.xml.rels"),
		{"ppt/slideLayouts/slideLayout2.xml", []byte(xmlHead + plainLayout())},
		layoutRels.part("ppt/slideLayouts/_rels/slideLayout2.xml.rels"),
		{"ppt/theme/theme1.xml", []byte(xmlHead + theme())}, coreProps(d)}
	return append(out, parts...)
}

// holder returns a shape of a master or a layout where slides put text.
func holder(id int, kind string, at box, body string) string {
	return fmt.Sprintf(`<p:sp><p:nvSpPr><p:cNvPr id="%d" name="Holder %[1]d"/><p:cNvSpPr><a:spLocks noGrp="1"/></p:cNvSpPr>`+
		`<p:nvPr><p:ph %s/></p:nvPr></p:nvSpPr><p:spPr>%s<a:prstGeom prst="rect"><a:avLst/></a:prstGeom></p:spPr><p:txBody>%s`+
		`<a:p><a:r><a:rPr lang="en-US"/><a:t>Text</a:t></a:r></a:p></p:txBody></p:sp>`, id, kind, at.xfrm("a"), body)
}

const bar = `<p:sp><p:nvSpPr><p:cNvPr id="9" name="Bar"/><p:cNvSpPr/><p:nvPr userDrawn="1"/></p:nvSpPr><p:spPr>%s` +
	`<a:prstGeom prst="rect"><a:avLst/></a:prstGeom><a:solidFill><a:schemeClr val="accent1"/></a:solidFill><a:ln><a:noFill/></a:ln></p:spPr></p:sp>`

// feet returns the placeholders of the footer and the slide number.
func feet() string {
	style := func(side string) string {
		return `<a:bodyPr lIns="0" rIns="0" anchor="ctr"/><a:lstStyle><a:lvl1pPr marL="0" indent="0" algn="` + side + `"><a:buNone/><a:defRPr sz="1100"><a:solidFill><a:schemeClr val="accent6"/></a:solidFill><a:latin typeface="+mn-lt"/><a:ea typeface="+mn-ea"/></a:defRPr></a:lvl1pPr></a:lstStyle>`
	}
	number := holder(12, `type="sldNum" sz="quarter" idx="12"`, box{slideWide - slideEdge - 80, footTop, 80, 24}, style("r"))
	field := `<a:fld id="{B6F15528-21DE-4FAA-801E-634DDDAF4B2B}" type="slidenum"><a:rPr lang="en-US"/><a:t>‹#›</a:t></a:fld>`
	return holder(11, `type="ftr" sz="quarter" idx="11"`, box{slideEdge, footTop, 640, 24}, style("l")) +
		strings.Replace(number, `<a:r><a:rPr lang="en-US"/><a:t>Text</a:t></a:r>`, field, 1)
}

func slideMaster(layouts ...string) string {
	var b strings.Builder
	b.WriteString(`<p:sldMaster ` + drawNS +
		`><p:cSld><p:bg><p:bgPr><a:solidFill><a:schemeClr val="bg1"/></a:solidFill><a:effectLst/>` +
		`</p:bgPr></p:bg><p:spTree>` + emptyTree +
		holder(2, `type="title"`, box{slideEdge, titleTop, slideWide - 2*slideEdge, titleHigh},
			`<a:bodyPr lIns="0" rIns="0" anchor="b"><a:normAutofit/></a:bodyPr><a:lstStyle/>`) +
		holder(3, `type="body" idx="1"`, box{slideEdge, bodyTop, slideWide - 2*slideEdge, bodyHigh},
			`<a:bodyPr lIns="0" rIns="0"><a:normAutofit/></a:bodyPr><a:lstStyle/>`) + feet() +
		`</p:spTree></p:cSld><p:clrMap bg1="lt1" tx1="dk1" bg2="lt2" tx2="dk2" accent1="accent1" accent2="accent2" accent3="accent3" ` +
		`accent4="accent4" accent5="accent5" accent6="accent6" hlink="hlink" folHlink="folHlink"/><p:sldLayoutIdLst>`)
	for i, id := range layouts {
		fmt.Fprintf(&b, `<p:sldLayoutId id="%d" r:id="%s"/>`, 2147483649+i, id)
	}
	b.WriteString(`</p:sldLayoutIdLst><p:txStyles><p:titleStyle><a:lvl1pPr algn="l"><a:buNone/><a:defRPr sz="3000" b="1">` +
		`<a:solidFill><a:schemeClr val="tx2"/></a:solidFill><a:latin typeface="+mj-lt"/><a:ea typeface="+mj-ea"/></a:defRPr>` +
		`</a:lvl1pPr></p:titleStyle><p:bodyStyle>`)
	for level := 1; level <= 9; level++ {
		fmt.Fprintf(&b, `<a:lvl%dpPr marL="%d" indent="-228600"><a:spcBef><a:spcPts val="600"/></a:spcBef><a:buFont typeface="Arial"/>`+
			`<a:buChar char="•"/><a:defRPr sz="%d"><a:solidFill><a:schemeClr val="tx1"/></a:solidFill><a:latin typeface="+mn-lt"/>`+
			`<a:ea typeface="+mn-ea"/></a:defRPr></a:lvl%[1]dpPr>`, level, level*24*emu, max(2400-200*level, 1400))
	}
	b.WriteString(`</p:bodyStyle><p:otherStyle><a:lvl1pPr><a:defRPr sz="1800"/></a:lvl1pPr></p:otherStyle></p:txStyles></p:sldMaster>`)
	return b.String()
}

// notesMasterXML returns the notes page: the slide with the text below it.
func notesMasterXML() string {
	return `<p:notesMaster ` + drawNS + `><p:cSld><p:bg><p:bgPr><a:solidFill><a:schemeClr val="bg1"/></a:solidFill><a:effectLst/></p:bgPr></p:bg><p:spTree>` +
		emptyTree + slideImage + holder(3, `type="body" sz="quarter" idx="3"`, box{54, 346, 432, 283}, `<a:bodyPr/><a:lstStyle/>`) +
		`</p:spTree></p:cSld><p:clrMap bg1="lt1" tx1="dk1" bg2="lt2" tx2="dk2" accent1="accent1" accent2="accent2" accent3="accent3" ` +
		`accent4="accent4" accent5="accent5" accent6="accent6" hlink="hlink" folHlink="folHlink"/></p:notesMaster>`
}

// slideImage is the slide's picture on a notes page.
const slideImage = `<p:sp><p:nvSpPr><p:cNvPr id="2" name="Slide"/><p:cNvSpPr><a:spLocks noGrp="1" noRot="1" noChangeAspect="1"/></p:cNvSpPr><p:nvPr>` +
	`<p:ph type="sldImg" idx="2"/></p:nvPr></p:nvSpPr><p:spPr><a:xfrm><a:off x="685800" y="1143000"/><a:ext cx="5486400" cy="3086100"/></a:xfrm>` +
	`<a:prstGeom prst="rect"><a:avLst/></a:prstGeom></p:spPr></p:sp>`

func notesXML(text string) string {
	return `<p:notes ` + drawNS + `><p:cSld><p:spTree>` + emptyTree + strings.Replace(slideImage, `<p:spPr><a:xfrm><a:off x="685800" y="1143000"/><a:ext cx="5486400" cy="3086100"/></a:xfrm><a:prstGeom prst="rect"><a:avLst/></a:prstGeom></p:spPr>`, `<p:spPr/>`, 1) +
		`<p:sp><p:nvSpPr><p:cNvPr id="3" name="Notes"/><p:cNvSpPr><a:spLocks noGrp="1"/></p:cNvSpPr><p:nvPr><p:ph type="body" idx="3"/></p:nvPr></p:nvSpPr><p:spPr/>` +
		`<p:txBody><a:bodyPr/><a:lstStyle/>` + text + `</p:txBody></p:sp></p:spTree></p:cSld><p:clrMapOvr><a:masterClrMapping/></p:clrMapOvr></p:notes>`
}

const layoutEnd = `</p:spTree></p:cSld><p:clrMapOvr><a:masterClrMapping/></p:clrMapOvr></p:sldLayout>`

func coverLayout() string {
	white := `<a:lstStyle><a:lvl1pPr marL="0" indent="0"><a:buNone/><a:defRPr sz="%d"><a:solidFill><a:schemeClr val="bg1"/>` +
		`</a:solidFill></a:defRPr></a:lvl1pPr></a:lstStyle>`
	return `<p:sldLayout ` + drawNS + ` type="title" preserve="1"><p:cSld name="Cover"><p:bg><p:bgPr><a:solidFill>` +
		`<a:schemeClr val="tx2"/></a:solidFill><a:effectLst/></p:bgPr></p:bg><p:spTree>` + emptyTree +
		fmt.Sprintf(strings.Replace(bar, "accent1", "accent2", 1), box{slideEdge, 292, 96, 5}.xfrm("a")) +
		holder(2, `type="title"`, box{slideEdge, 110, slideWide - 2*slideEdge, 170},
			`<a:bodyPr lIns="0" rIns="0" anchor="b"><a:normAutofit/></a:bodyPr>`+fmt.Sprintf(white, 4800)) +
		holder(3, `type="body" idx="1"`, box{slideEdge, 310, slideWide - 2*slideEdge, 120},
			`<a:bodyPr lIns="0" rIns="0"><a:normAutofit/></a:bodyPr>`+fmt.Sprintf(white, 2200)) + layoutEnd
}

func plainLayout() string {
	return `<p:sldLayout ` + drawNS + ` type="obj" preserve="1"><p:cSld name="Title and content"><p:spTree>` +
		emptyTree + fmt.Sprintf(bar, box{0, 0, slideWide, 9}.xfrm("a")) +
		holder(2, `type="title"`, box{slideEdge, titleTop, slideWide - 2*slideEdge, titleHigh}, `<a:bodyPr/><a:lstStyle/>`) +
		holder(3, `type="body" idx="1"`, box{slideEdge, bodyTop, slideWide - 2*slideEdge, bodyHigh},
			`<a:bodyPr/><a:lstStyle/>`) + feet() +
		layoutEnd
}

func theme() string {
	var b strings.Builder
	b.WriteString(`<a:theme xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" name="` + themeName +
		`"><a:themeElements>` + `<a:clrScheme name="` + themeName + `">`)
	for _, c := range [][2]string{{"dk1", "1D2530"}, {"lt1", "FFFFFF"}, {"dk2", "14385F"}, {"lt2", "EEF2F7"},
		{"accent1", "2F6FB7"}, {"accent2", "E08A2E"}, {"accent3", "3B9C6F"}, {"accent4", "B5495B"},
		{"accent5", "7A5FA8"}, {"accent6", "5B6773"}, {"hlink", "1459B3"}, {"folHlink", "6B4E9B"}} {
		b.WriteString(`<a:` + c[0] + `><a:srgbClr val="` + c[1] + `"/></a:` + c[0] + `>`)
	}
	b.WriteString(`</a:clrScheme><a:fontScheme name="` + themeName + `">`)
	for _, f := range []string{"majorFont", "minorFont"} {
		b.WriteString(`<a:` + f +
			`><a:latin typeface="Calibri"/><a:ea typeface="Microsoft YaHei"/><a:cs typeface=""/></a:` + f + `>`)
	}
	fill := `<a:solidFill><a:schemeClr val="phClr"/></a:solidFill>`
	line := `<a:ln w="9525">` + fill + `</a:ln>`
	effect := `<a:effectStyle><a:effectLst/></a:effectStyle>`
	b.WriteString(`</a:fontScheme><a:fmtScheme name="` + themeName + `"><a:fillStyleLst>` + strings.Repeat(fill, 3) +
		`</a:fillStyleLst><a:lnStyleLst>` + strings.Repeat(line, 3) + `</a:lnStyleLst><a:effectStyleLst>` +
		strings.Repeat(effect, 3) + `</a:effectStyleLst><a:bgFillStyleLst>` + strings.Repeat(fill, 3) +
		`</a:bgFillStyleLst></a:fmtScheme></a:themeElements></a:theme>`)
	return b.String()
}
