package chat_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"fawn/agent/channels/chat"
	"fawn/agent/channels/chat/chattest"
)

func telegram(t *testing.T) (*chattest.Telegram, chattest.Setup) {
	fake := chattest.NewTelegram(t)
	return fake, chattest.Setup{Fake: fake, Person: "4711", Group: "-100200300", Bold: "a bold word",
		Plain: "a bold word",
		New: func(o chat.Options) (chat.Channel, error) {
			return chat.NewTelegram(chat.TelegramConfig{Token: chattest.TelegramToken, Options: o,
				Commands: []chat.Command{{Name: "new", About: "start a new chat"}}})
		}}
}

func TestTelegram(t *testing.T) {
	chattest.Suite(t, func(t *testing.T) chattest.Setup {
		_, s := telegram(t)
		return s
	})
}

func TestTelegramTopics(t *testing.T) {
	fake, s := telegram(t)
	in := chattest.NewInbox()
	ch := run(t, s, in)
	fake.Say(chattest.Said{Chat: s.Group, Group: true, From: s.Person, Text: "alone"})
	alone := in.WaitText(t, "alone")
	if alone.Mentioned || alone.Topic != "m"+alone.Message {
		t.Errorf("%+v", alone)
	}
	fake.Say(chattest.Said{Chat: s.Group, Group: true, From: s.Person, Text: "reply", ReplyTo: alone.Message})
	u := in.WaitText(t, "reply")
	if u.Mentioned || u.Topic != alone.Topic || len(u.Under) != 1 || u.Under[0] != alone.Message {
		t.Errorf("%+v", u)
	}
	fake.Say(chattest.Said{Chat: s.Group, Group: true, Topic: "77", From: s.Person, Text: "forum"})
	forum := in.WaitText(t, "forum")
	ref, err := ch.Send(t.Context(), forum.Address, chat.Post{Text: "hi", ReplyTo: forum.Message})
	if err != nil {
		t.Fatal(err)
	}
	if got := fake.State().Shown(s.Group); got[0].Topic != "77" || got[0].ReplyTo != forum.Message {
		t.Errorf("%+v", got)
	}
	fake.Say(chattest.Said{Chat: s.Group, Group: true, From: s.Person, Text: "to the bot", ReplyTo: ref.Message})
	if u := in.WaitText(t, "to the bot"); !u.Mentioned {
		t.Errorf("an answer to the bot is %+v", u)
	}
	if got := fake.Commands(); !strings.Contains(got, `"command":"new"`) {
		t.Errorf("the commands are %s", got)
	}
}

func TestTelegramWaitsForTheOtherProgram(t *testing.T) {
	fake, s := telegram(t)
	fake.State().Fail(chattest.Fault{Op: "poll", Kind: chattest.Elsewhere})
	in := chattest.NewInbox()
	ch, err := s.New(chat.Options{BaseURL: fake.State().URL})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	stop, cancel := context.WithCancel(t.Context())
	go func() { done <- ch.Run(stop, in) }()
	status := in.WaitStatus(t, func(err error) bool { return err != nil })
	cancel()
	if err := <-done; !errors.Is(err, stop.Err()) {
		t.Error(err)
	}
	f, ok := errors.AsType[*chat.Fatal](status)
	if !ok || f.Retry != time.Minute || !strings.Contains(f.Reason, "Another program") {
		t.Errorf("the status is %#v", status)
	}
}

func TestTelegramTokensAreJudged(t *testing.T) {
	for _, token := range []string{"", "a/b", "a b", "a?b", "x\n"} {
		_, err := chat.NewTelegram(chat.TelegramConfig{Token: token})
		if err == nil || token != "" && strings.Contains(err.Error(), token) {
			t.Errorf("%q: %v", token, err)
		}
	}
	_, err := chat.NewTelegram(chat.TelegramConfig{Token: "1:a", Options: chat.Options{BaseURL: "http://example.org"}})
	if err == nil {
		t.Error("the token would go over the network in the clear")
	}
}
