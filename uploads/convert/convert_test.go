package convert_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/uploads/convert"

	"github.com/xuri/excelize/v2"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

// run keeps the compiled PDF reader from one test to the next.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "convert")
	if err == nil {
		defer os.RemoveAll(dir)
		err = os.Setenv(convert.Cache, dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func md(t *testing.T, name string, data []byte) string {
	t.Helper()
	res, err := convert.Convert(name, data, nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if res.Partial != "" {
		t.Errorf("%s is partial: %s", name, res.Partial)
	}
	return res.Markdown
}

// same compares a text with what it should be.
func same(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWordKeepsHeadingsListsTablesLinksAndNotes(t *testing.T) {
	got := md(t, "a.docx", docx(t, para("H1", "", "Über 年報")+
		`<w:p><w:r><w:t xml:space="preserve">See </w:t></w:r><w:hyperlink r:id="rId5"><w:r><w:t>here</w:t></w:r></w:hyperlink><w:r><w:rPr><w:b/></w:rPr><w:t xml:space="preserve"> now</w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:footnoteReference w:id="2"/></w:r></w:p>`+
		para("", "1", "one")+para("", "1", "two")+para("H2", "", "Steps")+para("", "2", "first")+
		`<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr><w:p><w:r><w:t>A|B</w:t></w:r></w:p></w:tc></w:tr>
		<w:tr><w:tc><w:p><w:r><w:t>1</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>2</w:t></w:r></w:p></w:tc></w:tr></w:tbl>`+
		`<w:p><w:r><mc:AlternateContent><mc:Choice><w:drawing><wp:docPr descr="a fawn"/></w:drawing></mc:Choice><mc:Fallback><w:t>old</w:t></mc:Fallback></mc:AlternateContent></w:r></w:p>`+
		para("", "", "&lt;!-- page 9 -->")))
	same(t, got, `# Über 年報

See [here](https://example.org/a) **now**[^1]
- one
- two

## Steps
1. first

| A\|B |  |
| --- | --- |
| 1 | 2 |

[image: a fawn]

&lt;!-- page 9 -->

[^1]: Small print.
`)
}

func TestSlidesComeInTheOrderOfTheShow(t *testing.T) {
	slide := func(title, body string) string {
		return `<p:sld xmlns:p="p" xmlns:a="a" xmlns:r="r"><p:cSld><p:spTree><p:sp><p:nvSpPr><p:nvPr><p:ph type="title"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>` + title +
			`</a:t></a:r></a:p></p:txBody></p:sp>` + body + `</p:spTree></p:cSld></p:sld>`
	}
	got := md(t, "a.pptx", zipped(t, map[string]string{
		"ppt/presentation.xml":             `<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst><p:sldId id="256" r:id="rId2"/><p:sldId id="257" r:id="rId1"/></p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels":  relHead + `<Relationship Id="rId1" Type="x/slide" Target="slides/slide1.xml"/><Relationship Id="rId2" Type="x/slide" Target="/ppt/slides/slide2.xml"/></Relationships>`,
		"ppt/slides/slide1.xml":            slide("Last", `<p:graphicFrame><a:tbl><a:tr><a:tc><a:txBody><a:p><a:r><a:t>x</a:t></a:r></a:p></a:txBody></a:tc></a:tr></a:tbl></p:graphicFrame>`),
		"ppt/slides/slide2.xml":            slide("First", `<p:sp><p:txBody><a:p><a:r><a:t>one</a:t></a:r></a:p><a:p><a:pPr lvl="1"/><a:r><a:t>two</a:t></a:r></a:p></p:txBody></p:sp>`),
		"ppt/slides/_rels/slide2.xml.rels": relHead + `<Relationship Id="rId9" Type="x/notesSlide" Target="../notesSlides/n.xml"/></Relationships>`,
		"ppt/notesSlides/n.xml":            `<p:notes xmlns:p="p" xmlns:a="a"><p:sp><p:nvSpPr><p:nvPr><p:ph type="body"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>Say hello.</a:t></a:r></a:p></p:txBody></p:sp></p:notes>`,
	}))
	same(t, got, "<!-- slide 1 -->\n\n# First\n\n- one\n  - two\n\nNotes: Say hello.\n\n<!-- slide 2 -->\n\n# Last\n\n| x |\n| --- |\n")
}

func TestSheetsShowValuesAsTheyAreFormatted(t *testing.T) {
	day := time.Date(2026, 3, 9, 0, 0, 0, 0, time.UTC)
	got := md(t, "a.xlsx", xlsx(t, func(f *excelize.File) {
		date, _ := f.NewStyle(&excelize.Style{NumFmt: 14})
		share, _ := f.NewStyle(&excelize.Style{NumFmt: 9})
		for cell, v := range map[string]any{"A1": "Tag", "B1": "Anteil", "A2": day, "B2": 0.25, "A9": "私", "B9": 3} {
			must.Do(t, f.SetCellValue("Sheet1", cell, v))
		}
		f.SetCellStyle("Sheet1", "A2", "A2", date)
		f.SetCellStyle("Sheet1", "B2", "B2", share)
		f.NewSheet("Zwei|b")
		f.SetCellValue("Zwei|b", "A1", "x|y")
		f.SetSheetVisible("Zwei|b", false)
	}))
	same(t, got, "<!-- sheet 1 -->\n\n## Sheet1\n\n| Tag | Anteil |\n| --- | --- |\n| 2026-03-09 | 25% |\n| 私 | 3 |\n\n"+
		"<!-- sheet 2 -->\n\n## Zwei|b (hidden)\n\n| x\\|y |\n| --- |\n")
}

func TestOpenDocuments(t *testing.T) {
	odf := func(kind, body string) []byte {
		return zipped(t, map[string]string{"mimetype": "application/vnd.oasis.opendocument." + kind,
			"content.xml": `<office:document-content xmlns:office="o" xmlns:text="t" xmlns:table="tb" xmlns:draw="d" xmlns:presentation="p" xmlns:xlink="x"><office:body>` + body + `</office:body></office:document-content>`})
	}
	same(t, md(t, "a.odt", odf("text",
		`<office:text><text:h text:outline-level="2">Kopf</text:h><text:p>Ein<text:s/><text:a xlink:href="http://x.y/">Satz</text:a></text:p><text:list><text:list-item><text:p>a</text:p><text:list><text:list-item><text:p>b</text:p></text:list-item></text:list></text:list-item></text:list></office:text>`)),
		"## Kopf\n\nEin [Satz](http://x.y/)\n- a\n  - b\n")
	same(t, md(t, "a.ods", odf("spreadsheet",
		`<office:spreadsheet><table:table table:name="T"><table:table-row><table:table-cell><text:p>1,5</text:p></table:table-cell><table:table-cell table:number-columns-repeated="16000"/></table:table-row><table:table-row table:number-rows-repeated="1048575"><table:table-cell/></table:table-row></table:table></office:spreadsheet>`)),
		"<!-- sheet 1 -->\n\n## T\n\n| 1,5 |\n| --- |\n")
	same(t, md(t, "a.odp", odf("presentation",
		`<office:presentation><draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>Eins</text:p></draw:text-box></draw:frame></draw:page></office:presentation>`)),
		"<!-- slide 1 -->\n\n# Eins\n")
}

func TestOtherFormats(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"a.html", "<h1>T</h1><script>x()</script><ul><li>a<ul><li>b</ul></ul><table><tr><th>k</th></tr><tr><td>v</td></tr></table>", "# T\n\n- a\n  \n  - b\n\n| k |\n|---|\n| v |\n"},
		{"a.ipynb", `{"cells":[{"cell_type":"markdown","source":["# N\n","text"]},{"cell_type":"code","source":"1+1","outputs":[{"data":{"text/plain":["2"],"image/png":"AAAA"}},{"data":{"application/json":{"a":1}}}]}],"metadata":{"kernelspec":{"language":"python"}}}`,
			"# N\ntext\n\n```python\n1+1\n```\n\n```text\n2\n```\n\n[image]\n"},
		{"a.rtf", `{\rtf1\ansi\ansicpg1251{\fonttbl{\f0 Arial;}}\f0 \'cf\'f0\'e8\par {\*\generator x;}caf\u233?! \{ok\}\par}`, "При\n\ncafé! {ok}\n"},
		{"a.eml", "Subject: =?UTF-8?B?w5xiZXI=?=\r\nFrom: a@b.c\r\nContent-Type: multipart/mixed; boundary=X\r\n\r\n--X\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nGr=FC=DFe\r\n--X\r\nContent-Disposition: attachment; filename=a.pdf\r\n\r\nzz\r\n--X--\r\n",
			"# Über\n\n- From: a@b.c\n\nGrüße\n\n[attachment: a.pdf]\n"},
		{"a.txt", "\xff\xfeh\x00i\x00", "hi\n"},
		{"b.txt", "\xce\xd2\xc3\xc7\xd4\xda\xd5\xe2\xc0\xef\xcb\xb5\xbb\xb0", "我们在这里说话\n"},
		{"c.txt", "\x82\xb1\x82\xea\x82\xcd\x93\xfa\x96{\x8c\xea\x82\xc5\x82\xb7\x81B", "これは日本語です。\n"},
		{"d.txt", "\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0", "Привет, мир\n"},
		{"e.txt", "Stra\xdfe und K\xe4se", "Straße und Käse\n"},
	} {
		same(t, md(t, c.name, []byte(c.data)), c.want)
	}
	book := zipped(t, map[string]string{
		"META-INF/container.xml": `<container><rootfiles><rootfile full-path="O/c.opf"/></rootfiles></container>`,
		"O/c.opf":                `<package><manifest><item id="a" href="a.xhtml"/><item id="b" href="b.xhtml"/></manifest><spine><itemref idref="b"/><itemref idref="a"/></spine></package>`,
		"O/a.xhtml":              `<html><body><p>ende</p></body></html>`,
		"O/b.xhtml":              `<html><body><h1>Anfang</h1></body></html>`,
	})
	same(t, md(t, "a.epub", book), "<!-- chapter 1 -->\n\n# Anfang\n\n<!-- chapter 2 -->\n\nende\n")
}

func TestOldEncodingsAreTold(t *testing.T) {
	for name, want := range map[string]string{
		"zh": "工程师在铁路沿线的四个地点测量了噪音。渡船清晨离开港口,傍晚以前返回。",
		"ja": "技術者は線路沿いの四か所で騒音を測定しました。参加者には地図と水が配られます。",
		"ko": "골짜기에는 아흐레 동안 비가 내렸습니다. 모든 봉사자는 지도와 물 한 병을 받습니다.",
		"ru": "Инженеры измерили шум в четырёх местах вдоль железной дороги.",
	} {
		e := map[string]encoding.Encoding{"zh": simplifiedchinese.GB18030, "ja": japanese.ShiftJIS, "ko": korean.EUCKR,
			"ru": charmap.Windows1251}[name]
		b := must.Get(e.NewEncoder().String(want))(t)
		if got := md(t, name+".txt", []byte(b)); got != want+"\n" {
			t.Errorf("%s is read as %s", name, got)
		}
	}
}

func TestPDFHasPagesHeadingsTablesAndWholeParagraphs(t *testing.T) {
	page := []pdfWord{{72, 700, 18, "Annual Report"}, {72, 670, 11, "The company has grown in every re-"},
		{72, 657, 11, "gion, and nothing was lost."}}
	for i, row := range [][]string{{"City", "People", "Year"}, {"Bern", "134", "2024"}, {"Basel", "178", "2025"}} {
		for j, cell := range row {
			page = append(page, pdfWord{72 + float64(j)*120, 620 - float64(i)*15, 11, cell})
		}
	}
	steps := -1 // that it is about to be read comes first
	res, err := convert.Convert("a.pdf",
		pdf(page, []pdfWord{{72, 700, 11, "The second page says <!-- page 7 --> only."}}), func(done, of int) {
			if steps++; done != steps || of != min(2, 2*steps) {
				t.Errorf("told %d of %d", done, of)
			}
		})
	if err != nil || res.Partial != "" || steps != 2 {
		t.Fatalf("%v, partial %q, %d steps", err, res.Partial, steps)
	}
	same(t, res.Markdown, "<!-- page 1 -->\n\n# Annual Report\n\nThe company has grown in every region, and nothing was lost.\n\n"+
		"| City | People | Year |\n| --- | --- | --- |\n| Bern | 134 | 2024 |\n| Basel | 178 | 2025 |\n\n"+
		"<!-- page 2 -->\n\nThe second page says &lt;!-- page 7 --> only.\n")
}

func TestColumnsOfAPDFAreReadOneAfterTheOther(t *testing.T) {
	var page []pdfWord
	for i := range 6 {
		y := 700 - float64(i)*13
		page = append(page, pdfWord{72, y, 11, fmt.Sprintf("left column with line number %d of prose", i)},
			pdfWord{330, y, 11, fmt.Sprintf("right column with line number %d of prose", i)})
	}
	got := md(t, "a.pdf", pdf(page))
	left := strings.Index(got, "left column with line number 5")
	right := strings.Index(got, "right column with line number 0")
	if left < 0 || right < left || strings.Contains(got, "|") {
		t.Errorf("read as\n%s", got)
	}
}

func TestHostileDocumentsEndWithAReason(t *testing.T) {
	zeros := strings.Repeat("\x00", 65<<20)
	many := map[string]string{}
	for i := range 10_001 {
		many[fmt.Sprint(i)] = ""
	}
	whole := docx(t, para("", "", "x"))
	ole := "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"
	for _, c := range []struct {
		name string
		data []byte
		want convert.Reason
	}{
		{"bomb.docx", zipped(t, map[string]string{"word/document.xml": zeros}), convert.Limits},
		{"many.docx", zipped(t, many), convert.Limits},
		{"deep.docx", docx(t, strings.Repeat("<w:p>", 300)), convert.Limits},
		{"cut.docx", whole[:len(whole)/2], convert.Damaged},
		{"empty.docx", docx(t, ""), convert.Empty},
		{"laughs.docx", zipped(t, map[string]string{"word/document.xml": `<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><w:document xmlns:w="w"><w:body></w:body></w:document>`}), convert.Empty},
		{"locked.docx", []byte(ole + "E\x00n\x00c\x00r\x00y\x00p\x00t\x00e\x00d\x00P\x00a\x00c\x00k\x00a\x00g\x00e\x00"), convert.Encrypted},
		{"other.zip", zipped(t, map[string]string{"a.zip": string(whole)}), convert.Unsupported},
		{"bomb.xlsx", zipped(t, map[string]string{"xl/workbook.xml": zeros}), convert.Limits},
		{"no.xlsx", zipped(t, map[string]string{"xl/workbook.xml": "<"}), convert.Damaged},
		{"deep.html", []byte(strings.Repeat("<div>", 5000)), convert.Limits},
		{"no.ipynb", []byte("{"), convert.Damaged},
		{"no.pdf", []byte("%PDF-1.7 nothing"), convert.Damaged},
		{"cycle.pdf", pdfOf([]string{"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[2 0 R]/Count 1>>"}), convert.Damaged},
		{"scan.pdf", pdf(nil, nil), convert.Scanned},
	} {
		res, err := convert.Convert(c.name, c.data, nil)
		var why convert.Reason
		if !errors.As(err, &why) || why != c.want {
			t.Errorf("%s: %v and %d bytes, want %s", c.name, err, len(res.Markdown), c.want)
		}
	}
}

func TestALongSheetIsCut(t *testing.T) {
	res, err := convert.Convert("a.xlsx", xlsx(t, func(f *excelize.File) {
		f.SetCellValue("Sheet1", "A1", "top")
		f.SetCellValue("Sheet1", "XFD1048576", "far away")
	}), nil)
	if err != nil || res.Partial != convert.Long || !strings.Contains(res.Markdown, "| top |") {
		t.Errorf("%v, %q, %.200s", err, res.Partial, res.Markdown)
	}
	rows := strings.Repeat(`<row><c><v>1</v></c></row>`, 1_048_576)
	res, err = convert.Convert("b.xlsx", zipped(t, map[string]string{
		"xl/workbook.xml":            `<workbook xmlns:r="r"><sheets><sheet name="S" r:id="a"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": relHead + `<Relationship Id="a" Type="x/worksheet" Target="worksheets/s.xml"/></Relationships>`,
		"xl/worksheets/s.xml":        `<worksheet><sheetData>` + rows + `</sheetData></worksheet>`,
	}), nil)
	if n := strings.Count(res.Markdown, "| 1 |"); err != nil || res.Partial != convert.Long || n != 200_000 {
		t.Errorf("%v, %q, %d rows", err, res.Partial, n)
	}
}

func TestNumbersAreShownAsTheyAreFormatted(t *testing.T) {
	for _, c := range []struct {
		code  string
		value float64
		want  string
	}{
		{"General", 0.1 + 0.2, "0.3"}, {"0.00", 2.5, "2.50"}, {"#,##0.00 [$€-407]", -1234567.891, "-1,234,567.89 €"},
		{`"CHF" #,##0;[Red]-"CHF" #,##0`, 1234, "CHF 1,234"}, {"0.0%", 0.1234, "12.3%"},
		{"0%", 0.025, "3%"}, {"0.0000", 1.26805, "1.2681"}, {"0.00", -1.005, "-1.01"}, {"0.00", 1.0049999, "1.00"},
		{"0.00E+00", 12345, "1.23E+04"}, {"#,##0.0,", 1234567, "1,234.6"}, {"0.##", 3, "3"},
		{"yyyy/mm/dd hh:mm", 45000.75, "2023-03-15 18:00"}, {"m/d/yy", 1, "1900-01-01"}, {"[h]:mm:ss", 1.5, "36:00:00"},
		{"h:mm:ss AM/PM", 0.25, "06:00:00"}, {"@", 7, "7"}, {`yyyy"年"m"月"d"日"`, 45000, "2023-03-15"},
		{"mmm-yy", 45000, "2023-03-15"}, {"General", 1e20, "1E+20"}, {"_-* #,##0.00_-", 5, "5.00"},
		{"# ?/?", 0.5, "0.5"}, {`0 "h"`, 3, "3 h"},
	} {
		got := md(t, "a.xlsx", xlsx(t, func(f *excelize.File) {
			style := must.Get(f.NewStyle(&excelize.Style{CustomNumFmt: &c.code}))(t)
			f.SetCellValue("Sheet1", "A1", c.value)
			f.SetCellStyle("Sheet1", "A1", "A1", style)
		}))
		if !strings.Contains(got, "| "+c.want+" |") {
			t.Errorf("%g as %s: %s, want %s", c.value, c.code, got, c.want)
		}
	}
}

func TestOnlyDocumentsAreWanted(t *testing.T) {
	for name, want := range map[string]bool{"a.PDF": true, "a.docx": true, "a.py": false, "a.txt": false, "a": false} {
		if got := convert.Wants(name, []byte("plain")); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if !convert.Wants("a.csv", []byte("K\xe4se;1")) || convert.Wants("a.csv", []byte("K\xc3\xa4se;\xe6\x97")) {
		t.Error("the encoding of a text is not looked at")
	}
}

// FuzzConvert looks for a document that our own readers cannot take.
func FuzzConvert(f *testing.F) {
	f.Add("a.docx", "")
	f.Add("a.rtf", `{\rtf1 a\u8364?\'80{\*\x}}`)
	f.Add("a.eml", "Subject: x\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nhi\r\n--b--")
	f.Add("a.ipynb", `{"cells":[{"source":["a"]}]}`)
	f.Add("a.txt", "\x82\xa0")
	f.Fuzz(func(t *testing.T, name, data string) {
		if strings.Contains(data[:min(len(data), 1024)], "%PDF-") || strings.HasSuffix(strings.ToLower(name), ".pdf") {
			return // a library's, and slow to start
		}
		res, err := convert.Convert(name, []byte(data), nil)
		var why convert.Reason
		if err != nil && (!errors.As(err, &why) || why == convert.Crashed) {
			t.Errorf("%v", err)
		}
		if err == nil && strings.ContainsRune(res.Markdown, 0) {
			t.Error("a zero byte is left")
		}
	})
}

// FuzzWord looks for a body of a text document that our reader cannot take.
func FuzzWord(f *testing.F) {
	f.Add(para("H1", "1", "x"))
	f.Add(`<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="9"/></w:tcPr></w:tc></w:tr></w:tbl>`)
	f.Fuzz(func(t *testing.T, body string) {
		_, err := convert.Convert("a.docx", docx(t, body), nil)
		if why := convert.Crashed; errors.Is(err, why) {
			t.Error(err)
		}
	})
}
