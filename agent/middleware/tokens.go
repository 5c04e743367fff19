package middleware

import (
	"strings"

	"fawn/agent"
)

func tokensOf(msgs []*agent.Message) (n int) {
	for _, m := range msgs {
		n += tokens(m)
	}
	return n
}

// tokens estimates the tokens of a message; an image counts 1,000.
func tokens(m *agent.Message) int {
	n := 8 + TextTokens(m.Content.Text)
	for _, b := range m.Content.Blocks {
		if strings.Contains(string(b[:min(len(b), 64)]), "image") ||
			strings.Contains(string(b[max(len(b)-64, 0):]), "image_url") {
			n += 1000
			continue
		}
		n += TextTokens(string(b))
	}
	for _, c := range m.ToolCalls {
		n += 8 + TextTokens(c.Name) + TextTokens(string(c.Args))
	}
	for _, c := range m.Invalid {
		n += 8 + TextTokens(c.Name)
	}
	if s, ok := m.Kwargs["reasoning_content"].(string); ok {
		n += TextTokens(s)
	}
	return n
}

// TextTokens estimates the tokens of a text: one per four characters of most alphabets, or per character of Chinese,
// Japanese and Korean.
func TextTokens(s string) int {
	wide, narrow := 0, 0
	for _, r := range s {
		if r >= 0x2e80 {
			wide++
		} else {
			narrow++
		}
	}
	return wide + (narrow+3)/4
}
