package channels_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/channels"
	"fawn/agent/channels/chat"
)

// inGroup is a message in a group.
func (p *platform) inGroup(group, who, text string) {
	p.write(chat.Update{Address: chat.Address{Chat: group, Group: true}, Sender: chat.Person{ID: who, Name: who},
		Text: text, Mentioned: true})
}

func (p *platform) awaitCount(t *testing.T, id string, n int) []string {
	t.Helper()
	until(t, func() string {
		if got := p.chat(id); len(got) != n {
			return fmt.Sprintf("chat %s shows %d messages, want %d: %q", id, len(got), n, got)
		}
		return ""
	})
	return p.chat(id)
}

// awaitLast waits for as many messages, the last of which is a whole answer: until then it may show a beginning.
func (p *platform) awaitLast(t *testing.T, id string, n int, want string) {
	t.Helper()
	until(t, func() string {
		if got := p.chat(id); len(got) != n || got[n-1] != want {
			return fmt.Sprintf("chat %s shows %q, want %d messages with %q last", id, got, n, want)
		}
		return ""
	})
}

// guestRuns are the runs of a thread that are for guests.
func (w *world) guestRuns(t *testing.T, chatID string) (guest, all int) {
	t.Helper()
	c := must.Get(w.db.ChannelChat(t.Context(), "telegram", chatID, ""))(t)
	list := must.Get(w.db.Runs(t.Context(), c.Thread, "", 100, 0))(t)
	for _, r := range list {
		all++
		raw := must.Get(json.Marshal(r))(t)
		if strings.Contains(string(raw), "channel_guest") {
			guest++
		}
	}
	return guest, all
}

func TestMembersOfAGroupAreGuestsWhereItSaysSo(t *testing.T) {
	p := newPlatform(t)
	w := start(t, setup{bot: newBot(p.url), settings: func(s *channels.Settings) {
		s.Bots[0].Allowed, s.Bots[0].Guests = []string{"ada"}, true
	}})
	p.inGroup("g", "eve", "before anybody allowed it")
	p.inGroup("g", "ada", "/allow")
	p.awaitCount(t, "g", 1)
	p.inGroup("g", "eve", "hello")
	p.awaitLast(t, "g", 2, "re: [eve] hello")
	p.inGroup("g", "eve", "/memory")
	if got := p.awaitCount(t, "g", 3); !strings.Contains(got[2], "connected account") {
		t.Errorf("shown: %q", got)
	}
	p.inGroup("g", "ada", "and I")
	p.awaitCount(t, "g", 4)
	w.settled(t)
	if guest, all := w.guestRuns(t, "g"); guest != 1 || all != 2 {
		t.Errorf("%d of %d runs are for guests", guest, all)
	}
	p.say("eve", "in private")
	p.await(t, "eve", "I only answer people with a connected account. Open Fawn, go to Settings → Channels, and connect yours.")
}

// TestAGroupMaySayItself who is answered in it, whatever the channel says.
func TestAGroupMaySayItself(t *testing.T) {
	p := newPlatform(t)
	w := start(t, setup{bot: newBot(p.url), settings: func(s *channels.Settings) {
		s.Bots[0].Allowed, s.Bots[0].Guests = []string{"ada"}, true
	}})
	p.inGroup("g", "ada", "/allow")
	p.awaitCount(t, "g", 1)
	c := must.Get(w.db.ChannelChat(t.Context(), "telegram", "g", ""))(t)
	c.Settings = []byte(`{"members": "` + channels.MembersPaired + `"}`)
	must.Do(t, w.db.PutChannelChat(t.Context(), c))
	p.inGroup("g", "eve", "hello")
	p.inGroup("g", "ada", "hi")
	p.awaitLast(t, "g", 2, "re: [ada] hi")
	w.settled(t)
}
