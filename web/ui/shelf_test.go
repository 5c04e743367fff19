package ui_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/threads"
	"fawn/web/principal"
)

// sweeper deletes temporary chats that were left, until the test ends.
func (w *world) sweeper(madeBefore time.Time) {
	ctx, stop := context.WithCancel(w.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		threads.DeleteLeft(ctx, w.db, w.runs, madeBefore, slog.New(slog.DiscardHandler))
	}()
	w.Cleanup(func() { stop(); <-done })
}

func hello(n int) *agenttest.Script {
	return &agenttest.Script{Replies: slices.Repeat([]agenttest.Reply{agenttest.Say("Hello.")}, n)}
}

func TestATemporaryChatIsInNoList(t *testing.T) {
	w := open(t, hello(2))
	page := w.page("/workspace/chats/new?temporary=1")
	w.shows(page, "Temporary chat", `name="temporary"`, `data-here="/ui/threads/`)
	w.shows(w.page("/workspace/chats/new"), "!data-here", `href="/workspace/chats/new?temporary=1"`)
	w.post("/ui/threads", url.Values{"thread": {"secret"}, "text": {"a pelican"}, "temporary": {"1"}}).must(t, "the answer", http.StatusSeeOther)
	w.settle("secret")
	w.shows(w.page("/workspace/chats/secret"), "pelican", "Keep this chat", `data-here="/ui/threads/secret/here"`, "!share-btn")
	for _, where := range []string{"/workspace/chats", "/workspace/chats?q=pelican", "/workspace/chats?show=archived",
		"/workspace/chats/new", "/workspace/settings/about"} {
		w.shows(w.page(where), "!About: a pelican", "!chats/secret")
	}
	if off, err := w.memory.Off(t.Context(), "secret"); err != nil || !off {
		t.Error("it has memory:", err)
	}
	w.post("/ui/threads/secret/keep", nil).must(t, "/ui/threads/secret/keep", http.StatusSeeOther)
	w.shows(w.page("/workspace/chats"), "About: a pelican")
	w.shows(w.page("/workspace/chats/secret"), "!Keep this chat", "!data-here", "share-btn")
	if off, err := w.memory.Off(t.Context(), "secret"); err != nil || off {
		t.Error("it has no memory:", err)
	}
	must.Do(t, w.db.SetLeave(t.Context(), principal.Default, "secret", time.Now().Add(-time.Hour)))
	if left, err := w.db.Left(t.Context(), time.Now().Add(48*time.Hour), time.Hour, time.Now()); err != nil || len(left) > 0 {
		t.Error("a chat that was kept is to be deleted:", left, err)
	}
}

func TestATemporaryChatGoesWhenItIsLeft(t *testing.T) {
	w := open(t, hello(3))
	for _, id := range []string{"left", "open", "old"} {
		w.post("/ui/threads", url.Values{"thread": {id}, "text": {"x"}, "temporary": {"1"}})
		w.settle(id)
		w.writeFile(id, "outputs/a.md", "x")
	}
	// The first word makes the chat, so that files that are uploaded before the first message go, too.
	w.post("/ui/threads/files/here", url.Values{"new": {"1"}}).must(t, "/ui/threads/files/here", http.StatusNoContent)
	w.writeFile("files", "uploads/a.md", "x")
	for _, id := range []string{"left", "files", "open"} {
		w.post("/ui/threads/"+id+"/here", url.Values{"left": {"1"}}).must(t, "the answer", http.StatusNoContent)
	}
	w.post("/ui/threads/open/here", nil) // it was only reloaded
	now := time.Now()
	due := func(at time.Time, silence time.Duration, before time.Time, want ...string) {
		t.Helper()
		left, err := w.db.Left(t.Context(), at, silence, before)
		if err != nil || !slices.Equal(left, want) {
			t.Errorf("due are %v, %v; want %v", left, err, want)
		}
	}
	due(now, time.Hour, time.Time{})
	due(now.Add(threads.LeaveTime+time.Second), time.Hour, time.Time{}, "files", "left")
	due(now.Add(threads.StayTime+time.Second), time.Hour, time.Time{}, "files", "left", "open")
	due(now.Add(threads.SilenceTime+time.Minute), threads.SilenceTime, time.Time{}, "files", "left", "old", "open")
	due(now, time.Hour, now.Add(time.Minute), "files", "left", "old", "open") // the next start
	for _, id := range []string{"left", "files"} {
		must.Do(t, w.db.SetLeave(t.Context(), principal.Default, id, now.Add(-time.Second)))
	}
	w.sweeper(time.Time{})
	w.emptied("left", "files")
	for _, id := range []string{"open", "old"} {
		if _, err := w.db.Thread(t.Context(), id); err != nil {
			t.Error(id, err)
		}
		if _, err := os.Stat(filepath.Join(w.dirs.Root, "threads", id, "user-data", "outputs", "a.md")); err != nil {
			t.Error(err)
		}
	}
	w.post("/ui/threads/left/here", nil).want(t, "a chat that is gone is kept", http.StatusNotFound)
	w.shows(w.page("/workspace/chats/new?gone=1"), "The temporary chat has been deleted.")
}

