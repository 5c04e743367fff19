package ui_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/store"
	"fawn/web/webtest"
)

const (
	dataPage = "/workspace/settings/data"
	export   = `[{"id":"w1","title":"Rain in June","updated_at":1710000100,"created_at":1710000000,"chat":{"history":{"currentId":"3","messages":{
 "1":{"id":"1","parentId":null,"role":"user","content":"Will it drizzle?","timestamp":1710000001,"files":[{"name":"sky.txt","url":"data:text/plain;base64,aGVsbG8="},{"name":"lost.pdf"}]},
 "2":{"id":"2","parentId":"1","role":"assistant","content":"No.","model":"llama"},
 "3":{"id":"3","parentId":"1","role":"assistant","content":"Bring an **umbrella**.","model":"llama3"}}}}},
 {"id":"w2","title":"Second","chat":{"messages":[{"role":"user","content":"Hello there"},{"role":"assistant","content":"Hello."}]}},
 {"id":"w3","title":"Nothing","chat":{"messages":[]}}]`
)

// sendExport uploads an export.
func (w *world) sendExport(content string) answer {
	w.Helper()
	return w.file("/ui/import", "export.json", content)
}

var importID = regexp.MustCompile(`name="import" value="([^"]+)"`)

// follow posts a form about an import and gets the page that comes after it.
func (w *world) follow(what, id string) string {
	w.Helper()
	a := w.post("/ui/import/"+what, url.Values{"import": {id}})
	a.must(w, what, http.StatusSeeOther)
	return w.page(a.Header.Get("Location"))
}

func (w *world) threads() []store.Thread {
	w.Helper()
	list, _, err := w.db.Threads(w.Context(), store.ThreadQuery{Owner: store.DefaultOwner})
	must.Do(w, err)
	return list
}

func TestAnExportIsPreviewedImportedAndTakenBack(t *testing.T) {
	w := open(t, &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("Take a coat, too.")}})
	w.shows(w.page(dataPage), "Import chats")
	a := w.sendExport(export)
	a.must(t, "the answer", http.StatusOK)
	w.shows(a.body, "Ready to import 2 chats from Open WebUI", "1 earlier version", "1 file that isn’t in the export",
		"1 chat without messages", "Rain in June", "2024-03-09")
	if n := len(w.threads()); n != 0 || strings.Contains(w.page("/workspace/chats"), "Rain in June") {
		t.Fatalf("%d chats are there before somebody confirmed", n)
	}
	id := importID.FindStringSubmatch(a.body)[1]
	w.shows(w.follow("confirm", id), "Imported 2 chats from Open WebUI", "Undo import")
	w.follow("confirm", id) // again changes nothing
	if due, err := w.db.Stale(w.Context(), w.db.Now().AddDate(0, 0, -30), false, 10); err != nil || len(due) > 0 {
		t.Errorf("retention takes %v of what was just imported, %v", due, err)
	}

	var rain string
	for _, th := range w.threads() {
		if th.Title == "Rain in June" {
			rain = th.ID
			if th.CreatedAt.Unix() != 1710000000 || th.UpdatedAt.Unix() != 1710000100 {
				t.Errorf("times are %s and %s", th.CreatedAt, th.UpdatedAt)
			}
			webtest.Holds(t, "the metadata", string(th.Metadata), `"llama3"`)
		}
	}
	w.shows(w.page("/workspace/chats/"+rain), "Will it drizzle?", "<strong>umbrella</strong>", "sky.txt")
	if got := w.get("/ui/threads/" + rain + "/view/mnt/user-data/uploads/sky.txt"); got.body != "hello" {
		t.Errorf("the file is %d %q", got.StatusCode, got.body)
	}
	webtest.Holds(t, "search doesn't find what was imported", w.page("/workspace/chats?q=umbrella"), rain)

	again := w.sendExport(export)
	w.shows(again.body, "nothing to import", "2 chats imported earlier")

	w.post("/ui/threads/"+rain+"/messages", url.Values{"text": {"And in July?"}}).must(t, "the next message", http.StatusSeeOther)
	w.settle(rain)
	w.shows(w.page("/workspace/chats/"+rain), "Take a coat, too.", "Will it drizzle?")

	w.shows(w.follow("undo", id), "Import undone.", "1 chat you’ve continued was kept.")
	if list := w.threads(); len(list) != 1 || list[0].ID != rain {
		t.Errorf("%d chats are left", len(list))
	}
	w.post("/ui/import/undo", url.Values{"import": {id}}).want(t, "a second undo", http.StatusNotFound)
	w.shows(w.sendExport(export).body, "Ready to import 1 chat from")
}

func TestWhatIsNoExportIsExplained(t *testing.T) {
	w := open(t, &agenttest.Script{})
	for content, want := range map[string]string{"": "isn’t an export", "hello": "isn’t an export",
		export[:len(export)-9]: "damaged or incomplete"} {
		w.sendExport(content).want(t, fmt.Sprintf("%.20q: , without %q", content, want), http.StatusUnprocessableEntity, want)
	}
	w.post("/ui/import/confirm", url.Values{"import": {"nope"}}).want(t, "confirm nothing", http.StatusNotFound)
}
