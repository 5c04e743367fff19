package skilltool

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"fawn/uploads/charset"
	"fawn/uploads/workbook"
)

// Limits of tables.
const (
	maxCells   = 5_000_000
	maxColumns = 2000
)

// grid is a table: its first row names the columns.
type grid struct {
	name     string
	head     []string
	rows     [][]string
	encoding string // encoding of a text file
	// decimalComma means that columns may contain 1.234,50: the file's separator isn't a comma.
	decimalComma bool
}

// load reads the tables of a file; sheet selects one, "" all.
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

func loadText(data []byte) (grid, error) {
	decoded, err := charset.Decode(data)
	if err != nil {
		return grid{}, err
	}
	text, comma := workbook.Separator(decoded.String)
	r := csv.NewReader(strings.NewReader(text))
	r.Comma = comma
	r.FieldsPerRecord = -1
	r.LazyQuotes = true
	g := grid{encoding: decoded.Encoding, decimalComma: comma != ','}
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

// tidy uses the first row as names, made unique, and makes all rows equally long.
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
	if g.decimalComma {
		g.pointDecimals()
	}
	return g
}

// decimal matches a number with a decimal comma and optional points between thousands.
var decimal = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*[-+]?(?:\d{1,3}(?:[.\x{a0}\x{202f}]\d{3})+|\d+)(,\d+)?\s*$`)
})

// pointDecimals converts columns with decimal commas to decimal points, 1.234,50 to 1234.50. A column
// qualifies if all its cells are such numbers and one of them has a comma that isn't followed by
// exactly three digits, which could be thousands.
func (g *grid) pointDecimals() {
	for i := range g.head {
		sure := false
		for _, row := range g.rows {
			m := decimal().FindStringSubmatch(row[i])
			if m == nil && strings.TrimSpace(row[i]) != "" {
				sure = false
				break
			}
			sure = sure || m != nil && m[1] != "" && len(m[1]) != 4
		}
		if !sure {
			continue
		}
		for _, row := range g.rows {
			row[i] = strings.NewReplacer(".", "", "\u00a0", "", "\u202f", "", ",", ".").Replace(row[i])
		}
	}
}

// number parses a cell; commas may group thousands. Leading zeros make it a code rather than a number.
func number(cell string) (float64, bool) {
	s := strings.TrimSpace(cell)
	digits := strings.TrimLeft(s, "+-")
	if len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
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

// numbers returns the values of a column, and whether all present values are numbers.
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
		return fmt.Errorf("the workbook has several sheets, pick one with --sheet: %s", strings.Join(names, ", "))
	}
	return saveTables(c, c.args[1], list)
}

func isBook(name string) bool { return strings.EqualFold(filepath.Ext(name), ".xlsx") }

// saveTables writes a workbook, or comma- or tab-separated text.
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