// TestAChatThatWasKeptMeanwhileStays: between the list of chats that are due and the deletion of one, its reader keeps it,
// or is back.
func TestAChatThatWasKeptMeanwhileStays(t *testing.T) {
	w := open(t, hello(3))
	now := time.Now()
	for _, id := range []string{"kept", "back", "gone"} {
		w.post("/ui/threads", url.Values{"thread": {id}, "text": {"x"}, "temporary": {"1"}})
		w.settle(id)
		must.Do(t, w.db.SetLeave(t.Context(), principal.Default, id, now.Add(-time.Second)))
	}
	left, err := w.db.Left(t.Context(), now, time.Hour, time.Time{})
	if err != nil || !slices.Equal(left, []string{"back", "gone", "kept"}) {
		t.Fatal(left, err)
	}
	w.post("/ui/threads/kept/keep", nil)
	w.post("/ui/threads/back/here", nil)
	for _, id := range left {
		claimed, err := w.db.ClaimLeft(t.Context(), id, now, time.Hour, time.Time{})
		if err != nil || claimed != (id == "gone") {
			t.Errorf("%s: claimed is %v, %v", id, claimed, err)
		}
	}
	w.post("/ui/threads/gone/keep", nil).want(t, "a chat that is being deleted was kept", http.StatusNotFound)
}

func TestTheNextStartDeletesTemporaryChats(t *testing.T) {
	w := open(t, hello(2))
	w.post("/ui/threads", url.Values{"thread": {"before"}, "text": {"x"}, "temporary": {"1"}})
	w.settle("before")
	w.begin("kept", "x")
	w.settle("kept")
	w.sweeper(time.Now().Add(time.Second))
	w.emptied("before")
	if _, err := w.db.Thread(t.Context(), "kept"); err != nil {
		t.Error(err)
	}
}

func TestArchivedChatsAreOutOfTheWay(t *testing.T) {
	w := open(t, hello(2))
	for _, id := range []string{"t1", "t2"} {
		w.begin(id, "pelican "+id)
		w.settle(id)
	}
	side := func() string { return between(w.page("/workspace/settings/about"), `id="threads"`, "</nav>") }
	w.post("/ui/threads/t1/archive", url.Values{"archived": {"true"}}).must(t, "/ui/threads/t1/archive", http.StatusSeeOther)
	w.shows(side(), "!chats/t1", "chats/t2")
	w.shows(between(w.page("/workspace/chats"), `id="list"`, "</main>"), "!chats/t1", "chats/t2")
	w.shows(between(w.page("/workspace/chats?show=archived"), `id="list"`, "</main>"), "chats/t1", "!chats/t2")
	w.shows(between(w.page("/workspace/chats?q=pelican"), `id="list"`, "</main>"), "chats/t1", "chats/t2", "Archived")
	w.shows(w.page("/workspace/chats/t1"), "Unarchive")
	w.post("/ui/threads/t1/archive", url.Values{"archived": {"false"}})
	w.shows(side(), "chats/t1", "chats/t2")
}

