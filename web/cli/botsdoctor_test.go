package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/channels/chat/chattest"
	"fawn/web"
	"fawn/web/cli"
	"fawn/web/webtest"
)

// TestDoctorTriesBots: it says who each bot is, and what a missing scope or intent prevents.
func TestDoctorTriesBots(t *testing.T) {
	telegram, slack, discord := chattest.NewTelegram(t), chattest.NewSlack(t), chattest.NewDiscord(t)
	slack.Grant("chat:write", "im:history", "channels:history", "groups:history", "files:write", "reactions:read", "reactions:write")
	discord.Blind()
	conf := filepath.Join(t.TempDir(), "config.yaml")
	text := fmt.Sprintf(`channels:
  telegram: {enabled: true, bot_token: %q, base_url: %q}
  slack: {enabled: true, bot_token: %q, app_token: %q, base_url: %q}
  discord: {enabled: true, bot_token: %q, base_url: %q}
  dingtalk: {enabled: false, client_id: a, client_secret: b}
  wecom: {enabled: true, bot_id: a, bot_secret: b}
`, chattest.TelegramToken, telegram.State().URL, chattest.SlackBotToken, chattest.SlackAppToken, slack.State().URL,
		chattest.DiscordToken, discord.State().URL)
	must.Do(t, os.WriteFile(conf, []byte(text), 0o600))
	doctor := func() (string, bool) {
		var out bytes.Buffer
		ok, err := cli.Doctor(t.Context(), web.Options{Addr: "127.0.0.1:0", Data: t.TempDir(), Config: conf, Out: &out})
		if err != nil {
			t.Error(err)
		}
		return out.String(), ok
	}
	got, ok := doctor()
	webtest.Holds(t, "it", got,
		"ok    bot           Telegram signs in as Fawn", "ok    bot           Slack signs in as fawn",
		"note  bot           Slack, files:read: The bot can't read files", "ok    bot           Discord signs in as Fawn",
		"FAIL  bot           Discord, Message Content Intent: No message reaches the bot.", "note  bot           WeCom is not tried")
	if ok || strings.Contains(got, "DingTalk") {
		t.Errorf("ok is %v, with a bot that gets no messages:\n%s", ok, got)
	}
	telegram.State().Fail(chattest.Fault{Op: "check", Kind: chattest.Unknown})
	if got, _ := doctor(); !strings.Contains(got, "FAIL  bot           Telegram doesn't work: Telegram does not know this bot token.") {
		t.Errorf("a wrong token:\n%s", got)
	}
	webtest.Holds(t, "a token is shown", got, "!"+chattest.TelegramToken, "!"+chattest.SlackBotToken, "!"+chattest.DiscordToken)
}
