package ui_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest"
	"fawn/agent/config"
	"fawn/agent/llm"
	"fawn/web/webtest"
)

func TestWelcomeDoesNotWaitForModelServers(t *testing.T) {
	w := open(t, &agenttest.Script{})
	looked, answer := make(chan struct{}, 100), make(chan struct{})
	w.ui.SetDiscover(func(context.Context) []llm.Found {
		looked <- struct{}{}
		select { // also when its time is over, or a page that is late would show what was found
		case <-answer:
		case <-time.After(time.Minute): // a page that waits would never come
		}
		return []llm.Found{{Name: "Ollama", BaseURL: "http://127.0.0.1:11434/v1", Models: []string{"llama<b>"}}}
	})
	start := time.Now()
	webtest.Holds(t, "the card is not as it should be", w.page("/workspace/chats/new"), "offline model", "!Ollama")
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("the page took %s", took)
	}
	close(answer)
	for !strings.Contains(w.page("/workspace/chats/new"), "llama&lt;b&gt;") {
		if time.Since(start) > time.Minute {
			t.Fatal("what was found never shows")
		}
	}
	page := w.page("/workspace/chats/new")
	webtest.Holds(t, "what was found cannot be used with a click", page, `name="server" value="http://127.0.0.1:11434/v1"`)
	webtest.Same(t, "looked … times", len(looked), 1)
}

func TestWelcomeNamesKeysButNeverShowsThem(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-very-secret")
	w := open(t, &agenttest.Script{})
	page := w.page("/workspace/chats/new")
	if !strings.Contains(page, "OPENAI_API_KEY") || strings.Contains(page, "very-secret") ||
		strings.Contains(w.page("/workspace/settings/about"), "very-secret") {
		t.Error("the key is shown, or its name is not")
	}
}

// TestResearchIsOfferedWhereTheWebCanBeRead: with a model, unless the web tools are off.
func TestResearchIsOfferedWhereTheWebCanBeRead(t *testing.T) {
	model := []config.Model{{Name: "m", Use: "openai", Model: "m", APIKey: "k"}}
	for name, c := range map[string]struct {
		models []config.Model
		web    bool
		want   bool
	}{"model": {model, true, true}, "no web": {model, false, false}, "no model": {nil, true, false}} {
		f := config.Default()
		f.Models, f.Web.Enabled = c.models, c.web
		w := open(t, &agenttest.Script{}, &config.Snapshot{File: f})
		webtest.Same(t, name, strings.Contains(w.page("/workspace/chats/new"), "data-starter=\"Look into"), c.want)
	}
}
