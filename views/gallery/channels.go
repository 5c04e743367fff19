package gallery

import (
	"time"

	"fawn/views"
)

// channels returns chat apps in all their states.
func channels() views.Channels {
	token := []views.ChannelField{{Name: "bot_token", Label: "Bot token", Secret: true, Saved: true},
		{Name: "bot_username", Label: "Bot username", Optional: true}}
	return views.Channels{MayChange: true, Apps: []views.ChannelApp{
		{Name: "telegram", Label: "Telegram", State: views.ChannelConnected, MayChange: true, Open: true,
			Bot: "@FawnBot", Fields: token, Since: now().Add(-3 * time.Hour), LastIn: now().Add(-time.Minute),
			LastOut: now(), Reconnects: 2,
			People: []views.ChannelPerson{{ID: "p1", Name: "Ada Lovelace", Account: "7", Since: now()}},
			Groups: []views.ChannelGroup{{Chat: "-100", Name: "Analytical engine", On: true},
				{Chat: "-101", Name: "Off topic"}},
			Offer: &views.ChannelOffer{Code: "J7Q2M4X6B3N5V8C1Z9K0L2P4R6", Minutes: 10, Since: 1,
				Link: "https://t.me/FawnBot?start=J7Q2M4X6B3N5V8C1Z9K0L2P4R6"}},
		{Name: "slack", Label: "Slack", State: views.ChannelNew, MayChange: true, Open: true,
			Fields: []views.ChannelField{{Name: "bot_token", Secret: true}, {Name: "app_token", Secret: true}},
			Test: &views.ChannelTest{OK: true, Bot: "fawn", Took: "120", App: "slack", Lacks: []views.ChannelLack{
				{Need: "files:read", Loses: "filesin"}, {Need: "reactions:read", Loses: "stop"}}}},
		{Name: "discord", Label: "Discord", State: views.ChannelFailed, MayChange: true, Open: true, Public: true,
			Fields: token[:1], Error: &views.Trouble{App: "discord", Label: "Discord", Cause: "token",
				Raw: "Discord does not accept the bot token."},
			Test: &views.ChannelTest{Why: &views.Trouble{App: "discord", Label: "Discord", Cause: "token",
				Need: "bot_token", Raw: "users/@me: 401: Unauthorized"}}},
		{Name: "feishu", Label: "Feishu", State: views.ChannelOff, MayChange: true, InFile: true},
		{Name: "wechat", Label: "WeChat", State: views.ChannelNew, MayChange: true, Open: true, Fields: token[:1], Trial: true,
			Test: &views.ChannelTest{OK: true, Bot: "fawn", Took: "120", App: "wechat"}},
	}, Undelivered: []views.Undelivered{{Run: "r1", App: "Telegram", Chat: "Ada Lovelace",
		Why: &views.Trouble{App: "telegram", Label: "Telegram", Cause: "chat",
			Raw: "Forbidden: bot was blocked"}, At: now()}}}
}
