package workbook

import (
	"strconv"
	"strings"
)

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
