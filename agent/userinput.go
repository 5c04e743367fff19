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

// inputMarks matches the lines, and lookalikes that a model could take for them.
var inputMarks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)-{2,}[ \t]*(BEGIN|END)[ \t]+USER[ \t]+INPUT[ \t]*-{2,}`)
})

// MarkInput surrounds a person's words with marker lines, in requests only. Existing marker lines in the words lose
// their dashes; blank words stay as they are, and nothing is marked twice.
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

// UnmarkInput returns the person's words in a text of [MarkInput]; other texts are unchanged.
func UnmarkInput(text string) string {
	if inside, ok := strings.CutPrefix(text, beginInput+"\n"); ok {
		if inside, ok = strings.CutSuffix(inside, "\n"+endInput); ok {
			return inside
		}
	}
	return text
}
