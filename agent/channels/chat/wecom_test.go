package chat_test

import (
	"errors"
	"strings"
	"testing"

	"fawn/agent/channels/chat"
	"fawn/agent/channels/chat/chattest"
)

func weCom(t *testing.T) (*chattest.WeCom, chattest.Setup) {
	fake := chattest.NewWeCom(t)
	return fake, chattest.Setup{Fake: fake, Person: "ZhangSan", Group: "wrkSFfCgAA", Silent: true, OneTopic: true,
		Unconfirmed: true, NoAfter: true,
		New: func(o chat.Options) (chat.Channel, error) {
			o.BaseURL = "ws" + strings.TrimPrefix(o.BaseURL, "http")
			return chat.NewWeCom(chat.WeComConfig{BotID: chattest.WeComBot, Secret: chattest.WeComSecret, Options: o})
		}}
}

func TestWeCom(t *testing.T) {
	chattest.Suite(t, func(t *testing.T) chattest.Setup {
		_, s := weCom(t)
		return s
	})
}

func TestWeComSaysThatAnotherProgramTookItsPlace(t *testing.T) {
	fake, s := weCom(t)
	in := chattest.NewInbox()
	run(t, s, in)
	fake.Say(chattest.Said{From: s.Person, Text: "one"})
	in.WaitText(t, "one")
	fake.Replace()
	err := in.WaitStatus(t, func(err error) bool { return err != nil })
	if f, ok := errors.AsType[*chat.Fatal](err); !ok || f.Retry == 0 {
		t.Errorf("the status is %#v", err)
	}
}
