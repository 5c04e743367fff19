package chat_test

import (
	"testing"

	"fawn/agent/channels/chat"
	"fawn/agent/channels/chat/chattest"
)

func dingTalk(t *testing.T) (*chattest.DingTalk, chattest.Setup) {
	fake := chattest.NewDingTalk(t)
	return fake, chattest.Setup{Fake: fake, Person: "manager4711", Group: "cidABC==", Silent: true, OneTopic: true,
		New: func(o chat.Options) (chat.Channel, error) {
			return chat.NewDingTalk(chat.DingTalkConfig{ClientID: chattest.DingTalkClient,
				ClientSecret: chattest.DingTalkSecret, Options: o})
		}}
}

func TestDingTalk(t *testing.T) {
	chattest.Suite(t, func(t *testing.T) chattest.Setup {
		_, s := dingTalk(t)
		return s
	})
}

func TestDingTalkConnectsAgainWhenAsked(t *testing.T) {
	fake, s := dingTalk(t)
	in := chattest.NewInbox()
	run(t, s, in)
	for _, text := range []string{"one", "two", "three"} {
		fake.Say(chattest.Said{From: s.Person, Name: "Ada", Text: text})
		in.WaitText(t, text)
		fake.State().WaitConfirmed(text)
		fake.Disconnect()
	}
	if n := fake.State().Calls("connect"); n < 2 {
		t.Errorf("it connected %d times", n)
	}
}
