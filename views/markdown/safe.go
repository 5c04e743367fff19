package markdown

import (
	"strings"
	"unicode"
)

// maxPile limits the combining marks on one character. No script needs more, and a thousand would cover everything
// above.
const maxPile = 8

// clean removes content that must never reach a browser.
func clean(b []byte) string { return SafeLines(strings.ToValidUTF8(string(b), "\uFFFD")) }

// SafeLines removes control characters, characters that override the reading
// direction and piles of accents from a text of several lines.
func SafeLines(s string) string {
	keep := guard()
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return keep(r)
	}, s)
}

// SafeText is SafeLines for a text of one line such as a file name. Line ends
// become spaces.
func SafeText(s string) string {
	keep := guard()
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		return keep(r)
	}, s)
}

// guard filters the characters of one text in order and returns -1 for those to drop.
func guard() func(rune) rune {
	pile := 0
	return func(r rune) rune {
		switch {
		case r < ' ', r >= 0x7f && r < 0xa0, turnsDirection(r):
			return -1
		case r < 0x300:
			pile = 0
		case unicode.In(r, unicode.Mn, unicode.Me):
			if pile++; pile > maxPile {
				return -1
			}
		case !unicode.Is(unicode.Cf, r): // invisible characters don't end a pile
			pile = 0
		}
		return r
	}
}

func turnsDirection(r rune) bool {
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}
