package ui_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/middleware"
	"fawn/web/webtest"
)

// gist makes short work of everything but the last two messages.
func gist(n int) middleware.CompactionRules {
	return middleware.CompactionRules{Window: 1000,
		CompactionOptions: middleware.CompactionOptions{Keep: middleware.Amount{Type: "messages", Value: float64(n)}},
		Ask:               func(context.Context, string) (string, error) { return "The **gist**.", nil }}
}

// windowed is a configuration whose model reads 1,000 tokens.
func windowed() *config.Snapshot {
	f := config.Default()
	f.Models = []config.Model{{Name: "m", DisplayName: "Mini", Model: "m-1", Use: "openai", APIKey: "k",
		ContextWindow: 1000}}
	return &config.Snapshot{File: f}
}

// wordy answers at length; each answer says what its request had.
func wordy(totals ...int) *agenttest.Script {
	m := &agenttest.Script{}
	for i, n := range totals {
		m.Replies = append(m.Replies, agenttest.Reply{Chunks: []agent.Chunk{{Text: fmt.Sprint("answer ", i, " ", strings.Repeat("words and more ", 60))},
			{Finish: "stop", Model: "m-1", Usage: &agent.Usage{Input: n - 10, Output: 10, Total: n}}}})
	}
	return m
}

func (w *world) shorten(rules middleware.CompactionRules) {
	w.ui.Compact = func(ctx context.Context, s *agent.State, wish lead.Wish) (agent.State, error) {
		return rules.Compact(ctx, s, wish.Force)
	}
}

func (w *world) say(thread, text string) {
	w.Helper()
	w.post("/ui/threads/"+thread+"/messages", url.Values{"text": {text}}).must(w, "the answer", http.StatusSeeOther)
	w.settle(thread)
}

func gaugeShown(d *dom) bool {
	return !slices.ContainsFunc(d.id("gauge").Attr, func(a html.Attribute) bool { return a.Key == "hidden" })
}

func TestGaugeShowsWhatTheLastRequestFilledAndFollowsTheRun(t *testing.T) {
	w := open(t, wordy(310, 640), windowed())
	w.begin("t1", "One")
	r := w.reader("t1")
	r.read(0)
	w.settle("t1")
	if s := r.dom.section("gauge"); !strings.Contains(s, "31%") || !gaugeShown(r.dom) {
		t.Errorf("after the first run: %s", s)
	}
	w.say("t1", "Two")
	webtest.Holds(t, "the second run is not shown", w.page("/workspace/chats/t1"), "64%")
	usage := w.page("/ui/threads/t1/usage")
	webtest.Holds(t, "is not on the page of what the chat took", usage, "64%", "640", "1.0k", "930", "One", "Two", "Mini", `action="/ui/threads/t1/compact"`)
	webtest.Holds(t, "a price is shown that nobody knows", usage, "!Price")
}

func TestGaugeIsAbsentWithoutAWindow(t *testing.T) {
	snap := windowed()
	snap.File.Models[0].ContextWindow = 0
	w := open(t, wordy(310), snap)
	w.begin("t1", "One")
	w.settle("t1")
	if gaugeShown(parsePage(t, w.page("/workspace/chats/t1"))) {
		t.Error("it is shown")
	}
}

