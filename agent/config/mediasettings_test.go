package config_test

import (
	"errors"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/config"
)

// TestMediaModelsAreSetUpInTheSettings: a key goes to secrets.env, comes along from a model for chats, and stays with its address.
func TestMediaModelsAreSetUpInTheSettings(t *testing.T) {
	s, root := open(t, files{"config.yaml": "images: {model: old, api_key: sk-of-the-file}\n" +
		"models: [{name: chat, use: openai, model: m, api_key: sk-of-chat, base_url: 'https://example.com/v1'}]\n"}, nil)
	key := func(text string) *config.Secret { return new(config.Secret(text)) }
	media := func(kind string) string {
		m, known := s.Current().File.Media(kind)
		if !known {
			t.Fatal(kind)
		}
		return strings.Join([]string{m.Model, m.BaseURL, m.Voice, string(m.APIKey)}, " ")
	}
	must.Do(t, s.ChangeMedia(config.MediaEdit{Kind: "speech", Model: "tts", Voice: "nova", Key: key("sk-own")}))
	if got := media("speech"); got != "tts  nova sk-own" {
		t.Errorf("speech: %q", got)
	}
	if strings.Contains(text(t, root, "settings.yaml"), "sk-own") || !strings.Contains(text(t, root, "secrets.env"), "sk-own") {
		t.Error("the key is in the wrong file")
	}
	if err := s.ChangeMedia(config.MediaEdit{Kind: "speech", Model: "tts-2"}); err != nil || media("speech") != "tts-2   sk-own" {
		t.Errorf("the key is not kept: %v %q", err, media("speech"))
	}
	if err := s.ChangeMedia(config.MediaEdit{Kind: "transcription", Model: "whisper", Like: "chat"}); err != nil ||
		media("transcription") != "whisper https://example.com/v1  sk-of-chat" {
		t.Errorf("like a model for chats: %v %q", err, media("transcription"))
	}
	for _, c := range []struct {
		edit config.MediaEdit
		want config.EditReason
	}{
		{config.MediaEdit{Kind: "images", Model: "m", BaseURL: "https://elsewhere.example/v1"}, config.KeyElsewhere},
		{config.MediaEdit{Kind: "speech", Model: "m", BaseURL: "https://elsewhere.example/v1"}, config.KeyElsewhere},
		{config.MediaEdit{Kind: "images", Model: "m", BaseURL: "ftp://x"}, config.BadAddress},
		{config.MediaEdit{Kind: "images", Model: "$HOME"}, config.BadValue},
		{config.MediaEdit{Kind: "images", Model: "m", Key: key("$HOME")}, config.BadVariable},
		{config.MediaEdit{Kind: "images", Model: "m", Key: key("a\nb")}, config.BadKey},
		{config.MediaEdit{Kind: "images", Model: "m", Like: "none"}, config.BadValue},
		{config.MediaEdit{Kind: "images", Model: "m", BaseURL: "http://10.0.0.1", Key: key("k"),
			Judge: func(string) error { return errors.New("private") }}, config.PrivateAddress},
	} {
		var wrong *config.EditError
		if err := s.ChangeMedia(c.edit); !errors.As(err, &wrong) || wrong.Reason != c.want {
			t.Errorf("%+v: %v, want %s", c.edit, err, c.want)
		}
	}
	if got := media("images"); got != "old   sk-of-the-file" {
		t.Errorf("what was refused changed something: %q", got)
	}
	if err := s.ChangeMedia(config.MediaEdit{Kind: "images", BaseURL: "https://elsewhere.example/v1", Key: key("")}); err != nil ||
		media("images") != " https://elsewhere.example/v1  " {
		t.Errorf("off, without a key: %v %q", err, media("images"))
	}
	if err := s.ChangeMedia(config.MediaEdit{Kind: "video", Model: "m"}); !errors.Is(err, config.ErrNoMedia) {
		t.Error(err)
	}
}
