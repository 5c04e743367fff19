package convert

import (
	"bytes"
	"io"
	"strings"

	"fawn/uploads/workbook"
)

// Limits of a workbook.
const (
	maxCells = 2_000_000
	maxRows  = 200_000 // limit per sheet
	maxWide  = 1_000   // limit of columns
)

// workbookOf reads all sheets of an Excel workbook with formatted values. Empty rows and those beyond the limits are
// left out.
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
		if err := besideCells(d, a, s.Part); err != nil {
			return err
		}
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

// shownRow returns a row of cells with empty ones in between, nil if none is visible.
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

// besideCells writes the parts of a sheet outside of its cells: text boxes, diagrams, titles of charts, whose values
// are in cells, and notes with their cells.
func besideCells(d *draft, a *archive, sheet string) error {
	rel, err := a.relations(sheet)
	if err != nil {
		return err
	}
	if part := rel.byKind["drawing"]; part != "" {
		if err := drawing(d, a, part); err != nil {
			return err
		}
	}
	var notes []string
	// Newer programs write notes twice: as threads with their answers, and as a text about these for older ones.
	part, name := rel.byKind["threadedComment"], "threadedComment"
	if part == "" {
		part, name = rel.byKind["comments"], "comment"
	}
	if part == "" {
		return nil
	}
	t, err := a.tree(part)
	if err != nil {
		return err
	}
	for _, c := range t.all(name) {
		text := c.kid("text")
		words := text.content()
		if runs := text.all("t"); len(runs) > 0 {
			words = ""
			for _, r := range runs {
				words += r.content()
			}
		}
		if words = oneLine(words); words != "" {
			notes = append(notes, "- "+oneLine(c.attr("ref"))+": "+words)
		}
	}
	if len(notes) > 0 {
		d.block("Notes:\n\n" + strings.Join(notes, "\n"))
	}
	return nil
}

// drawing writes the shapes of a sheet's drawing in their order.
func drawing(d *draft, a *archive, part string) error {
	t, err := a.tree(part)
	if err != nil {
		return err
	}
	rel, err := a.relations(part)
	if err != nil {
		return err
	}
	for _, anchor := range t.kid("wsDr").kids {
		charts := anchor.all("chart")
		for _, c := range charts {
			if t, err = a.tree(rel.byID[c.attr("r:id")]); err != nil {
				return err
			}
			d.block(chartTitle(t))
		}
		if len(charts) > 0 {
			continue
		}
		if err := shapes(d, a, anchor, rel); err != nil {
			return err
		}
	}
	return nil
}
