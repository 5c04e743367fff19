package skilltool

import (
	"archive/zip"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"fawn/uploads/workbook"
)

// maxPart bounds a part of a book, unpacked.
const maxPart = 512 << 20

// loadBook reads the tables of a book; only is the sheet that is wanted, or "". Numbers come in full,
// moments as in 2024-03-31 18:00:00.
func loadBook(file, only string) (out []grid, err error) {
	z, err := zip.OpenReader(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	defer z.Close()
	book, err := workbook.Open(workbook.Zip(&z.Reader, maxPart))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	if len(book.Sheets) == 0 {
		return nil, fmt.Errorf("read %s: it has no sheets: it is damaged or no Excel file", file)
	}
	var names []string
	left := maxCells
	for _, s := range book.Sheets {
		names = append(names, s.Name)
		if only != "" && s.Name != only {
			continue
		}
		g := grid{name: s.Name}
		err := book.Rows(s, func(cells []workbook.Cell) bool {
			var row []string
			row, left = values(cells, left)
			if row != nil {
				g.rows = append(g.rows, row)
			}
			return left >= 0
		})
		if err != nil {
			return nil, fmt.Errorf("read sheet %s of %s: %w", s.Name, file, err)
		}
		if left < 0 {
			return nil, fmt.Errorf("read %s: the book has more than %d cells", file, maxCells)
		}
		if len(g.rows) > 0 {
			out = append(out, g.tidy())
		}
	}
	switch {
	case book.Cut:
		return nil, fmt.Errorf("read %s: its texts are longer than is kept; save it as CSV", file)
	case book.Damaged:
		return nil, fmt.Errorf("read %s: it is damaged", file)
	case len(out) == 0 && only != "":
		return nil, fmt.Errorf("the book has no sheet %q with something in it; it has %s", only,
			strings.Join(names, ", "))
	case len(out) == 0:
		return nil, errors.New("the book is empty")
	}
	return out, nil
}

// values returns the cells of a row with empty ones in between, nil if all are empty; left is the number of cells still
// allowed.
func values(cells []workbook.Cell, left int) (row []string, still int) {
	for _, c := range cells {
		text := c.Value()
		if text == "" || c.Column >= maxColumns {
			continue
		}
		if left -= max(c.Column-len(row), 0) + 1; left < 0 {
			break
		}
		for len(row) <= c.Column {
			row = append(row, "")
		}
		row[c.Column] = text
	}
	return row, left
}

// book is tables as an Excel file; numbers are numbers there, and formulas are text.
func book(list []grid) ([]byte, error) {
	const ml = "application/vnd.openxmlformats-officedocument.spreadsheetml."
	const ns = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"`
	types := `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
		`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
		`<Default Extension="xml" ContentType="application/xml"/>` +
		`<Override PartName="/docProps/core.xml" ContentType="application/vnd.openxmlformats-package.core-properties+xml"/>` +
		`<Override PartName="/xl/workbook.xml" ContentType="` + ml + `sheet.main+xml"/>`
	rels := &relations{}
	sheets := ""
	var parts []part
	for n, g := range list {
		name := fmt.Sprintf("worksheets/sheet%d.xml", n+1)
		types += `<Override PartName="/xl/` + name + `" ContentType="` + ml + `worksheet+xml"/>`
		title := g.name
		if title == "" {
			title = fmt.Sprintf("Sheet%d", n+1)
		}
		sheets += fmt.Sprintf(`<sheet name="%s" sheetId="%d" r:id="%s"/>`, esc(title), n+1,
			rels.add("worksheet", name, false))
		var b strings.Builder
		b.WriteString(xmlHead + `<worksheet ` + ns + `><sheetData>`)
		for i, row := range append([][]string{g.head}, g.rows...) {
			b.WriteString(`<row>`)
			for _, cell := range row {
				if v, ok := number(cell); ok && i > 0 {
					b.WriteString(`<c><v>` + strconv.FormatFloat(v, 'g', -1, 64) + `</v></c>`)
				} else if utf8.RuneCountInString(cell) <= 32_767 { // more is not allowed
					b.WriteString(`<c t="inlineStr"><is><t xml:space="preserve">` + esc(cell) + `</t></is></c>`)
				} else {
					return nil, errors.New("a cell is longer than Excel allows; write CSV")
				}
			}
			b.WriteString(`</row>`)
		}
		b.WriteString(`</sheetData></worksheet>`)
		parts = append(parts, part{"xl/" + name, []byte(b.String())})
	}
	book := `<workbook ` + ns +
		` xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>` + sheets +
		`</sheets></workbook>`
	return zipped(append([]part{{"[Content_Types].xml", []byte(xmlHead + types + `</Types>`)},
		rootRels("xl/workbook.xml"), {"xl/workbook.xml", []byte(xmlHead + book)},
		rels.part("xl/_rels/workbook.xml.rels"), coreProps(&doc{})}, parts...))
}
