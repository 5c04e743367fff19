package convert

import (
	"bytes"
	"io"
	"strings"

	"fawn/uploads/workbook"
)

// What a workbook may hold at most.
const (
	maxCells = 2_000_000
	maxRows  = 200_000 // of one sheet
	maxWide  = 1_000   // columns
)

// workbookOf reads all sheets of a workbook of Excel's kind with their values as they are shown. Empty
// rows and those beyond the limits are left out.
func workbookOf(d *draft, a *archive) error {
	b, err := workbook.Open(func(part string) (io.ReadCloser, error) {
		data, err := a.read(part)
		if err != nil || data == nil {
			return nil, err
		}
		return io.NopCloser(bytes.NewReader(data)), nil
	})
	if err != nil {
		return err
	}
	seen := 0
	for i, s := range b.Sheets {
		title := s.Name
		if s.Hidden {
			title += " (hidden)"
		}
		d.sheet(i+1, title)
		var rows [][]string
		size := 0
		err := b.Rows(s, func(cells []workbook.Cell) bool {
			seen += len(cells)
			if row := shownRow(d, cells); row != nil {
				rows = append(rows, row)
				size += len(strings.Join(row, " | "))
			}
			if len(rows) == maxRows || seen > maxCells || size > maxText {
				d.lack(Long)
				return false
			}
			return true
		})
		if err != nil {
			return err
		}
		d.table(rows)
		d.step(i+1, len(b.Sheets))
	}
	if b.Cut {
		d.lack(Long)
	}
	if b.Damaged {
		d.lack(Damaged)
		if len(b.Sheets) == 0 {
			return Damaged
		}
	}
	return nil
}

// shownRow is a row of cells with empty ones between them, nil where none is shown.
func shownRow(d *draft, cells []workbook.Cell) (row []string) {
	for _, c := range cells {
		text := c.Shown()
		if text == "" {
			continue
		}
		if c.Column >= maxWide {
			d.lack(Long)
			continue
		}
		for len(row) <= c.Column {
			row = append(row, "")
		}
		row[c.Column] = text
	}
	return row
}
