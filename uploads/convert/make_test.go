package convert_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"fawn/agent/agenttest/must"
)

// zipped makes an archive of parts.
func zipped(t testing.TB, parts map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(parts[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	must.Do(t, w.Close())
	return b.Bytes()
}

const (
	relHead = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`
	wordNS  = ` xmlns:w="w" xmlns:r="r" xmlns:mc="mc" xmlns:wp="wp" xmlns:m="m"`
)

// docx makes a text document of what is in its body.
func docx(t testing.TB, body string) []byte {
	return zipped(t, map[string]string{
		"word/document.xml": `<w:document` + wordNS + `><w:body>` + body + `</w:body></w:document>`,
		"word/styles.xml": `<w:styles` + wordNS + `><w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style>
			<w:style w:styleId="H2"><w:name w:val="Heading 2"/></w:style></w:styles>`,
		"word/numbering.xml": `<w:numbering` + wordNS +
			`><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl>
			</w:abstractNum><w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl></w:abstractNum>
			<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num></w:numbering>`,
		"word/footnotes.xml":           `<w:footnotes` + wordNS + `><w:footnote w:type="separator" w:id="0"/><w:footnote w:id="2"><w:p><w:r><w:t>Small print.</w:t></w:r></w:p></w:footnote></w:footnotes>`,
		"word/_rels/document.xml.rels": relHead + `<Relationship Id="rId5" Type="x/hyperlink" Target="https://example.org/a" TargetMode="External"/></Relationships>`,
	})
}

// para is a paragraph with a style and a number.
func para(style, list, text string) string {
	props := ""
	if style != "" {
		props += `<w:pStyle w:val="` + style + `"/>`
	}
	if list != "" {
		props += `<w:numPr><w:ilvl w:val="0"/><w:numId w:val="` + list + `"/></w:numPr>`
	}
	return `<w:p><w:pPr>` + props + `</w:pPr><w:r><w:t>` + text + `</w:t></w:r></w:p>`
}

// xlsx makes a workbook of sheets.
func xlsx(t testing.TB, fill func(f *excelize.File)) []byte {
	t.Helper()
	f := excelize.NewFile()
	defer f.Close()
	fill(f)
	b := must.Get(f.WriteToBuffer())(t)
	return b.Bytes()
}

// word of a PDF page: where it stands, how large, and what it says.
type pdfWord struct {
	x, y, size float64
	text       string
}

// pdf makes a document of pages with Latin text.
func pdf(pages ...[]pdfWord) []byte {
	var objects []string
	kids := ""
	for i, page := range pages {
		var s strings.Builder
		for _, w := range page {
			fmt.Fprintf(&s, "BT /F1 %g Tf %g %g Td (%s) Tj ET\n", w.size, w.x, w.y,
				strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(w.text))
		}
		kids += fmt.Sprintf("%d 0 R ", 4+2*i)
		objects = append(objects,
			fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>", 5+2*i),
			fmt.Sprintf("<</Length %d>>stream\n%sendstream", s.Len(), s.String()))
	}
	return pdfOf(append([]string{"<</Type/Catalog/Pages 2 0 R>>",
		fmt.Sprintf("<</Type/Pages/Kids[%s]/Count %d>>", kids, len(pages)),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"}, objects...))
}

// pdfOf makes a file of objects, the first of which is the catalogue.
func pdfOf(objects []string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	at := make([]int, len(objects))
	for i, o := range objects {
		at[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, n := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", n)
	}
	fmt.Fprintf(&b, "trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, start)
	return b.Bytes()
}
