package workbook_test

import (
	"io"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/uploads/workbook"
)

// parts is a workbook of one sheet with rows.
func parts(rows string) map[string]string {
	return map[string]string{
		"xl/workbook.xml":            `<workbook><workbookPr/><sheets><sheet name="S" r:id="a"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="a" Type="x/worksheet" Target="s.xml"/></Relationships>`,
		"xl/s.xml":                   `<worksheet><sheetData>` + rows + `</sheetData></worksheet>`,
		"xl/sharedStrings.xml":       `<sst><si><t>one</t></si><si><r><t>t</t></r><r><t>wo</t></r></si></sst>`,
		"xl/styles.xml": `<styleSheet><numFmts><numFmt numFmtId="200" formatCode="dd.mm.yyyy hh:mm"/><numFmt numFmtId="201" formatCode="00000"/>` +
			`<numFmt numFmtId="202" formatCode="#,##0.00 €"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="200"/><xf numFmtId="201"/>` +
			`<xf numFmtId="202"/><xf numFmtId="9"/></cellXfs></styleSheet>`,
	}
}

func read(t testing.TB, all map[string]string) (shown, values []string) {
	t.Helper()
	b := must.Get(workbook.Open(func(name string) (io.ReadCloser, error) {
		if text, ok := all[name]; ok {
			return io.NopCloser(strings.NewReader(text)), nil
		}
		return nil, nil
	}))(t)
	for _, s := range b.Sheets {
		must.Do(t, b.Rows(s, func(cells []workbook.Cell) bool {
			for _, c := range cells {
				shown, values = append(shown, c.Shown()), append(values, c.Value())
			}
			return true
		}))
	}
	return shown, values
}

func TestCellsAreShownAndAreData(t *testing.T) {
	shown, values := read(t, parts(`<row><c t="s"><v>1</v></c><c s="1"><v>45000.75</v></c><c s="2"><v>1067</v></c>`+
		`<c s="3"><v>1234567.891</v></c><c s="4"><v>0.12345</v></c><c t="b"><v>1</v></c><c t="e"><v>#N/A</v></c><c><f>A1</f></c>`+
		`<c t="d"><v>2026-03-09T00:00:00</v></c></row>`))
	if got := strings.Join(shown, "|"); got != "two|2023-03-15 18:00|01067|1,234,567.89 €|12%|TRUE|#N/A|=A1|2026-03-09" {
		t.Errorf("shown as %s", got)
	}
	if got := strings.Join(values, "|"); got != "two|2023-03-15 18:00:00|01067|1234567.891|0.12345|TRUE|#N/A|=A1|2026-03-09" {
		t.Errorf("the values are %s", got)
	}
}

func TestValuesThatNobodyCalculated(t *testing.T) {
	all := parts(`<row><c><f>A1*2</f><v>0</v></c><c><f>A1</f><v>3</v></c><c><v>0</v></c></row>`)
	if shown, _ := read(t, all); strings.Join(shown, "|") != "0|3|0" {
		t.Errorf("%q", shown)
	}
	all["xl/workbook.xml"] = strings.Replace(all["xl/workbook.xml"], "<workbookPr/>", `<calcPr fullCalcOnLoad="1"/>`, 1)
	if shown, _ := read(t, all); strings.Join(shown, "|") != "=A1*2|3|0" {
		t.Errorf("%q", shown)
	}
}

func TestSeparators(t *testing.T) {
	for text, want := range map[string]rune{"a,b;c;d": ';', "a\tb": '\t', "a": ',', "sep=|\na;b;c": '|', "SEP=;\r\na,b,c": ';'} {
		if _, got := workbook.Separator(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// FuzzRows looks for a sheet that the reader cannot take.
func FuzzRows(f *testing.F) {
	f.Add(`<row><c r="ZZZZZZZZ1" s="99" t="s"><v>-1</v></c></row>`)
	f.Add(`<row><c t="d"><v>T</v></c><c s="1"><v>1e300</v></c><c s="4"><v>NaN</v></c></row>`)
	f.Fuzz(func(t *testing.T, rows string) { read(t, parts(rows)) })
}
