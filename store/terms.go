package store

import (
	"encoding/base32"
	"hash/fnv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxTerm limits a word, in bytes.
const maxTerm = 64

// scope prefixes each word of a thread in the index, so that a search reads and counts only words of its thread. Two
// threads that share one see each other's counts, never passages.
func scope(thread string) string {
	h := fnv.New32a()
	h.Write([]byte(thread))
	return strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(h.Sum(nil))) + "_"
}

// indexed returns the indexed form of a text. It must never change for a given text, since the same form is needed to
// remove it: a migration would have to empty the index.
func indexed(scope, text string) string {
	var b strings.Builder
	for _, t := range terms(text, true) {
		b.WriteString(scope)
		b.WriteString(t)
		b.WriteByte(' ')
	}
	return b.String()
}

// terms returns the words of a text. Scripts without spaces between words produce pairs of characters; tails adds the
// last one of each run, so that a search for a single character finds it there too.
func terms(text string, tails bool) []string {
	var list []string
	var word []rune
	dense := false
	end := func() {
		switch n := len(word); {
		case n == 0:
		case !dense:
			s := string(word)
			for len(s) > maxTerm {
				_, size := utf8.DecodeLastRuneInString(s)
				s = s[:len(s)-size]
			}
			list = append(list, s)
		default:
			for i := range n - 1 {
				list = append(list, string(word[i:i+2]))
			}
			if tails || n == 1 {
				list = append(list, string(word[n-1:]))
			}
		}
		word = word[:0]
	}
	for _, r := range norm.NFKC.String(text) {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r):
			end()
			continue
		case isDense(r) != dense:
			end()
			dense = !dense
		}
		word = append(word, unicode.ToLower(r))
	}
	end()
	return list
}

// Words returns the words of a text as a search compares them: in lower case, and pairs of characters in scripts that
// set no spaces between words.
func Words(text string) []string { return terms(text, false) }

// isDense reports whether a script has no spaces between words, or is Korean, whose words include grammatical endings.
func isDense(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
