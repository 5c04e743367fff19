package ui_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/web/webtest"
)

// lastContext is the context that the thread's newest run was started with.
func (w *world) lastContext(thread string) map[string]any {
	w.Helper()
	list, err := w.db.Runs(w.Context(), thread, "", 1, 0)
	if err != nil || len(list) == 0 {
		w.Fatal(err, len(list))
	}
	req := webtest.Decode[struct{ Context map[string]any }](w, string(list[0].Kwargs))
	return req.Context
}

const thinkers = `
models:
  - {name: plain, use: "langchain_openai:ChatOpenAI", model: p, base_url: "http://127.0.0.1:1/v1", api_key: k}
  - {name: thinker, display_name: The Thinker, use: "langchain_openai:ChatOpenAI", model: t, base_url: "http://127.0.0.1:1/v1", api_key: k, supports_thinking: true, supports_reasoning_effort: true}
`

func configured(t *testing.T, yaml string) *config.Snapshot {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	must.Do(t, os.WriteFile(file, []byte(yaml), 0o600))
	snap, err := config.Load(config.Options{DataDir: dir, Config: file})
	must.Do(t, err)
	return snap
}

func TestModesPostTheirFlags(t *testing.T) {
	w := open(t, &agenttest.Script{}, configured(t, thinkers))
	flags := func(mode, model string, thinking, plan, helpers bool, effort string) map[string]any {
		out := map[string]any{"mode": mode, "model_name": model, "thinking_enabled": thinking, "is_plan_mode": plan,
			"subagent_enabled": helpers}
		if effort != "" {
			out["reasoning_effort"] = effort
		}
		return out
	}
	for name, c := range map[string]struct {
		form url.Values
		want map[string]any
	}{
		"flash":        {url.Values{"mode": {"flash"}, "model": {"thinker"}}, flags("flash", "thinker", false, false, false, "")},
		"thinking":     {url.Values{"mode": {"thinking"}, "model": {"thinker"}}, flags("thinking", "thinker", true, false, false, "low")},
		"pro":          {url.Values{"mode": {"pro"}, "model": {"thinker"}}, flags("pro", "thinker", true, true, false, "medium")},
		"ultra":        {url.Values{"mode": {"ultra"}, "model": {"thinker"}}, flags("ultra", "thinker", true, true, true, "high")},
		"effort":       {url.Values{"mode": {"pro"}, "model": {"thinker"}, "effort": {"minimal"}}, flags("pro", "thinker", true, true, false, "minimal")},
		"cannot think": {url.Values{"mode": {"ultra"}, "model": {"plain"}, "effort": {"high"}}, flags("flash", "plain", false, false, false, "")},
		"unknown mode": {url.Values{"mode": {"warp"}, "model": {"thinker"}}, flags("pro", "thinker", true, true, false, "medium")},
		"nothing":      {url.Values{}, flags("flash", "plain", false, false, false, "")},
		"only model":   {url.Values{"model": {"thinker"}}, flags("pro", "thinker", true, true, false, "medium")},
	} {
		id := strings.ReplaceAll(name, " ", "-")
		c.form.Set("thread", id)
		c.form.Set("text", "Hello")
		w.post("/ui/threads", c.form).must(t, "/ui/threads", http.StatusSeeOther)
		w.settle(id)
		if got := w.lastContext(id); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestChoicesBelongToTheirThread(t *testing.T) {
	w := open(t, &agenttest.Script{}, configured(t, thinkers))
	for _, id := range []string{"a", "b"} {
		w.begin(id, "Hello")
		w.settle(id)
	}
	a := w.post("/ui/threads/a/choice", url.Values{"model": {"thinker"}, "mode": {"ultra"}}, script()...)
	cookie := a.Header.Get("Set-Cookie")
	if a.StatusCode != http.StatusOK || !strings.Contains(cookie, "thinker") {
		t.Fatal(a.StatusCode, a.Header)
	}
	w.post("/ui/threads/b/choice", url.Values{"model": {"plain"}}, script()...)
	checked := func(page, name string) string {
		return between(page[strings.Index(page, `name="`+name+`"`):], "", "checked")
	}
	for id, want := range map[string]string{"a": "The Thinker", "b": "plain"} {
		page := w.page("/workspace/chats/" + id)
		webtest.Same(t, fmt.Sprintf("%s has model", id), between(page, `<span id="model-name" class="nm">`, "</span>"), want)
		webtest.Same(t, fmt.Sprintf("%s: ultra", id), strings.HasSuffix(strings.TrimSpace(checked(page, "mode")), `value="ultra"`), (id == "a"))
	}
	// Sent by a form without the fields, as "try again" is, the thread's choice counts.
	w.post("/ui/threads/a/messages", url.Values{"text": {"More"}})
	w.settle("a")
	if got := w.lastContext("a"); got["model_name"] != "thinker" || got["mode"] != "ultra" {
		t.Error(got)
	}
	// A new chat begins with the reader's last choice.
	name, _, _ := strings.Cut(cookie, ";")
	page := w.get("/workspace/chats/new", "Cookie", name).body
	webtest.Holds(t, "page", page, `<span id="model-name" class="nm">The Thinker</span>`)
	w.post("/ui/threads/..%2fx/choice", url.Values{"model": {"plain"}}, script()...).want(t, "an impossible thread", http.StatusNotFound)
}

func TestPinnedChatsStandAboveTheOthers(t *testing.T) {
	w := open(t, &agenttest.Script{})
	for _, id := range []string{"old", "new"} {
		w.begin(id, "Hello")
		w.settle(id)
	}
	first := func(page string) string { return between(between(page, `<div id="threads">`, "</a>"), `id="tl-`, `"`) }
	if got := first(w.page("/workspace/chats")); got != "new" {
		t.Fatalf("%q is on top", got)
	}
	w.post("/ui/threads/old/pin", url.Values{"pinned": {"true"}}).must(t, "/ui/threads/old/pin", http.StatusSeeOther)
	page := w.page("/workspace/chats/old")
	if first(page) != "old" || !strings.Contains(page, ` data-pinned>`) || !strings.Contains(page, "Unpin") {
		t.Error(page)
	}
	w.post("/ui/threads/old/pin", url.Values{"pinned": {"false"}})
	if page = w.page("/workspace/chats/old"); first(page) != "new" || strings.Contains(page, "threads.pinned") {
		t.Error(page)
	}
	w.post("/ui/threads/none/pin", url.Values{"pinned": {"true"}}).want(t, "an unknown thread", http.StatusNotFound)
}
