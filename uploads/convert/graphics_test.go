package convert_test

import (
	"errors"
	"strings"
	"testing"

	"fawn/uploads/convert"
)

const (
	diagramData = `<dgm:dataModel xmlns:dgm="dgm" xmlns:a="a"><dgm:ptLst>
		<dgm:pt modelId="{0}" type="doc"><dgm:t><a:p/></dgm:t></dgm:pt>
		<dgm:pt modelId="{2}"><dgm:t><a:p><a:r><a:t>Build</a:t></a:r></a:p></dgm:t></dgm:pt>
		<dgm:pt modelId="{1}"><dgm:t><a:p><a:r><a:t>Plan </a:t></a:r><a:r><a:t>it</a:t></a:r></a:p></dgm:t></dgm:pt>
		<dgm:pt modelId="{3}" type="asst"><dgm:t><a:p><a:r><a:t>Budget</a:t></a:r></a:p></dgm:t></dgm:pt>
		<dgm:pt modelId="{8}" type="sibTrans"><dgm:t><a:p><a:r><a:t>arrow</a:t></a:r></a:p></dgm:t></dgm:pt>
		<dgm:pt modelId="{9}" type="pres"/></dgm:ptLst><dgm:cxnLst>
		<dgm:cxn srcId="{0}" destId="{2}" srcOrd="1"/><dgm:cxn srcId="{0}" destId="{1}" srcOrd="0"/>
		<dgm:cxn srcId="{1}" destId="{3}" srcOrd="0"/><dgm:cxn srcId="{3}" destId="{1}" srcOrd="0"/>
		<dgm:cxn type="presOf" srcId="{1}" destId="{9}"/></dgm:cxnLst></dgm:dataModel>`
	diagramText = "- Plan it\n  - Budget\n- Build\n"
	chartData   = `<c:chartSpace xmlns:c="c" xmlns:a="a"><c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>Sales</a:t></a:r></a:p></c:rich></c:tx></c:title>
		<c:plotArea><c:barChart>
		<c:ser><c:tx><c:strRef><c:strCache><c:pt idx="0"><c:v>2025</c:v></c:pt></c:strCache></c:strRef></c:tx>
		<c:cat><c:strRef><c:strCache><c:pt idx="0"><c:v>East</c:v></c:pt><c:pt idx="1"><c:v>West</c:v></c:pt></c:strCache></c:strRef></c:cat>
		<c:val><c:numRef><c:numCache><c:pt idx="0"><c:v>4.5</c:v></c:pt><c:pt idx="1"><c:v>3</c:v></c:pt><c:pt idx="99999999"><c:v>1</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser>
		<c:ser><c:tx><c:v>2026</c:v></c:tx><c:val><c:numRef><c:numCache><c:pt idx="1"><c:v>7</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser>
		</c:barChart></c:plotArea></c:chart></c:chartSpace>`
	chartText = "[chart: Sales]\n\n|  | 2025 | 2026 |\n| --- | --- | --- |\n| East | 4.5 |  |\n| West | 3 | 7 |\n"
	graphic   = `<a:graphic xmlns:a="a"><a:graphicData><dgm:relIds xmlns:dgm="dgm" r:dm="rId1" r:lo="rId9"/></a:graphicData></a:graphic>` +
		`<a:graphic xmlns:a="a"><a:graphicData><c:chart xmlns:c="c" r:id="rId2"/></a:graphicData></a:graphic>`
	graphicParts = relHead + `<Relationship Id="rId1" Type="x/diagramData" Target="/x/data1.xml"/><Relationship Id="rId2" Type="x/chart" Target="/x/chart1.xml"/></Relationships>`
)