func TestCompactingByFormSaysWhatItDidAndTheChatShowsWhere(t *testing.T) {
	w := open(t, wordy(300, 600, 900, 400), windowed())
	w.shorten(gist(2))
	w.begin("t1", "One")
	w.settle("t1")
	w.say("t1", "Two")
	w.say("t1", "Three")
	a := w.post("/ui/threads/t1/compact", nil)
	if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/ui/threads/t1/usage?did=compacted" {
		t.Fatal(a.StatusCode, a.Header.Get("Location"), a.body)
	}
	webtest.Holds(t, "page", w.page(a.Header.Get("Location")), "4 messages are now summarised", "≈")
	page := w.page("/workspace/chats/t1")
	webtest.Holds(t, "page", page, "Earlier messages were summarised", "<strong>gist</strong>", "≈")
	if strings.Index(page, "Earlier messages were") > strings.Index(page, "Three") ||
		strings.Index(page, "Earlier messages were") < strings.Index(page, "answer 1") {
		t.Error("the line stands in another place")
	}
	w.say("t1", "Four")
	webtest.Holds(t, "after the next run", parsePage(t, w.page("/workspace/chats/t1")).section("gauge"), "40%", "!≈")
	w.post("/ui/threads/t1/share", nil).must(t, "/ui/threads/t1/share", http.StatusSeeOther)
	link, err := w.db.ShareOf(t.Context(), "default", "t1")
	must.Do(t, err)
	webtest.Holds(t, "readers of a link see the summary", w.page("/share/"+link.Token), "!gist")
}

func TestCompactingIsRefusedInWords(t *testing.T) {
	gate := make(chan struct{})
	model := wordy(300, 300)
	model.Replies[1].Before = gate
	w := open(t, model, windowed())
	w.shorten(gist(2))
	w.begin("t1", "One")
	w.settle("t1")
	if a := w.post("/ui/threads/t1/compact", nil); a.Header.Get("Location") != "/ui/threads/t1/usage?did=nothing" {
		t.Fatal(a.StatusCode, a.Header)
	} else if page := w.page(a.Header.Get("Location")); !strings.Contains(page, "Nothing to compact") {
		t.Error(page)
	}
	w.post("/ui/threads/t1/messages", url.Values{"text": {"Two"}}).must(t, "/ui/threads/t1/messages", http.StatusSeeOther)
	for _, c := range []struct {
		path string
		form url.Values
	}{{"compact", nil}, {"compact", url.Values{"to": {"chat"}}}, {"messages", url.Values{"text": {" /compact "}}}} {
		a := w.post("/ui/threads/t1/"+c.path, c.form)
		a.want(t, fmt.Sprintf("%s %v", c.path, c.form), http.StatusConflict, "Compact when it has ended")
		if a := w.post("/ui/threads/t1/"+c.path, c.form, script()...); a.StatusCode != http.StatusConflict ||
			!strings.Contains(decodeFrame(t, a.body).Error, "Compact when it has ended") {
			t.Errorf("%s %v with script: %d %s", c.path, c.form, a.StatusCode, a.body)
		}
	}
	close(gate)
	w.settle("t1")
	w.ui.Compact = nil
	w.post("/ui/threads/t1/compact", nil).want(t, "the answer", http.StatusConflict, "turned off")
	w.post("/ui/threads/none/compact", nil).want(t, "/ui/threads/none/compact", http.StatusNotFound)
}

// TestCompactionInARunIsShownLiveAsOnAFreshPage: the line moves on to where the newest one
// stands, also out of turns the run cannot change.
func TestCompactionInARunIsShownLiveAsOnAFreshPage(t *testing.T) {
	model := wordy(300, 300, 300, 300, 300)
	w := open(t, model, windowed())
	keep := 4
	w.chain = []agent.Middleware{{Name: "compact", BeforeModel: func(ctx context.Context,
		t *agent.Turn) (agent.State, error) {
		if len(t.State.Messages) < 7 {
			return agent.State{}, nil
		}
		return gist(keep).Compact(ctx, &t.State, true)
	}}}
	w.begin("t1", "One")
	w.settle("t1")
	for i, text := range []string{"Two", "Three", "Four", "Five"} {
		if i == 3 {
			keep = 2
		}
		r := w.reader("t1")
		f := decodeFrame(t, w.post("/ui/threads/t1/messages", url.Values{"text": {text}}, script()...).body)
		must.Do(t, r.dom.apply(f))
		if f.Running {
			r.cursor, r.dom.done = f.Cursor, false
			r.read(0)
		}
		w.settle("t1")
		r.equalsPage()
		webtest.Same(t, fmt.Sprintf("%s: the line is there", text), strings.Contains(r.dom.section("turns"), "were summarised"), (i >= 2))
	}
}

