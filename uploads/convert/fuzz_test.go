package convert_test

import (
	"errors"
	"testing"

	"fawn/uploads/convert"
)

// survives says that a document ends as text or with a reason that is not a crash.
func survives(t *testing.T, name string, data []byte) {
	res, err := convert.Convert(name, data, nil)
	var why convert.Reason
	if err != nil && (!errors.As(err, &why) || why == convert.Crashed) {
		t.Errorf("%s: %v", name, err)
	}
	if err == nil && len(res.Markdown) > 64<<20 {
		t.Errorf("%s became %d bytes", name, len(res.Markdown))
	}
}

// FuzzDocuments is for the formats that are one piece.
func FuzzDocuments(f *testing.F) {
	names := []string{"a.doc", "a.xls", "a.ppt", "a.rtf", "a.eml", "a.ipynb", "a.html", "a.txt", "a.docx"}
	f.Add(uint8(0), old(f, "old.doc"))
	f.Add(uint8(1), old(f, "old.xls"))
	f.Add(uint8(3), []byte(`{\rtf1\ansi\uc1 {\b Kopf\par}\u26085?\u26412? caf\'e9 {\*\generator x}\par}`))
	f.Add(uint8(4), []byte("Subject: =?utf-8?B?w7w=?=\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nhi\r\n--b--\r\n"))
	f.Add(uint8(5), []byte(`{"cells":[{"cell_type":"code","source":["1+1"],"outputs":[{"data":{"text/plain":["2"]}}]}]}`))
	f.Add(uint8(6), []byte(`<h1>a</h1><table><tr><th>b<td colspan=2>c</table><a href="data:,">d</a>`))
	f.Add(uint8(7), []byte("\x8b\x5a\x8f\x70\x8e\xd2\x82\xcd"))
	f.Add(uint8(8), docx(f, para("H1", "1", "x")))
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		survives(t, names[int(kind)%len(names)], data)
	})
}

// FuzzParts is for those that are archives: what matters of them is inside.
func FuzzParts(f *testing.F) {
	f.Add(uint8(0), []byte(`<w:document><w:body><w:p><w:pPr><w:outlineLvl w:val="0"/></w:pPr><w:r><w:t>a</w:t></w:r></w:p><w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl></w:body></w:document>`))
	f.Add(uint8(1), []byte(`<worksheet><sheetData><row r="1"><c r="A1" s="0"><v>45000.5</v></c><c r="ZZ1" t="s"><v>0</v></c></row></sheetData></worksheet>`))
	f.Add(uint8(2), []byte(`<numFmts><numFmt numFmtId="0" formatCode="[h]:mm;@ &quot;x&quot; 0.00E+00 yyyy-mm-dd #,##0"/></numFmts>`))
	f.Add(uint8(3), []byte(`<p:sld><p:cSld><p:spTree><p:sp><p:txBody><a:p><a:pPr lvl="9"/><a:r><a:t>x</a:t></a:r></a:p></p:txBody></p:sp></p:spTree></p:cSld></p:sld>`))
	f.Add(uint8(4), []byte(`<office:spreadsheet><table:table><table:table-row number-rows-repeated="9"><table:table-cell number-columns-repeated="9"><text:p>x</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet>`))
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		text := string(data)
		switch kind % 5 {
		case 0:
			survives(t, "a.docx",
				zipped(t, map[string]string{"word/document.xml": text, "word/styles.xml": text,
					"word/numbering.xml": text}))
		case 1:
			survives(t, "a.xlsx", zipped(t, workbookWith(text, `<cellXfs><xf numFmtId="22"/></cellXfs>`)))
		case 2:
			survives(t, "a.xlsx",
				zipped(t, workbookWith(`<row><c s="0"><v>45000.25</v></c><c s="0"><v>-1e300</v></c></row>`,
					text+`<cellXfs><xf numFmtId="0"/></cellXfs>`)))
		case 3:
			survives(t, "a.pptx", zipped(t, map[string]string{
				"ppt/presentation.xml":            `<p:presentation><p:sldIdLst><p:sldId r:id="r"/></p:sldIdLst></p:presentation>`,
				"ppt/_rels/presentation.xml.rels": relHead + `<Relationship Id="r" Type="x/slide" Target="s.xml"/></Relationships>`,
				"ppt/s.xml":                       text,
			}))
		case 4:
			survives(t, "a.ods", zipped(t, map[string]string{"mimetype": "application/vnd.oasis.opendocument.spreadsheet",
				"content.xml": `<office:document-content><office:body>` + text + `</office:body></office:document-content>`}))
		}
	})
}

// workbookWith is a workbook with one sheet and styles.
func workbookWith(sheet, styles string) map[string]string {
	return map[string]string{
		"xl/workbook.xml":            `<workbook><sheets><sheet name="a" r:id="r"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": relHead + `<Relationship Id="r" Type="x/worksheet" Target="s.xml"/></Relationships>`,
		"xl/s.xml":                   sheet, "xl/styles.xml": styles,
		"xl/sharedStrings.xml": "<sst><si><t>x</t></si></sst>",
	}
}
