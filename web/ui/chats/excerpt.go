package chats

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"fawn/agent"
	"fawn/store"
	"fawn/views/markdown"
	"fawn/web/ui/page"
)

const (
	excerptBefore = 40  // characters before a match
	excerptLength = 160 // characters in all
)

// Excerpt reports whether a stored message that people see has all the words, and shows the place of the longest.
func Excerpt(body []byte, words []string) (string, bool) {
	m := new(agent.Message)
	if json.Unmarshal(body, m) != nil || m.Type != agent.TypeAI && !m.Genuine() {
		return "", false
	}
	text := m.Content.String()
	place, ok := placeOf(text, words)
	if !ok {
		return "", false
	}
	if m.Type == agent.TypeAI { // the plain text, unless the query contains marks
		if bare := markdown.Plain(text, len(text)); bare != "" {
			if at, ok := placeOf(bare, words); ok {
				text, place = bare, at
			}
		}
	}
	return cutOut(text, place), true
}

// placeOf returns the character where the longest of the words is in a text that has all.
func placeOf(text string, words []string) (int, bool) {
	folded, longest := store.Fold(text), ""
	for _, w := range words {
		if w = store.Fold(w); !strings.Contains(folded, w) {
			return 0, false
		} else if len(w) > len(longest) {
			longest = w
		}
	}
	// Folding keeps the number of characters, not that of bytes.
	return utf8.RuneCountInString(folded[:strings.Index(folded, longest)]), true
}

// cutOut returns a line of text around a character.
func cutOut(text string, place int) string {
	from := 0 // byte of the character the line begins with
	for skip := place - excerptBefore; skip > 0; skip-- {
		_, n := utf8.DecodeRuneInString(text[from:])
		from += n
	}
	lead := ""
	if from > 0 {
		lead = "… "
		if i := strings.IndexFunc(text[from:], unicode.IsSpace); i >= 0 && i < excerptBefore/2 {
			from += i // begins with a whole word if possible
		}
	}
	to, n := from, 0
	for to < len(text) && n < excerptLength {
		_, size := utf8.DecodeRuneInString(text[to:])
		to, n = to+size, n+1
	}
	line := lead + page.OneLine(text[from:to])
	if to < len(text) {
		line += " …"
	}
	return line
}
