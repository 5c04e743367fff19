package offline

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// kind is the type of a column's values.
type kind uint8

const (
	kindText kind = iota
	kindNumber
	kindDate
	kindEmpty
)

// column holds the statistics of one column.
type column struct {
	name     string
	kind     kind
	values   int // cells with a value
	missing  int
	distinct int // different values: numbers and dates regardless of their format, otherwise texts
	odd      int // values that don't fit the column's type

	numbers                        []float64 // in row order; NaN where missing
	min, max, mean, median, stddev float64   // stddev of the sample, NaN for one value
	sum                            float64
	whole                          bool // all numbers are whole
	serial                         bool // numbers only identify rows
	year                           bool // numbers are years

	first, last time.Time
	times       []time.Time // in row order; zero where missing
	clock       bool        // some have a time of day
	ambiguous   bool        // 03/04 was read as month/day without proof

	texts []string // in row order, trimmed, "" where missing
	top   []count  // most frequent texts, ties by text

	repeated []count   // repeated texts, for columns of ids
	alike    [][]count // texts that differ only in case, spaces and punctuation
}

// count is a text with its frequency.
type count struct {
	text string
	n    int
}

// columns computes all columns of a table.
func columns(t table) []column {
	out := make([]column, len(t.header))
	comma := decimalComma(t)
	for i, name := range t.header {
		cells := make([]string, len(t.rows))
		for r, row := range t.rows {
			if cell := strings.TrimSpace(row[i]); !missing(cell) {
				cells[r] = cell
			}
		}
		out[i] = newColumn(name, cells, comma, i == 0)
	}
	return out
}

// decimalComma reports whether the file writes 1,5 for one and a half: some value can only be read so, and more can
// than the other way.
func decimalComma(t table) bool {
	onlyComma, onlyDot, both := 0, 0, 0
	for r, row := range t.rows {
		if r == 2000 {
			break
		}
		for _, cell := range row {
			if !strings.ContainsAny(cell, ".,") {
				continue
			}
			_, dot := parseNumber(cell, false)
			_, comma := parseNumber(cell, true)
			switch {
			case dot && comma:
				both++
			case dot:
				onlyDot++
			case comma:
				onlyComma++
			}
		}
	}
	return onlyComma > onlyDot || onlyComma == onlyDot && both > 0 && t.delimiter == ';'
}

// almost is the share of values that must fit for a column to be of a kind.
const almost = 0.95

func newColumn(name string, cells []string, comma, leading bool) column {
	c := column{name: name, texts: cells}
	for _, cell := range cells {
		if cell != "" {
			c.values++
		}
	}
	c.missing = len(cells) - c.values
	switch {
	case c.values == 0:
		c.kind = kindEmpty
	case c.readDates():
		c.kind = kindDate
	case !c.codes() && c.readNumbers(comma):
		c.kind = kindNumber
		c.describeNumbers(leading)
	}
	c.countTexts()
	return c
}

// codes reports whether digits are names, as postcodes are: some begin with a zero.
func (c *column) codes() bool {
	for _, s := range c.texts {
		if len(s) > 1 && s[0] == '0' && onlyDigits(s) {
			return true
		}
	}
	return false
}

func (c *column) readNumbers(comma bool) bool {
	numbers := make([]float64, len(c.texts))
	good := 0
	for i, s := range c.texts {
		numbers[i] = math.NaN()
		if s == "" {
			continue
		}
		if v, ok := parseNumber(s, comma); ok {
			numbers[i] = v
			good++
		}
	}
	if good == 0 || float64(good) < almost*float64(c.values) {
		return false
	}
	c.numbers, c.odd = numbers, c.values-good
	return true
}

// describeNumbers computes the statistics; leading means the first column, where consecutive numbers only count rows.
func (c *column) describeNumbers(leading bool) {
	sorted := make([]float64, 0, len(c.numbers))
	var m2 float64
	c.whole = true
	serial, previous := true, math.NaN()
	for _, v := range c.numbers {
		if math.IsNaN(v) {
			continue
		}
		sorted = append(sorted, v)
		c.sum += v
		delta := v - c.mean // Welford's algorithm keeps the precision of large numbers
		c.mean += delta / float64(len(sorted))
		m2 += delta * (v - c.mean)
		c.whole = c.whole && v == math.Trunc(v)
		serial = serial && (math.IsNaN(previous) || v == previous+1)
		previous = v
	}
	slices.Sort(sorted)
	n := len(sorted)
	c.min, c.max = sorted[0], sorted[n-1]
	c.median = sorted[n/2]
	if n%2 == 0 {
		c.median = sorted[n/2-1] + (sorted[n/2]-sorted[n/2-1])/2
	}
	c.stddev = math.NaN()
	if n > 1 {
		c.stddev = math.Sqrt(m2 / float64(n-1))
	}
	lower := strings.ToLower(c.name)
	c.serial = c.whole && n > 2 && (serial && leading || namesRows(c.name))
	c.year = c.whole && c.min >= 1800 && c.max <= 2200 &&
		(strings.Contains(lower, "year") || lower == "jahr" || strings.Contains(c.name, "年"))
}

