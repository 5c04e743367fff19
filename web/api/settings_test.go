package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/llm"
	"fawn/web/route"
	"fawn/web/webtest"
)

// withSettings lets the API edit a configuration of its own, which begins with a text.
func withSettings(t *testing.T, text string) option {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "config.yaml")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	s, err := config.Open(config.Options{Config: path, DataDir: dir,
		LookupEnv: func(string) (string, bool) { return "", false }}, slog.New(slog.DiscardHandler))
	must.Do(t, err)
	return func(d *route.Deps) { d.Settings, d.Snapshot = s, s.Current }
}

const providerKey = "sk-this-is-the-key"

// provider answers at /v1 when it gets the right key, and repeats a wrong one in its error.
func provider(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch key := r.Header.Get("Authorization"); {
		case r.URL.Path != "/base/v1/chat/completions":
			http.NotFound(w, r)
		case key != "Bearer "+providerKey:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(401)
			fmt.Fprintf(w,
				`{"error":{"message":"Incorrect API key provided: %s. You can find yours on our page.","code":"invalid_api_key"}}`,
				strings.TrimPrefix(key, "Bearer "))
		default:
			io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ready\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func silent() *agent.Agent { return &agent.Agent{Model: &agenttest.Script{}} }

func TestModelIsProbedAddedChangedAndRemoved(t *testing.T) {
	url := provider(t)
	w := open(t, silent(), withSettings(t, "models: [{name: owner, use: openai, base_url: 'http://127.0.0.1:1/v1'}]\n"))
	wrong := w.ok(t, "POST", "/api/models/probe",
		fmt.Sprintf(`{"model":"m","base_url":"%s/base","api_key":"sk-wrong-one"}`, url))
	if wrong["ok"] != false || wrong["error"] != "Incorrect API key provided: ***. You can find yours on our page." ||
		wrong["error_class"] != "auth" || wrong["status"] != 401.0 {
		t.Errorf("a wrong key: %v", wrong)
	}
	right := w.ok(t, "POST", "/api/models/probe",
		fmt.Sprintf(`{"model":"m","base_url":"%s/base/v1/chat/completions","api_key":%q}`, url, providerKey))
	if right["ok"] != true || right["reply"] != "ready" || right["base_url"] != url+"/base/v1" {
		t.Errorf("the right key: %v", right)
	}
	added := w.ok(t, "POST", "/api/settings/models",
		fmt.Sprintf(`{"name":"mine","model":"m","base_url":"%s/base/v1","api_key":%q,"supports_vision":true}`, url,
			providerKey))
	if added["has_key"] != true || added["supports_vision"] != true || added["in_settings"] != true ||
		added["in_config"] != false || added["default"] != false {
		t.Errorf("added: %v", added)
	}
	if p := w.ok(t, "POST", "/api/models/probe", `{"name":"mine"}`); p["ok"] != true {
		t.Errorf("the stored one: %v", p)
	}
	w.send(t, "POST", "/api/settings/models", `{"name":"mine"}`).want(t, "twice", 409)
	d := w.ok(t, "PUT", "/api/settings/default-model", `{"name":"mine"}`)
	webtest.Holds(t, fmt.Sprintf("default: %v", d), fmt.Sprint(d), "default:true")
	if l := w.ok(t, "GET", "/api/models", ""); l["models"].([]any)[0].(map[string]any)["name"] != "mine" {
		t.Errorf("the list does not begin with the default: %v", l)
	}
	changed := w.ok(t, "PATCH", "/api/settings/models/mine", `{"display_name":"My own","supports_vision":null}`)
	if changed["display_name"] != "My own" || changed["supports_vision"] != false || changed["has_key"] != true {
		t.Errorf("changed: %v", changed)
	}
	list := w.send(t, "GET", "/api/settings/models", "")
	list.holds(t, "the key is given out", "!"+providerKey)
	var all struct {
		Models []struct {
			Name    string
			Sources map[string]struct{ Source, From string }
		}
	}
	if err := json.Unmarshal([]byte(list.body), &all); err != nil || len(all.Models) != 2 {
		t.Fatalf("%v %s", err, list.body)
	}
	if s := all.Models[1].Sources; s["api_key"].From != "secrets.env" || s["display_name"].Source != "settings.yaml" ||
		all.Models[0].Sources["use"].Source != "config.yaml" {
		t.Errorf("sources: %+v", all)
	}
	w.send(t, "DELETE", "/api/settings/models/mine", "").want(t, "removed", 204)
	w.send(t, "DELETE", "/api/settings/models/mine", "").want(t, "removed again", 404)
	w.send(t, "DELETE", "/api/settings/models/owner", "").want(t, "the owner's", 409, "config.yaml")
}

func TestProbeTriesTheAddressesABaseCanMean(t *testing.T) {
	w := open(t, silent(), withSettings(t, ""))
	url := provider(t)
	for base, want := range map[string]int{"/base/v1": 1, "/base/v1/": 1, "/base/v1/models": 1,
		"/base/v1/chat/completions": 1, "/base": 2, "/base/chat": 2} {
		p := w.ok(t, "POST", "/api/models/probe", fmt.Sprintf(`{"model":"m","base_url":%q,"api_key":%q}`, url+base,
			providerKey))
		if p["ok"] != true || p["base_url"] != url+"/base/v1" || len(p["tried"].([]any)) != want {
			t.Errorf("%s: %v", base, p)
		}
	}
	p := w.ok(t, "POST", "/api/models/probe", fmt.Sprintf(`{"model":"m","base_url":%q,"api_key":"k"}`, url+"/nowhere"))
	if p["ok"] != false || p["status"] != 404.0 || len(p["tried"].([]any)) != 3 {
		t.Errorf("nowhere: %v", p)
	}
}

func TestStoredKeyIsNotSentElsewhere(t *testing.T) {
	url := provider(t)
	w := open(t, silent(),
		withSettings(t, fmt.Sprintf("models: [{name: owner, use: openai, base_url: '%s/base/v1', api_key: %s}]\n", url,
			providerKey)))
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the thief was called: %v", r.Header)
	}))
	defer thief.Close()
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/api/models/probe", `{"name":"owner","base_url":"` + thief.URL + `"}`},
		{"PATCH", "/api/settings/models/owner", `{"base_url":"` + thief.URL + `"}`},
		{"PATCH", "/api/settings/models/owner", `{"use":"ollama"}`},
	} {
		w.send(t, c.method, c.path, c.body).want(t, c, 422, "api_key")
	}
}

