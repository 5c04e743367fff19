package chat_test

import (
	"errors"
	"fmt"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/channels/chat"
	"fawn/agent/channels/chat/chattest"
)

func discord(t *testing.T, threads bool) (*chattest.Discord, chattest.Setup) {
	fake := chattest.NewDiscord(t)
	return fake, chattest.Setup{Fake: fake, Person: "4711", Group: "100",
		Bold: "a **bold** word \\<!channel> @everyone", OneTopic: true,
		New: func(o chat.Options) (chat.Channel, error) {
			return chat.NewDiscord(chat.DiscordConfig{Token: chattest.DiscordToken, Threads: threads, Options: o})
		}}
}

func TestDiscord(t *testing.T) {
	chattest.Suite(t, func(t *testing.T) chattest.Setup {
		_, s := discord(t, false)
		return s
	})
}

func TestDiscordReadsWhatALostSessionMissed(t *testing.T) {
	fake, s := discord(t, false)
	in := chattest.NewInbox()
	run(t, s, in)
	fake.Say(chattest.Said{From: s.Person, Text: "before"})
	in.WaitText(t, "before")
	fake.State().WaitConfirmed("before")
	for i := range 120 {
		fake.Say(chattest.Said{From: s.Person, Text: fmt.Sprint("m", i)})
		if i == 3 {
			in.WaitText(t, "m3")
		}
	}
	fake.Forget()
	fake.Cut()
	fake.Say(chattest.Said{From: s.Person, Text: "after"})
	in.WaitText(t, "after")
	for i := range 120 {
		in.WaitText(t, fmt.Sprint("m", i))
	}
	if n := len(in.Updates()); n != 122 {
		t.Errorf("122 messages became %d updates", n)
	}
}

func TestDiscordResumes(t *testing.T) {
	fake, s := discord(t, false)
	in := chattest.NewInbox()
	run(t, s, in)
	fake.Say(chattest.Said{From: s.Person, Text: "one"})
	in.WaitText(t, "one")
	first, _ := fake.Sessions() // a machine that was busy before READY came may have needed two
	fake.Tell(`{"op":7,"d":null}`)
	fake.Say(chattest.Said{From: s.Person, Text: "two"})
	in.WaitText(t, "two")
	fake.Close(4000)
	fake.Cut()
	fake.Say(chattest.Said{From: s.Person, Text: "three"})
	in.WaitText(t, "three")
	if began, resumed := fake.Sessions(); began != first || resumed < 2 {
		t.Errorf("%d sessions began, %d before, %d were resumed", began, first, resumed)
	}
}

func TestDiscordNamesTheSwitch(t *testing.T) {
	for _, code := range []int{4004, 4014} {
		fake, s := discord(t, false)
		fake.Close(code)
		ch, err := s.New(chat.Options{BaseURL: fake.State().URL})
		if err != nil {
			t.Fatal(err)
		}
		err = ch.Run(t.Context(), chattest.NewInbox())
		if f, ok := errors.AsType[*chat.Fatal](err); !ok || f.Remedy == "" || f.Retry != 0 {
			t.Errorf("%d: %#v", code, err)
		}
	}
}

func TestDiscordThreads(t *testing.T) {
	fake, s := discord(t, true)
	in := chattest.NewInbox()
	ch := run(t, s, in)
	fake.Say(chattest.Said{Chat: s.Group, Group: true, From: s.Person, Name: "Ada", Text: "question", Mention: true})
	q := in.WaitText(t, "question")
	if q.Topic != q.Message || q.Chat != s.Group {
		t.Fatalf("%+v", q)
	}
	must.Report(t, ch.Typing(t.Context(), q.Address))
	ref := must.Get(ch.Send(t.Context(), q.Address, chat.Post{Text: "answer", ReplyTo: q.Message, Key: "k"}))(t)
	must.Report(t, ch.Edit(t.Context(), ref, chat.Post{Text: "better"}))
	if got := fake.State().Shown(q.Topic); len(got) != 1 || got[0].Text != "better" || got[0].ReplyTo != "" {
		t.Errorf("the thread is %+v", got)
	}
	fake.Say(chattest.Said{Chat: s.Group, Group: true, Topic: q.Topic, From: s.Person, Name: "Ada", Text: "and then"})
	if u := in.WaitText(t, "and then"); u.Address != q.Address {
		t.Errorf("in the thread it is %+v, before %+v", u.Address, q.Address)
	}
}
