package ui_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"fawn/agent/agenttest"
)

// TestModelsForImagesAndVoiceAreSetUpInTheSettings in both languages: a key is never shown again, comes along from a model for
// chats, and does not follow to another address.
func TestModelsForImagesAndVoiceAreSetUpInTheSettings(t *testing.T) {
	w := open(t, &agenttest.Script{})
	for lang, want := range map[string]string{"en": "Off: agents can’t make images", "zh-CN": "已关闭：智能体无法生成图片"} {
		page := w.do(http.MethodGet, "/workspace/settings/tools", strings.NewReader(""), "Cookie", "fawn_prefs=lang="+lang).body
		if !strings.Contains(page, want) || strings.Count(page, `action="/ui/media/by-name/`) != 3 {
			t.Errorf("%s: no forms", lang)
		}
	}
	form := url.Values{"model": {"tts-x"}, "voice": {"nova"}, "address": {"https://speech.example/v1"}, "key": {goodKey}}
	if a := w.post("/ui/media/by-name/speech", form); a.StatusCode != http.StatusSeeOther {
		t.Fatal(a.StatusCode, a.body)
	}
	s := w.config.Current().File.Speech
	if s.Model != "tts-x" || s.Voice != "nova" || s.BaseURL != "https://speech.example/v1" || s.APIKey.Value() != goodKey {
		t.Errorf("%+v", s)
	}
	page := w.page("/workspace/settings/tools")
	if strings.Contains(page, goodKey) || !strings.Contains(page, `value="tts-x"`) || !strings.Contains(page, "A key is saved.") {
		t.Error("the page shows the key, or not what was saved")
	}
	moved := url.Values{"model": {"tts-x"}, "address": {"https://thief.example/v1"}}
	if a := w.post("/ui/media/by-name/speech", moved); a.StatusCode != http.StatusUnprocessableEntity ||
		!strings.Contains(a.body, "The address has changed.") || !strings.Contains(a.body, `value="https://thief.example/v1"`) {
		t.Errorf("the key would follow: %d %s", a.StatusCode, a.body)
	}
	if a := w.post("/ui/models", url.Values{"preset": {"compatible"}, "model": {"chat-x"}, "base_url": {"https://chat.example/v1"},
		"api_key": {"sk-chat"}}); a.StatusCode != http.StatusSeeOther {
		t.Fatal(a.StatusCode, a.body)
	}
	if page := w.page("/workspace/settings/tools"); !strings.Contains(page, `<option value="chat-x">`) {
		t.Error("the model for chats is not offered")
	}
	if a := w.post("/ui/media/by-name/images", url.Values{"model": {"img-x"}, "like": {"chat-x"}}); a.StatusCode != http.StatusSeeOther {
		t.Fatal(a.StatusCode, a.body)
	}
	if m := w.config.Current().File.Images; m.Model != "img-x" || m.BaseURL != "https://chat.example/v1" || m.APIKey.Value() != "sk-chat" {
		t.Errorf("%+v", m)
	}
	both := url.Values{"model": {"img-x"}, "like": {"chat-x"}, "address": {"https://img.example/v1"}, "key": {"sk-typed"}}
	if a := w.post("/ui/media/by-name/images", both); a.StatusCode != http.StatusSeeOther {
		t.Fatal(a.StatusCode, a.body)
	}
	if m := w.config.Current().File.Images; m.BaseURL != "https://img.example/v1" || m.APIKey.Value() != "sk-typed" {
		t.Errorf("what was typed is ignored: %+v", m)
	}
	wrong := url.Values{"model": {"tts-x"}, "voice": {"$HOME"}, "address": {"https://speech.example/v1"}}
	if a := w.post("/ui/media/by-name/speech", wrong); a.StatusCode != http.StatusUnprocessableEntity ||
		strings.Count(a.body, `aria-invalid="true"`) != 1 {
		t.Errorf("a voice is refused, and no field is marked: %d", a.StatusCode)
	}
	off := url.Values{"model": {""}, "address": {"https://speech.example/v1"}, "forget": {"1"}}
	if a := w.post("/ui/media/by-name/speech", off); a.StatusCode != http.StatusSeeOther {
		t.Fatal(a.StatusCode, a.body)
	}
	if s := w.config.Current().File.Speech; s.Model != "" || s.APIKey != "" {
		t.Errorf("still there: %+v", s)
	}
	refused := url.Values{"model": {"img\u2028x$"}, "like": {"chat-x"}, "address": {"ftp://img.example"}}
	if a := w.post("/ui/media/by-name/images", refused); a.StatusCode != http.StatusUnprocessableEntity ||
		!strings.Contains(a.body, `<option value="chat-x" selected>`) || !strings.Contains(a.body, `value="ftp://img.example"`) {
		t.Errorf("the model that was chosen is lost: %d", a.StatusCode)
	}
	if a := w.post("/ui/media/by-name/images", url.Values{"model": {"img-x"}, "like": {"chat-x"}, "address": {"https://img.example/v1"},
		"forget": {"1"}}); a.StatusCode != http.StatusSeeOther {
		t.Fatal(a.StatusCode, a.body)
	}
	if m := w.config.Current().File.Images; m.APIKey != "" || m.BaseURL != "https://img.example/v1" {
		t.Errorf("the key that was removed came back: %+v", m)
	}
	if a := w.post("/ui/media/by-name/video", form); a.StatusCode != http.StatusNotFound {
		t.Error(a.StatusCode)
	}
}