func TestChatsAreFoundByTheirTags(t *testing.T) {
	w := open(t, hello(3))
	for _, id := range []string{"t1", "t2", "t3"} {
		w.begin(id, "pelican "+id)
		w.settle(id)
	}
	tag := func(id, tag string) { w.post("/ui/threads/"+id+"/tags", url.Values{"add": {tag}}) }
	tag("t1", "Work")
	tag("t1", "work") // the same
	tag("t1", "Q3 report")
	tag("t2", "#work")
	list := func(query string, want ...string) {
		t.Helper()
		w.shows(between(w.page("/workspace/chats?"+query), `id="list"`, "</main>"), want...)
	}
	list("q=tag:work", "chats/t1", "chats/t2", "!chats/t3")
	list("q=tag:WORK+tag:q3-report", "chats/t1", "!chats/t2")
	list("q=tag:work+t2", "!chats/t1", "chats/t2")
	list("show=tag:work", "chats/t1", "chats/t2", "!chats/t3")
	list("q=tag:wor", "!chats/t1")
	w.shows(w.page("/workspace/chats"), `value="tag:Work"`, `value="tag:Q3-report"`)
	w.shows(w.page("/ui/threads/t3/tags"), `<option value="Q3-report">`)
	w.post("/ui/threads/t1/tags", url.Values{"remove": {"Work"}})
	list("show=tag:work", "!chats/t1", "chats/t2")
	if got, err := w.db.Tags(t.Context(), principal.Default); err != nil || strings.Join(got, " ") != "Q3-report work" {
		t.Error(got, err)
	}
	th, err := w.db.Thread(t.Context(), "t1")
	if err != nil || !slices.Equal(th.Tags(), []string{"Q3-report"}) {
		t.Error(th.Tags(), err)
	}
	for i := range 30 {
		tag("t3", "many"+strings.Repeat("x", i))
	}
	if th, _ := w.db.Thread(t.Context(), "t3"); len(th.Tags()) != 20 {
		t.Errorf("%d tags", len(th.Tags()))
	}
}

func TestMemoryIsSwitchedInTheMessageBox(t *testing.T) {
	w := open(t, hello(3))
	off := func(id string, want bool) {
		t.Helper()
		if got, err := w.memory.Off(t.Context(), id); err != nil || got != want {
			t.Errorf("memory of %s is off: %t, %v", id, got, err)
		}
	}
	w.shows(w.page("/workspace/chats/new"), "Use memory", `name="memory-shown"`)
	w.post("/ui/threads", url.Values{"thread": {"t1"}, "text": {"x"}, "memory-shown": {"1"}})
	w.settle("t1")
	off("t1", true)
	w.post("/ui/threads/t1/choice", url.Values{"memory": {"on"}})
	off("t1", false)
	w.post("/ui/threads/t2/choice", url.Values{"memory": {"off"}}) // before its first message
	off("t2", true)
	w.post("/ui/threads", url.Values{"thread": {"t2"}, "text": {"x"}, "memory-shown": {"1"}, "memory": {"on"}})
	w.settle("t2")
	off("t2", false)
	w.shows(w.page("/workspace/settings/memory"), `value="mute"`)
	w.post("/ui/memory", url.Values{"do": {"mute"}})
	w.shows(w.page("/workspace/settings/memory"), `value="unmute"`, "Memory is off")
	w.shows(w.page("/workspace/chats/t1"), "Off in Settings.", `!name="memory-shown"`)
	if muted, err := w.memory.Muted(t.Context(), principal.Default); err != nil || !muted {
		t.Error(err)
	}
	w.post("/ui/memory", url.Values{"do": {"unmute"}})
	w.shows(w.page("/workspace/chats/t1"), `name="memory-shown"`)
}
