package chat_test

import (
	"fmt"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/channels/chat"
	"fawn/agent/channels/chat/chattest"
	"fawn/web/e2e/gate"
)

func slack(t *testing.T) (*chattest.Slack, chattest.Setup) {
	fake := chattest.NewSlack(t)
	return fake, chattest.Setup{Fake: fake, Person: "U4711", Group: "C100", Bold: "a *bold* word &lt;!channel&gt;",
		Silent: true,
		New: func(o chat.Options) (chat.Channel, error) {
			return chat.NewSlack(chat.SlackConfig{BotToken: chattest.SlackBotToken, AppToken: chattest.SlackAppToken,
				Options: o})
		}}
}

func TestSlack(t *testing.T) {
	chattest.Suite(t, func(t *testing.T) chattest.Setup {
		_, s := slack(t)
		return s
	})
}

// TestSlackRecyclesSocketsWithoutLoss: Slack closes sockets when it likes, in the middle of a conversation.
func TestSlackRecyclesSocketsWithoutLoss(t *testing.T) {
	times := gate.Pick(10, 30, 1000)
	fake, s := slack(t)
	in := chattest.NewInbox()
	run(t, s, in)
	fake.Say(chattest.Said{From: s.Person, Text: "begin"})
	in.WaitText(t, "begin")
	for i := range times {
		fake.Say(chattest.Said{From: s.Person, Text: fmt.Sprint("a", i)})
		if i%10 == 9 {
			fake.Cut()
		} else {
			fake.Recycle(t.Context())
		}
		fake.Say(chattest.Said{From: s.Person, Text: fmt.Sprint("b", i)})
	}
	for i := range times {
		for _, text := range []string{fmt.Sprint("a", i), fmt.Sprint("b", i)} {
			in.WaitText(t, text)
			fake.State().WaitConfirmed(text)
		}
	}
	if n := len(in.Updates()); n != 2*times+1 {
		t.Errorf("%d messages became %d updates", 2*times+1, n)
	}
}

func TestSlackTopicsAndReferences(t *testing.T) {
	fake, s := slack(t)
	in := chattest.NewInbox()
	ch := run(t, s, in)
	fake.Say(chattest.Said{Chat: s.Group, Group: true, From: s.Person, Text: "root", Mention: true})
	root := in.WaitText(t, "root")
	if !root.Mentioned || root.Topic != root.Message || root.Sender.Workspace != "T1" {
		t.Errorf("%+v", root)
	}
	fake.Say(chattest.Said{Chat: s.Group, Group: true, From: s.Person, Text: "reply", Topic: root.Message})
	if u := in.WaitText(t, "reply"); u.Topic != root.Topic || len(u.Under) != 1 {
		t.Errorf("%+v", u)
	}
	must.Get(ch.Send(t.Context(), root.Address, chat.Post{Text: "here"}))(t)
	if got := fake.State().Shown(s.Group); len(got) != 1 || got[0].Topic != root.Message {
		t.Errorf("%+v", got)
	}
	if err := ch.Typing(t.Context(), root.Address); err != nil || fake.State().Calls("typing") != 1 {
		t.Errorf("%v, %d signs", err, fake.State().Calls("typing"))
	}
	if n := len(in.Updates()); n != 2 {
		t.Errorf("a mention became two of %d updates", n)
	}
}

func TestSlackTokensAreJudged(t *testing.T) {
	for _, c := range [][2]string{{"", "xapp-1"}, {"xoxb-1", ""}, {"xapp-1", "xoxb-1"}} {
		_, err := chat.NewSlack(chat.SlackConfig{BotToken: c[0], AppToken: c[1]})
		if err == nil || strings.Contains(err.Error(), "-1") {
			t.Errorf("%q: %v", c, err)
		}
	}
}
