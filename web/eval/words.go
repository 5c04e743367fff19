package eval

import (
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// kind is the class of a token.
type kind int

const (
	filler  kind = iota // a word without meaning by itself
	content             // a word that does
	name                // a word with a capital inside a sentence, or of capitals
	number
)

// token is a word or a number of a text.
type token struct {
	kind  kind
	key   string // a name in lower case; the value of a number
	stem  string // stem of a word
	first bool   // it begins a sentence, so its capital isn't significant
	// raw and unit are a number and the word after it, such as million, where key is their product.
	raw, unit string
}

// fillers returns words without meaning by themselves, in the questions' languages.
func fillers() []string {
	return strings.Fields(`a an and are as at be been but by did do does for from had has have he her his how i if in into
		is it its more most no nor not of on one or our she so than that the their them then there these they this those
		to too very was we were what when where which who why will with would you your about after also all any both
		can could each its may over such up out only same per
		der die das und ist im in den des ein eine von zu mit auf für le la les et est un une des du de en au el los las y`)
}

var fillerSet = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for _, w := range fillers() {
		set[w] = true
	}
	return set
})

// months returns the months by name; dates in figures use them, too.
func months() []string {
	return []string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
		"november", "december"}
}

// numerals returns number words. One is left out: it is more often a pronoun.
func numerals() []string {
	return []string{"two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"}
}

var (
	dates = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(\d{4})-(\d{2})-(\d{2})\b|(\d{4})年(\d{1,2})月(?:(\d{1,2})日)?`)
	})
	figures = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\d{1,3}(?:[ \x{a0}\x{202f}\x{2009}]\d{3})+(?:[.,]\d+)?|\d[\d.,]*\d|\d`)
	})
)

// dated writes dates in figures as words, so that both forms have the same tokens.
func dated(text string) string {
	return dates().ReplaceAllStringFunc(text, func(s string) string {
		m := dates().FindStringSubmatch(s)
		year, month, day := m[1]+m[4], m[2]+m[5], m[3]+m[6]
		n, err := strconv.Atoi(month)
		if err != nil || n < 1 || n > 12 {
			return s
		}
		return " " + strings.TrimLeft(day, "0") + " " + months()[n-1] + " " + year + " "
	})
}

// value normalizes a number for comparison: no thousands separators, one point, no trailing zeros.
func value(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
	comma, point := strings.LastIndex(s, ","), strings.LastIndex(s, ".")
	switch {
	case comma >= 0 && point >= 0 && comma > point: // 1.234,5
		s = strings.Replace(strings.ReplaceAll(s, ".", ""), ",", ".", 1)
	case comma >= 0 && point >= 0: // 1,234.5
		s = strings.ReplaceAll(s, ",", "")
	case strings.Count(s, ",") == 1 && len(s)-comma-1 != 3: // 3,5
		s = strings.Replace(s, ",", ".", 1)
	default:
		s = strings.ReplaceAll(s, ",", "")
		if strings.Count(s, ".") > 1 { // 1.234.567, or a version
			if parts := strings.Split(s, "."); !slices.ContainsFunc(parts[1:], func(p string) bool { return len(p) != 3 }) {
				s = strings.Join(parts, "")
			}
		}
	}
	if strings.Contains(s, ".") && strings.Count(s, ".") == 1 {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if bare := strings.TrimLeft(s, "0"); bare == "" || bare[0] == '.' {
		return "0" + bare
	} else {
		return bare
	}
}

// scale returns the factor of a word after a number.
func scale(word string) string {
	switch word {
	case "thousand", "tausend", "mille", "千":
		return "1000"
	case "万":
		return "10000"
	case "million", "millions", "millionen", "m", "mn", "mio", "百万":
		return "1000000"
	case "亿":
		return "100000000"
	case "billion", "billions", "milliarden", "bn":
		return "1000000000"
	}
	return ""
}

func scaled(v, by string) string {
	a, ok1 := new(big.Rat).SetString(v)
	b, ok2 := new(big.Rat).SetString(by)
	if !ok1 || !ok2 {
		return v
	}
	a.Mul(a, b)
	return value(a.FloatString(6))
}

// tokens returns the words and numbers of a text.
func tokens(text string) []token {
	text = dated(text)
	var out []token
	first := true
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r >= '0' && r <= '9':
			m := figures().FindString(text)
			v, rest := value(m), text[len(m):]
			word := leading(strings.TrimLeft(rest, " \u00a0\u202f"))
			one := token{kind: number, key: v}
			if by := scale(strings.ToLower(word)); by != "" {
				one = token{kind: number, key: scaled(v, by), raw: v, unit: strings.ToLower(word)}
				rest = strings.TrimLeft(rest, " \u00a0\u202f")[len(word):]
			} else if word != "" && strings.HasPrefix(rest, word) && !han(word) { // 3rd, 5km
				rest = rest[len(word):]
			}
			out = append(out, one)
			text, first = rest, false
		case unicode.Is(unicode.Han, r), unicode.Is(unicode.Hiragana, r), unicode.Is(unicode.Katakana, r):
			end := 0
			for i, c := range text {
				if !unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana) {
					break
				}
				end = i + utf8.RuneLen(c)
			}
			run := []rune(text[:end])
			for i := range max(1, len(run)-1) {
				w := string(run[i:min(i+2, len(run))])
				out = append(out, token{kind: content, key: w, stem: w})
			}
			text, first = text[end:], false
		case unicode.IsLetter(r):
			word := leading(text)
			out = append(out, worded(word, first))
			text, first = text[len(word):], false
		default:
			if strings.ContainsRune(".!?:。！？|•", r) {
				first = true
			}
			text = text[n:]
		}
	}
	return out
}

