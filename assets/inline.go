package assets

import (
	"encoding/base64"
	"regexp"
	"strings"
)

// fontURL matches a font's URL in a style sheet.
var fontURL = regexp.MustCompile(`url\("?(fonts/[\w-]+\.woff2)"?\)`)

// Inline returns a style sheet with its fonts inside, for a document that may load nothing. Fonts that use refuses keep
// their addresses, which lead nowhere then.
func Inline(name string, use func(font string) bool) (string, error) {
	css, err := read(name)
	if err != nil {
		return "", err
	}
	return fontURL.ReplaceAllStringFunc(string(css), func(found string) string {
		font := fontURL.FindStringSubmatch(found)[1]
		body, failed := read(font)
		if !use(font) || failed != nil {
			return found
		}
		return "url(data:font/woff2;base64," + base64.StdEncoding.EncodeToString(body) + ")"
	}), nil
}

// Symbols returns the icon sprite, starting at its root element.
func Symbols() (string, error) {
	b, err := read(Sprite)
	if err != nil {
		return "", err
	}
	text := string(b)
	return text[max(0, strings.Index(text, "<svg")):], nil
}
