package chat_test

import (
	"strings"
	"testing"
	"unicode/utf16"

	"fawn/agent/agenttest/must"
	"fawn/agent/channels/chat"
	"fawn/agent/channels/chat/chattest"
)

// answers are long ones, with code, tables and emoji where they are cut.
func answers() []string {
	code := "```go\n" + strings.Repeat("fmt.Println(\"a line of code\") // *_~|<@1>\n", 120) + "```\n"
	table := "| name | number |\n|---|--:|\n" + strings.Repeat("| **bold** `x` | 12345678 |\n", 90)
	return []string{
		strings.Repeat("words before ", 140) + "\n\n" + code + "\nand after",
		"~~~\n" + strings.Repeat("```\n", 400) + "~~~",
		"~~~\n```",
		table + "\n" + code + table,
		strings.Repeat("😀 **emoji 👨‍👩‍👧** _and_ [a link](https://example.org/?a=1&b=2) ", 120),
		strings.Repeat("> quoted `code` text\n> - a\n>   ```\n>   x\n>   ```\n\n", 60),
		strings.Repeat("*_~|<[`\\", 400),
	}
}

// fits sends an answer in pieces and judges them as people see them. The stand-ins judge limits and entities.
func fits(t *testing.T, text string, setups ...chattest.Setup) {
	t.Helper()
	for _, s := range setups {
		ch := must.Get(s.New(chat.Options{BaseURL: s.Fake.State().URL}))(t)
		where := s.Fake.Chat(s.Person)
		for _, p := range chat.Split(text, ch.Limits()) {
			if strings.TrimSpace(p.Text) == "" {
				continue
			}
			if _, err := ch.Send(t.Context(), chat.Address{Chat: where}, chat.Post{Text: p.Text}); err != nil {
				t.Errorf("%q: %v", p.Text, err)
			}
		}
		for _, m := range s.Fake.State().Shown(where) {
			if n := len(utf16.Encode([]rune(m.Text))); n > ch.Limits().Max {
				t.Errorf("a message of %d units: %q", n, m.Text)
			}
			fences := 0
			for line := range strings.Lines(m.Text) {
				if strings.HasPrefix(strings.TrimLeft(line, "> "), "```") {
					fences++
				}
			}
			if _, plain := s.Fake.(*chattest.Telegram); !plain && fences%2 == 1 {
				t.Errorf("a code block is cut: %q", m.Text)
			}
		}
	}
}

func fitting(t *testing.T) []chattest.Setup {
	f, d := discord(t, false)
	f.Say(chattest.Said{From: d.Person, Name: "Ada", Text: "there is a channel"})
	_, tg := telegram(t)
	_, s := slack(t)
	return []chattest.Setup{d, tg, s}
}

// TestLongAnswersFitInPieces keeps code blocks whole in each of them, on Discord within 2,000 characters.
func TestLongAnswersFitInPieces(t *testing.T) {
	for _, text := range answers() {
		fits(t, text, fitting(t)...)
	}
}

func FuzzPiecesFit(f *testing.F) {
	for _, text := range answers() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?")
		if len(text) > 12000 || strings.TrimSpace(text) == "" {
			return
		}
		fits(t, text, fitting(t)...)
	})
}
