package channels_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/channels"
	"fawn/agent/channels/chat/chattest"
)

// TestAReplyToAResultGoesOnInItsThread on each app that tells what is replied to, whether it answers the text or a
// file, and until then the chat's conversation stays what it was.
func TestAReplyToAResultGoesOnInItsThread(t *testing.T) {
	for _, name := range []string{"telegram", "slack", "discord", "feishu"} {
		for _, part := range []string{"text", "file"} {
			t.Run(name+" "+part, func(t *testing.T) { replied(t, name, part == "file") })
		}
	}
}

func replied(t *testing.T, name string, toFile bool) {
	a := apps(t, name)
	bot := must.Get(a.keys.open(name, a.fake.State().URL))(t)
	w := start(t, setup{provider: name, bot: bot, settings: func(s *channels.Settings) { s.Bots[0].Allowed = nil }})
	until(t, func() string {
		if s, _ := w.hub.Status(name); !s.Running {
			return "it is not connected: " + s.Error
		}
		return ""
	})
	where := a.fake.Chat("4711")
	say := func(text, replyTo string) {
		a.fake.Say(chattest.Said{From: "4711", Name: "Ada", Text: text, ReplyTo: replyTo})
	}
	shown := func(text string) (found chattest.Shown) {
		t.Helper()
		until(t, func() string {
			all := a.fake.State().Shown(where)
			i := slices.IndexFunc(all, func(m chattest.Shown) bool { return strings.Contains(m.Text, text) })
			if i < 0 {
				return fmt.Sprintf("%q is not among %+v", text, all)
			}
			found = all[i]
			return ""
		})
		return found
	}
	code, _ := must.Get2(w.hub.Code(t.Context(), pairedOwner, name))(t)
	say("/connect "+code, "")
	shown("Your account is connected")
	say("hello", "")
	shown("re: hello")
	w.settled(t)
	r := w.trigger(t, w.task(t, "Report", "file of today", channels.Destination{Provider: name, Chat: where}.String()))
	message := shown("re: file of today").ID
	w.settled(t)
	say("still here", "")
	shown("re: still here")
	w.settled(t)
	if toFile {
		all := a.fake.State().Shown(where)
		i := slices.IndexFunc(all, func(m chattest.Shown) bool { return m.File != nil })
		if i < 0 {
			t.Fatalf("there is no file: %+v", all)
		}
		message = all[i].ID
	}
	say("what of it", message)
	shown("re: what of it")
	w.settled(t)
	want := []string{"human:file of today", "tool:done", "ai:re: file of today", "human:what of it",
		"ai:re: what of it"}
	if got := w.thread(t, r.Thread); !slices.Equal(got, want) {
		t.Errorf("the thread of the task: %q", got)
	}
}
