package chat_test

import (
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/channels/chat"
	"fawn/agent/channels/chat/chattest"
)

func feishu(t *testing.T) (*chattest.Feishu, chattest.Setup) {
	fake := chattest.NewFeishu(t)
	return fake, chattest.Setup{Fake: fake, Person: "ou_4711", Group: "oc_100",
		Bold: "a **bold** word &lt;!channel&gt; @everyone", Plain: "a **bold** word", Silent: true,
		New: func(o chat.Options) (chat.Channel, error) {
			return chat.NewFeishu(chat.FeishuConfig{AppID: chattest.FeishuApp, AppSecret: chattest.FeishuSecret,
				Options: o})
		}}
}

func TestFeishu(t *testing.T) {
	chattest.Suite(t, func(t *testing.T) chattest.Setup {
		_, s := feishu(t)
		return s
	})
}

func TestFeishuTopicsAndParts(t *testing.T) {
	fake, s := feishu(t)
	in := chattest.NewInbox()
	ch := run(t, s, in)
	text := "in parts " + strings.Repeat("x", 3000)
	fake.Say(chattest.Said{From: s.Person, Text: text})
	in.WaitText(t, text)
	fake.State().WaitConfirmed(text)
	fake.Say(chattest.Said{Chat: s.Group, Group: true, From: s.Person, Text: "root", Mention: true})
	root := in.WaitText(t, "root")
	if root.Topic != root.Message || !root.Mentioned || root.Sender.Workspace != "t1" {
		t.Errorf("%+v", root)
	}
	ref, err := ch.Send(t.Context(), root.Address, chat.Post{Text: "answer", ReplyTo: root.Message, Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	fake.Say(chattest.Said{Chat: s.Group, Group: true, From: s.Person, Text: "reply", ReplyTo: ref.Message})
	if u := in.WaitText(t, "reply"); len(u.Under) != 1 || u.Under[0] != ref.Message {
		t.Errorf("%+v", u)
	}
	_, err = ch.Send(t.Context(), root.Address, chat.Post{Text: "orphan", ReplyTo: "om_deleted", Key: "o"})
	if err != nil {
		t.Errorf("without the message it answers: %v", err)
	}
	if got := fake.State().Shown(s.Group); len(got) != 2 || got[0].ReplyTo != root.Message || got[1].ReplyTo != "" {
		t.Errorf("%+v", got)
	}
}

func TestFeishuTakesAnotherTokenWhenOneIsRefused(t *testing.T) {
	fake, s := feishu(t)
	in := chattest.NewInbox()
	ch := run(t, s, in)
	in.WaitStatus(t, func(err error) bool { return err == nil }) // or it is the one that finds the token wrong
	to := chat.Address{Chat: fake.Chat(s.Person)}
	must.Get(ch.Send(t.Context(), to, chat.Post{Text: "one"}))(t)
	fake.Expire()
	if _, err := ch.Send(t.Context(), to, chat.Post{Text: "two"}); err == nil {
		t.Error("a wrong token was right")
	}
	must.Try(ch.Send(t.Context(), to, chat.Post{Text: "two"}))(t)
}

func TestFeishuDomains(t *testing.T) {
	for domain, ok := range map[string]bool{"": true, "feishu": true, "lark": true, "https://open.example.org": true,
		"http://open.example.org": false, "other": false} {
		_, err := chat.NewFeishu(chat.FeishuConfig{AppID: "cli_1", AppSecret: "s", Domain: domain})
		if (err == nil) != ok {
			t.Errorf("%q: %v", domain, err)
		}
	}
}
