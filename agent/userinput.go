package agent

import (
	"regexp"
	"strings"
	"sync"
)

// Lines that enclose a person's text in a request.
const (
	beginInput = "--- BEGIN USER INPUT ---"
	endInput   = "--- END USER INPUT ---"
)

// inputMarks matches the lines, and lookalikes that a model could mistake for them.
var inputMarks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)-{2,}[ \t]*(BEGIN|END)[ \t]+USER[ \t]+INPUT[ \t]*-{2,}`)
})

// MarkInput surrounds a user's text with marker lines, in requests only. Existing marker lines in the text lose their
// dashes; blank text stays as it is, and nothing is marked twice.
func MarkInput(text string) string {
	text = UnmarkInput(text)
	if strings.TrimSpace(text) == "" {
		return text
	}
	if strings.Contains(text, "--") {
		text = inputMarks().ReplaceAllStringFunc(text, func(s string) string {
			return "[" + strings.ToUpper(strings.Trim(s, "- \t")) + "]"
		})
	}
	return beginInput + "\n" + text + "\n" + endInput
}

// UnmarkInput returns the user's text of a text by [MarkInput]; other texts are unchanged.
func UnmarkInput(text string) string {
	if inside, ok := strings.CutPrefix(text, beginInput+"\n"); ok {
		if inside, ok = strings.CutSuffix(inside, "\n"+endInput); ok {
			return inside
		}
	}
	return text
}
