package web_test

import (
	"net/url"
	"strings"
	"testing"

	"fawn/web"
)

// TestToolsAreSwitchedOffInAThread: over the API or by the form of the page, also before the first
// message; runs have what is on, copies have the same, and other threads have everything.
func TestToolsAreSwitchedOffInAThread(t *testing.T) {
	t.Setenv("NOTES_SECRET", mcpCanary)
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
		if a.status != want {
			t.Fatalf("PUT %s: %d %s", body, a.status, a.body)
		}
		return a.body
	}
	got := put(`{"tools": {"notes": ["tell", "tell"], "gone": []}}`, 200)
	if !strings.Contains(got, `"name":"tell","description":"tells where it works","enabled":false`) ||
		!strings.Contains(got, `"name":"notes","state":"ready","enabled":true`) {
		t.Errorf("what is off is told as %s", got)
	}
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
	t.Setenv("NOTES_SECRET", mcpCanary)
	data := t.TempDir()
	s := start(t, scripted(t), func(o *web.Options) { o.Data = data })
	if page := s.send(t, "GET", "/workspace/chats/new", ""); strings.Contains(page.body, "tools-btn") {
		t.Error("there is a menu of tools without a server")
	}
	if page := s.send(t, "GET",
		"/ui/threads/fresh/tools", ""); !strings.Contains(page.body, "No MCP servers are connected") {
		t.Errorf("tools without a server: %d %s", page.status, page.body)
	}
	extensions(t, data, map[string]any{"notes": notesServer()})
	s.app.Poll()
	s.offeredTool(t, "other", "notes_tell")
	post := func(form url.Values, want int, more ...string) answer {
		t.Helper()
		a := s.send(t, "POST", "/ui/threads/fresh/tools", form.Encode(),
			append(more, "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin")...)
		if a.status != want {
			t.Fatalf("%v: %d %s", form, a.status, a.body)
		}
		return a
	}
	a := post(url.Values{"had": {"notes/tell"}}, 200, "X-Fawn", "1", "Accept", "application/json")
	if !strings.Contains(a.body, "tools-btn") || !strings.Contains(a.body, "some are off") {
		t.Errorf("the script is told %s", a.body)
	}
	page := s.send(t, "GET", "/ui/threads/fresh/tools?text=a+draft", "").body
	if !strings.Contains(page, `name="on" value="notes/tell"> <`) ||
		!strings.Contains(page, `value="notes/fail" checked`) ||
		!strings.Contains(page, `name="text" value="a draft"`) {
		t.Errorf("the page is %s", page)
	}
	if got := s.tool(t, "fresh", "notes_tell", "{}"); !strings.Contains(got, "there is no tool named") {
		t.Errorf("in a new chat the tool says %q", got)
	}
	if page := s.send(t, "GET", "/workspace/chats/fresh", "").body; !strings.Contains(page, "some are off") {
		t.Error("the page does not say that tools are off")
	}
	all := url.Values{"had": {"notes/", "notes/tell", "notes/fail"}, "on": {"notes/tell", "notes/fail"},
		"text": {"a draft"}}
	if to := post(all, 303).header.Get("Location"); to != "/workspace/chats/fresh?q=a+draft" {
		t.Errorf("the form leads to %s", to)
	}
	if got := s.tool(t, "fresh", "notes_fail", "{}"); !strings.Contains(got, "there is no tool named") {
		t.Errorf("the server is off, and its tool says %q", got)
	}
	if a := s.send(t, "DELETE", "/threads/fresh", ""); a.status >= 300 {
		t.Fatalf("delete: %d %s", a.status, a.body)
	}
	if page := s.send(t, "GET", "/ui/threads/fresh/tools", "").body; !strings.Contains(page, `value="notes/" checked`) {
		t.Error("the switches of a deleted thread are still there")
	}
}
