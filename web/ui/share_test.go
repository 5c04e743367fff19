package ui_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/store"
	"fawn/web/webtest"
)

// shareOf makes the link of a thread and returns its path.
func (w *world) shareOf(thread string) string {
	w.Helper()
	if a := w.post("/ui/threads/"+thread+"/share", url.Values{}); a.StatusCode != http.StatusSeeOther ||
		a.Header.Get("Location") != "/ui/threads/"+thread+"/share" {
		w.Fatalf("share: %d %s\n%s", a.StatusCode, a.Header.Get("Location"), a.body)
	}
	path := "/share/" + between(w.page("/ui/threads/"+thread+"/share"), `href="/share/`, `"`)
	if len(path) < len("/share/")+26 {
		w.Fatalf("the link %q can be guessed", path)
	}
	return path
}

func TestALinkShowsTheChatAsItWas(t *testing.T) {
	w := open(t, &agenttest.Script{Replies: []agenttest.Reply{
		agenttest.Call("c1", "write_file", `{"description":"d","path":"/mnt/user-data/outputs/a.md","content":"# Shared"}`),
		agenttest.Call("c2", "write_file", `{"description":"d","path":"/mnt/user-data/outputs/b.md","content":"kept back"}`),
		agenttest.Call("c3", "echo", `{"a":"spoken"}`),
		agenttest.Call("c4", "present_files", `{"filepaths":["/mnt/user-data/outputs/a.md"]}`),
		agenttest.Say("See [a](/mnt/user-data/outputs/a.md) and [b](/mnt/user-data/outputs/b.md)."),
		agenttest.Say("Said later.")}})
	w.writeFile("t1", "uploads/mine.txt", "my own")
	w.begin("t1", "Hi there")
	w.settle("t1")
	link := w.shareOf("t1")
	w.post("/ui/threads/t1/messages", url.Values{"text": {"More"}})
	w.settle("t1")

	a := w.get(link)
	a.must(t, "GET "+link, http.StatusOK)
	for name, want := range map[string]string{"Content-Security-Policy": policy, "Referrer-Policy": "no-referrer",
		"X-Robots-Tag": "noindex, nofollow", "Cache-Control": "private, no-store"} {
		webtest.Same(t, name, a.Header.Get(name), want)
	}
	a.holds(t, "the page",
		"Hi there", `name="robots" content="noindex, nofollow"`, `name="referrer" content="no-referrer"`,
		link+"/files/mnt/user-data/outputs/a.md", "/share.js")
	a.holds(t, "the page has", "!Said later", "!More", "!t1", "!/mnt/user-data/outputs/b.md", "!/ui/threads", "!/api/", "!/app.js", "!<form", `!id="side"`, "!spoken")
	webtest.Holds(t, "the dialog does not say that the chat went on", w.page("/ui/threads/t1/share"), "The chat has newer messages.")
	webtest.Same(t, "the link became", w.shareOf("t1"), link)
	webtest.Holds(t, "the link does not show the latest", w.page(link), "Said later.")

	for path, want := range map[string]int{
		"/files/mnt/user-data/outputs/a.md": http.StatusOK, "/view/mnt/user-data/outputs/a.md": http.StatusOK,
		"/files/mnt/user-data/outputs/b.md":                   http.StatusNotFound,
		"/view/mnt/user-data/outputs/b.md":                    http.StatusNotFound,
		"/view/mnt/user-data/uploads/mine.txt":                http.StatusNotFound,
		"/view/mnt/user-data/outputs/../uploads/mine.txt":     http.StatusNotFound,
		"/view/mnt/user-data/outputs/..%2fuploads%2fmine.txt": http.StatusNotFound,
		"/view/etc/passwd":                                    http.StatusNotFound, "/files/": http.StatusNotFound,
	} {
		a := w.get(link + path)
		a.want(t, fmt.Sprintf("GET %s%s", link, path), want, "!my own", "!kept back")
		webtest.Same(t, fmt.Sprintf("GET %s%s: referrer policy", link, path), a.Header.Get("Referrer-Policy"), "no-referrer")
		a.holds(t, fmt.Sprintf("GET %s%s leads to the chat itself", link, path), "!/workspace/chats/t1", "!/ui/threads")
	}
	file := w.get(link + "/view/mnt/user-data/outputs/a.md?download=true")
	if file.body != "# Shared" || file.Header.Get("Content-Disposition") != "attachment; filename*=UTF-8''a.md" ||
		!strings.HasPrefix(file.Header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("the download: %v %q", file.Header, file.body)
	}
}

