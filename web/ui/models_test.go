package ui_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest"
	"fawn/agent/config"
	"fawn/agent/llm"
	"fawn/views"
	"fawn/views/i18n"
	"fawn/web/webtest"
)

const goodKey = "sk-good-key-of-the-test"

// provider is a model server that wants a key and repeats a wrong one.
func provider(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		switch {
		case r.URL.Path != "/v1/chat/completions":
			http.NotFound(w, r)
		case key != goodKey:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s <b>","code":"invalid_api_key"}}`, key)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"ready"}}]}`+"\n\n"+
				`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// sections gets the models, and insists that no key is on the page.
func (w *world) models(query string) string {
	w.Helper()
	page := w.page("/workspace/settings/models" + query)
	if strings.Contains(page, goodKey) {
		w.Error("the key is on the page")
	}
	return page
}

func TestAModelIsSetUpTriedChangedAndRemoved(t *testing.T) {
	w := open(t, &agenttest.Script{})
	base := provider(t)
	if page := w.models(""); !strings.Contains(page, "Offline") || !strings.Contains(page, "?add=openai") {
		t.Error("an empty list does not say who answers, or offers nothing")
	}
	if page := w.models("?add=compatible"); !strings.Contains(page, `type="password"`) ||
		!strings.Contains(page, `name="base_url"`) {
		t.Error("no form")
	}
	form := url.Values{"preset": {"compatible"}, "model": {"gpt-x"}, "base_url": {base}, "api_key": {"sk-wrong-key"},
		"display_name": {"My model"}, "try": {"1"}}
	tried := w.post("/ui/models/probe", form, "HX-Request", "true")
	if tried.StatusCode != http.StatusOK ||
		!strings.Contains(tried.body, "Incorrect API key provided: *** &lt;b&gt;") ||
		!strings.Contains(tried.body, "401") || strings.Contains(tried.body, "<html") {
		t.Errorf("a wrong key: %d %s", tried.StatusCode, tried.body)
	}
	if page := w.post("/ui/models/probe", form).body; !strings.Contains(page, "<html") ||
		!strings.Contains(page, `value="gpt-x"`) || strings.Contains(page, "sk-wrong-key") {
		t.Errorf("without script the form is lost, or keeps the key: %s", page)
	}
	form.Set("api_key", goodKey)
	if tried := w.post("/ui/models/probe", form,
		"HX-Request", "true"); !strings.Contains(tried.body, "gpt-x answered in") ||
		!strings.Contains(tried.body, base+"/v1") {
		t.Errorf("the right key: %s", tried.body)
	}
	if len(w.config.Current().File.Models) != 0 {
		t.Error("trying a model stored it")
	}
	form.Del("try")
	a := w.post("/ui/models", form)
	if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/workspace/settings/models?added=gpt-x" {
		t.Fatal(a.StatusCode, a.body)
	}
	page := w.models("?added=gpt-x")
	for _, want := range []string{"gpt-x is ready to use.", "My model", "settings.yaml", "secrets.env",
		"Saved (hidden)", "default"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page misses %q", want)
		}
	}
	for _, name := range []string{"settings.yaml", "secrets.env"} {
		if info, err := os.Stat(filepath.Join(w.dirs.Root, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Error(name, info, err)
		}
	}
	if a := w.post("/ui/models/probe", url.Values{"name": {"gpt-x"}}); !strings.Contains(a.body, "gpt-x answered in") {
		t.Errorf("stored: %s", a.body)
	}
	if a := w.post("/ui/models", form); a.StatusCode != http.StatusUnprocessableEntity ||
		!strings.Contains(a.body, "A model with this name already exists.") ||
		!strings.Contains(a.body, `value="My model"`) {
		t.Errorf("twice: %d", a.StatusCode)
	}
	change := url.Values{"change": {"1"}, "name": {"gpt-x"}, "model": {"gpt-x"}, "base_url": {base},
		"display_name": {"Renamed"}, "supports_vision": {"1"}}
	if a := w.post("/ui/models/change", change); a.StatusCode != http.StatusSeeOther {
		t.Fatal(a.StatusCode, a.body)
	}
	m, _ := w.config.Current().Model("gpt-x")
	if m.DisplayName != "Renamed" || !m.SupportsVision || m.APIKey.Value() != goodKey {
		t.Errorf("%+v", m)
	}
	change.Set("base_url", "https://thief.example/v1")
	if a := w.post("/ui/models/change", change); a.StatusCode != http.StatusUnprocessableEntity ||
		!strings.Contains(a.body, "address has changed") {
		t.Errorf("the key would follow to another address: %d %s", a.StatusCode, a.body)
	}
	if a := w.post("/ui/models/remove", url.Values{"name": {"gpt-x"}}); a.StatusCode != http.StatusSeeOther {
		t.Error(a.StatusCode, a.body)
	}
	if len(w.config.Current().File.Models) != 0 {
		t.Error("it is still there")
	}
	for _, path := range []string{"probe", "remove", "default", "change"} {
		a := w.post("/ui/models/"+path, url.Values{"name": {"gone"}, "change": {"1"}})
		if a.StatusCode != http.StatusNotFound {
			t.Errorf("%s of a model that is gone: %d", path, a.StatusCode)
		}
	}
	if a := w.get("/workspace/settings/models?change=gone"); a.StatusCode != http.StatusNotFound {
		t.Error(a.StatusCode)
	}
}

func TestAServerOnThisMachineIsOneClickAway(t *testing.T) {
	w := open(t, &agenttest.Script{})
	found := []llm.Found{{Name: "Ollama", BaseURL: "http://127.0.0.1:11434/v1", Use: "ollama",
		Models: []string{"qwen3:8b", "gemma3"}, Offers: []llm.Offer{{ID: "qwen3:8b", Context: 40960, Thinking: true}}}}
	w.ui.SetDiscover(func(context.Context) []llm.Found { return found })
	for _, path := range []string{"/workspace/settings/models", "/workspace/chats/new"} {
		var page string
		webtest.Until(t, "the server is on "+path, func() bool {
			page = w.page(path)
			return strings.Contains(page, `value="qwen3:8b"`)
		})
		if !strings.Contains(page, `value="gemma3"`) {
			t.Error("not all models are offered on", path)
		}
	}
	offer := url.Values{"server": {found[0].BaseURL}, "model": {"qwen3:8b"}}
	a := w.post("/ui/models/found", offer)
	if a.Header.Get("Location") != "/workspace/settings/models?added=qwen3%3A8b" {
		t.Fatal(a.StatusCode, a.body)
	}
	m, _ := w.config.Current().Model("qwen3:8b")
	if m.Use != "ollama" || m.ContextWindow != 40960 || !m.SupportsThinking || m.Disabled != "" {
		t.Errorf("%+v", m)
	}
	if page := w.page("/workspace/settings/models"); strings.Contains(page, `name="model" value="qwen3:8b"`) ||
		!strings.Contains(page, `name="model" value="gemma3"`) {
		t.Error("what is set up is offered again, or the other is not")
	}
	if strings.Contains(w.page("/workspace/chats/new"), "first-h") {
		t.Error("the card about the offline model stays")
	}
	for _, bad := range []url.Values{{"server": {"http://10.0.0.1/v1"}, "model": {"x"}},
		{"server": {found[0].BaseURL}, "model": {"made up"}}} {
		if a := w.post("/ui/models/found", bad); a.StatusCode != http.StatusGone {
			t.Errorf("%v: %d", bad, a.StatusCode)
		}
	}
}

func TestSettingsAreAPageAndTheInsideOfADialog(t *testing.T) {
	w := open(t, &agenttest.Script{})
	for _, s := range views.Sections() {
		path := "/workspace/settings/" + s
		page := w.page(path)
		if strings.Count(page, "<h1>") != 1 || !strings.Contains(page, `href="`+path+`" aria-current="page"`) {
			t.Errorf("%s is no page of the settings", path)
		}
		part := w.get(path, "HX-Request", "true").body
		if strings.Contains(part, "<html") || !strings.Contains(part, "data-close") ||
			!strings.Contains(part, `href="`+path+`" aria-current="page"`) {
			t.Errorf("%s is no dialog: %.200s", path, part)
		}
	}
	for path, to := range map[string]string{
		"/workspace/settings?section=models": "/workspace/settings/models",
		"/workspace/settings?section=none":   "/workspace/settings/appearance",
	} {
		if a := w.get(path); a.StatusCode != http.StatusFound || a.Header.Get("Location") != to {
			t.Errorf("%s: %d to %q, want %s", path, a.StatusCode, a.Header.Get("Location"), to)
		}
	}
}

func TestReadingSizeAndKeysAreKept(t *testing.T) {
	w := open(t, &agenttest.Script{})
	a := w.post("/ui/prefs", url.Values{"size": {"20"}, "keys": {"off"}})
	cookie, _, _ := strings.Cut(a.Header.Get("Set-Cookie"), ";")
	page := w.get("/workspace/chats/new", "Cookie", cookie).body
	if !strings.Contains(page, `data-nokeys data-size="20"`) {
		t.Errorf("%.200s", page)
	}
	a = w.post("/ui/prefs", url.Values{"size": {"400"}, "keys": {"maybe"}, "theme": {"dark"}}, "Cookie", cookie)
	cookie, _, _ = strings.Cut(a.Header.Get("Set-Cookie"), ";")
	if page := w.get("/workspace/chats/new",
		"Cookie", cookie).body; !strings.Contains(page, `data-theme="dark" data-nokeys data-size="20"`) {
		t.Errorf("%.200s", page)
	}
}

func TestWhatIsWrongWithAModelIsSaidInBothLanguages(t *testing.T) {
	for _, lang := range i18n.Languages() {
		for _, reason := range config.EditReasons() {
			if key := "models.wrong." + string(reason); i18n.Keys(lang)[key] == "" {
				t.Errorf("%s has no %s", lang, key)
			}
		}
	}
	w := open(t, &agenttest.Script{})
	form := url.Values{"preset": {"compatible"}, "model": {"m"}, "base_url": {"ftp://host"}}
	for lang, want := range map[string]string{"en": "Use the form https://host/v1", "zh-CN": "格式应为 https://host/v1"} {
		if a := w.post("/ui/models", form, "Accept-Language", lang); a.StatusCode != http.StatusUnprocessableEntity ||
			!strings.Contains(a.body, want) {
			t.Errorf("%s: %d", lang, a.StatusCode)
		}
	}
}

func TestTheModelIsAlwaysAButton(t *testing.T) {
	for lang, add := range map[string]string{"en": "Add a model…", "zh-CN": "添加模型…"} {
		w := open(t, &agenttest.Script{})
		page := w.get("/workspace/chats/new", "Accept-Language", lang).body
		menu := between(page, `id="models"`, "</form>")
		if !strings.Contains(page, `popovertarget="models"`) || !strings.Contains(menu, `name="model"`) ||
			!strings.Contains(menu, add) || !strings.Contains(menu, `href="/workspace/settings/models"`) {
			t.Errorf("%s: the message box has no button for its model: %.300s", lang, menu)
		}
	}
}
