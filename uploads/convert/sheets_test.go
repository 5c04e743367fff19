package convert_test

import (
	"strings"
	"testing"
)

// rawBook is a workbook with the given parts below xl besides the usual ones.
func rawBook(t *testing.T, rows string, more map[string]string) string {
	t.Helper()
	const main = ` xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"`
	parts := map[string]string{
		"xl/workbook.xml": `<workbook` + main + ` xmlns:rel="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="S" sheetId="1" rel:id="a"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": relHead + `<Relationship Id="a" Type="x/worksheet" Target="worksheets/s.xml"/>
			<Relationship Id="b" Type="x/sharedStrings" Target="texts.xml"/><Relationship Id="c" Type="x/styles" Target="/xl/look.xml"/></Relationships>`,
		"xl/worksheets/s.xml": `<worksheet` + main + `><sheetData>` + rows + `</sheetData></worksheet>`,
	}
	for name, text := range more {
		parts[name] = text
	}
	return md(t, "a.xlsx", zipped(t, parts))
}

func TestSheetsOfOtherProgramsLoseNothing(t *testing.T) {
	strs := map[string]string{"xl/texts.xml": `<sst><si><t>else_x000D_where</t><rPh><t>spoken</t></rPh></si><si><t>_x005F_x0041_</t></si></sst>`}
	look := map[string]string{"xl/look.xml": `<styleSheet><numFmts><numFmt numFmtId="200" formatCode="00000"/><numFmt numFmtId="201" formatCode="000-000"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="200"/></cellXfs></styleSheet>`}
	for _, c := range []struct {
		name, rows, want string
		more             map[string]string
	}{
		{"texts elsewhere", `<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c></row>`, "| else where | _x0041_ |", strs},
		{"styles elsewhere, zeros in front", `<row><c r="A1" s="1"><v>1067</v></c><c r="B1" s="1"><v>-42</v></c><c r="C1" s="1"><v>123456</v></c></row>`, "| 01067 | -00042 | 123456 |", look},
		{"cells without places", `<row><c><v>1</v></c><c/><c><v>3</v></c><c r="F1"><v>6</v></c><c><v>7</v></c></row>`, "| 1 |  | 3 |  |  | 6 | 7 |", nil},
		{"formulas without values", `<row><c r="A1"><v>2</v></c><c r="B1"><f>SUM(A1:A1)</f><v></v></c><c r="C1"><f>A1&amp;"x"</f></c></row>`, `| 2 | =SUM(A1:A1) | =A1&"x" |`, nil},
		{"formulas with values", `<row><c r="A1"><f>1+1</f><v>2</v></c></row>`, "| 2 |", nil},
		{"spoken texts inside", `<row><c t="inlineStr"><is><t>東京</t><rPh><t>トウキョウ</t></rPh></is></c></row>`, "| 東京 |", nil},
	} {
		if got := rawBook(t, c.rows, c.more); !strings.Contains(got, c.want+"\n") {
			t.Errorf("%s: no %q in\n%s", c.name, c.want, got)
		}
	}
}
