package skilltool

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/xuri/excelize/v2"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// Bounds of tables.
const (
	maxCells   = 5_000_000
	maxColumns = 2000
)

// grid is a table: its first row names the columns.
type grid struct {
	name string
	head []string
	rows [][]string
}

// load reads the tables of a file; sheet is the only one that is wanted, or "".
func load(file, sheet string) ([]grid, error) {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".xlsx", ".xlsm":
		return loadBook(file, sheet)
	case ".csv", ".tsv", ".txt", ".tab":
		data, err := readFile(file)
		if err != nil {
			return nil, err
		}
		g, err := loadText(data)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		return []grid{g}, nil
	}
	return nil, fmt.Errorf("%s: only .csv, .tsv and .xlsx are read", file)
}

func loadBook(file, sheet string) (out []grid, err error) {
	f, err := excelize.OpenFile(file, excelize.Options{UnzipSizeLimit: 1 << 30, UnzipXMLSizeLimit: 16 << 20})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	defer f.Close()
	left := maxCells
	for _, name := range f.GetSheetList() {
		if sheet != "" && name != sheet {
			continue
		}
		g := grid{name: name}
		if g.rows, err = readSheet(f, name, &left); err != nil {
			return nil, fmt.Errorf("read sheet %s: %w", name, err)
		}
		if len(g.rows) > 0 {
			out = append(out, g.tidy())
		}
	}
	if len(out) == 0 {
		if sheet != "" {
			return nil, fmt.Errorf("the book has no sheet %q with something in it; it has %s", sheet, strings.Join(f.GetSheetList(), ", "))
		}
		return nil, errors.New("the book is empty")
	}
	return out, nil
}

// readSheet reads cells both as they are stored and as they are shown: the former are exact, the
// latter tell dates from numbers.
func readSheet(f *excelize.File, name string, left *int) (out [][]string, err error) {
	stored, err := f.Rows(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stored.Close()) }()
	shown, err := f.Rows(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, shown.Close()) }()
	for stored.Next() && shown.Next() {
		raw, err := stored.Columns(excelize.Options{RawCellValue: true})
		if err != nil {
			return nil, err
		}
		row, err := shown.Columns()
		if err != nil {
			return nil, err
		}
		if *left -= len(row) + 1; *left < 0 {
			return nil, fmt.Errorf("the book has more than %d cells", maxCells)
		}
		for i := range row {
			if i < len(raw) {
				row[i] = cell(raw[i], row[i])
			}
		}
		if len(row) > 0 {
			out = append(out, row)
		}
	}
	return out, nil
}

// cell is what a cell says: dates as 2006-01-02, numbers in full.
func cell(raw, shown string) string {
	v, ok := number(raw)
	if !ok || raw == shown {
		return shown
	}
	if len(shown) >= 5 && strings.ContainsAny(shown, "-/:") && !strings.HasPrefix(shown, "-") {
		if t, err := excelize.ExcelDateToTime(v, false); err == nil {
			switch {
			case v == math.Trunc(v):
				return t.Format("2006-01-02")
			case v < 1:
				return t.Format("15:04:05")
			}
			return t.Format("2006-01-02 15:04:05")
		}
	}
	return raw
}

func loadText(data []byte) (grid, error) {
	text := decode(data)
	r := csv.NewReader(strings.NewReader(text))
	r.Comma = separator(text)
	r.FieldsPerRecord = -1
	r.LazyQuotes = true
	g := grid{}
	left := maxCells
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return g, err
		}
		if left -= len(row) + 1; left < 0 {
			return g, fmt.Errorf("more than %d cells", maxCells)
		}
		g.rows = append(g.rows, row)
	}
	if len(g.rows) == 0 {
		return g, errors.New("the table is empty")
	}
	return g.tidy(), nil
}

// decode takes UTF-8, else GB 18030, else the Western code page of Windows.
func decode(data []byte) string {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if utf8.Valid(data) {
		return string(data)
	}
	if out, err := simplifiedchinese.GB18030.NewDecoder().Bytes(data); err == nil && !bytes.ContainsRune(out, utf8.RuneError) {
		return string(out)
	}
	out, err := charmap.Windows1252.NewDecoder().Bytes(data)
	if err != nil {
		return strings.ToValidUTF8(string(data), "\ufffd")
	}
	return string(out)
}

// separator is the character that the first line has most often.
func separator(text string) rune {
	line, _, _ := strings.Cut(text, "\n")
	best, most := ',', 0
	for _, r := range ",;\t|" {
		if n := strings.Count(line, string(r)); n > most {
			best, most = r, n
		}
	}
	return best
}

