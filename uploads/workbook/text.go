package workbook

import (
	"strconv"
	"strings"
)

// Separator returns the character between the cells of a table in a text: the one that its first line
// has most often, or that Excel's line "sep=;" names. That line is no part of the table and left out.
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

// Shown returns a number, written as programs do, in a format. Text that is no number is returned unchanged.
func Shown(value, code string) string {
	v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil {
		return value
	}
	return parseFormat(code).show(v, false)
}
