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
	webtest.Holds(w, "the key is on the page", page, "!"+goodKey)
	return page
}

func TestAModelIsSetUpTriedChangedAndRemoved(t *testing.T) {
	w := open(t, &agenttest.Script{})
	base := provider(t)
	webtest.Holds(t, "an empty list does not say who answers, or offers nothing", w.models(""), "Offline", "?add=openai")
	webtest.Holds(t, "no form", w.models("?add=compatible"), `type="password"`, `name="base_url"`)
	form := url.Values{"preset": {"compatible"}, "model": {"gpt-x"}, "base_url": {base}, "api_key": {"sk-wrong-key"},
		"display_name": {"My model"}, "try": {"1"}}
	w.post("/ui/models/probe", form, "HX-Request", "true").want(t, "a wrong key", http.StatusOK, "Incorrect API key provided: *** &lt;b&gt;", "401", "!<html")
	webtest.Holds(t, "without script the form is lost, or keeps the key", w.post("/ui/models/probe", form).body, "<html", `value="gpt-x"`, "!sk-wrong-key")
	form.Set("api_key", goodKey)
	w.post("/ui/models/probe", form, "HX-Request", "true").holds(t, "the right key", "gpt-x answered in", base+"/v1")
	if len(w.config.Current().File.Models) != 0 {
		t.Error("trying a model stored it")
	}
	form.Del("try")
	a := w.post("/ui/models", form)
	if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/workspace/settings/models?added=gpt-x" {
		t.Fatal(a.StatusCode, a.body)
	}
	page := w.models("?added=gpt-x")
	webtest.Holds(t, "the page misses", page, "gpt-x is ready to use.", "My model", "settings.yaml", "secrets.env", "Saved (hidden)", "default")
	for _, name := range []string{"settings.yaml", "secrets.env"} {
		if info, err := os.Stat(filepath.Join(w.dirs.Root, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Error(name, info, err)
		}
	}
	w.post("/ui/models/probe", url.Values{"name": {"gpt-x"}}).holds(t, "stored", "gpt-x answered in")
	w.post("/ui/models", form).want(t, "twice", http.StatusUnprocessableEntity, "A model with this name already exists.", `value="My model"`)
	change := url.Values{"change": {"1"}, "name": {"gpt-x"}, "model": {"gpt-x"}, "base_url": {base},
		"display_name": {"Renamed"}, "supports_vision": {"1"}}
	w.post("/ui/models/change", change).must(t, "/ui/models/change", http.StatusSeeOther)
	m, _ := w.config.Current().Model("gpt-x")
	if m.DisplayName != "Renamed" || !m.SupportsVision || m.APIKey.Value() != goodKey {
		t.Errorf("%+v", m)
	}
	change.Set("base_url", "https://thief.example/v1")
	w.post("/ui/models/change", change).want(t, "the key would follow to another address", http.StatusUnprocessableEntity, "address has changed")
	w.post("/ui/models/remove", url.Values{"name": {"gpt-x"}}).want(t, "/ui/models/remove", http.StatusSeeOther)
	if len(w.config.Current().File.Models) != 0 {
		t.Error("it is still there")
	}
	for _, path := range []string{"probe", "remove", "default", "change"} {
		a := w.post("/ui/models/"+path, url.Values{"name": {"gone"}, "change": {"1"}})
		webtest.Same(t, fmt.Sprintf("%s of a model that is gone", path), a.StatusCode, http.StatusNotFound)
	}
	w.get("/workspace/settings/models?change=gone").want(t, "/workspace/settings/models?change=gone", http.StatusNotFound)
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
	webtest.Holds(t, "what is set up is offered again, or the other", w.page("/workspace/settings/models"),
		`!name="model" value="qwen3:8b"`, `name="model" value="gemma3"`)
	webtest.Holds(t, "the card about the offline model stays", w.page("/workspace/chats/new"), "!first-h")
	for _, bad := range []url.Values{{"server": {"http://10.0.0.1/v1"}, "model": {"x"}},
		{"server": {found[0].BaseURL}, "model": {"made up"}}} {
		w.post("/ui/models/found", bad).want(t, bad, http.StatusGone)
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
		webtest.Holds(t, fmt.Sprintf("%s is no dialog", path), part, "!<html", "data-close", `href="`+path+`" aria-current="page"`)
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
	webtest.Holds(t, "page", page, `data-nokeys data-size="20"`)
	a = w.post("/ui/prefs", url.Values{"size": {"400"}, "keys": {"maybe"}, "theme": {"dark"}}, "Cookie", cookie)
	cookie, _, _ = strings.Cut(a.Header.Get("Set-Cookie"), ";")
	webtest.Holds(t, "page", w.get("/workspace/chats/new", "Cookie", cookie).body, `data-theme="dark" data-nokeys data-size="20"`)
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
		w.post("/ui/models", form, "Accept-Language", lang).want(t, lang, http.StatusUnprocessableEntity, want)
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