// tidy takes the first row as names, which become unique, and makes all rows as long.
func (g grid) tidy() grid {
	width := 0
	for _, row := range g.rows {
		width = max(width, len(row))
	}
	width = min(width, maxColumns)
	seen := map[string]bool{}
	for i := range width {
		name := ""
		if i < len(g.rows[0]) {
			name = strings.Join(strings.Fields(g.rows[0][i]), " ")
		}
		if name == "" {
			name = fmt.Sprintf("column%d", i+1)
		}
		for base, n := name, 2; seen[strings.ToLower(name)]; n++ {
			name = fmt.Sprintf("%s_%d", base, n)
		}
		seen[strings.ToLower(name)] = true
		g.head = append(g.head, name)
	}
	g.rows = g.rows[1:]
	for i, row := range g.rows {
		row = row[:min(len(row), width)]
		for len(row) < width {
			row = append(row, "")
		}
		g.rows[i] = row
	}
	return g
}

// number reads a cell; thousands may be grouped by commas. What begins with zeros is a code, not a number.
func number(cell string) (float64, bool) {
	s := strings.TrimSpace(cell)
	if digits := strings.TrimLeft(s, "+-"); len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
		return 0, false
	}
	if head, _, _ := strings.Cut(s, "."); strings.Contains(head, ",") {
		groups := strings.Split(strings.TrimLeft(head, "-+"), ",")
		for i, g := range groups {
			if i > 0 && len(g) != 3 || len(g) == 0 || len(g) > 3 {
				return 0, false
			}
		}
		s = strings.ReplaceAll(s, ",", "")
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) && !strings.ContainsAny(s, "xXpP_nN")
}

// numbers are the values of a column, and whether all that are there are numbers.
func (g grid) numbers(i int) (out []float64, all bool) {
	all = true
	for _, row := range g.rows {
		if strings.TrimSpace(row[i]) == "" {
			continue
		}
		v, ok := number(row[i])
		if !ok {
			all = false
			continue
		}
		out = append(out, v)
	}
	return out, all && len(out) > 0
}

// column finds a column by its name.
func (g grid) column(name string) (int, error) {
	for i, h := range g.head {
		if strings.EqualFold(h, name) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("there is no column %q; there are %s", name, strings.Join(g.head, ", "))
}

func format(v float64) string { return strconv.FormatFloat(v, 'g', 12, 64) }

func convertTable(c call) error {
	list, err := load(c.args[0], c.sheet)
	if err != nil {
		return err
	}
	if len(list) > 1 && !isBook(c.args[1]) {
		var names []string
		for _, g := range list {
			names = append(names, g.name)
		}
		return fmt.Errorf("the book has several sheets, pick one with --sheet: %s", strings.Join(names, ", "))
	}
	return saveTables(c, c.args[1], list)
}

func isBook(name string) bool { return strings.EqualFold(filepath.Ext(name), ".xlsx") }

// saveTables writes a book, or text with commas or tabs.
func saveTables(c call, name string, list []grid) error {
	if isBook(name) {
		data, err := book(list)
		if err != nil {
			return err
		}
		return save(c, name, data)
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if strings.EqualFold(filepath.Ext(name), ".tsv") {
		w.Comma = '\t'
	}
	if err := w.WriteAll(append([][]string{list[0].head}, list[0].rows...)); err != nil {
		return err
	}
	return save(c, name, b.Bytes())
}

// book is tables as an Excel file; numbers are numbers there, and formulas are text.
func book(list []grid) ([]byte, error) {
	f := excelize.NewFile()
	defer f.Close()
	for n, g := range list {
		name := g.name
		if name == "" {
			name = "Sheet1"
		}
		if n == 0 {
			if err := f.SetSheetName("Sheet1", name); err != nil {
				return nil, err
			}
		} else if _, err := f.NewSheet(name); err != nil {
			return nil, err
		}
		w, err := f.NewStreamWriter(name)
		if err != nil {
			return nil, err
		}
		for i, row := range append([][]string{g.head}, g.rows...) {
			cells := make([]any, len(row))
			for j, cell := range row {
				cells[j] = cell
				if v, ok := number(cell); ok && i > 0 {
					cells[j] = v
				}
			}
			if err := w.SetRow(fmt.Sprintf("A%d", i+1), cells); err != nil {
				return nil, err
			}
		}
		if err := w.Flush(); err != nil {
			return nil, err
		}
	}
	b, err := f.WriteToBuffer()
	if err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
