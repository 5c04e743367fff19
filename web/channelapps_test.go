package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fawn/agent/channels"
	"fawn/agent/channels/chat/chattest"
	"fawn/web/webtest"
)

// chatApp is a stand-in of a chat app, with what is configured for it.
type chatApp struct {
	fake   chattest.Fake
	keys   string
	person string
}

// chatApps are stand-ins of all chat apps.
func chatApps(t *testing.T) map[string]chatApp {
	pair := func(one, a, two, b string) string { return fmt.Sprintf("%s: %q, %s: %q", one, a, two, b) }
	return map[string]chatApp{
		"telegram": {chattest.NewTelegram(t), fmt.Sprintf("bot_token: %q", chattest.TelegramToken), "7"},
		"slack": {chattest.NewSlack(t), pair("bot_token", chattest.SlackBotToken, "app_token", chattest.SlackAppToken),
			"U7"},
		"discord": {chattest.NewDiscord(t), fmt.Sprintf("bot_token: %q", chattest.DiscordToken), "7"},
		"feishu":  {chattest.NewFeishu(t), pair("app_id", chattest.FeishuApp, "app_secret", chattest.FeishuSecret), "ou_7"},
		"dingtalk": {chattest.NewDingTalk(t),
			pair("client_id", chattest.DingTalkClient, "client_secret", chattest.DingTalkSecret), "staff7"},
		"wechat": {chattest.NewWeChat(t), fmt.Sprintf("bot_token: %q", chattest.WeChatToken), "ada@im.wechat"},
		"wecom":  {chattest.NewWeCom(t), pair("bot_id", chattest.WeComBot, "bot_secret", chattest.WeComSecret), "Ada"},
	}
}

// TestEveryChatAppIsAnsweredByTheWholeServer: each is configured, started and answered like the others, and no secret
// of any is in the log.
func TestEveryChatAppIsAnsweredByTheWholeServer(t *testing.T) {
	t.Parallel()
	apps := chatApps(t)
	conf := scripted(t) + "channels:\n"
	for _, p := range channels.Providers() {
		app, ok := apps[p.Name]
		if !ok {
			t.Fatalf("there is no stand-in of %s", p.Name)
		}
		conf += fmt.Sprintf("  %s: {enabled: true, %s, base_url: %q, allowed_users: [%q]}\n", p.Name, app.keys,
			app.fake.State().URL, app.person)
	}
	s := start(t, conf)
	for name, app := range apps {
		app.fake.Say(chattest.Said{From: app.person, Name: "Ada", Text: "hello from " + name})
	}
	for name, app := range apps {
		where, last := app.fake.Chat(app.person), ""
		for end := time.Now().Add(patience); time.Now().Before(end) &&
			!strings.Contains(last, "Scripted"); time.Sleep(5 * time.Millisecond) {
			if list := app.fake.State().Shown(where); len(list) > 0 {
				last = list[len(list)-1].Text
			}
		}
		webtest.Holds(t, fmt.Sprintf("%s shows", name), last, "Scripted reply")
		for series, want := range map[string]float64{
			fmt.Sprintf(`fawn_channel_updates_total{channel=%q,result="new"}`, name):        1,
			fmt.Sprintf(`fawn_channel_answers_total{channel=%q,outcome="delivered"}`, name): 1,
			fmt.Sprintf("fawn_channel_delivery_seconds_count{channel=%q}", name):            1,
			fmt.Sprintf("fawn_channel_connected{channel=%q}", name):                         1,
		} {
			got := s.metric(t, series)
			for end := time.Now().Add(patience); got != want && time.Now().Before(end); got = s.metric(t, series) {
				time.Sleep(5 * time.Millisecond) // the answer is noted as done after it shows
			}
			webtest.Same(t, series, got, want)
		}
		webtest.Holds(t, fmt.Sprintf("the secret of %s is in the log", name), s.log.String(), "!"+app.fake.State().Secret)
	}
}
