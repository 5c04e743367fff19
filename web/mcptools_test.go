package web_test

import (
	"net/url"
	"strings"
	"testing"

	"fawn/web"
	"fawn/web/webtest"
)

// TestToolsAreSwitchedOffInAThread: over the API or by the form of the page, also before the first
// message; runs have what is on, copies have the same, and other threads have everything.
func TestToolsAreSwitchedOffInAThread(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	extensions(t, data, map[string]any{"notes": notesServer()})
	s := start(t, scripted(t), func(o *web.Options) { o.Data = data })
	s.offeredTool(t, "one", "notes_tell")
	has := func(thread, tool string) bool {
		t.Helper()
		return !strings.Contains(s.tool(t, thread, tool, "{}"), "there is no tool named")
	}
	put := func(body string, want int) string {
		t.Helper()
		a := s.send(t, "PUT", "/api/threads/one/mcp/tools", body)
		a.must(t, "PUT "+body, want)
		return a.body
	}
	got := put(`{"tools": {"notes": ["tell", "tell"], "gone": []}}`, 200)
	webtest.Holds(t, "what is off is told as", got,
		`"name":"tell","description":"tells where it works","enabled":false`, `"name":"notes","state":"ready","enabled":true`)
	if has("one", "notes_tell") || !has("one", "notes_fail") || !has("two", "notes_tell") {
		t.Error("a tool is off where it is not, or on where it is off")
	}
	if a := s.send(t, "POST", "/threads/one/copy", ""); a.status != 200 || !strings.Contains(a.body, `"thread_id"`) {
		t.Fatalf("copy: %d %s", a.status, a.body)
	} else if id := decoded[struct {
		ID string `json:"thread_id"`
	}](t, a).ID; has(id, "notes_tell") {
		t.Error("a copy has a tool that is off")
	}
	put(`{"servers": ["notes"]}`, 200)
	if has("one", "notes_tell") || has("one", "notes_fail") {
		t.Error("a server that is off has tools")
	}
	put(`{"servers": "notes"}`, 422)
	put(`{"servers": ["`+strings.Repeat("n", 300<<10)+`"]}`, 422)
	put(`{}`, 200)
	if !has("one", "notes_tell") {
		t.Error("what was switched on again is not there")
	}
}

// TestToolsAreSwitchedOnThePage: in a chat that has not begun, by the script and by the form that works
// without it.
func TestToolsAreSwitchedOnThePage(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := start(t, scripted(t), func(o *web.Options) { o.Data = data })
	s.send(t, "GET", "/workspace/chats/new", "").holds(t, "there is a menu of tools without a server", "!tools-btn")
	s.send(t, "GET", "/ui/threads/fresh/tools", "").holds(t, "tools without a server", "No MCP servers are connected")
	extensions(t, data, map[string]any{"notes": notesServer()})
	s.app.Poll()
	s.offeredTool(t, "other", "notes_tell")
	post := func(form url.Values, want int, more ...string) answer {
		t.Helper()
		a := s.send(t, "POST", "/ui/threads/fresh/tools", form.Encode(),
			append(more, "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin")...)
		a.must(t, form, want)
		return a
	}
	post(url.Values{"had": {"notes/tell"}}, 200, "X-Fawn", "1", "Accept", "application/json").holds(t, "the script is told", "tools-btn", "some are off")
	page := s.send(t, "GET", "/ui/threads/fresh/tools?text=a+draft", "").body
	webtest.Holds(t, "the page", page, `name="on" value="notes/tell"> <`, `value="notes/fail" checked`, `name="text" value="a draft"`)
	webtest.Holds(t, "in a new chat the tool says", s.tool(t, "fresh", "notes_tell", "{}"), "there is no tool named")
	webtest.Holds(t, "the page does not say that tools are off", s.send(t, "GET", "/workspace/chats/fresh", "").body, "some are off")
	all := url.Values{"had": {"notes/", "notes/tell", "notes/fail"}, "on": {"notes/tell", "notes/fail"},
		"text": {"a draft"}}
	webtest.Same(t, "the form leads to", post(all, 303).header.Get("Location"), "/workspace/chats/fresh?q=a+draft")
	webtest.Holds(t, "the server is off, and its tool says", s.tool(t, "fresh", "notes_fail", "{}"), "there is no tool named")
	s.send(t, "DELETE", "/threads/fresh", "").fine(t, "delete")
	webtest.Holds(t, "the switches of a deleted thread are still there", s.send(t, "GET", "/ui/threads/fresh/tools", "").body, `value="notes/" checked`)
}
