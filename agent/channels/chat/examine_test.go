package chat_test

import (
	"fmt"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/channels/chat"
	"fawn/agent/channels/chat/chattest"
)

// TestAnExaminationFindsMissingPermissions, and nothing where all are there.
func TestAnExaminationFindsMissingPermissions(t *testing.T) {
	for _, c := range []struct {
		name  string
		setup func(t *testing.T) chattest.Setup
		want  []chat.Lack
	}{
		{"telegram", func(t *testing.T) chattest.Setup { _, s := telegram(t); return s }, nil},
		{"telegram with a webhook and no groups", func(t *testing.T) chattest.Setup {
			fake, s := telegram(t)
			fake.SetWebhook("https://example.org/hook")
			fake.KeepFromGroups()
			return s
		}, []chat.Lack{{Need: "/setjoingroups", Loses: chat.LosesGroups}, {Need: "deleteWebhook", Loses: chat.LosesAll}}},
		{"slack", func(t *testing.T) chattest.Setup { _, s := slack(t); return s }, nil},
		{"slack with few scopes", func(t *testing.T) chattest.Setup {
			fake, s := slack(t)
			fake.Grant("chat:write", "im:history", "channels:history", "groups:history", "reactions:read", "reactions:write")
			return s
		}, []chat.Lack{{Need: "files:read", Loses: chat.LosesFilesIn}, {Need: "files:write", Loses: chat.LosesFilesOut}}},
		{"discord", func(t *testing.T) chattest.Setup { _, s := discord(t, false); return s }, nil},
		{"discord without its intent", func(t *testing.T) chattest.Setup {
			fake, s := discord(t, false)
			fake.Blind()
			return s
		}, []chat.Lack{{Need: "Message Content Intent", Loses: chat.LosesAll}}},
		{"feishu", func(t *testing.T) chattest.Setup { _, s := feishu(t); return s }, nil},
		{"feishu with few scopes", func(t *testing.T) chattest.Setup {
			fake, s := feishu(t)
			fake.Grant("im:message")
			return s
		}, []chat.Lack{{Need: "im:resource", Loses: chat.LosesFilesOut}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.setup(t)
			ch := must.Get(s.New(chat.Options{BaseURL: s.Fake.State().URL}))(t)
			got, err := ch.(chat.Examiner).Examine(t.Context())
			if err != nil || fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%v, %v; want %v", got, err, c.want)
			}
			s.Fake.State().Fail(chattest.Fault{Op: "check", Kind: chattest.Unknown}, chattest.Fault{Op: "app", Kind: chattest.Unknown},
				chattest.Fault{Op: "scopes", Kind: chattest.Unknown})
			if _, err := ch.(chat.Examiner).Examine(t.Context()); err == nil {
				t.Error("a wrong token was examined")
			}
		})
	}
}