func TestDiscoveryAndPresetsAreTold(t *testing.T) {
	t.Setenv("GROQ_API_KEY", "gsk-not-shown")
	w := open(t, silent(), withSettings(t, ""), func(d *route.Deps) {
		d.Discover = func(context.Context) []llm.Found {
			return []llm.Found{{Name: "Ollama", BaseURL: "http://127.0.0.1:11434/v1", Use: "ollama",
				Offers: []llm.Offer{{ID: "qwen3:8b", Context: 8192, Tools: true}}}}
		}
	})
	found := w.send(t, "GET", "/api/models/discover", "")
	want := `"servers":[{"name":"Ollama","base_url":"http://127.0.0.1:11434/v1","use":"ollama","models":[{"id":"qwen3:8b","context_length":8192,"max_context_length":0,"supports_vision":false,"supports_tools":true,"supports_thinking":false}]}]`
	found.want(t, "found", 200, want, `"GROQ_API_KEY"`)
	presets := w.send(t, "GET", "/api/settings/presets", "")
	presets.holds(t, "presets", `{"name":"groq","label":"Groq","base_url":"https://api.groq.com/openai/v1","key_variable":"GROQ_API_KEY","key_set":true,`)
	webtest.Holds(t, "a key is shown", found.body+presets.body, "!gsk-not-shown")
}