func TestALinkEndsWithItsChat(t *testing.T) {
	w := open(t, &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("Hello.")}})
	w.begin("t1", "Hi")
	w.settle("t1")
	gone := func(when, link string) {
		t.Helper()
		a := w.get(link)
		a.want(t, fmt.Sprintf("%s: GET %s", when, link), http.StatusNotFound, "This link no longer works")
		if strings.Contains(a.body, "/workspace/chats/t1") || a.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: the page says too much", when)
		}
	}
	gone("never there", "/share/"+strings.Repeat("A", 26))
	first := w.shareOf("t1")
	w.page(first)
	webtest.Holds(t, "the thread does not say that it is shared", w.page("/workspace/chats/t1"), "this chat has a link")
	w.post("/ui/threads/t1/share/remove", url.Values{}).must(t, "unshare", http.StatusSeeOther)
	gone("taken back", first)
	w.post("/ui/threads/t1/share/remove", url.Values{}) // twice is once
	second := w.shareOf("t1")
	if second == first {
		t.Error("a link that was taken back works again")
	}
	a := w.post("/ui/threads/t1/delete", url.Values{})
	gone("in the bin", second)
	w.post("/ui/threads/restore", url.Values{"undo": {between(a.Header.Get("Location")+"&", "undo=", "&")}})
	w.page(second)
	must.Do(t, w.runs.DeleteThread(t.Context(), "t1"))
	gone("deleted", second)
}

func TestOnlyAChatOfOnesOwnWithWordsIsShared(t *testing.T) {
	w := open(t, &agenttest.Script{})
	must.Do(t, w.db.Commit(t.Context(), store.Batch{Thread: &store.Thread{ID: "empty"}}))
	err := w.db.Commit(t.Context(), store.Batch{Thread: &store.Thread{ID: "other", Owner: "other", Head: "c"},
		Checkpoints: []store.Checkpoint{{ID: "c"}}})
	must.Do(t, err)
	w.post("/ui/threads/empty/share", url.Values{})
	webtest.Holds(t, "an empty chat can be shared", w.page("/ui/threads/empty/share"), "There is nothing to share yet.", `!name="link"`)
	for _, path := range []string{"/ui/threads/other/share", "/ui/threads/none/share",
		"/ui/threads/other/share/remove"} {
		w.post(path, url.Values{}).want(t, "POST "+path, http.StatusNotFound)
	}
}

// TestALinkOnLoopbackSaysWhoCanOpenIt, and one under a name of the network does not.
func TestALinkOnLoopbackSaysWhoCanOpenIt(t *testing.T) {
	w := open(t, &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("Hi there")}})
	w.begin("t1", "hello")
	w.settle("t1")
	const words = "Only people using this computer can open the link"
	for range 2 { // before the link is made, and after
		page := w.page("/ui/threads/t1/share")
		webtest.Holds(t, "nothing says that nobody else can open it", page, words, "127.0.0.1", "/ui/threads/t1/export.md")
		w.shareOf("t1")
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/ui/threads/t1/share", nil)
	must.Do(t, err)
	req.Host = "fawn.example.org"
	resp, err := w.client.Do(req)
	must.Do(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || strings.Contains(string(body), words) {
		t.Error(resp.Status, err)
	}
}
