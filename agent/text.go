package agent

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

var neutral = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\x00", "")

// Escape encodes untrusted text for prompts: file names, page titles, metadata. The result can't open or close one of
// our tags and stays on one line: line ends and other control characters become spaces.
func Escape(s string) string {
	if s = neutral.Replace(s); !strings.ContainsFunc(s, unlined) {
		return s
	}
	return strings.Join(strings.FieldsFunc(s, unlined), " ")
}

// unlined reports whether r may end a line, or change its meaning.
func unlined(r rune) bool {
	return r != '\t' && unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || isBidi(r)
}

// Visible replaces control characters, such as the start of a terminal command, with visible signs: tool output is
// always plain text. Line ends and tabs stay.
func Visible(s string) string {
	if !strings.ContainsFunc(s, commands) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case !commands(r):
			return r
		case r < ' ':
			return '\u2400' + r
		case r == '\x7f':
			return '\u2421'
		}
		return '\uFFFD'
	}, s)
}

// commands reports whether r may be a terminal command.
func commands(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r'
}

// EscapeLines is [Escape] for each line of a text.
func EscapeLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = Escape(l)
	}
	return strings.Join(lines, "\n")
}

var plain = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// Unescape reverses the escaping of brackets, for answers made of such text.
func Unescape(s string) string { return plain.Replace(s) }

// Head returns the first n characters of a text.
func Head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}

// Clip returns the beginning of a text up to a number of bytes, with a mark at the cut. Invalid bytes are replaced.
func Clip(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// WithoutThoughts removes reasoning in tags; text after an unclosed tag counts as reasoning.
func WithoutThoughts(text string) string {
	for {
		from := strings.Index(text, "<think>")
		if from < 0 {
			return text
		}
		to := strings.Index(text[from:], "</think>")
		if to < 0 {
			return text[:from]
		}
		text = text[:from] + text[from+to+len("</think>"):]
	}
}

// isBidi reports whether r reorders text on screen.
func isBidi(r rune) bool {
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' || r == '\u200e' || r == '\u200f' ||
		r == '\u061c'
}
