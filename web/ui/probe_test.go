package ui_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/llm"
	"fawn/agent/llm/llmerr"
	"fawn/views/i18n"
	"fawn/web/webtest"
)

// TestAFailedTestSaysWhatToDo: one plain cause, the server's own words folded, and its models.
func TestAFailedTestSaysWhatToDo(t *testing.T) {
	for _, lang := range i18n.Languages() {
		for _, c := range llm.Causes() {
			if key := "models.cause." + string(c); i18n.Keys(lang)[key] == "" {
				t.Errorf("%s has no %s", lang, key)
			}
		}
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/v1/models" {
			fmt.Fprint(w, `{"data":[{"id":"gemma3"},{"id":"qwen3:8b"},{"id":"<b>"}]}`)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"error":{"message":"model 'qwen' not found, try pulling it"}}`)
	}))
	t.Cleanup(s.Close)
	w := open(t, &agenttest.Script{})
	bare := strings.TrimPrefix(s.URL, "http://") // people leave the scheme out
	form := url.Values{"preset": {"compatible"}, "model": {"qwen"}, "base_url": {bare}, "api_key": {"k"}, "try": {"1"}}
	tried := w.post("/ui/models/probe", form, "HX-Request", "true").body
	webtest.Holds(t, "is missing", tried,
		"doesn’t have a model called “qwen”", "<details", "404 model &#39;qwen&#39; not found", `value="qwen3:8b"`,
		`data-fill="f-model"`, "&lt;b&gt;")
	if strings.Index(tried, `value="qwen3:8b"`) > strings.Index(tried, `value="gemma3"`) {
		t.Error("the likeliest model is not the first")
	}
	form.Del("try")
	form.Set("pick", "gemma3")
	webtest.Holds(t, "without a script the chosen model and the whole address are not in the form", w.post("/ui/models/probe", form).body,
		`name="model" value="gemma3"`, `value="`+s.URL+`"`)
	form.Del("pick")
	w.post("/ui/models", form).must(t, "/ui/models", http.StatusSeeOther)
	if m, _ := w.config.Current().Model("qwen"); m.BaseURL != s.URL {
		t.Errorf("stored with the address %q", m.BaseURL)
	}
	page := w.post("/ui/models/probe", url.Values{"name": {"qwen"}}).body
	webtest.Holds(t, "a stored model that fails does not lead to its form", page, "/workspace/settings/models?change=qwen")
}

// TestARefusedKeyLeadsToTheSettingsOfItsModel and of no other.
func TestARefusedKeyLeadsToTheSettingsOfItsModel(t *testing.T) {
	refused := agenttest.Reply{Err: &llmerr.Error{Status: 401, Class: llmerr.ClassAuth,
		Message: "Incorrect API key provided"}}
	w := open(t, &agenttest.Script{Replies: []agenttest.Reply{refused}})
	for _, name := range []string{"first", "my model"} {
		err := w.config.AddModel(config.ModelEdit{Name: name,
			Fields: map[string]any{"use": "compatible", "model": "m", "base_url": "http://127.0.0.1:9/v1"}})
		must.Do(t, err)
	}
	w.post("/ui/threads/t1/choice", url.Values{"model": {"my model"}})
	w.post("/ui/threads", url.Values{"thread": {"t1"}, "text": {"hello"}, "model": {"my model"}}).must(t, "the answer", http.StatusSeeOther)
	w.settle("t1")
	page := w.page("/workspace/chats/t1")
	webtest.Holds(t, "the card does not lead to the settings of the model", page, `href="/workspace/settings/models?change=my+model"`, "!change=first")
	form := w.page("/workspace/settings/models?change=my+model")
	webtest.Holds(t, "nothing is there", form, `name="name" value="my model"`)
}
