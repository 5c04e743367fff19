package workbook

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Format shows numbers as a code asks for.
type Format struct{ f format }

// NewFormat reads a code such as "#,##0.00 €".
func NewFormat(code string) Format { return Format{parseFormat(code)} }

// Show formats a number. since1904 selects the date system.
func (f Format) Show(v float64, since1904 bool) string { return f.f.show(v, since1904) }

// format is a parsed format code.
type format struct {
	date, clock, seconds bool
	elapsed              bool // hours that continue beyond a day
	plain                bool // the general format
	percent, thousands   bool
	scientific           bool
	least, most          int // decimals
	digits               int // least digits before the decimals, zero-padded
	scale                int // number of divisions by 1000
	before, after        string
}

// parseFormat reads the part of a code that is for ordinary numbers.
func parseFormat(code string) format {
	var f format
	var digits, letters strings.Builder
	literal := func(s string) {
		if digits.Len() == 0 {
			f.before += s
		} else {
			f.after += s
		}
	}
	in := []rune(code)
	for i := 0; i < len(in) && in[i] != ';'; i++ {
		switch c := in[i]; c {
		case '"':
			start := i + 1
			for i++; i < len(in) && in[i] != '"'; i++ {
			}
			literal(string(in[start:min(i, len(in))]))
		case '\\':
			if i++; i < len(in) {
				literal(string(in[i]))
			}
		case '_', '*':
			i++ // padding or filling with the next character
		case '[':
			start := i + 1
			for i++; i < len(in) && in[i] != ']'; i++ {
			}
			inside := strings.ToLower(string(in[start:min(i, len(in))]))
			switch {
			case strings.Trim(inside, "h") == "" || strings.Trim(inside, "m") == "" || strings.Trim(inside, "s") == "":
				f.elapsed = inside != ""
			case strings.HasPrefix(inside, "$"):
				symbol, _, _ := strings.Cut(string(in[start+1:min(i, len(in))]), "-")
				literal(symbol)
			}
		case '0', '#', '?', '.', ',', 'E', 'e', '%', '/', '+':
			digits.WriteRune(c)
		default:
			if strings.ContainsRune("yYmMdDhHsSgGbBaAnrlpP@", c) {
				letters.WriteRune(c)
			} else {
				literal(string(c))
			}
		}
	}
	f.kind(strings.ToLower(letters.String()), digits.String(), code)
	return f
}

// kind distinguishes dates from numbers.
func (f *format) kind(letters, digits, code string) {
	f.clock, f.seconds = strings.Contains(letters, "h") || f.elapsed, strings.Contains(letters, "s")
	general := code == "" || strings.HasPrefix(strings.ToLower(code), "general") || strings.Contains(letters, "@") ||
		strings.Contains(digits, "/") && !strings.ContainsAny(letters, "ydhs")
	f.date = !general && (strings.ContainsAny(letters, "yd") || strings.Contains(letters, "m") &&
		!f.clock && !f.seconds)
	switch {
	case f.date || !general && (f.clock || f.seconds):
		f.clock = f.clock || f.seconds
		return
	case general || !strings.ContainsAny(digits, "0#?"):
		*f = format{plain: true}
		return
	}
	f.clock, f.seconds, f.elapsed = false, false, false
	f.percent, f.scientific = strings.Contains(digits, "%"), strings.ContainsAny(digits, "Ee")
	digits, _, _ = strings.Cut(strings.Trim(digits, "%"), "E")
	whole, decimals, _ := strings.Cut(digits, ".")
	for strings.HasSuffix(whole+decimals, ",") {
		f.scale++
		if strings.HasSuffix(decimals, ",") {
			decimals = decimals[:len(decimals)-1]
		} else {
			whole = whole[:len(whole)-1]
		}
	}
	f.thousands, f.digits = strings.Contains(whole, ","), min(strings.Count(whole, "0"), 40)
	f.most = min(strings.Count(decimals, "0")+strings.Count(decimals, "#")+strings.Count(decimals, "?"), 15)
	f.least = min(strings.Count(decimals, "0"), 15)
}

// show formats a number. from1904 selects the date system.
func (f format) show(v float64, from1904 bool) string {
	switch {
	case f.plain || math.IsInf(v, 0) || math.IsNaN(v):
		return general(v)
	case f.elapsed:
		s := int64(math.Round(math.Abs(v) * 86400))
		return strconv.FormatInt(s/3600, 10) + time.Unix(s%3600, 0).UTC().Format(":04:05")
	case f.date || f.clock:
		return f.moment(v, from1904)
	}
	if f.percent {
		v *= 100
	}
	for range f.scale {
		v /= 1000
	}
	sign := ""
	if v < 0 {
		sign, v = "-", -v
	}
	var s string
	if f.scientific {
		s = strconv.FormatFloat(v, 'E', f.most, 64)
	} else {
		s = fixed(v, f.most)
		if whole, decimals, cut := strings.Cut(s, "."); cut {
			for len(decimals) > f.least && strings.HasSuffix(decimals, "0") {
				decimals = decimals[:len(decimals)-1]
			}
			if s = whole; decimals != "" {
				s += "." + decimals
			}
		}
	}
	if whole, _, _ := strings.Cut(s, "."); !f.scientific && len(whole) < f.digits {
		s = strings.Repeat("0", f.digits-len(whole)) + s
	}
	if f.thousands {
		whole, decimals, cut := strings.Cut(s, ".")
		for i := len(whole) - 3; i > 0; i -= 3 {
			whole = whole[:i] + "," + whole[i:]
		}
		if s = whole; cut {
			s += "." + decimals
		}
	}
	if f.percent {
		s += "%"
	}
	return strings.TrimSpace(sign + f.before + s + f.after)
}

