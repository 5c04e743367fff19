package channels_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"fawn/agent/channels"
	"fawn/agent/channels/chat"
)

// counts is an Observer that counts by everything it is told.
type counts struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counts) add(words ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[fmt.Sprint(words...)]++
}

func (c *counts) Update(p, result string)  { c.add("update ", p, " ", result) }
func (c *counts) Refusal(p, reason string) { c.add("refusal ", p, " ", reason) }
func (c *counts) Call(p, call, how string) { c.add("call ", p, " ", call, " ", how) }
func (c *counts) Retry(p string)           { c.add("retry ", p) }
func (c *counts) Reconnect(p string)       { c.add("reconnect ", p) }
func (c *counts) Answer(p, how string, lag time.Duration) {
	c.add("answer ", p, " ", how, " late: ", lag > 0)
}

func TestWhatABotDoesIsCounted(t *testing.T) {
	p := newPlatform(t)
	failures := map[string]int{"send": 1}
	p.misbehave(func(op string) string {
		if failures[op]--; failures[op] >= 0 {
			return "rate"
		}
		return ""
	})
	c := &counts{n: map[string]int{}}
	w := start(t, setup{bot: newBot(p.url), observer: c, settings: func(s *channels.Settings) {
		s.Bots[0].Allowed = []string{"ada"}
	}})
	for range 3 {
		p.write(chat.Update{ID: "same", Address: chat.Address{Chat: "ada"}, Sender: chat.Person{ID: "ada"}, Text: "hi"})
	}
	p.await(t, "ada", "re: hi")
	p.say("eve", "let me in") // whose refusal is a message, too
	w.settled(t)
	until(t, func() string {
		c.mu.Lock()
		defer c.mu.Unlock()
		for what, want := range map[string]int{"update telegram new": 2, "update telegram duplicate": 2,
			"refusal telegram stranger": 1, "call telegram send rate": 1, "call telegram send ok": 1,
			"retry telegram": 1, "answer telegram delivered late: true": 1} {
			if c.n[what] != want {
				return fmt.Sprintf("%q is counted %d times, want %d: %v", what, c.n[what], want, c.n)
			}
		}
		return ""
	})
	until(t, func() string { // a delivery is counted before it is over
		if l := w.hub.Loads()["telegram"]; !l.Connected || l.Waiting != 0 || l.Open != 0 {
			return fmt.Sprintf("the bot has %+v", l)
		}
		return ""
	})
}
