package skills

import (
	"log/slog"
	"slices"
	"strings"
	"unicode"
)

// Read returns all skills by name like a Library, without changing the installed ones. With a folder to show, the
// enabled ones are copied there.
func Read(o Options) ([]Skill, error) {
	l := Beside(o)
	l.reads = o.Shown == ""
	return l.List()
}

// common are words too general to describe a skill's purpose.
const common = " a an and are as at be but by can do file files for from has have how i if in into is it its make makes me my new of on or " +
	"please that the their them then this to use uses used user want wants was what when which with you your "

// Shared returns the words that a request shares with a skill's name and description, as a hint on whether a model
// would select it. Languages without spaces are compared by pairs of characters.
func (s Skill) Shared(request string) []string {
	own := map[string]bool{}
	for _, w := range terms(strings.ReplaceAll(s.Name, "-", " ") + " " + s.Description) {
		own[w] = true
	}
	var out []string
	for _, w := range terms(request) {
		if own[w] && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// terms returns the words of a text in lower case, without their plural.
func terms(text string) (out []string) {
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		runes := []rune(word)
		if unicode.In(runes[0], unicode.Han, unicode.Hiragana, unicode.Katakana) {
			for i := range len(runes) - 1 {
				out = append(out, string(runes[i:i+2]))
			}
			continue
		}
		if strings.Contains(common, " "+word+" ") || len(runes) < 2 {
			continue
		}
		if len(runes) > 3 {
			word = strings.TrimSuffix(word, "s")
		}
		out = append(out, word)
	}
	return out
}

// Beside returns a Library for a program that installs while a server runs: it shows nothing and doesn't remove the
// server's staged installations.
func Beside(o Options) *Library {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Library{o: o, shown: map[string]string{}, reads: true}
}