// fixed formats a number with fixed decimals. Excel uses the first 15 digits, so 1.005 is halfway between 1.00 and
// 1.01, and halves are rounded up.
func fixed(v float64, places int) string {
	x := v * math.Pow10(places)
	if math.Abs(x) < 1e12 && math.Abs(x-math.Floor(x)-0.5) > 1e-3 { // not close to a half
		return strconv.FormatFloat(v, 'f', places, 64)
	}
	if short := general(v); !strings.Contains(short, "E") {
		if _, decimals, _ := strings.Cut(short, "."); len(decimals) == places+1 && strings.HasSuffix(decimals, "5") {
			if exact, ok := new(big.Rat).SetString(short); ok {
				return exact.FloatString(places)
			}
		}
	}
	return strconv.FormatFloat(v, 'f', places, 64)
}

// value formats a number with all digits, a date as one, and leading zeros, as of a postcode, unchanged.
func (f format) value(v float64, since1904 bool) string {
	switch {
	case f.elapsed, f.digits > 1 && f.most == 0 && f.scale == 0 && !f.thousands && !f.percent && !f.scientific &&
		f.before+f.after == "":
		return f.show(v, since1904)
	case (f.date || f.clock) && v >= 0 && v < lastDay:
		whole := v == math.Trunc(v)
		return format{date: whole && f.date || v >= 1, clock: !whole || !f.date && v < 1, seconds: true}.moment(v, since1904)
	}
	return strconv.FormatFloat(v, 'g', 15, 64)
}

// lastDay is the last day of the year 9999, the end of valid dates.
const lastDay = 2_958_466

func (f format) moment(v float64, from1904 bool) string {
	if v < 0 || v >= lastDay {
		return general(v)
	}
	begin := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case from1904:
		begin = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case v < 60:
		begin = begin.AddDate(0, 0, 1) // the file treats 1900 as a leap year
	}
	days := math.Floor(v)
	at := begin.AddDate(0, 0, int(days)).Add(time.Duration(math.Round((v-days)*86400)) * time.Second)
	clock := "15:04"
	if f.seconds {
		clock = "15:04:05"
	}
	switch {
	case f.date && f.clock:
		return at.Format("2006-01-02 " + clock)
	case f.date:
		return at.Format("2006-01-02")
	}
	return at.Format(clock)
}

// general writes a number with the digits it has.
func general(v float64) string {
	if short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 15, 64), 64); err == nil {
		v = short
	}
	if a := math.Abs(v); a != 0 && (a < 1e-9 || a >= 1e15) {
		return strconv.FormatFloat(v, 'E', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// Builtin returns the code of a format that files do not spell out.
func Builtin(n int) string {
	switch {
	case slices.Contains([]int{14, 15, 16, 17, 27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58}, n):
		return "yyyy-mm-dd"
	case n == 18 || n == 20 || n == 32 || n == 34 || n == 55:
		return "hh:mm"
	case n == 19 || n == 21 || n == 33 || n == 35 || n == 45 || n == 47 || n == 56:
		return "hh:mm:ss"
	case n == 22:
		return "yyyy-mm-dd hh:mm"
	case n == 46:
		return "[h]:mm:ss"
	}
	return map[int]string{1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00",
		37: "#,##0", 38: "#,##0", 39: "#,##0.00", 40: "#,##0.00", 41: "#,##0", 42: "#,##0", 43: "#,##0.00",
		44: "#,##0.00", 48: "##0.0E+0"}[n]
}

// Separator returns the cell separator of a text table: the most frequent one in its first line, or the one named by
// Excel's line "sep=;", which isn't part of the table.
func Separator(text string) (table string, comma rune) {
	line, rest, _ := strings.Cut(text, "\n")
	if line = strings.TrimRight(line, "\r"); len(line) == 5 && strings.EqualFold(line[:4], "sep=") {
		return rest, rune(line[4])
	}
	best, most := ',', 0
	for _, r := range ",;\t|" {
		if n := strings.Count(line, string(r)); n > most {
			best, most = r, n
		}
	}
	return text, best
}

// Shown returns a number in a format. Text that isn't a number is returned unchanged.
func Shown(value, code string) string {
	v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil {
		return value
	}
	return parseFormat(code).show(v, false)
}
