package ui_test

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/store"
	"fawn/web/principal"
	"fawn/web/webtest"
)

// undoToken is what an answer to a deletion leads to.
func undoToken(t *testing.T, a answer) string {
	t.Helper()
	u, err := url.Parse(a.Header.Get("Location"))
	if err != nil || a.StatusCode != http.StatusSeeOther || u.Query().Get("undo") == "" {
		t.Fatalf("%d %s\n%s", a.StatusCode, a.Header.Get("Location"), a.body)
	}
	return u.Query().Get("undo")
}

// emptied waits until nothing that was deleted is left.
func (w *world) emptied(threads ...string) {
	w.Helper()
	webtest.Until(w.T, "rows and files of the deleted are gone", func() bool {
		for _, id := range threads {
			if _, err := w.db.Thread(w.Context(), id); err == nil {
				return false
			}
			if _, err := os.Stat(filepath.Join(w.dirs.Root, "threads", id)); err == nil {
				return false
			}
		}
		return true
	})
}

// cleaner empties the trash until the test ends.
func (w *world) cleaner() (stop func()) {
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.ui.EmptyTrash(ctx) }()
	stop = func() { cancel(); <-done }
	w.Cleanup(stop)
	return stop
}

func TestDeletedChatsCanBeHadBack(t *testing.T) {
	w := open(t, &agenttest.Script{Replies: slices.Repeat([]agenttest.Reply{agenttest.Say("Hello.")}, 3)})
	w.ui.SetTrashTime(time.Hour)
	w.cleaner()
	for _, id := range []string{"t1", "t2", "t3"} {
		w.begin(id, "Chat "+id)
		w.settle(id)
		w.writeFile(id, "outputs/a.md", "x")
	}
	before := between(w.page("/workspace/chats"), `<ul class="rows">`, "</ul>")
	token := undoToken(t, w.post("/ui/threads/delete", url.Values{"thread": {"t1", "t3", "t3", "none"}}, "Referer",
		w.url+"/workspace/chats?q=chat"))
	page := w.page("/workspace/chats?undo=" + token)
	webtest.Holds(t, "page", page, "2 chats deleted", "!/workspace/chats/t1", "/workspace/chats/t2")
	w.post("/ui/threads/t1/messages", url.Values{"text": {"x"}}).want(t, "a deleted chat took a message", http.StatusNotFound)
	a := w.post("/ui/threads/restore", url.Values{"undo": {token}, "next": {"/workspace/chats?q=chat&undo=" + token}})
	if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/workspace/chats?q=chat" {
		t.Fatal(a.StatusCode, a.Header.Get("Location"))
	}
	webtest.Same(t, "the list was\n\nand", between(w.page("/workspace/chats"), `<ul class="rows">`, "</ul>"), before)
	if _, err := os.Stat(filepath.Join(w.dirs.Root, "threads", "t1", "user-data", "outputs", "a.md")); err != nil {
		t.Error(err)
	}
	w.post("/ui/threads/restore", url.Values{"undo": {token}}).want(t, "undone twice", http.StatusGone, "Too late")
}

func TestDeletedChatsGoForGood(t *testing.T) {
	w := open(t, &agenttest.Script{Replies: []agenttest.Reply{{Chunks: []agent.Chunk{{Text: "a"}}, Hang: true}}})
	w.ui.SetTrashTime(time.Millisecond)
	w.cleaner()
	w.begin("t1", "Go on")
	undoToken(t, w.post("/ui/threads/t1/delete", nil)) // with its run in progress
	w.emptied("t1")
	w.post("/ui/threads/restore", url.Values{"undo": {"no such token"}}).want(t, "/ui/threads/restore", http.StatusGone)
}

func TestTheNextStartRemovesWhatWasDeleted(t *testing.T) {
	w := open(t, &agenttest.Script{Replies: slices.Repeat([]agenttest.Reply{agenttest.Say("Hello.")}, 3)})
	w.ui.SetTrashTime(time.Hour)
	for _, id := range []string{"old", "new", "kept"} {
		w.begin(id, "x")
		w.settle(id)
	}
	now := time.Now()
	// as an earlier process left them
	for id, at := range map[string]time.Time{"old": now.Add(-2 * time.Hour), "kept": now.Add(-time.Second)} {
		must.Do(t, w.db.Discard(t.Context(), principal.Default, id, at))
	}
	token := undoToken(t, w.post("/ui/threads/new/delete", nil))
	w.cleaner()
	w.emptied("old")
	a := w.post("/ui/threads/restore", url.Values{"undo": {token}, "next": {"/workspace/chats/new"}})
	webtest.Same(t, a.StatusCode, a.Header.Get("Location"), "/workspace/chats/new")
	w.get("/workspace/chats/new").want(t, "/workspace/chats/new", http.StatusOK)
	if row, err := w.db.Thread(t.Context(), "kept"); err != nil || row.DeletedAt.IsZero() {
		t.Errorf("what can still be restored: %+v, %v", row, err)
	}
}

// TestNobodyElseCanUndoADeletion: what two owners deleted at the same moment are two deletions.
func TestNobodyElseCanUndoADeletion(t *testing.T) {
	w := open(t, &agenttest.Script{Replies: slices.Repeat([]agenttest.Reply{agenttest.Say("Hello.")}, 2)})
	w.begin("mine", "x")
	w.settle("mine")
	token := undoToken(t, w.post("/ui/threads/mine/delete", nil))
	row, err := w.db.Thread(t.Context(), "mine")
	must.Do(t, err)
	row.ID, row.Owner = "theirs", "eve"
	must.Do(t, w.db.Commit(t.Context(), store.Batch{Thread: &row}))
	webtest.Holds(t, "page", w.page("/workspace/chats?undo="+token), "1 chat deleted")
	w.post("/ui/threads/restore", url.Values{"undo": {token}})
	for id, gone := range map[string]bool{"mine": false, "theirs": true} {
		if row, err := w.db.Thread(t.Context(), id); err != nil || row.DeletedAt.IsZero() == gone {
			t.Errorf("%s: %+v, %v", id, row, err)
		}
	}
}

func TestBulkDeletionIsBounded(t *testing.T) {
	w := open(t, &agenttest.Script{})
	a := w.post("/ui/threads/delete", nil)
	if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/workspace/chats" {
		t.Error("nothing chosen:", a.StatusCode, a.Header.Get("Location"))
	}
	w.post("/ui/threads/delete", url.Values{"thread": {"none"}}).want(t, "none there", http.StatusNotFound)
	many := slices.Collect(func(yield func(string) bool) {
		for i := range 501 {
			if !yield("t" + strings.Repeat("x", i%60) + string(rune('a'+i%26)) + string(rune('a'+i/26))) {
				return
			}
		}
	})
	w.post("/ui/threads/delete", url.Values{"thread": many}).want(t, "too many", http.StatusUnprocessableEntity)
}
