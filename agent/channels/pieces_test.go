package channels_test

import (
	"strings"
	"testing"

	"fawn/agent/channels"
)

func TestLongAnswersComeInPieces(t *testing.T) {
	p := newPlatform(t)
	w := start(t, setup{bot: newBot(p.url)})
	words := strings.TrimSpace(strings.Repeat("word ", 120))
	p.say("ada", words)
	until(t, func() string {
		if got := strings.Join(p.chat("ada"), " "); strings.Join(strings.Fields(got), " ") != "re: "+words {
			return "shown: " + got
		}
		return ""
	})
	w.settled(t)
	for _, m := range p.chat("ada") {
		if len(m) > 200 {
			t.Errorf("a message of %d characters", len(m))
		}
	}
}

func TestVeryLongAnswersAreAFileBesides(t *testing.T) {
	p := newPlatform(t)
	b := newBot(p.url)
	b.limits.MaxFile = 1 << 20
	w := start(t, setup{bot: b})
	words := strings.TrimSpace(strings.Repeat("word ", 600))
	p.say("ada", words)
	until(t, func() string {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.files) != 1 || p.files[0] != "answer.md=re: "+words {
			return "no file"
		}
		return ""
	})
	w.settled(t)
	got := p.chat("ada")
	if len(got) != 3 || got[2] != "The whole answer is in the file." || !strings.HasPrefix(got[0], "re: word") {
		t.Errorf("the chat shows %d messages: %q", len(got), got)
	}
	if n := p.orphans("ada"); n != 0 {
		t.Errorf("%d messages were emptied", n)
	}
}

func TestAMessageThatWaitsForOthersSaysSo(t *testing.T) {
	p := newPlatform(t)
	w := start(t, setup{bot: newBot(p.url), settings: func(s *channels.Settings) { s.MaxRuns = 1 }})
	p.say("ada", "hang on")
	p.await(t, "ada", "re: hang on")
	p.say("bob", "hello")
	p.await(t, "bob", "Waiting for other conversations to end…")
	p.say("ada", "/stop")
	p.await(t, "bob", "re: hello")
	w.settled(t)
	if n := p.orphans("bob"); n != 0 {
		t.Errorf("%d placeholders are left", n)
	}
}
