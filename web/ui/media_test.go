package ui_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"fawn/agent/agenttest"
	"fawn/web/webtest"
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
	w.post("/ui/media/by-name/speech", form).must(t, "/ui/media/by-name/speech", http.StatusSeeOther)
	s := w.config.Current().File.Speech
	if s.Model != "tts-x" || s.Voice != "nova" || s.BaseURL != "https://speech.example/v1" || s.APIKey.Value() != goodKey {
		t.Errorf("%+v", s)
	}
	page := w.page("/workspace/settings/tools")
	webtest.Holds(t, "the page shows the key, or not what was saved", page, "!"+goodKey, `value="tts-x"`, "A key is saved.")
	moved := url.Values{"model": {"tts-x"}, "address": {"https://thief.example/v1"}}
	w.post("/ui/media/by-name/speech", moved).want(t, "the key would follow", http.StatusUnprocessableEntity,
		"The address has changed.", `value="https://thief.example/v1"`)
	w.post("/ui/models", url.Values{"preset": {"compatible"}, "model": {"chat-x"}, "base_url": {"https://chat.example/v1"}, "api_key": {"sk-chat"}}).must(t, "/ui/models", http.StatusSeeOther)
	webtest.Holds(t, "the model for chats is not offered", w.page("/workspace/settings/tools"), `<option value="chat-x">`)
	w.post("/ui/media/by-name/images", url.Values{"model": {"img-x"}, "like": {"chat-x"}}).must(t, "/ui/media/by-name/images", http.StatusSeeOther)
	if m := w.config.Current().File.Images; m.Model != "img-x" || m.BaseURL != "https://chat.example/v1" || m.APIKey.Value() != "sk-chat" {
		t.Errorf("%+v", m)
	}
	both := url.Values{"model": {"img-x"}, "like": {"chat-x"}, "address": {"https://img.example/v1"}, "key": {"sk-typed"}}
	w.post("/ui/media/by-name/images", both).must(t, "/ui/media/by-name/images", http.StatusSeeOther)
	if m := w.config.Current().File.Images; m.BaseURL != "https://img.example/v1" || m.APIKey.Value() != "sk-typed" {
		t.Errorf("what was typed is ignored: %+v", m)
	}
	wrong := url.Values{"model": {"tts-x"}, "voice": {"$HOME"}, "address": {"https://speech.example/v1"}}
	if a := w.post("/ui/media/by-name/speech", wrong); a.StatusCode != http.StatusUnprocessableEntity ||
		strings.Count(a.body, `aria-invalid="true"`) != 1 {
		t.Errorf("a voice is refused, and no field is marked: %d", a.StatusCode)
	}
	off := url.Values{"model": {""}, "address": {"https://speech.example/v1"}, "forget": {"1"}}
	w.post("/ui/media/by-name/speech", off).must(t, "/ui/media/by-name/speech", http.StatusSeeOther)
	if s := w.config.Current().File.Speech; s.Model != "" || s.APIKey != "" {
		t.Errorf("still there: %+v", s)
	}
	refused := url.Values{"model": {"img\u2028x$"}, "like": {"chat-x"}, "address": {"ftp://img.example"}}
	w.post("/ui/media/by-name/images", refused).want(t, "the model that was chosen is lost", http.StatusUnprocessableEntity,
		`<option value="chat-x" selected>`, `value="ftp://img.example"`)
	w.post("/ui/media/by-name/images", url.Values{"model": {"img-x"}, "like": {"chat-x"}, "address": {"https://img.example/v1"}, "forget": {"1"}}).must(t, "/ui/media/by-name/images", http.StatusSeeOther)
	if m := w.config.Current().File.Images; m.APIKey != "" || m.BaseURL != "https://img.example/v1" {
		t.Errorf("the key that was removed came back: %+v", m)
	}
	w.post("/ui/media/by-name/video", form).want(t, "/ui/media/by-name/video", http.StatusNotFound)
}
