package ui_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/web/webtest"
)

// adviser suggests what it was told to, and remembers what it was asked.
type adviser struct {
	mu     sync.Mutex
	list   []string
	err    error
	hold   chan struct{} // when not nil, it answers once this is closed
	begun  func()        // when not nil, it is called before each answer
	wishes []lead.SuggestWish
}

func (a *adviser) Suggest(ctx context.Context, w lead.SuggestWish) ([]string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wishes = append(a.wishes, w)
	if a.begun != nil {
		a.begun()
	}
	if a.hold != nil {
		select {
		case <-a.hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return a.list, a.err
}

func (a *adviser) asked() []lead.SuggestWish {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.wishes
}

const asks = `/followups" hx-trigger="load"`

func TestFollowUpsAreAskedForOnce(t *testing.T) {
	w := open(t,
		&agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("A heat pump."), agenttest.Say("Because.")}})
	w.aside.list = []string{"What does it <cost>?", "And noise?", "三", "a fourth"}
	w.begin("t1", "Pump or gas?")
	r := w.reader("t1")
	r.read(0)
	w.settle("t1")
	r.equalsPage()
	if s := r.dom.section("turns"); !strings.Contains(s, "followups") {
		t.Fatalf("the live page does not ask for suggestions: %s", s)
	}
	if page := w.page("/workspace/chats/t1"); strings.Count(page, asks) != 1 || strings.Contains(page, "data-next") {
		t.Fatal(page)
	}
	if n := len(w.aside.asked()); n != 0 {
		t.Fatalf("a page alone asked a model %d times", n)
	}
	var all sync.WaitGroup
	for range 4 { // pages side by side
		all.Go(func() {
			a := w.post("/ui/threads/t1/followups", nil, "HX-Request", "true")
			if a.StatusCode != http.StatusOK || strings.Count(a.body, "data-next") != 3 ||
				!strings.Contains(a.body, "What does it &lt;cost&gt;?") || strings.Contains(a.body, "fourth") {
				t.Errorf("%d %s", a.StatusCode, a.body)
			}
		})
	}
	all.Wait()
	list := w.aside.asked()
	if len(list) != 1 {
		t.Fatalf("the model was asked %d times, want once", len(list))
	}
	m := list[0].Messages
	if list[0].Thread != "t1" || len(m) != 2 || m[0] != (lead.Said{Role: "user", Content: "Pump or gas?"}) ||
		m[1] != (lead.Said{Role: "assistant", Content: "A heat pump."}) {
		t.Fatalf("%+v", list[0])
	}
	if page := w.page("/workspace/chats/t1"); strings.Contains(page, asks) || strings.Count(page, "data-next") != 3 {
		t.Fatal(page)
	}

	// Suggestion is sent like any message, and only the last answer has some.
	w.post("/ui/threads/t1/messages", url.Values{"text": {"And noise?"}}).must(t, "/ui/threads/t1/messages", http.StatusSeeOther)
	w.settle("t1")
	if page := w.page("/workspace/chats/t1"); strings.Count(page, asks) != 1 || strings.Contains(page, "data-next") {
		t.Fatal(page)
	}
}

func TestThereAreNoFollowUpsWhereTheyDoNotBelong(t *testing.T) {
	question := agenttest.Call("c1", "ask_clarification", `{"question":"Which?","clarification_type":"missing_info"}`)
	off := config.Default()
	off.Suggestions.Enabled = false
	for name, c := range map[string]struct {
		model agent.Model
		conf  []*config.Snapshot
	}{
		"a question":   {model: &agenttest.Script{Replies: []agenttest.Reply{question}}},
		"a failed run": {model: &agenttest.Script{Replies: []agenttest.Reply{{Err: errors.New("broken")}}}},
		"switched off": {model: &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("Yes.")}}, conf: []*config.Snapshot{{File: off}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t, c.model, c.conf...)
			w.aside.list = []string{"More?"}
			w.begin("t1", "Go")
			w.settle("t1")
			webtest.Holds(t, "/workspace/chats/t1", w.page("/workspace/chats/t1"), "!followups")
			if a := w.post("/ui/threads/t1/followups", nil, "HX-Request", "true"); a.StatusCode != http.StatusOK ||
				strings.TrimSpace(a.body) != "" {
				t.Errorf("%d %q", a.StatusCode, a.body)
			}
			if n := len(w.aside.asked()); n > 0 {
				t.Errorf("a model was asked %d times", n)
			}
		})
	}
}

func TestFollowUpsThatCannotBeMadeAreNotAskedForAgain(t *testing.T) {
	w := open(t, &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("Yes.")}})
	w.aside.err = errors.New("no credit")
	w.begin("t1", "Go")
	w.settle("t1")
	for range 2 {
		if a := w.post("/ui/threads/t1/followups", nil, "HX-Request", "true"); a.StatusCode != http.StatusOK ||
			strings.TrimSpace(a.body) != "" {
			t.Fatalf("%d %q", a.StatusCode, a.body)
		}
	}
	webtest.Same(t, "a model was asked … times", len(w.aside.asked()), 1)
	webtest.Holds(t, "/workspace/chats/t1", w.page("/workspace/chats/t1"), "!followups")
	w.post("/ui/threads/none/followups", nil).want(t, "/ui/threads/none/followups", http.StatusNotFound)
}

// A page that is closed while it waits leaves nothing behind, so that the next one asks.
func TestFollowUpsOfAPageThatLeftAreMadeForTheNextOne(t *testing.T) {
	w := open(t, &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("Yes.")}})
	w.aside.hold, w.aside.list = make(chan struct{}), []string{"More?"}
	w.begin("t1", "Go")
	w.settle("t1")
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/ui/threads/t1/followups", nil)
	must.Do(t, err)
	gone := make(chan error)
	go func() {
		res, err := w.client.Do(req)
		if err == nil {
			err = res.Body.Close()
		}
		gone <- err
	}()
	leave()
	if err := <-gone; err == nil {
		t.Fatal("the request was answered")
	}
	close(w.aside.hold)
	if a := w.post("/ui/threads/t1/followups", nil, "HX-Request", "true"); strings.Count(a.body, "data-next") != 1 {
		t.Fatalf("%d %q", a.StatusCode, a.body)
	}
}

// A server that stops while suggestions are made leaves them to the next one. Nobody asked for them, so the
// page is told nothing.
func TestFollowUpsAreLeftToTheNextServer(t *testing.T) {
	w := open(t, &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("Yes.")}})
	w.aside.hold, w.aside.begun = make(chan struct{}), w.drain
	w.begin("t1", "Go")
	w.settle("t1")
	w.post("/ui/threads/t1/followups", nil, "HX-Request", "true").want(t, "/ui/threads/t1/followups", http.StatusNoContent)
	webtest.Holds(t, "the page does not ask again", w.page("/workspace/chats/t1"), asks)
}
