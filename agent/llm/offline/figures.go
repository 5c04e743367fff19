package offline

import (
	"math"
	"strconv"
	"strings"
)

// figure writes a number for people: thousands separators, and about six digits that count.
func figure(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case a >= 1e15 || a != 0 && a < 1e-4:
		return strconv.FormatFloat(v, 'g', 6, 64)
	case v == math.Trunc(v):
		return grouped(strconv.FormatFloat(v, 'f', 0, 64))
	case a >= 1:
		return grouped(strings.TrimSuffix(strconv.FormatFloat(v, 'f', 2, 64), ".00"))
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// short writes a number for the edge of a chart.
func short(v float64) string {
	a := math.Abs(v)
	for _, u := range []struct {
		size float64
		name string
	}{{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e4, "k"}} {
		if a >= u.size {
			if u.name == "k" {
				u.size = 1e3
			}
			return strconv.FormatFloat(v/u.size, 'g', 4, 64) + u.name
		}
	}
	if a < 1e-9 {
		return "0"
	}
	return strconv.FormatFloat(v, 'g', 5, 64)
}

// grouped adds a thousands separator.
func grouped(s string) string {
	whole, fraction, has := strings.Cut(s, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if has {
		whole += "." + fraction
	}
	return sign + whole
}

// amount returns a whole number for people.
func amount(n int) string { return grouped(strconv.Itoa(n)) }

// cell escapes and shortens a text for a Markdown table.
func cell(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	return strings.NewReplacer("\\", "\\\\", "|", "\\|", "`", "\\`", "*", "\\*", "_", "\\_", "<", "&lt;",
		"[", "\\[", "#", "\\#").Replace(clip(s, 48))
}
