package channels_test

import (
	"fmt"
	"strings"
	"testing"

	"fawn/agent/channels/chat"
)

func said(who string, u chat.Update) chat.Update {
	u.Address, u.Sender = chat.Address{Chat: who}, chat.Person{ID: who, Name: who}
	return u
}

// TestAWordStopsOnlyWhatRuns: while nothing runs it is a message like any other.
func TestAWordStopsOnlyWhatRuns(t *testing.T) {
	p := newPlatform(t)
	w := start(t, setup{bot: newBot(p.url)})
	p.say("ada", "stop")
	p.await(t, "ada", "re: stop")
	p.say("ada", "hang on")
	p.await(t, "ada", "re: stop", "re: hang on")
	p.say("ada", "Stop!")
	p.await(t, "ada", "re: stop", "re: hang on\n\nStopped.")
	p.say("bob", "hang up")
	p.await(t, "bob", "re: hang up")
	p.say("bob", "停止。")
	p.await(t, "bob", "re: hang up\n\nStopped.")
	w.settled(t)
}

// TestAReactionStopsTheAnswerItIsAt, and no other.
func TestAReactionStopsTheAnswerItIsAt(t *testing.T) {
	p := newPlatform(t)
	w := start(t, setup{bot: newBot(p.url)})
	message := func(text string) (id string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, m := range p.messages {
			if m.text() == text {
				id = m.ID
			}
		}
		return id
	}
	p.say("ada", "one")
	p.await(t, "ada", "re: one")
	p.write(said("ada", chat.Update{Stops: true, Message: message("re: one")})) // nothing runs
	p.say("ada", "hang on")
	p.await(t, "ada", "re: one", "re: hang on")
	p.write(said("ada", chat.Update{Stops: true, Message: message("re: one")}))
	p.write(said("ada", chat.Update{Text: "/status"}))
	until(t, func() string {
		got := p.chat("ada")
		if len(got) != 3 || !strings.Contains(got[2], "State: working") {
			return fmt.Sprintf("a sign at another answer: %q", got)
		}
		return ""
	})
	p.write(said("ada", chat.Update{Stops: true, Message: message("re: hang on")}))
	until(t, func() string {
		if got := p.chat("ada"); len(got) != 3 || got[1] != "re: hang on\n\nStopped." {
			return fmt.Sprintf("%q", got)
		}
		return ""
	})
	w.settled(t)
}

func TestUnreadableMessagesAreAnswered(t *testing.T) {
	p := newPlatform(t)
	w := start(t, setup{bot: newBot(p.url)})
	for i, c := range []struct {
		content chat.Content
		want    string
	}{{chat.Voice, "voice messages"}, {chat.Sticker, "stickers"}, {chat.Other, "this kind of message"}} {
		who := fmt.Sprint("p", i)
		for range 3 { // told once
			p.write(said(who, chat.Update{Unread: c.content}))
		}
		p.say(who, "words")
		until(t, func() string {
			got := p.chat(who)
			if len(got) != 2 || !strings.Contains(got[0], c.want) || got[1] != "re: words" {
				return fmt.Sprintf("%s is answered by %q", c.content, got)
			}
			return ""
		})
	}
	w.settled(t)
}

func TestQuotesAndSourcesStandAboveTheWords(t *testing.T) {
	p := newPlatform(t)
	w := start(t, setup{bot: newBot(p.url)})
	p.write(said("ada", chat.Update{Text: "why?", Quote: "It is\nso.", Forwarded: "Bob [x]"}))
	p.await(t, "ada", "re: > It is\n> so.\n\n[Forwarded from Bob  x]\nwhy?")
	w.settled(t)
}

// TestALongAnswerListsItsParts: what the file holds can be told without opening it.
func TestALongAnswerListsItsParts(t *testing.T) {
	p := newPlatform(t)
	b := newBot(p.url)
	b.limits.MaxFile = 1 << 20
	w := start(t, setup{bot: b})
	var text strings.Builder
	text.WriteString("\n\n")
	for i := range 30 {
		fmt.Fprintf(&text, "# Part %d *new*\n\n%s\n\n", i, strings.Repeat("word ", 25))
	}
	p.say("ada", text.String())
	until(t, func() string {
		got := p.chat("ada")
		if len(got) != 3 || !strings.HasPrefix(got[2], "The whole answer is in the file. Its parts:\n\n- Part 0 new\n- Part 1 new") ||
			!strings.HasSuffix(got[2], "\n- …") || len([]rune(got[2])) > 200 {
			return fmt.Sprintf("%q", got)
		}
		return ""
	})
	w.settled(t)
}