func TestDiagramsAndChartsOfSlidesAreText(t *testing.T) {
	got := md(t, "a.pptx", zipped(t, map[string]string{
		"ppt/presentation.xml":            `<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst><p:sldId r:id="rId1"/></p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels": relHead + `<Relationship Id="rId1" Type="x/slide" Target="slides/slide1.xml"/></Relationships>`,
		"ppt/slides/slide1.xml": `<p:sld xmlns:p="p" xmlns:r="r"><p:cSld><p:spTree><p:graphicFrame>` + graphic +
			`</p:graphicFrame></p:spTree></p:cSld></p:sld>`,
		"ppt/slides/_rels/slide1.xml.rels": graphicParts, "x/data1.xml": diagramData, "x/chart1.xml": chartData,
	}))
	same(t, got, "<!-- slide 1 -->\n\n"+diagramText+"\n"+chartText)
}

func TestDiagramsAndChartsOfTextsAreText(t *testing.T) {
	got := md(t, "a.docx", zipped(t, map[string]string{
		"word/document.xml": `<w:document` + wordNS + `><w:body><w:p><w:r><w:t>Before</w:t></w:r><w:r><w:drawing>` + graphic +
			`</w:drawing></w:r></w:p></w:body></w:document>`,
		"word/_rels/document.xml.rels": graphicParts, "x/data1.xml": diagramData, "x/chart1.xml": chartData,
	}))
	same(t, got, "Before\n\n"+diagramText+"\n"+chartText)
}

func TestBinaryWorkbooksSayHowTheyCanBeRead(t *testing.T) {
	data := zipped(t, map[string]string{
		"_rels/.rels":     relHead + `<Relationship Id="rId1" Type="x/officeDocument" Target="xl/workbook.bin"/></Relationships>`,
		"xl/workbook.bin": "\x83\x01\x00",
	})
	if _, err := convert.Convert("a.xlsb", data, nil); !errors.Is(err, convert.BinaryBook) {
		t.Errorf("an XLSB file ends with %v", err)
	}
	if !convert.Wants("a.xlsb", data) {
		t.Error("an XLSB file is no document")
	}
}

func TestTextBoxesOfOpenDocumentsStandApart(t *testing.T) {
	got := md(t, "a.odt", zipped(t, map[string]string{"mimetype": "application/vnd.oasis.opendocument.text",
		"content.xml": `<office:document-content xmlns:office="o" xmlns:text="t" xmlns:draw="d"><office:body><office:text>
		<text:p>Title<draw:frame><draw:text-box><text:p>This</text:p><text:p>box</text:p></draw:text-box></draw:frame>after<draw:custom-shape><text:p>a shape</text:p></draw:custom-shape></text:p>
		</office:text></office:body></office:document-content>`}))
	same(t, strings.Join(strings.Fields(got), " "), "Title This box after a shape")
}

func TestTextBeyondTheEdgeOfAPageIsNotRead(t *testing.T) {
	got := md(t, "a.pdf", pdf([]pdfWord{{72, 700, 12, "Seen by everybody who opens the page in a viewer"}, {900, 700, 12, "hidden beside"}, {72, -200, 12, "hidden below"}}))
	same(t, got, "<!-- page 1 -->\n\nSeen by everybody who opens the page in a viewer\n")
}

func TestManualsAreReadWithoutTheirNavigation(t *testing.T) {
	text := strings.Repeat("<p>The valve opens when the pressure of the boiler rises above the limit that is set on the dial, and closes again below it.</p>", 6)
	panel := `<!--Navigation Panel--><A NAME="tex2html12" HREF="n2.html"><IMG ALT="next" SRC="next.png"></A> <A HREF="up.html"><IMG ALT="up" SRC="up.png"></A>
		<A HREF="p.html"><IMG ALT="previous" SRC="p.png"></A> <A HREF="c.html"><IMG ALT="contents" SRC="c.png"></A><BR>
		<B> Next:</B> <A HREF="n2.html">Springs of the lid</A> <B> Up:</B> <A HREF="up.html">Boilers at home</A> <B> Previous:</B> <A HREF="p.html">Rivets of brass</A><BR><BR>
		<!--End of Navigation Panel-->`
	for name, around := range map[string]string{
		"latex2html":      panel,
		"latex2html, div": `<DIV CLASS="navigation">` + panel + `</DIV>`,
		"Texinfo":         `<div class="header"><p>Next: <a href="n2.html">Springs of the lid</a>, Previous: <a href="p.html">Rivets of brass</a>, Up: <a href="up.html">Boilers at home</a> &nbsp; [<a href="c.html">Contents</a>][<a href="i.html">Index</a>]</p></div>`,
		"lines":           `<b>Next:</b> <a href="n2.html">Springs of the lid</a><br><b>Up:</b> <a href="up.html">Boilers at home</a><br><b>Previous:</b> <a href="p.html">Rivets of brass</a><hr>`,
	} {
		page := "https://example.org/manual/n1.html\n<html><head><title>Valves</title></head><body>" + around + "<h1>Valves</h1>" + text +
			`<p>Details are in <a href="n7.html">the chapter about steam</a>, up to its next section.</p>` + around + "</body></html>"
		got := md(t, "a"+convert.PageExt, []byte(page))
		for _, gone := range []string{"Springs", "Boilers at home", "Rivets", "Previous", "previous"} {
			if strings.Contains(got, gone) {
				t.Errorf("%s: %s in\n%s", name, gone, got)
			}
		}
		if strings.Count(got, "The valve opens") != 6 || !strings.Contains(got, "the chapter about steam") {
			t.Errorf("%s: text is lost:\n%s", name, got)
		}
	}
}

func TestShapesAndNotesOfSheetsAreText(t *testing.T) {
	got := rawBook(t, `<row><c r="A1"><v>7</v></c></row>`, map[string]string{
		"xl/worksheets/_rels/s.xml.rels": relHead + `<Relationship Id="d" Type="x/drawing" Target="../drawings/d.xml"/><Relationship Id="n" Type="x/comments" Target="../c.xml"/></Relationships>`,
		"xl/drawings/d.xml": `<xdr:wsDr xmlns:xdr="xdr" xmlns:a="a"><xdr:twoCellAnchor><xdr:sp><xdr:txBody><a:p><a:r><a:t>Read me first</a:t></a:r></a:p></xdr:txBody></xdr:sp></xdr:twoCellAnchor>
			<xdr:twoCellAnchor><xdr:graphicFrame><a:graphic><a:graphicData><c:chart xmlns:c="c" xmlns:r="r" r:id="c"/></a:graphicData></a:graphic></xdr:graphicFrame></xdr:twoCellAnchor>
			<xdr:oneCellAnchor><xdr:graphicFrame><a:graphic><a:graphicData><dgm:relIds xmlns:dgm="dgm" xmlns:r="r" r:dm="s"/></a:graphicData></a:graphic></xdr:graphicFrame></xdr:oneCellAnchor></xdr:wsDr>`,
		"xl/drawings/_rels/d.xml.rels": relHead + `<Relationship Id="c" Type="x/chart" Target="/x/chart1.xml"/><Relationship Id="s" Type="x/diagramData" Target="/x/data1.xml"/></Relationships>`,
		"x/data1.xml":                  diagramData, "x/chart1.xml": chartData,
		"xl/c.xml": `<comments><commentList><comment ref="A1"><text><r><t>Ann: </t></r><r><t>ask
			again</t></r></text></comment><comment ref="B9"><text><t> </t></text></comment></commentList></comments>`,
	})
	title := chartText[:strings.Index(chartText, "\n")]
	want := "| 7 |\n| --- |\n\nRead me first\n\n" + title + "\n\n" + diagramText + "\nNotes:\n\n- A1: Ann: ask again\n"
	if !strings.HasSuffix(got, want) {
		t.Errorf("%q doesn't end with %q", got, want)
	}
}
