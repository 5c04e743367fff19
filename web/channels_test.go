package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fawn/agent/channels/chat/chattest"
)

// shows waits until a chat of a bot ends with a text, and fails when the token shows anywhere.
func shows(t *testing.T, s *server, f *chattest.Telegram, where, want string) {
	t.Helper()
	var got string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		list := f.State().Shown(where)
		if got = ""; len(list) > 0 {
			got = list[len(list)-1].Text
		}
		if strings.Contains(got, want) {
			if strings.Contains(s.log.String(), chattest.TelegramToken) {
				t.Error("the token is in the log")
			}
			return
		}
	}
	t.Fatalf("chat %s shows %q, want %q", where, got, want)
}

func TestTelegramIsAnsweredByTheWholeServer(t *testing.T) {
	f := chattest.NewTelegram(t)
	s := start(t, scripted(t)+fmt.Sprintf("channels: {telegram: {enabled: true, bot_token: %q, base_url: %q, allowed_users: [7]}}\n",
		chattest.TelegramToken, f.State().URL))
	f.Say(chattest.Said{From: "7", Name: "Ada", Text: "say hello to the bridge"})
	shows(t, s, f, "7", "Scripted reply.")
	f.Say(chattest.Said{From: "8", Name: "Eve", Text: "let me in"})
	shows(t, s, f, "8", "connected account")
	threads := s.send(t, "POST", "/api/threads/search", `{"metadata": {}}`)
	if !strings.Contains(threads.body, `"channel_source":{"chat_id":"7"`) {
		t.Errorf("no thread of the chat: %s", threads.body)
	}
	f.Say(chattest.Said{From: "7", Name: "Ada", Text: "/new"})
	shows(t, s, f, "7", "new conversation")
}

// TestAChannelFollowsTheConfiguration: one that is switched off is left at once, and comes back.
func TestAChannelFollowsTheConfiguration(t *testing.T) {
	f := chattest.NewTelegram(t)
	base := scripted(t)
	on := base + fmt.Sprintf("channels: {telegram: {enabled: true, bot_token: %q, base_url: %q, allowed_users: [7]}}\n",
		chattest.TelegramToken, f.State().URL)
	s := start(t, base)
	s.configure(t, on)
	f.Say(chattest.Said{From: "7", Name: "Ada", Text: "one"})
	shows(t, s, f, "7", "Scripted reply.")
}