// leading returns the word that a text begins with.
func leading(text string) string {
	for i, r := range text {
		if i == 0 && unicode.Is(unicode.Han, r) {
			if strings.HasPrefix(text, "百万") {
				return "百万"
			}
			return string(r)
		}
		if !unicode.IsLetter(r) && !unicode.Is(unicode.Mn, r) && (i == 0 || !unicode.IsDigit(r) && r != '\'' && r != '’') ||
			unicode.Is(unicode.Han, r) {
			return strings.TrimRight(text[:i], "'’")
		}
	}
	return text
}

func han(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.Is(unicode.Han, r)
}

func worded(word string, first bool) token {
	low := strings.ToLower(word)
	low = strings.TrimSuffix(strings.TrimSuffix(low, "'s"), "’s")
	if i := slices.Index(numerals(), low); i >= 0 {
		return token{kind: number, key: strconv.Itoa(i + 2)}
	}
	t := token{kind: content, key: low, stem: stem(low), first: first}
	switch {
	case fillerSet()[low] || utf8.RuneCountInString(low) == 1:
		t.kind = filler
	case slices.Contains(months(), low) && !first:
		t.kind, t.stem = content, low
	case strings.ToLower(word) != word && (!first || capitals(word) > 1):
		t.kind = name
	}
	return t
}

func capitals(s string) (n int) {
	for _, r := range s {
		if unicode.IsUpper(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

// stem removes the usual endings of a word, so that its forms are equal.
func stem(s string) string {
	if han(s) || len(s) == 0 || s[0] >= '0' && s[0] <= '9' {
		return s
	}
	for _, end := range []string{"ies", "ing", "ed", "es", "s", "e"} {
		if rest, ok := strings.CutSuffix(s, end); ok && utf8.RuneCountInString(rest) >= 3 {
			s = rest
			break
		}
	}
	if r := []rune(s); len(r) > 7 {
		return string(r[:7])
	}
	return s
}

// sentences splits a text, which is one paragraph.
func sentences(text string) (out []string) {
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	start := 0
	runes := []rune(text)
	for i, r := range runes {
		switch r {
		case '。', '！', '？', '；', '\n':
			add(string(runes[start : i+1]))
			start = i + 1
		case '.', '!', '?':
			if i+1 < len(runes) && !unicode.IsSpace(runes[i+1]) && !mark(runes[i+1]) {
				continue // 3.5, example.com
			}
			if r == '.' && abbreviated(runes[start:i]) && i+1 < len(runes) {
				continue
			}
			end := i + 1
			add(string(runes[start:end]))
			start = end
		}
	}
	add(string(runes[start:]))
	return out
}

// abbreviated reports whether a sentence can't end with its last word.
func abbreviated(r []rune) bool {
	at := len(r)
	for at > 0 && unicode.IsLetter(r[at-1]) {
		at--
	}
	word := strings.ToLower(string(r[at:]))
	return len(word) == 1 || slices.Contains([]string{"no", "vol", "dr", "mr", "mrs", "st", "ca", "approx", "vs", "fig", "bzw",
		"z", "b"}, word) && word != "" && (word != "no" || len(r) > 40 && at > 0)
}
