//go:build !nowechat

package chat_test

import (
	"errors"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/channels/chat"
	"fawn/agent/channels/chat/chattest"
)

func weChat(t *testing.T) (*chattest.WeChat, chattest.Setup) {
	fake := chattest.NewWeChat(t)
	return fake, chattest.Setup{Fake: fake, Person: "o9cq80_ada@im.wechat", NoGroups: true, NoAfter: true,
		New: func(o chat.Options) (chat.Channel, error) {
			return chat.NewWeChat(chat.WeChatConfig{Token: chattest.WeChatToken, Options: o})
		}}
}

func TestWeChat(t *testing.T) {
	chattest.Suite(t, func(t *testing.T) chattest.Setup {
		_, s := weChat(t)
		return s
	})
}

// TestWeChatAnswersWithTheTokenOfTheLastMessage, which outlives a restart; nobody else can be written to.
func TestWeChatAnswersWithTheTokenOfTheLastMessage(t *testing.T) {
	fake, s := weChat(t)
	in := chattest.NewInbox()
	run(t, s, in)
	for _, text := range []string{"one", "two"} {
		fake.Say(chattest.Said{From: s.Person, Text: text})
		in.WaitText(t, text)
		fake.State().WaitConfirmed(text)
	}
	next := run(t, s, in)
	must.Try(next.Send(t.Context(), chat.Address{Chat: s.Person}, chat.Post{Text: "hello"}))(t)
	_, err := next.Send(t.Context(), chat.Address{Chat: "stranger@im.wechat"}, chat.Post{Text: "hello"})
	if g, ok := errors.AsType[*chat.Gone](err); !ok || g.Message {
		t.Errorf("a stranger: %#v", err)
	}
}

func TestWeChatTokensAreJudged(t *testing.T) {
	for _, token := range []string{"", "a b", "a\n"} {
		_, err := chat.NewWeChat(chat.WeChatConfig{Token: token})
		if err == nil || token != "" && strings.Contains(err.Error(), token) {
			t.Errorf("%q: %v", token, err)
		}
	}
	if _, err := chat.NewWeChat(chat.WeChatConfig{Token: "t", CDN: "https://files.example.org/c2c"}); err == nil {
		t.Error("files may be anywhere")
	}
}

func weChatSetups() map[string]func(*testing.T) chattest.Setup {
	return map[string]func(*testing.T) chattest.Setup{
		"wechat": func(t *testing.T) chattest.Setup { _, s := weChat(t); return s },
	}
}

func weChatEvents() []events {
	return []events{
		{"wechat", func(t *testing.T) chattest.Setup { _, s := weChat(t); return s }, []sample{
			{"unknown fields", `{"of_tomorrow":1,"session_id":"s"}`, heard{Text: "plain"}},
			{"a voice message, which WeChat writes down", `{"item_list":[{"type":3,"voice_item":{"text":"hello"}}]}`, heard{Text: "hello"}},
			{"a voice message without words", `{"item_list":[{"type":3,"voice_item":{}}]}`, heard{Unread: chat.Voice}},
		}},
	}
}
