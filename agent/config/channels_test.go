package config_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestWhatChannelsCannotDoIsSaid: sections and keys of DeerFlow without an effect load, and are named.
func TestWhatChannelsCannotDoIsSaid(t *testing.T) {
	s := load(t, files{"config.yaml": `channels:
  langgraph_url: http://localhost:2024
  buzz: {enabled: true, relay: wss://example.org}
  github: {enabled: true}
  telegram: {enabled: true, bot_token: "1:a", rich_messages: true}
  dingtalk: {card_template_id: "a.schema"}
  wechat: {qrcode_login_enabled: true}
`}, nil)
	all := fmt.Sprint(s.Warnings)
	for _, key := range []string{"channels.langgraph_url", "channels.buzz", "channels.github"} {
		if strings.Count(all, key+" has no effect: ") != 1 {
			t.Errorf("%s is not named once: %s", key, all)
		}
	}
	for _, key := range []string{"rich_messages", "card_template_id", "qrcode_login_enabled"} {
		if strings.Contains(all, key+" has no effect") {
			t.Errorf("%s is said to have no effect: %s", key, all)
		}
	}
	if c, ok := s.File.Channel("telegram"); !ok || !c.Enabled {
		t.Error("the other channels are not read")
	}
}

// TestABotThatNobodyIsNamedForIsSaid: DeerFlow's empty list lets everybody in, Fawn's nobody.
func TestABotThatNobodyIsNamedForIsSaid(t *testing.T) {
	for text, want := range map[string]string{
		`telegram: {enabled: true, bot_token: "1:a"}`:                        "only people who connect their account",
		`telegram: {enabled: true, bot_token: "1:a", allowed_users: []}`:     "only people who connect their account",
		`telegram: {enabled: true, bot_token: "1:a", allowed_users: ["*"]}`:  "",
		`telegram: {enabled: true, bot_token: "1:a", allowed_users: ["17"]}`: "",
		`telegram: {enabled: false, bot_token: "1:a"}`:                       "",
		`buzz: {enabled: true}`:                                              "",
		"telegram: {enabled: true}\nchannel_connections: {enabled: false}":   "nobody can write",
	} {
		s := load(t, files{"config.yaml": "channels:\n  " + text}, nil)
		said := ""
		for _, w := range s.Warnings {
			if strings.Contains(w.Message, "allowed_users is empty") {
				said += w.Message
			}
		}
		if want == "" && said != "" || !strings.Contains(said, want) {
			t.Errorf("%s: it is said %q, want %q", text, said, want)
		}
	}
}
