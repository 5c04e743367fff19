package skilltool

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/sfnt"

	"fawn/agent/agenttest/must"
)

const budget = `# Budget 2027

In k€.

## Assumptions

| Name | Value | Since |
|---|---|---|
| Growth | 8.0 % | 2026-10-01 |
| Copper | € 9,120 | |

## Plan: [2027] / 地区

| Region | 2026 | 2027 | Change | Weight |
|---|---|---|---|---|
| North | 16,480 | =B2*(1+Assumptions!$B$2) | =C2/B2-1 | =B2/1000 {0.000} |
| 中国 | 13,568 | =B3*1.15 | =C3/B3-1 | =B3/1000 {0.000} |
| **Total** | =SUM(B2:B3) | =SUM(C2:C3) | =C4/B4-1 | |

` + "```chart\ntype: bar\ntitle: Revenue\ny: 2026, 2027\n```" + `

Not audited.

` + "```chart\ntype: donut\n\nProduct,Backlog\nPumps,3\nService,1\n```\n"

// TestBooksHaveSheetsFormulasAndCharts: cells are numbers, times and formulas with what they give, in formats of their own.
func TestBooksHaveSheetsFormulasAndCharts(t *testing.T) {
	t.Parallel()
	dir, _, warn, code := run(t, map[string]string{"a.md": budget}, "xlsx", "@a.md", "@o.xlsx")
	if code != 0 || warn != "" {
		t.Fatal(code, warn)
	}
	f := must.Get(excelize.OpenFile(filepath.Join(dir, "o.xlsx")))(t)
	defer f.Close()
	const plan = "Plan 2027 地区"
	if got := strings.Join(f.GetSheetList(), "|"); got != "Assumptions|"+plan {
		t.Fatalf("%q", got)
	}
	for _, c := range []struct{ sheet, cell, shown, formula string }{
		{"Assumptions", "B2", "8.0%", ""}, {"Assumptions", "C2", "2026-10-01", ""}, {"Assumptions", "B3", "€ 9,120", ""},
		{"Assumptions", "A5", "In k€.", ""},
		{plan, "B2", "16,480", ""}, {plan, "C2", "17,798.40", "B2*(1+Assumptions!$B$2)"}, {plan, "D2", "8.0%", "C2/B2-1"},
		{plan, "E3", "13.568", "B3/1000"}, {plan, "B4", "30,048", "SUM(B2:B3)"}, {plan, "A6", "Product", ""}, {plan, "A10", "Not audited.", ""},
	} {
		got, err := f.GetCellValue(c.sheet, c.cell)
		formula, err2 := f.GetCellFormula(c.sheet, c.cell)
		if got != c.shown || formula != c.formula || err != nil || err2 != nil {
			t.Errorf("%s!%s: %q %q %v %v, want %q", c.sheet, c.cell, got, formula, err, err2, c.shown)
		}
	}
	kind, err := f.GetCellType(plan, "C2")
	if err != nil || kind == excelize.CellTypeFormula { // what a formula gives would be text
		t.Error(kind, err)
	}
	text := ""
	for _, name := range []string{"xl/charts/chart1.xml", "xl/charts/chart2.xml"} {
		b, ok := f.Pkg.Load(name)
		if !ok {
			t.Fatalf("no %s", name)
		}
		text += strings.ReplaceAll(string(b.([]byte)), "&#39;", "'")
	}
	for _, want := range []string{"'" + plan + "'!$A$2:$A$3", "'" + plan + "'!$C$2:$C$3", "'" + plan + "'!$B$7:$B$8", "Revenue", "doughnutChart"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %.3000s", want, text)
		}
	}
}

// TestResultsOfAColumnLookAlike: one format for all results of a column, in which none loses its decimals, and which fits.
func TestResultsOfAColumnLookAlike(t *testing.T) {
	t.Parallel()
	const text = "# Bill\n\n| Item | Hours | Price | Amount |\n|---|---|---|---|\n" +
		"| Design | 99 | 12.55 | =B2*C2 |\n| Code | 40 | 19.99 | =B3*C3 |\n| Test | 10 | 10 | =B4*C4 |\n" +
		"| **Total** | | | =SUM(D2:D4) |\n\n" +
		"## Other\n\n| Name | Typed | Whole | Share | Change | Large | Broken |\n|---|---|---|---|---|---|---|\n" +
		"| a | 1,000 | =B2*2 | =B2/B$4 | =B2-B3 | =B2*1234567.891 | =1/0 |\n| b | 7.25 | =9 | =B3/B$4 | =0 | =1 | =1.5 |\n" +
		"| **Sum** | =SUM(B2:B3) | =SUM(C2:C2) | =SUM(D2:D3)*1.5 | =SUM(E2:E3) | =1 | =2 |\n"
	dir, _, _, code := run(t, map[string]string{"a.md": text}, "xlsx", "@a.md", "@o.xlsx")
	if code != 0 {
		t.Fatal(code)
	}
	f := must.Get(excelize.OpenFile(filepath.Join(dir, "o.xlsx")))(t)
	defer f.Close()
	for _, c := range []struct{ sheet, column, shown string }{
		{"Bill", "D", "1,242.45|799.60|100.00|2,142.05"},
		{"Other", "B", "1,000|7.25|1,007.25"},
		{"Other", "C", "2,000|9|2,000"},
		{"Other", "D", "99.3%|0.7%|150.0%"},
		{"Other", "E", "992.75|0.00|992.75"},
		{"Other", "F", "1,234,567,891|1|1"},
	} {
		var got []string
		for row := range strings.Count(c.shown, "|") + 1 {
			cell := must.Get(f.GetCellValue(c.sheet, c.column+strconv.Itoa(row+2)))(t)
			got = append(got, cell)
		}
		if strings.Join(got, "|") != c.shown {
			t.Errorf("%s %s: %s, want %s", c.sheet, c.column, strings.Join(got, "|"), c.shown)
		}
	}
	if width, err := f.GetColWidth("Other", "F"); err != nil || width < float64(len("1,234,567,891")+2) {
		t.Errorf("a large result has %v letters of room, %v", width, err)
	}
}

