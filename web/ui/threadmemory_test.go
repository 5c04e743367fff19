package ui_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/middleware"
	"fawn/memory"
	"fawn/store"
)

// knows puts facts into the memory and has every run be told all of them.
func (w *world) knows(doc string) {
	w.Helper()
	d, err := memory.Parse([]byte(doc))
	if err == nil {
		_, err = w.memory.Import(w.Context(), store.DefaultOwner, 0, d)
	}
	must.Do(w, err)
	w.chain = append(w.chain, middleware.DynamicContext(time.Now,
		func(ctx context.Context, t *agent.Turn, told []string) (middleware.Recalled, error) {
			r := middleware.Recalled{}
			facts, err := w.memory.All(ctx, t.Owner)
			for _, f := range facts {
				if !strings.Contains(strings.Join(told, " "), f.ID) {
					r.Text += f.Content + "\n"
					r.IDs = append(r.IDs, f.ID)
				}
			}
			return r, err
		}))
}

const twoFacts = `{"facts": [{"id": "f1", "content": "Likes <tea>", "confidence": 0.9, "source": "t1", "sourceMessage": "m1"},
	{"id": "f2", "content": "Has a cat", "confidence": 0.9, "source": "t2"}]}`

// TestAnAnswerTellsTheMemoriesItUsed, also those that are gone since, and to its owner's chat only.
func TestAnAnswerTellsTheMemoriesItUsed(t *testing.T) {
	w := open(t, &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("Tea."), agenttest.Say("More.")}})
	w.knows(twoFacts)
	w.begin("t1", "What do I drink?")
	w.settle("t1")
	page := w.page("/workspace/chats/t1")
	link := "/ui/threads/t1/memory?run=" + between(page, `href="/ui/threads/t1/memory?run=`, `"`)
	w.shows(page, "Used 2 memories")
	w.shows(w.page(link), "Memories used in this answer", "Likes &lt;tea&gt;", `href="/workspace/chats/t1?at=m1#m-m1"`,
		"Has a cat", "From a deleted chat", "!deleted since")
	if _, err := w.memory.Delete(t.Context(), store.DefaultOwner, 0, "f2"); err != nil {
		t.Fatal(err)
	}
	w.shows(w.page(link), "Likes &lt;tea&gt;", "!Has a cat", "1 memory has been deleted since.")

	w.post("/ui/threads/t1/messages", url.Values{"text": {"And now?"}})
	w.settle("t1")
	if page := w.page("/workspace/chats/t1"); strings.Count(page, "memory?run=") != 1 {
		t.Error("a second answer, which was told nothing new, counts memories")
	}
	w.begin("t2", "Hello")
	w.settle("t2")
	w.get(strings.Replace(link, "/t1/", "/t2/", 1)).want(t, "the run of another chat", http.StatusNotFound)
}

// TestMemoryOfAChatIsSwitched, and what the chat has taught is deleted and brought back.
func TestMemoryOfAChatIsSwitched(t *testing.T) {
	w := open(t, &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("Tea.")}})
	w.knows(twoFacts)
	w.begin("t1", "What do I drink?")
	w.settle("t1")
	const dialog = "/ui/threads/t1/memory"
	does := func(do string, texts ...string) {
		t.Helper()
		a := w.post(dialog, url.Values{"do": {do}})
		a.must(t, do, http.StatusSeeOther)
		w.shows(w.page(a.Header.Get("Location")), texts...)
	}
	w.shows(w.page("/workspace/chats/t1"), `href="`+dialog+`"`)
	w.shows(w.page(dialog), "Learned from this chat: 1 memory", "Likes &lt;tea&gt;", "!Has a cat", `value="off"`)
	does("off", "Memory is off for this chat", `value="on"`)
	if off, err := w.memory.Off(t.Context(), "t1"); err != nil || !off {
		t.Error("not off:", err)
	}
	does("on", `value="off"`)
	does("forget", "Deleted what Fawn learned", `value="undo"`, "!Likes")
	does("undo", "Likes &lt;tea&gt;", `value="forget"`)
	if a := w.post(dialog, url.Values{"do": {"undo"}}); a.StatusCode != http.StatusSeeOther { // once more is a redo
		t.Error(a.StatusCode)
	}
	_, err := w.memory.Add(t.Context(), store.DefaultOwner, 0,
		memory.Fact{Content: "Plays go", Category: "context", Confidence: 1})
	must.Do(t, err)
	does("undo", "!Plays go")
}
