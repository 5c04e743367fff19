package views

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"fawn/views/i18n"
	"fawn/views/markdown"
)

// Duration formats a duration for people: "0.4 s", "12 s", "1 m 12 s".
func Duration(lang string, d time.Duration) string {
	s := d.Seconds()
	switch {
	case s < 0.05:
		return "" // too short to show a number
	case s < 9.95:
		return i18n.T(lang, "time.seconds", strings.TrimSuffix(strconv.FormatFloat(s, 'f', 1, 64), ".0"))
	case s < 59.5:
		return i18n.T(lang, "time.seconds", strconv.Itoa(int(s+0.5)))
	case s < 3600:
		n := int(s + 0.5)
		return i18n.T(lang, "time.minutes", n/60, n%60)
	}
	n := int(s)
	return i18n.T(lang, "time.hours", n/3600, n%3600/60)
}

// Bytes writes a size: "512 B", "18 KB", "2.4 MB".
func Bytes(n int64) string {
	const k = 1024
	switch {
	case n < k:
		return strconv.FormatInt(n, 10) + " B"
	case n < k*k:
		return strconv.FormatInt((n+k/2)/k, 10) + " KB"
	case n < k*k*k:
		return strconv.FormatFloat(float64(n)/(k*k), 'f', 1, 64) + " MB"
	}
	return strconv.FormatFloat(float64(n)/(k*k*k), 'f', 1, 64) + " GB"
}

// Number shortens a count of tokens: "950", "21.4k".
func Number(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	if n < 1_000_000 {
		return strconv.FormatFloat(float64(n)/1000, 'f', 1, 64) + "k"
	}
	return strconv.FormatFloat(float64(n)/1_000_000, 'f', 1, 64) + "M"
}

// Price writes an amount of money: "USD 1.20", "USD 0.0042".
func Price(m Money) string {
	digits := 2
	if m.Amount < 0.1 {
		digits = 4
	}
	return Safe(m.Currency) + " " + strconv.FormatFloat(m.Amount, 'f', digits, 64)
}

// Words counts the words of a text; in scripts without spaces between words, each character counts as one.
func Words(s string) int {
	n, inside := 0, false
	for _, r := range s {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
			n, inside = n+1, false
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if !inside {
				n++
			}
			inside = true
		case r != '\'' && r != '’' && r != '-' && r != '.' && r != ',':
			inside = false
		}
	}
	return n
}

// Safe prepares a name from a model or disk for one line of text: it removes control characters and changes of the text
// direction.
func Safe(s string) string { return markdown.SafeText(s) }

// SafeLines is Safe for a text of several lines, such as the output of a tool.
func SafeLines(s string) string { return markdown.SafeLines(s) }

// ShortPath removes the fixed beginning of a virtual path, so that users see "outputs/report.md".
func ShortPath(p string) string {
	p = strings.TrimPrefix(p, "/")
	p = strings.TrimPrefix(p, "mnt/user-data/")
	return strings.TrimPrefix(p, "workspace/")
}

// Day returns the catalogue key of the list section for a moment; it is empty for moments older than a week.
func Day(now, at time.Time) string {
	at = at.In(now.Location())
	y, m, d := now.Date()
	today := time.Date(y, m, d, 0, 0, 0, 0, now.Location())
	switch {
	case !at.Before(today):
		return "threads.today"
	case !at.Before(today.AddDate(0, 0, -1)):
		return "threads.yesterday"
	case !at.Before(today.AddDate(0, 0, -7)):
		return "threads.week"
	}
	return ""
}
