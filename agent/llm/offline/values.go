package offline

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// missing reports whether a cell means no value.
func missing(cell string) bool {
	switch strings.ToLower(cell) {
	case "", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "-", "--", "—", "?", "无", "缺失":
		return true
	}
	return false
}

// maxNumber keeps squares and sums of values finite.
const maxNumber = 1e150

// parseNumber reads a number as people write it: signs, thousands separators, currency
// and percent signs. With comma the decimal mark is a comma.
func parseNumber(cell string, comma bool) (float64, bool) {
	s := strings.TrimSpace(cell)
	if s == "" || len(s) > 60 {
		return 0, false
	}
	negative := false
	if strings.HasPrefix(s, "(") && strings.HasSuffix(s, ")") { // bookkeepers' minus
		negative, s = true, s[1:len(s)-1]
	}
	s = strings.ReplaceAll(s, "\u2212", "-")
	sign := ""
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign, s = s[:1], s[1:]
	}
	s = strings.TrimSpace(trimCurrency(s))
	if s != "" && sign == "" && (s[0] == '-' || s[0] == '+') {
		sign, s = s[:1], s[1:]
	}
	s = strings.TrimSpace(strings.TrimSuffix(s, "%"))
	digits, ok := plainNumber(s, comma)
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseFloat(sign+digits, 64)
	if err != nil || math.Abs(v) > maxNumber {
		return 0, false
	}
	if negative {
		v = -v
	}
	return v, true
}

func trimCurrency(s string) string {
	for _, c := range []string{"$", "€", "£", "¥", "￥", "₹", "USD", "EUR", "GBP", "CNY", "RMB", "元"} {
		if rest, ok := strings.CutPrefix(s, c); ok {
			return rest
		}
		if rest, ok := strings.CutSuffix(s, c); ok {
			return rest
		}
	}
	return s
}

// plainNumber removes separators from digits; false if they are in impossible places.
func plainNumber(s string, comma bool) (string, bool) {
	if s == "" || s[0] < '0' && s[0] != '.' && s[0] != ',' || s[0] > '9' {
		return "", false
	}
	whole, fraction, exponent := s, "", ""
	if i := strings.IndexAny(whole, "eE"); i > 0 {
		whole, exponent = whole[:i], "e"+whole[i+1:]
	}
	mark := "."
	if comma {
		mark = ","
	}
	whole, fraction, hasFraction := strings.Cut(whole, mark)
	if !onlyDigits(fraction) || hasFraction && fraction == "" && whole == "" {
		return "", false
	}
	whole, ok := ungroup(whole, comma)
	if !ok || whole == "" && fraction == "" {
		return "", false
	}
	if hasFraction {
		whole += "." + fraction
	}
	return whole + exponent, true
}

// ungroup takes thousands separators out of the digits before the decimal mark.
func ungroup(s string, comma bool) (string, bool) {
	if onlyDigits(s) {
		return s, true
	}
	seps := []string{",", "'", "’", "\u00a0", "\u202f", " ", "_"}
	if comma {
		seps[0] = "."
	}
	for _, sep := range seps {
		if !strings.Contains(s, sep) {
			continue
		}
		groups := strings.Split(s, sep)
		for i, g := range groups {
			if !onlyDigits(g) || i == 0 && (g == "" || len(g) > 3) || i > 0 && len(g) != 3 {
				return "", false
			}
		}
		return strings.Join(groups, ""), true
	}
	return "", false
}

func onlyDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// parseDate reads a date or a moment; dayFirst decides 03/04/2025.
func parseDate(cell string, dayFirst bool) (time.Time, bool) {
	s := strings.TrimSpace(cell)
	if len(s) < 6 || len(s) > 40 || !strings.ContainsAny(s, "0123456789") {
		return time.Time{}, false
	}
	for _, layout := range layouts(s, dayFirst) {
		if t, err := time.Parse(layout, s); err == nil && t.Year() >= 1000 && t.Year() <= 2999 {
			return t, true
		}
	}
	return time.Time{}, false
}

// layouts returns the forms a cell of this look can have.
func layouts(s string, dayFirst bool) []string {
	switch {
	case strings.Contains(s, "年"):
		return []string{"2006年1月2日", "2006年1月", "2006年1月2日 15:04", "2006年1月2日 15:04:05"}
	case len(s) > 4 && onlyDigits(s[:4]) && s[4] == '-':
		return []string{"2006-1-2", "2006-01", "2006-1-2 15:04:05", "2006-1-2 15:04", time.RFC3339,
			"2006-01-02T15:04:05", "2006-01-02T15:04",
			"2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 MST", "2006-01-02 15:04:05-07:00"}
	case len(s) > 4 && onlyDigits(s[:4]) && s[4] == '/':
		return []string{"2006/1/2", "2006/01", "2006/1/2 15:04:05", "2006/1/2 15:04"}
	case len(s) > 4 && onlyDigits(s[:4]) && s[4] == '.':
		return []string{"2006.1.2", "2006.1.2 15:04:05"}
	case strings.Contains(s, "/"):
		if dayFirst {
			return []string{"2/1/2006", "2/1/2006 15:04:05", "2/1/2006 15:04"}
		}
		return []string{"1/2/2006", "1/2/2006 15:04:05", "1/2/2006 15:04", "1/2/2006 3:04:05 PM", "1/2/2006 3:04 PM"}
	case strings.Count(s, ".") == 2:
		return []string{"2.1.2006", "2.1.2006 15:04:05", "2.1.2006 15:04"}
	case s[0] >= 'A' || strings.ContainsAny(s, "abcdefghijklmnopqrstuvwxyz"):
		return []string{"Jan 2, 2006", "January 2, 2006", "2 Jan 2006", "2 January 2006", "2-Jan-2006", "Jan 2006",
			"January 2006", time.RFC1123, time.RFC1123Z}
	}
	return nil
}
