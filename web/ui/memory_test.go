package ui_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/memory"
	"fawn/store"
	"fawn/web/webtest"
)

const memoryPage = "/workspace/settings/memory"

// change posts a form of the memory and returns the page that follows.
func (w *world) change(form ...string) (status int, page string) {
	w.Helper()
	v := url.Values{}
	for i := 0; i < len(form); i += 2 {
		v.Set(form[i], form[i+1])
	}
	a := w.post("/ui/memory", v)
	if to := a.Header.Get("Location"); to != "" {
		return a.StatusCode, w.page(to)
	}
	return a.StatusCode, a.body
}

// shows fails unless a page has all texts, or lacks those behind a !.
func (w *world) shows(page string, texts ...string) {
	w.Helper()
	for _, s := range texts {
		if s, not := strings.CutPrefix(s, "!"); strings.Contains(page, s) == not {
			w.Errorf("%q: want it on the page %v", s, !not)
		}
	}
}

// TestMemoryIsSeenAndChanged by category, with where it comes from.
func TestMemoryIsSeenAndChanged(t *testing.T) {
	w := open(t, &agenttest.Script{})
	w.shows(w.page(memoryPage), "Nothing yet.", "!Delete all memories", `href="/api/memory/export"`)
	if status, page := w.change("do", "add", "text", "  Likes <b>tea</b> ", "category",
		"preference"); status != http.StatusSeeOther {
		t.Error(status)
	} else {
		w.shows(page, "Likes &lt;b&gt;tea&lt;/b&gt;", "!<b>tea", "Preferences", "Added by you", "Saved.")
	}
	if status, page := w.change("do", "add", "text", "likes <b>tea</b>",
		"category", "goal"); status != http.StatusUnprocessableEntity {
		t.Error("twice:", status)
	} else {
		w.shows(page, "Fawn already knows this.", ">likes &lt;b&gt;tea&lt;/b&gt;</textarea>")
	}
	id := regexp.MustCompile(`name="fact" value="([^"]+)"`).FindStringSubmatch(w.page(memoryPage))
	if id == nil {
		t.Fatal("the fact cannot be deleted")
	}
	w.shows(w.page(memoryPage+"?edit="+id[1]), ">Likes &lt;b&gt;tea&lt;/b&gt;</textarea>", `value="save"`)
	_, page := w.change("do", "save", "fact", id[1], "text", "Likes coffee")
	w.shows(page, "Likes coffee", "!tea")
	_, page = w.change("do", "delete", "fact", id[1])
	w.shows(page, "!coffee", "Nothing yet.", `value="undo"`)
	_, page = w.change("do", "undo")
	w.shows(page, "Likes coffee", `!value="undo"`)
	_, page = w.change("do", "clear")
	w.shows(page, "!coffee", "Nothing yet.")
	if status, page := w.change("do", "delete", "fact", "none"); status != http.StatusUnprocessableEntity {
		t.Error(status)
	} else {
		w.shows(page, "This memory no longer exists.")
	}
	if status, _ := w.change("do", "add", "text", " "); status != http.StatusUnprocessableEntity {
		t.Error("an empty one:", status)
	}
}

// TestAFactLeadsToItsMessage, unless the chat is gone.
func TestAFactLeadsToItsMessage(t *testing.T) {
	w := open(t, &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("Noted.")}})
	w.begin("t1", "I like tea")
	w.settle("t1")
	doc := `{"facts": [{"content": "Likes tea", "category": "preference", "confidence": 0.9, "source": "t1", "sourceMessage": "m1"},
		{"content": "Has a cat", "category": "odd one", "confidence": 0.9, "source": "t2"}],
		"user": {"workContext": {"summary": "Builds boats & ships"}}}`
	d, err := memory.Parse([]byte(doc))
	if err == nil {
		_, err = w.memory.Import(t.Context(), store.DefaultOwner, 0, d)
	}
	must.Do(t, err)
	w.shows(w.page(memoryPage), `href="/workspace/chats/t1?at=m1#m-m1"`, "From a deleted chat", "odd one",
		"Builds boats &amp; ships")
}

// TestAMemoryFileIsImported, or refused with what is there kept.
func TestAMemoryFileIsImported(t *testing.T) {
	w := open(t, &agenttest.Script{})
	send := func(content string) answer {
		return w.file("/ui/memory/import", "memory.json", content)
	}
	a := send(`{"facts": [{"id": "f1", "content": "Likes tea", "confidence": 0.9}]}`)
	webtest.Same(t, a.body, a.StatusCode, http.StatusSeeOther)
	for _, bad := range []string{"", "x", `[]`, `{"facts": 3}`, `{"facts": [{"content": 3}]}`} {
		send(bad).want(t, bad, http.StatusUnprocessableEntity, "Likes tea")
	}
	w.shows(w.page(memoryPage), "Likes tea", "Imported")
}
