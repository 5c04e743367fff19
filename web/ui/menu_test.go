package ui_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"fawn/agent/agenttest"
	"fawn/web/webtest"
)

func TestTheMenuOfARowLeadsBackToThePageItWasOpenedOn(t *testing.T) {
	w := open(t, &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("One."), agenttest.Say("Two.")}})
	for _, id := range []string{"t1", "t2"} {
		w.begin(id, "Hi "+id)
		w.settle(id)
	}
	webtest.Holds(t, "the list has no menus", w.page("/workspace/chats/t1"), `href="/ui/threads/t2/menu"`)
	menu := w.get("/ui/threads/t2/menu", "X-Fawn", "1").body
	webtest.Holds(t, "the menu", menu,
		`popover`, `/ui/threads/t2/rename"`, `/ui/threads/t2/pin"`, `/ui/threads/t2/share"`, `/ui/threads/t2/export.md"`,
		`/ui/threads/t2/export.json"`, `/ui/threads/t2/delete"`)
	webtest.Holds(t, "what no commands run in can be restarted", menu, "!/sandbox")
	page := w.page("/ui/threads/t2/menu")
	if !strings.HasPrefix(page, "<!doctype html>") || strings.Contains(page, `id="page" class="menu"`) ||
		!strings.Contains(page, `/ui/threads/t2/pin"`) {
		t.Error("without script the menu is no page")
	}
	w.get("/ui/threads/none/menu").want(t, "/ui/threads/none/menu", http.StatusNotFound)
	for _, c := range []struct{ from, action, want string }{
		{"/workspace/chats/t1", "pin", "/workspace/chats/t1"},
		{"/workspace/chats/t1?file=mnt/x", "rename", "/workspace/chats/t1?file=mnt%2Fx"},
		{"/workspace/settings/about?undo=old", "pin", "/workspace/settings/about"},
		{"/workspace/chats/t2?file=mnt/x", "pin", "/workspace/chats/t2"},
		{"/workspace/chats?q=hi", "pin", "/workspace/chats?q=hi"},
		{"/ui/threads/t2/menu", "pin", "/workspace/chats/t2"},
		{"", "pin", "/workspace/chats/t2"},
	} {
		from := c.from
		if from != "" {
			from = w.url + from
		}
		a := w.post("/ui/threads/t2/"+c.action, url.Values{"pinned": {"true"}, "title": {"New"}}, "Referer", from)
		if got := a.Header.Get("Location"); a.StatusCode != http.StatusSeeOther || got != c.want {
			t.Errorf("%s from %q leads to %q, want %q", c.action, c.from, got, c.want)
		}
	}
	a := w.post("/ui/threads/t2/pin", url.Values{"pinned": {"true"}}, "Referer",
		"http://elsewhere.example/workspace/chats/t1")
	webtest.Same(t, "another site decides where one goes", a.Header.Get("Location"), "/workspace/chats/t2")

	// Another chat's new title changes its row and nothing else of the page.
	f := decodeFrame(t, w.post("/ui/threads/t2/rename?current=t1", url.Values{"title": {"Fresh"}}, script()...).body)
	if f.Title != "" || len(f.Swap) != 1 || f.Swap[0].Target != "tl-t2" || !strings.Contains(f.Swap[0].HTML, "Fresh") ||
		strings.Contains(f.Swap[0].HTML, "aria-current") {
		t.Errorf("%+v", f)
	}
	f = decodeFrame(t, w.post("/ui/threads/t2/rename?current=t2", url.Values{"title": {"Fresher"}}, script()...).body)
	if f.Title != "Fresher" || len(f.Swap) != 2 {
		t.Errorf("%+v", f)
	}

	// From its own page a deleted chat leads to a new one, from another page back to that.
	if a := w.post("/ui/threads/t2/delete", nil, "Referer",
		w.url+"/workspace/chats/t1"); !strings.HasPrefix(a.Header.Get("Location"), "/workspace/chats/t1?undo=") {
		t.Error(a.Header.Get("Location"))
	}
	if a := w.post("/ui/threads/t1/delete", nil, "Referer",
		w.url+"/workspace/chats/t1/files"); !strings.HasPrefix(a.Header.Get("Location"), "/workspace/chats/new?undo=") {
		t.Error(a.Header.Get("Location"))
	}
}
