package convert_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocumentsOfOtherPrograms reads documents that libraries of others wrote: see make.py and
// make.mjs in testdata.
func TestDocumentsOfOtherPrograms(t *testing.T) {
	const (
		customers = "| 01067 | 042 | =SUM(A2:B2) | 2026-03-09 | two linesA | =\"a\"&\"b\" |"
		bills     = "| Ganz | 42 |  | TRUE |"
		formulas  = `$$\frac{a+b}{\sqrt{x_{1}^{2}}}=\sum_{i=1}^{n} \int_{0}^{∞} f(x) dx,\left(\begin{matrix}1 & 2 \\ 3 & 4\end{matrix}\right)$$`
		goods     = "| Item | Description | Qty | Price |\n| --- | --- | --- | --- |\n" +
			"| A-1 | A chair that is comfortable to sit on for many hours, with arms and wheels, in black or grey fabric | 2 | 129.00 |\n" +
			"| A-2 |  | 1 | 15.50 |\n| B-7 with a long name that wraps | Desk | 10 | 1,299.00 |\n|  | Delivery |  | 49.00 |\n"
		people = "| Name | City | Note |\n| --- | --- | --- |\n| Ann | Bern |  |\n| Bob |  | a note that is long enough to be wrapped onto " +
			"two lines because the cell is not wide enough for all of its words |\n| Cid | Basel | x |\n"
		keys    = "| K | V |\n| --- | --- |\n| alpha | 1 |\n| beta | 2 |\n| gamma |  |\n| delta | 4 |\n"
		outlook = "# Angebot für Zürich\n\n- From: Zoë Müller <zoe@example.org>\n- To: Jörg <j@example.org>\n" +
			"- Date: Mon, 9 Mar 2026 18:00:00 +0000\n\nGuten Tag\n\nDie Größe passt.\n"
	)
	tests := map[string]string{ // texts that stand behind one another, with … between
		// Sheets.
		"openpyxl.xlsx": "## Kunden…" + customers, "strings-elsewhere.xlsx": customers, "prefixes.xlsx": customers,
		"small-letters.xlsx": customers, "backslashes.xlsx": customers, "no-references.xlsx": customers,
		"xlsxwriter.xlsx":        "| 2.5 | =A2*2 | 00007 | 36:00:00 | 3.5 |…| fett und nicht |",
		"xlsxwriter-inline.xlsx": "| 2026-03-09 18:00 | 12.5% |",
		"pyexcelerate.xlsx":      "## Schnell…| ä | TRUE |",
		"sheetjs-xlsx.xlsx":      "| Müller | 1234.5 | 2026-03-09 | TRUE | 2469 |…| FALSE | Müllerx |…| =SUM(B2:B4) |…## Zwei",
		// Old workbooks, and what is called one.
		"sheetjs-biff2.xls": bills, "sheetjs-biff3.xls": bills, "sheetjs-biff4.xls": bills,
		"sheetjs-biff5.xls": "## Daten…| 1234.5 | 2026-03-09 | TRUE | 2469 |…" + bills + "…## Zwei",
		"sheetjs-biff8.xls": "| Müller | 1234.5 | 2026-03-09 | TRUE | 2469 |…" + bills,
		"xlwt.xls":          "| 01067 | 2026-03-09 |…| 日本 |",
		"sheetjs-xlml.xls":  "## Daten…| Müller | 1234.5 | 2026-03-09 | TRUE | 2469 |…" + bills + "…## Zwei",
		"sheetjs-html.xls":  "| Müller | 1234.5 |…" + bills, "sheetjs-txt.xls": "| Müller | 1234.5 |…" + bills,
		"sheetjs-csv.xls": "| Müller | 1234.5 |…" + bills, "sheetjs-sylk.slk": "| Müller | 1234.5 |…" + bills,
		"sheetjs-fods.fods": "## Daten…| Müller | 1234.5 |…" + bills,
		"page.xls":          "<!-- sheet 1 -->\n\nStand: März\n\n| Ort | Zahl |\n| --- | --- |\n| Zürich | 1,5 |\n|  | 2 |\n",
		"tabs-1252.xls":     "| Kürzel | Name |…| 007 | Élise Çelik aus Besançon |", "tabs-1251.xls": "| Иван Петров | Новосибирск |",
		"semicolons.xls": "<!-- sheet 1 -->\n\n| Name | Summe |\n| --- | --- |\n| Zoë | 1,50 |\n",
		"wiki.xls":       "<!-- sheet 1 -->\n\n# Seite\n\ncafé crème\n\n| a |\n| --- |\n| b |\n",
		// Texts that are called documents.
		"wiki.doc": "# Seite\n\ncafé crème\n\n| a |\n|---|\n| b |\n", "wiki.mht": "# Seite\n\ncafé crème\n\n| a |\n|---|\n| b |\n",
		"page.doc": "# Über\n\nText\n", "plain.doc": "Grüße aus Köln.\n\nZweiter Absatz.\n",
		// Mail.
		"unicode.msg": outlook + "\n[attachment: Plan für März.pdf]\n\n---\n\n## Darin\n\nInnen steht das.\n", "ansi.msg": outlook,
		"html.msg": "# Seite\n\nNur **HTML** – schön\n",
		// Formulas and notes.
		"pandoc.docx":    "Text mit $E=mc^{2}$ und Note[^1].…" + formulas + "…3. drei\n4. vier\n\n(a) klein\n\n(b) auch\n\n[^1]: Die Fußnote.",
		"document2.docx": "Text mit $E=mc^{2}$ und Note[^1].…" + formulas + "…[^1]: Die Fußnote.",
		"pandoc.pptx":    `$E=mc^{2}$…\frac{a+b}{\sqrt{x_{1}^{2}}}`,
		"pandoc.odt":     `Text mit $E=mc^{2}$ und Note[^1].…\frac{a+b}{\sqrt{x_{1}^{2}}}=∑_{i=1}^{n}∫_{0}^{∞}f(x)…\begin{matrix}1 & 2 \\ 3 & 4\end{matrix}`,
		"docx-npm.docx": "Article I Scope\n\nI.1 Where it holds\n\nI.2 When it holds\n\n(a) by day\n\n(b) by night\n\nArticle II Money\n\n" +
			`II.1 Fees…第十二条 条文12…(一) 款…Noted[^1]…$\frac{NUMER}{DENOM}=c^{2}x_{i}\sqrt[3]{y}\sum_{1}^{9} n$…| Article III in a cell | beside |…[^1]: Where it is small.`,
		// Tables and lists of PDFs.
		"weasyprint.pdf": goods + "| Total |  |  | 1,492.50 |…Text after.\n- first bullet\n- second bullet office affine fine…" + people + "…Between.…" + keys,
		"chromium.pdf":   goods + "| Total |  |  | 1,492.50 |…Text after.\n- first bullet\n- second bullet office affine fine…" + people + "…Between.…" + keys,
		"reportlab.pdf": "Before.…" + goods + "| Total |  |  | 1,492.50 |…After.…| a | b |\n| --- | --- |\n| 1 |  |\n|  | 2 |\n| 3 | 4 |\n…And.…" +
			"| x | y |\n| --- | --- |\n| 1 | one |\n| 2 | two |\n| 3 | three |\n| 4 | four |\n- one\n- two\n",
		"fpdf.pdf": goods,
		// Numbers of clauses.
		"contract.docx": "1. Terms\n\n1.1 Scope\n\n1.2 Fees\n\n(a) rent\n\n(b) heat\n\n(i) late\n\n2. Law\n\n2.1 Place\n",
		"legal.docx":    "Section I. Terms\n\n1.1 Scope\n\n1.2 Fees\n\nSection II. Law\n\n2.1 Place\n",
		"chinese.docx":  "第一条 条1…第九条 条9\n\n第十条 条10\n\n第十一条 条11\n\n第十二条 条12\n\n甲、 款\n",
		"again.docx":    "1. one\n2. two\n1. anew\n2. after\n", "goes-on.docx": "1. one\n\ntext between\n\n2. two\n3. three\n",
		"from-five.docx": "Art. 05 five\n\nArt. 06 six\n", "circles.docx": "① eins\n\n② zwei\n\n가. drunter\n",
		"skipped.docx":           "(a) straight to the third\n\n2. and the first\n",
		"numbered-headings.docx": "# 1 Anfang\n\n## 1.1 Mitte\n\n## 1.2 Rest\n\n# 2 Ende\n",
	}
	files, err := filepath.Glob("testdata/made/*")
	if err != nil || len(files) != len(tests) {
		t.Errorf("%d documents and %d tests, %v", len(files), len(tests), err)
	}
	for name, want := range tests {
		data, err := os.ReadFile("testdata/made/" + name)
		if err != nil {
			t.Error(err)
			continue
		}
		got := md(t, name, data)
		rest := got
		for part := range strings.SplitSeq(want, "…") {
			_, after, found := strings.Cut(rest, part)
			if !found {
				t.Errorf("%s: no %q in\n%s", name, part, got)
				break
			}
			rest = after
		}
	}
}

func TestTextsOfOldWorkbooksAreInTheirCodePage(t *testing.T) {
	record := func(kind int, data string) string {
		return string([]byte{byte(kind), byte(kind >> 8), byte(len(data)), byte(len(data) >> 8)}) + data
	}
	for page, want := range map[string]string{"\xe3\x04": "При", "\xe2\x04": "Ďđč"} {
		book := record(0x09, "\x02\x00\x10\x00") + record(0x42, page) +
			record(0x04, "\x00\x00\x00\x00\x00\x00\x00\x03\xcf\xf0\xe8") + record(0x0A, "")
		if got := md(t, "a.xls", []byte(book)); !strings.Contains(got, "| "+want) {
			t.Errorf("code page %x: no %s in\n%s", page, want, got)
		}
	}
}