// namesRows reports whether a column's name suggests an identifier.
func namesRows(name string) bool {
	switch lower := strings.ToLower(name); lower {
	case "id", "no", "nr", "index", "#":
		return true
	default:
		return strings.HasSuffix(lower, "_id") || strings.HasSuffix(lower, " id") || strings.HasSuffix(name, "Id") ||
			strings.HasSuffix(name, "ID") ||
			strings.Contains(name, "编号") || strings.Contains(name, "序号")
	}
}

func (c *column) readDates() bool {
	dayFirst, monthFirst := false, false
	for _, s := range c.texts {
		if a, rest, ok := strings.Cut(s, "/"); ok && len(a) <= 2 && onlyDigits(a) {
			b, _, _ := strings.Cut(rest, "/")
			dayFirst = dayFirst || len(a) == 2 && a > "12"
			monthFirst = monthFirst || len(b) == 2 && b > "12"
		}
	}
	times := make([]time.Time, len(c.texts))
	good, tried := 0, 0
	for i, s := range c.texts {
		if s == "" {
			continue
		}
		tried++
		if t, ok := parseDate(s, dayFirst && !monthFirst); ok {
			times[i] = t
			good++
		} else if tried >= 40 && good < tried/2 {
			return false
		}
	}
	if good == 0 || float64(good) < almost*float64(c.values) {
		return false
	}
	c.times, c.odd = times, c.values-good
	for i, t := range times {
		if t.IsZero() {
			continue
		}
		if c.first.IsZero() || t.Before(c.first) {
			c.first = t
		}
		if t.After(c.last) {
			c.last = t
		}
		c.clock = c.clock || t.Hour() != 0 || t.Minute() != 0 || t.Second() != 0
		if a, _, ok := strings.Cut(c.texts[i], "/"); ok && len(a) <= 2 {
			c.ambiguous = !dayFirst && !monthFirst
		}
	}
	return true
}

// maxTop limits the most frequent texts kept.
const maxTop = 60

func (c *column) countTexts() {
	seen := map[string]int{}
	for _, s := range c.texts {
		if s != "" {
			seen[s]++
		}
	}
	c.distinct = len(seen)
	for s, n := range seen {
		c.top = append(c.top, count{s, n})
	}
	slices.SortFunc(c.top, func(a, b count) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.text, b.text)) })
	if namesRows(c.name) {
		for _, v := range c.top[:min(len(c.top), maxTop)] {
			if v.n > 1 {
				c.repeated = append(c.repeated, v)
			}
		}
	}
	if c.kind == kindText {
		c.alike = alike(c.top)
	}
	c.top = slices.Clip(c.top[:min(len(c.top), maxTop)])
	c.countValues()
}

// countValues normalizes numbers and dates before counting: 1,200 is 1200, and 3 May 2024 is 2024-05-03.
func (c *column) countValues() {
	switch c.kind {
	case kindNumber:
		c.distinct = different(c.numbers, c.texts, func(v float64) bool { return !math.IsNaN(v) })
	case kindDate:
		c.distinct = different(c.times, c.texts, func(t time.Time) bool { return !t.IsZero() })
	}
}

// different counts the different values of a column. Where a value could not be read, its text counts.
func different[T comparable](values []T, texts []string, good func(T) bool) int {
	seen, odd := map[T]bool{}, map[string]bool{}
	for i, v := range values {
		if good(v) {
			seen[v] = true
		} else if texts[i] != "" {
			odd[texts[i]] = true
		}
	}
	return len(seen) + len(odd)
}

// category reports whether the column sorts rows into groups worth comparing.
func (c *column) category() bool {
	return c.kind == kindText && c.distinct >= 2 && c.distinct <= maxTop && c.distinct*2 <= c.values
}
