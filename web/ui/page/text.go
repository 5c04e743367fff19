package page

import (
	"cmp"
	"net/url"
	"strings"
	"unicode/utf8"

	"fawn/agent/llm/offline"
	"fawn/views"
)

// Head returns the beginning of s, cut at a rune.
func Head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Tail returns the end of s, cut at a rune.
func Tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	from := len(s) - n
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return s[from:]
}

// OneLine returns a text with single spaces in place of line ends and the like, and without controls.
func OneLine(s string) string { return strings.Join(strings.Fields(views.Safe(s)), " ") }

// TrimSlash returns a path without the slash in front.
func TrimSlash(p string) string { return strings.TrimPrefix(p, "/") }

// WithQuery sets a parameter of a local address, or takes it out.
func WithQuery(where, name, value string) string {
	u, err := url.Parse(where)
	if err != nil {
		return where
	}
	q := u.Query()
	q.Del(name)
	if value != "" {
		q.Set(name, value)
	}
	u.RawQuery = q.Encode()
	return u.RequestURI()
}

// CutRunes returns at most n characters of s.
func CutRunes(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}

// maxHeading limits a title made of the first words, in bytes.
const maxHeading = 80

// FirstWords returns the beginning of a text on one line.
func FirstWords(text string) string {
	return strings.Join(strings.Fields(Head(text, maxHeading)), " ")
}

// MaxTitle limits a title that a person writes, in bytes.
const MaxTitle = 800

// MaxDraft limits a refused text that goes back to the page in its address, in bytes.
const MaxDraft = 4 << 10

// PlainText returns a form's text with the line ends of this side and without characters that no message can have.
func PlainText(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\x00", ""), "\uFFFD")
}

// ModelLabel returns the display name of a model by its provider's name.
func (s *Site) ModelLabel(name string) string {
	if name == offline.Name {
		return views.OfflineModel
	}
	for _, m := range s.Config.Current().File.Models {
		if name == cmp.Or(m.Model, m.Name) {
			return cmp.Or(m.DisplayName, m.Name)
		}
	}
	return name
}

// Attached returns the header of a file to save. Its name has no separator of folders.
func Attached(name string) string {
	name = strings.NewReplacer("/", "-", "\\", "-", ":", "-").Replace(name)
	return "attachment; filename*=UTF-8''" + strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
}
