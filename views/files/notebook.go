package files

import "strings"

// fenced returns code in a fence longer than any inside.
func fenced(language, code string) string {
	if strings.TrimSpace(code) == "" {
		return ""
	}
	mark := "```"
	for strings.Contains(code, mark) {
		mark += "`"
	}
	return mark + language + "\n" + strings.TrimRight(code, "\n") + "\n" + mark
}
