package views

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Unmarked removes the Markdown marks that models put around words of a title: a heading's #, emphasis, code and links.
// Literal signs stay.
func Unmarked(s string) string {
	s = strings.TrimSpace(s)
	if rest := strings.TrimLeft(s, "#"); rest != s && strings.HasPrefix(rest, " ") {
		s = strings.TrimSpace(rest)
	}
	if !strings.ContainsAny(s, "*_`[") {
		return s
	}
	for _, mark := range []string{"**", "__", "`", "*", "_"} {
		if mark == "_" && strings.Contains(s, "__") { // a name such as __init__.py
			continue
		}
		s = unpaired(s, mark)
	}
	return unlinked(s)
}

// unpaired takes away pairs of a mark around words.
func unpaired(s, mark string) string {
	var out strings.Builder
	for {
		i := strings.Index(s, mark)
		if i < 0 {
			break
		}
		rest := s[i+len(mark):]
		j := strings.Index(rest, mark)
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		if j <= 0 || i > 0 && wordRune(before) || rest[0] == ' ' || rest[j-1] == ' ' || begins(rest[j+len(mark):]) ||
			mark[0] == '_' && strings.HasPrefix(rest[j+len(mark):], ".") { // __init__.py
			out.WriteString(s[:i+len(mark)])
			s = rest
			continue
		}
		out.WriteString(s[:i] + rest[:j])
		s = rest[j+len(mark):]
	}
	return out.String() + s
}

// begins reports whether a text continues within a word; Chinese has no spaces between words.
func begins(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return s != "" && wordRune(r)
}

func wordRune(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !unicode.Is(unicode.Han, r)
}

// unlinked leaves of a link its words.
func unlinked(s string) string {
	for {
		mid := strings.Index(s, "](")
		from := strings.LastIndex(s[:max(mid, 0)], "[")
		if mid < 0 || from < 0 {
			return s
		}
		to := strings.IndexByte(s[mid:], ')')
		if to < 0 {
			return s
		}
		s = s[:from] + s[from+1:mid] + s[mid+to+1:]
	}
}
