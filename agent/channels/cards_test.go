package channels_test

import (
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/channels/chat/chattest"
)

// TestAnAnswerIsACard that grows, unless it cannot be one: then it is one message when it is complete.
func TestAnAnswerIsACard(t *testing.T) {
	for _, c := range []struct {
		name, app string
		fault     []string
		want      func(all []chattest.Shown) bool
	}{
		{"a card", "dingtalk cards", nil, func(all []chattest.Shown) bool {
			return len(all) == 1 && strings.HasPrefix(all[0].ID, "card:") && all[0].Edits > 0
		}},
		{"no such template", "dingtalk no-cards", nil, func(all []chattest.Shown) bool {
			return len(all) == 1 && !strings.HasPrefix(all[0].ID, "card:")
		}},
		{"a card that somebody deletes", "dingtalk cards", []string{"edit", "card data"},
			func(all []chattest.Shown) bool {
				return len(all) == 2 && all[0].Text == "…" && !strings.HasPrefix(all[1].ID, "card:")
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := apps(t, c.app)
			bot := must.Get(a.keys.open(c.app, a.fake.State().URL))(t)
			w := start(t, setup{provider: "dingtalk", bot: bot})
			for _, op := range c.fault {
				a.fake.State().Fail(chattest.Fault{Op: op, Kind: chattest.MessageGone})
			}
			a.fake.Say(chattest.Said{From: "4711", Name: "p", Text: "slow hello"})
			var all []chattest.Shown
			until(t, func() string {
				all = a.fake.State().Shown(a.fake.Chat("4711"))
				for _, m := range all {
					if strings.HasPrefix(m.Text, "re: ") && strings.HasSuffix(m.Text, "hello") {
						return ""
					}
				}
				return "the answer is not there"
			})
			w.settled(t)
			if all = a.fake.State().Shown(a.fake.Chat("4711")); !c.want(all) {
				t.Errorf("the chat is %+v", all)
			}
		})
	}
}
