package skilltool

import (
	"archive/zip"
	"errors"
	"fmt"
	"strings"

	"fawn/uploads/workbook"
)

// maxPart limits an unpacked part of a workbook, in bytes.
const maxPart = 512 << 20

// loadBook reads the tables of a workbook; only selects a sheet, "" all. Numbers are unformatted, times
// look like 2024-03-31 18:00:00.
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
		return nil, fmt.Errorf("read %s: it has no sheets: it is damaged or not an Excel file", file)
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
			return nil, fmt.Errorf("read %s: the workbook has more than %d cells", file, maxCells)
		}
		if len(g.rows) > 0 {
			out = append(out, g.tidy())
		}
	}
	switch {
	case book.Cut:
		return nil, fmt.Errorf("read %s: its texts are too long; save it as CSV", file)
	case book.Damaged:
		return nil, fmt.Errorf("read %s: it is damaged", file)
	case len(out) == 0 && only != "":
		return nil, fmt.Errorf("the workbook has no sheet %q with data; it has %s", only,
			strings.Join(names, ", "))
	case len(out) == 0:
		return nil, errors.New("the workbook is empty")
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
