package offline

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// table is a delimited file.
type table struct {
	delimiter byte
	header    []string
	named     bool // the first row was a header
	rows      [][]string
	short     int // rows with fewer fields than the header
	long      int // rows with more
	blank     int // empty lines, which don't count as rows
	damaged   int // characters that were not valid UTF-8
}

// parseTable reads a whole text. It takes any text: quotes that never close are read as
// ordinary characters.
func parseTable(text, extension string) table {
	text = strings.TrimPrefix(text, "\ufeff")
	t := table{damaged: strings.Count(text, "\ufffd")}
	if line, rest, ok := strings.Cut(text, "\n"); ok && len(strings.TrimSpace(line)) == 5 &&
		strings.HasPrefix(strings.ToLower(line), "sep=") {
		t.delimiter, text = line[4], rest // written by Excel
	} else {
		t.delimiter = delimiter(text, extension)
	}
	p := parser{text: text, delimiter: t.delimiter}
	for {
		row, ok := p.row()
		if !ok {
			break
		}
		if len(row) == 1 && strings.TrimSpace(row[0]) == "" {
			t.blank++
			continue
		}
		t.rows = append(t.rows, row)
	}
	if len(t.rows) == 0 {
		return t
	}
	width := len(t.rows[0])
	if t.named = isHeader(t.rows); t.named {
		t.header = uniqueNames(t.rows[0])
		t.rows = t.rows[1:]
	} else {
		t.header = uniqueNames(make([]string, width))
	}
	for i, row := range t.rows {
		switch {
		case len(row) < width:
			t.short++
			t.rows[i] = append(row[:len(row):len(row)], make([]string, width-len(row))...)
		case len(row) > width:
			t.long++
			t.rows[i] = row[:width]
		}
	}
	return t
}

// delimiter finds the character that cuts the first rows into the most even fields.
func delimiter(text, extension string) byte {
	if len(text) > 64<<10 {
		text = text[:64<<10]
	}
	best, bestScore := byte(','), 0.0
	for _, d := range []byte{',', ';', '\t', '|'} {
		p := parser{text: text, delimiter: d}
		counts, rows, most := map[int]int{}, 0, 0
		for rows < 100 {
			row, ok := p.row()
			if !ok {
				break
			}
			if len(row) == 1 && strings.TrimSpace(row[0]) == "" {
				continue
			}
			counts[len(row)]++
			rows++
		}
		for n, times := range counts {
			if times > counts[most] || times == counts[most] && n > most {
				most = n
			}
		}
		if most < 2 {
			continue
		}
		even := float64(counts[most]) / float64(rows)
		score := even * even * (1 + float64(min(most, 20))/20)
		if extension == ".tsv" && d == '\t' {
			score *= 2
		}
		if score > bestScore {
			best, bestScore = d, score
		}
	}
	return best
}

// isHeader reports whether the first row names the columns: it has no number or date, and all of it is short.
func isHeader(rows [][]string) bool {
	filled := false
	for _, cell := range rows[0] {
		cell = strings.TrimSpace(cell)
		if cell == "" {
			continue
		}
		filled = true
		if len(cell) > 200 {
			return false
		}
		if _, ok := parseDate(cell, false); ok {
			return false
		}
		_, dot := parseNumber(cell, false)
		_, comma := parseNumber(cell, true)
		if year, err := strconv.Atoi(cell); (dot || comma) && (err != nil || year < 1900 || year > 2100) {
			return false
		}
	}
	return filled
}

func uniqueNames(cells []string) []string {
	out := make([]string, len(cells))
	seen := map[string]bool{}
	for i, cell := range cells {
		name := strings.Join(strings.Fields(cell), " ")
		if utf8.RuneCountInString(name) > 60 {
			name = string([]rune(name)[:59]) + "…"
		}
		if name == "" {
			name = "column " + strconv.Itoa(i+1)
		}
		for n, base := 2, name; seen[name]; n++ {
			name = base + " (" + strconv.Itoa(n) + ")"
		}
		seen[name] = true
		out[i] = name
	}
	return out
}

// parser cuts a delimited text into rows.
type parser struct {
	text      string
	delimiter byte
	at        int
	literal   bool // quotes are ordinary characters from here on
}

// row returns the next row.
func (p *parser) row() ([]string, bool) {
	if p.at >= len(p.text) {
		return nil, false
	}
	var out []string
	for {
		out = append(out, p.field())
		if p.at >= len(p.text) {
			return out, true
		}
		c := p.text[p.at]
		p.at++
		switch c {
		case p.delimiter:
			if p.at >= len(p.text) {
				return append(out, ""), true
			}
			continue
		case '\r':
			if p.at < len(p.text) && p.text[p.at] == '\n' {
				p.at++
			}
		}
		return out, true
	}
}

// field returns the next field and moves at to the delimiter or line end after it.
func (p *parser) field() string {
	if !p.literal && p.at < len(p.text) && p.text[p.at] == '"' {
		if s, ok := p.quoted(); ok {
			return s
		}
	}
	from := p.at
	for p.at < len(p.text) {
		if c := p.text[p.at]; c == p.delimiter || c == '\n' || c == '\r' {
			break
		}
		p.at++
	}
	return p.text[from:p.at]
}

// quoted reads a quoted field. A quote closes before a delimiter or line end; without such a quote there is none later
// either.
func (p *parser) quoted() (string, bool) {
	s := p.text
	doubled := false
	for i := p.at + 1; i < len(s); i++ {
		if s[i] != '"' {
			continue
		}
		if i+1 < len(s) && s[i+1] == '"' {
			doubled = true
			i++
			continue
		}
		if i+1 == len(s) || s[i+1] == p.delimiter || s[i+1] == '\n' || s[i+1] == '\r' {
			out := s[p.at+1 : i]
			p.at = i + 1
			if doubled {
				out = strings.ReplaceAll(out, `""`, `"`)
			}
			return out, true
		}
	}
	p.literal = true
	return "", false
}