func TestWhatBooksCannotHoldIsSaid(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"# A\n\nwords\n":                                "there are no tables",
		"|a|b|\n|-|-|\n|1|=A2/0|\n":                     "sheet Sheet1, B2: =A2/0 gives #DIV/0!",
		"|a|b|\n|-|-|\n|1|=NOPE(A2)|\n":                 "=NOPE(A2) is not checked",
		"|a|b|\n|-|-|\n|1|2|\n\n# Later\n\nwords\n":     `"Later" has no table`,
		"|a|b|\n|-|-|\n|1|2|\n\n```chart\ntype: x\n```": `no chart of type "x"`,
	} {
		_, _, warn, _ := run(t, map[string]string{"a.md": text}, "xlsx", "@a.md", "@o.xlsx")
		if !strings.Contains(warn, want) {
			t.Errorf("%q: %q, want %q", text, warn, want)
		}
	}
}

// TestChartsTakeTheTableAbove in all kinds of documents, without its row of totals.
func TestChartsTakeTheTableAbove(t *testing.T) {
	t.Parallel()
	const text = "| Region | k€ | Change |\n|---|---|---|\n| N | 1,200 | −3 % |\n| S | € 900 | +2 % |\n| **Sum** | 2,100 | |\n\n```chart\ntype: hbar\ny: k€\n```\n"
	d := must.Get(parse([]byte(text), ""))(t)
	c := d.blocks[1].graph
	if strings.Join(c.labels, " ") != "N S" || len(c.series) != 1 || c.series[0].values[0] != 1200 || c.series[0].values[1] != 900 {
		t.Errorf("%v %v", c.labels, c.series)
	}
	dir, _, warn, code := run(t, map[string]string{"a.md": text}, "html", "@a.md", "@o.html")
	page, err := os.ReadFile(filepath.Join(dir, "o.html"))
	if code != 0 || err != nil || !strings.Contains(string(page), `class="chart"`) {
		t.Error(code, err, warn)
	}
	for _, want := range []string{`<td align="right">1,200</td>`, "[align=right] { text-align: right; }"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("no %q in the page", want)
		}
	}
}

// TestNumbersStayWithTheirUnits on one line.
func TestNumbersStayWithTheirUnits(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"by 12 % to € 48.6": "by 12\u00a0% to €\u00a048.6", "a % b": "a % b", "5 € 3": "5\u00a0€\u00a03"} {
		if got := bound(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestFontsInsidePDFsHaveWhatIsUsed and none of the rest; letters made of others keep these.
func TestFontsInsidePDFsHaveWhatIsUsed(t *testing.T) {
	t.Parallel()
	f := must.Get(newPDF())(t)
	for i, a := range f.faces {
		used := []sfnt.GlyphIndex{f.glyph(i, 'A'), f.glyph(i, 'é'), f.glyph(i, '0')}
		data, err := subset(a.data, used)
		if err != nil || len(data) > len(a.data)/2 {
			t.Errorf("font %d: %d of %d bytes, %v", i, len(data), len(a.data), err)
		}
	}
	if _, err := subset(gomono.TTF[:200], nil); err == nil {
		t.Error("half a font is taken")
	}
	dir, _, _, code := run(t, map[string]string{"a.md": "# One\n\n## Two é\n\nwords\n\n# Three\n"}, "pdf", "@a.md", "@o.pdf")
	b, err := os.ReadFile(filepath.Join(dir, "o.pdf"))
	if code != 0 || err != nil || len(b) > 60_000 {
		t.Fatal(code, err, len(b))
	}
	for _, want := range []string{"/Type /Outlines", hex("Two é"), "/Count -1"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %q in the file", want)
		}
	}
}
