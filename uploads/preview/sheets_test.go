package preview_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"fawn/uploads/preview"
)

const book = "<!-- sheet 1 -->\n\n## Sales\n\n| city | n |\n| --- | --- |\n| Lyon | 1 |\n| a\\|b | &lt;!-- sheet 9 --> |\n\n" +
	"<!-- sheet 2 -->\n\n## Empty (hidden)\n\n<!-- sheet 3 -->\n\n| --- | --- |\n| --- | --- |\n| x | |\n"

func TestAWorkbookIsItsSheetsAndTheRowsOfOne(t *testing.T) {
	w := preview.ReadWorkbook([]byte(book), 1)
	want := []preview.Sheet{{N: 1, Title: "Sales"}, {N: 2, Title: "Empty (hidden)"}, {N: 3}}
	if !reflect.DeepEqual(w.Sheets, want) {
		t.Errorf("sheets %v, want %v", w.Sheets, want)
	}
	if want := [][]string{{"city", "n"}, {"Lyon", "1"},
		{"a|b", "<!-- sheet 9 -->"}}; !reflect.DeepEqual(w.Rows, want) || w.Total != 3 || w.Width != 2 {
		t.Errorf("rows %q of %d, %d wide; want %q", w.Rows, w.Total, w.Width, want)
	}
	if w := preview.ReadWorkbook([]byte(book), 2); w.Shown.N != 2 || w.Rows != nil {
		t.Errorf("an empty sheet: %+v", w)
	}
	if w := preview.ReadWorkbook([]byte(book), 3); !reflect.DeepEqual(w.Rows, [][]string{{"---", "---"}, {"x", ""}}) {
		t.Errorf("a head of dashes: %q", w.Rows)
	}
	if w := preview.ReadWorkbook([]byte(book), 7); w.Shown.N != 1 {
		t.Errorf("sheet 7 of 3 shows %d", w.Shown.N)
	}
	if w := preview.ReadWorkbook(nil, 1); len(w.Sheets) > 0 || w.Rows != nil {
		t.Errorf("nothing: %+v", w)
	}
}

func TestLargeWorkbooksAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "<!-- sheet %d -->\n\n## S%d\n\n", i+1, i+1)
	}
	b.WriteString(strings.Repeat("| x ", 200) + "|\n")
	for range 20_000 {
		b.WriteString("| " + strings.Repeat("long ", 600) + "|\n")
	}
	w := preview.ReadWorkbook([]byte(b.String()), 300)
	if len(w.Sheets) != preview.MaxSheets+1 || w.More != 199 || w.Shown.Title != "S300" {
		t.Errorf("%d sheets, %d more, shown %q", len(w.Sheets), w.More, w.Shown.Title)
	}
	if len(w.Rows) != preview.MaxRows+1 || w.Total != 20_001 || len(w.Rows[0]) != preview.MaxColumns || w.Width != 200 {
		t.Errorf("%d rows of %d, %d columns of %d", len(w.Rows), w.Total, len(w.Rows[0]), w.Width)
	}
	if n := len(w.Rows[1][0]); n > 3000 {
		t.Errorf("a cell has %d bytes", n)
	}
}

func FuzzWorkbook(f *testing.F) {
	f.Add(book, 1)
	f.Fuzz(func(t *testing.T, text string, n int) {
		w := preview.ReadWorkbook([]byte(text), n)
		if len(w.Rows) > preview.MaxRows+1 || len(w.Sheets) > preview.MaxSheets+1 && w.Shown.N != n {
			t.Errorf("%d rows, %d sheets", len(w.Rows), len(w.Sheets))
		}
	})
}
