package chat_test

import (
	"errors"
	"testing"

	"fawn/agent/agenttest/must"
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

func dingTalkCards(t *testing.T, template string) (*chattest.DingTalk, chattest.Setup) {
	fake, s := dingTalk(t)
	s.Bold, s.Marked = "a **bold** word", true
	s.New = func(o chat.Options) (chat.Channel, error) {
		return chat.NewDingTalk(chat.DingTalkConfig{ClientID: chattest.DingTalkClient,
			ClientSecret: chattest.DingTalkSecret, CardTemplate: template, Options: o})
	}
	return fake, s
}

func TestDingTalkCards(t *testing.T) {
	chattest.Suite(t, func(t *testing.T) chattest.Setup {
		_, s := dingTalkCards(t, chattest.DingTalkTemplate)
		return s
	})
}

// TestDingTalkCardsEndOnce: the last edit may be repeated, also after the card has ended, and ends it.
func TestDingTalkCardsEndOnce(t *testing.T) {
	fake, s := dingTalkCards(t, chattest.DingTalkTemplate)
	ch := must.Get(s.New(chat.Options{BaseURL: fake.State().URL}))(t)
	for _, to := range []chat.Address{{Chat: fake.Chat(s.Person)}, {Chat: s.Group, Group: true}} {
		ref := must.Get(ch.Send(t.Context(), to, chat.Post{Text: "…", Grows: true}))(t)
		for _, p := range []chat.Post{{Text: "one"}, {Text: "one two"}, {Text: "one two", Final: true},
			{Text: "one two", Final: true}} {
			if err := ch.Edit(t.Context(), ref, p); err != nil {
				t.Fatalf("%+v: %v", p, err)
			}
		}
		if got := fake.State().Shown(to.Chat); len(got) != 1 || got[0].Text != "one two" || fake.Open() != 0 {
			t.Errorf("%+v, %d open", got, fake.Open())
		}
	}
}

// TestDingTalkCardsThatAreRefusedSaySo, so that the answer is sent as a message.
func TestDingTalkCardsThatAreRefusedSaySo(t *testing.T) {
	fake, s := dingTalkCards(t, "no-such.schema")
	ch := must.Get(s.New(chat.Options{BaseURL: fake.State().URL}))(t)
	to := chat.Address{Chat: fake.Chat(s.Person)}
	send := func() error {
		_, err := ch.Send(t.Context(), to, chat.Post{Text: "…", Grows: true})
		return err
	}
	refused := func(err error) {
		t.Helper()
		if stays, ok := errors.AsType[*chat.Stays](err); !ok || stays.Reason == "" || !chat.Unsent(err) {
			t.Errorf("the error is %#v", err)
		}
	}
	refused(send())
	fake.State().Fail(chattest.Fault{Op: "card", Kind: chattest.Forbidden})
	refused(send())
	fake.State().Fail(chattest.Fault{Op: "card", Kind: chattest.Broken})
	if _, ok := errors.AsType[*chat.Stays](send()); ok {
		t.Error("a server that is busy is taken for one that has no cards")
	}
	must.Try(ch.Send(t.Context(), to, chat.Post{Text: "hello"}))(t)
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