func TestCommandsOfTheMessageBoxWorkWithoutScript(t *testing.T) {
	w := open(t, wordy(300, 600), windowed())
	w.shorten(gist(1))
	a := w.post("/ui/threads", url.Values{"thread": {"t0"}, "text": {"/compact"}})
	a.want(t, "the answer", http.StatusUnprocessableEntity, "Nothing to compact")
	if a := w.post("/ui/threads",
		url.Values{"thread": {"t0"},
			"text": {"/new A & b"}}); a.Header.Get("Location") != "/workspace/chats/new?q=A+%26+b" {
		t.Error(a.StatusCode, a.Header)
	}
	w.begin("t1", "One")
	w.settle("t1")
	w.say("t1", "/newton said what?")
	if a := w.post("/ui/threads/t1/messages",
		url.Values{"text": {"/new"}}); a.Header.Get("Location") != "/workspace/chats/new" {
		t.Error(a.StatusCode, a.Header)
	}
	f := decodeFrame(t, w.post("/ui/threads/t1/messages", url.Values{"text": {"/compact"}}, script()...).body)
	webtest.Holds(t, fmt.Sprintf("%+v", f), f.Say, "now summarised")
	if a := w.post("/ui/threads/t1/messages",
		url.Values{"text": {"/compact"}}); a.Header.Get("Location") != "/workspace/chats/t1?did=nothing" {
		t.Error(a.StatusCode, a.Header)
	}
	webtest.Holds(t, "/workspace/chats/t1?did=compacted", w.page("/workspace/chats/t1?did=compacted"), `class="toast good"`, "!>/compact<")
	webtest.Holds(t, "list", w.get("/ui/commands?new=1", script()...).body, "!/compact", "/goal")
	list := w.get("/ui/commands", script()...).body
	webtest.Holds(t, "is not in the list", list, `data-text="/compact"`, `data-text="/goal "`, `data-text="/new "`)
}

func TestAnAnswerIsRatedAndTheRatingTakenBack(t *testing.T) {
	w := open(t, wordy(300))
	w.begin("t1", "One")
	w.settle("t1")
	d := parsePage(t, w.page("/workspace/chats/t1"))
	form := url.Values{}
	run, err := w.db.Runs(t.Context(), "t1", "", 1, 0)
	must.Do(t, err)
	snap, err := w.db.Snapshot(t.Context(), "t1", "")
	must.Do(t, err)
	answer := snap.Messages[1].ID
	if d.id("rate-"+answer) == nil {
		t.Fatal("there is nothing to rate with")
	}
	form.Set("run", run[0].ID)
	form.Set("message", answer)
	for _, c := range []struct {
		rating string
		stored []int
	}{{"1", []int{1}}, {"-1", []int{-1}}, {"0", nil}} {
		form.Set("rating", c.rating)
		w.post("/ui/threads/t1/feedback", form).must(t, "/ui/threads/t1/feedback", http.StatusSeeOther)
		list, err := w.db.Feedback(t.Context(), "", "t1", "")
		if err != nil || len(list) != len(c.stored) || len(list) == 1 && list[0].Rating != c.stored[0] {
			t.Errorf("after %s: %+v %v", c.rating, list, err)
		}
		webtest.Same(t, fmt.Sprintf("after %s … thumbs are pressed", c.rating), strings.Count(w.page("/workspace/chats/t1"), `aria-pressed="true"`), len(c.stored))
	}
	form.Set("rating", "5")
	w.post("/ui/threads/t1/feedback", form).want(t, "/ui/threads/t1/feedback", http.StatusUnprocessableEntity)
	form.Set("rating", "1")
	form.Set("run", "other")
	w.post("/ui/threads/t1/feedback", form).want(t, "/ui/threads/t1/feedback", http.StatusNotFound)
}
