package skilltool

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"
)

// isChart reports whether a code block is a chart: its language is chart.
func isChart(language string) bool { return strings.EqualFold(language, "chart") }

// figure parses a chart from a code block: lines such as type: bar, then, after an empty line, a comma-separated table
// unless file names one. Without either, it draws the table right above.
func (d *doc) figure(text string, above [][][]span) (*chart, error) {
	c := call{kind: "bar"}
	file := ""
	head, rows, found := strings.Cut("\n"+text, "\n\n")
	if first, _, _ := strings.Cut(text, "\n"); !found && !strings.Contains(first, ":") {
		head, rows = "", text // nothing but a table
	}
	for line := range strings.SplitSeq(head, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		switch key = strings.ToLower(strings.TrimSpace(key)); {
		case !ok:
			return nil, fmt.Errorf("chart: %.60q isn't a line such as type: bar; put an empty line before the table", line)
		case key == "type":
			c.kind = value
		case key == "title":
			c.title = value
		case key == "x":
			c.x = value
		case key == "unit":
			c.unit = value
		case key == "sheet":
			c.sheet = value
		case key == "file":
			file = d.beside(value)
		case key == "y":
			for name := range strings.SplitSeq(value, ",") {
				c.y = append(c.y, strings.TrimSpace(name))
			}
		default:
			return nil, fmt.Errorf("chart: unknown option %q; known are type, title, x, y, unit, file and sheet", key)
		}
	}
	var g grid
	switch {
	case file != "":
		list, err := load(file, c.sheet)
		if err != nil {
			return nil, fmt.Errorf("chart: %w", err)
		}
		if len(list) > 1 {
			return nil, errors.New("chart: the workbook has several sheets, pick one with sheet")
		}
		g = list[0]
	case strings.TrimSpace(rows) == "" && len(above) > 1:
		g = gridOf(above)
	case strings.TrimSpace(rows) == "":
		return nil, errors.New("chart: it has no table: write one after an empty line, name a file, or put the chart right below a table")
	default:
		var err error
		if g, err = loadText([]byte(strings.TrimSpace(rows) + "\n")); err != nil {
			return nil, fmt.Errorf("chart: %w", err)
		}
	}
	ch, err := chartOf(c, g)
	if err != nil {
		return nil, fmt.Errorf("chart: %w", err)
	}
	ch.ofTable = file == "" && strings.TrimSpace(rows) == ""
	return ch, nil
}

// gridOf returns the values of a document's table without total rows, whose first cell is bold.
func gridOf(rows [][][]span) grid {
	g := grid{}
	for i, row := range rows {
		if i > 0 && len(row) > 0 && allBold(row[0]) {
			continue
		}
		var cells []string
		for n, cell := range row {
			text := strings.TrimSpace(plain(cell))
			if i > 0 && n > 0 {
				text = digitsOf(text)
			}
			cells = append(cells, text)
		}
		g.rows = append(g.rows, cells)
	}
	return g.tidy()
}

// allBold reports whether a cell is completely bold.
func allBold(cell []span) bool {
	for _, s := range cell {
		if !s.bold && strings.TrimSpace(s.text) != "" {
			return false
		}
	}
	return len(cell) > 0
}

// digitsOf removes the currency or percent sign of a number; other text is unchanged. A formula returns 0, as only the
// workbook knows its result.
func digitsOf(text string) string {
	if strings.HasPrefix(text, "=") {
		return "0"
	}
	bare := strings.NewReplacer("−", "-", "%", "", "€", "", "$", "", "£", "", "¥", "", " ", "", "\u00a0", "", "\u202f", "").Replace(text)
	if _, ok := number(strings.TrimPrefix(bare, "+")); ok {
		return strings.TrimPrefix(bare, "+")
	}
	return text
}

// vector renders the chart as SVG.
func (c *chart) vector() ([]byte, error) {
	one := *c
	one.canvas = &svg{w: chartWide, h: chartHigh}
	one.draw()
	return one.bytes()
}

// alt describes the chart for people who can't see it.
func (c *chart) alt() string {
	if c.title != "" {
		return c.title
	}
	var names []string
	for _, s := range c.series {
		names = append(names, s.name)
	}
	return strings.Join(names, ", ") + " by " + c.axis
}

// Alignments of cells.
const (
	left = iota
	right
	middle
)

// sides returns the alignment of each column: as in the Markdown, otherwise numbers to the right.
func (b *block) sides() []int {
	out := make([]int, len(b.rows[0]))
	copy(out, b.align)
	for i := range out {
		if i < len(b.align) && b.align[i] != left || i < len(b.said) && b.said[i] {
			continue
		}
		some := false
		for _, row := range b.rows[1:] {
			if i >= len(row) {
				continue
			}
			text := strings.TrimSpace(plain(row[i]))
			if text == "" || text == "–" || text == "-" || text == "—" {
				continue
			}
			if !figureCell(text) {
				some = false
				break
			}
			some = true
		}
		if some {
			out[i] = right
		}
	}
	return out
}

// figureCell reports whether a cell is a number, possibly with a sign, a currency or a short unit.
func figureCell(s string) bool {
	s = strings.TrimLeft(s, "+-−–±~≈<>≤≥(€$£¥ \u00a0")
	if s == "" || !unicode.IsDigit([]rune(s)[0]) {
		return false
	}
	letters := 0
	for _, r := range s {
		switch {
		case unicode.IsDigit(r), strings.ContainsRune(".,'’ \u00a0\u202f%‰€$£¥)", r):
		case unicode.IsLetter(r):
			letters++
		default:
			return false
		}
	}
	return letters <= 4
}

// columnShares divides the width of a table by the length of the columns' content, with a minimum for each.
func columnShares(rows [][][]span) []float64 {
	out := make([]float64, len(rows[0]))
	sum := 0.0
	for i := range out {
		for _, row := range rows {
			if i >= len(row) {
				continue
			}
			n := 0.0
			for _, r := range plain(row[i]) {
				if n++; wide(r) {
					n++
				}
			}
			out[i] = max(out[i], n)
		}
		out[i] = min(max(out[i], 5), 40) + 3
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// decimals returns the number of decimals for the chart's values: as many as needed, up to two, and fewer for large
// values.
func (c *chart) decimals() int {
	most, large := 0, 0.0
	for _, s := range c.series {
		for _, v := range s.values {
			if math.IsNaN(v) {
				continue
			}
			large = max(large, math.Abs(v))
			for n := range 3 {
				if p := math.Pow(10, float64(n)); n == 2 || math.Abs(v*p-math.Round(v*p)) < 1e-6*max(1, math.Abs(v*p)) {
					most = max(most, n)
					break
				}
			}
		}
	}
	switch {
	case large >= 1000:
		return 0
	case large >= 100:
		return min(most, 1)
	}
	return most
}

// grouped formats a number with thousands separators.
func grouped(v float64, decimals int) string {
	p := math.Pow(10, float64(decimals))
	s := fmt.Sprintf("%.*f", decimals, math.Round(math.Abs(v)*p)/p)
	whole, rest, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		whole += "." + rest
	}
	if v < 0 && strings.Trim(whole, "0.,") != "" {
		return "−" + whole
	}
	return whole
}
