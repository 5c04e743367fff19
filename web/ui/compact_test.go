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
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/middleware"
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
	if a := w.post("/ui/threads/"+thread+"/messages", url.Values{"text": {text}}); a.StatusCode != http.StatusSeeOther {
		w.Fatal(a.StatusCode, a.body)
	}
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
	if page := w.page("/workspace/chats/t1"); !strings.Contains(page, "64%") {
		t.Error("the second run is not shown")
	}
	usage := w.page("/ui/threads/t1/usage")
	for _, want := range []string{"64%", "640", "1.0k", "930", "One", "Two", "Mini",
		`action="/ui/threads/t1/compact"`} {
		if !strings.Contains(usage, want) {
			t.Errorf("%q is not on the page of what the chat took", want)
		}
	}
	if strings.Contains(usage, "Price") {
		t.Error("a price is shown that nobody knows")
	}
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
	if page := w.page(a.Header.Get("Location")); !strings.Contains(page, "4 messages are now summarised") ||
		!strings.Contains(page, "≈") {
		t.Error(page)
	}
	page := w.page("/workspace/chats/t1")
	if !strings.Contains(page, "Earlier messages were summarised") ||
		!strings.Contains(page, "<strong>gist</strong>") || !strings.Contains(page, "≈") {
		t.Error(page)
	}
	if strings.Index(page, "Earlier messages were") > strings.Index(page, "Three") ||
		strings.Index(page, "Earlier messages were") < strings.Index(page, "answer 1") {
		t.Error("the line stands in another place")
	}
	w.say("t1", "Four")
	if s := parsePage(t, w.page("/workspace/chats/t1")).section("gauge"); !strings.Contains(s, "40%") ||
		strings.Contains(s, "≈") {
		t.Errorf("after the next run: %s", s)
	}
	if shared := w.post("/ui/threads/t1/share", nil); shared.StatusCode != http.StatusSeeOther {
		t.Fatal(shared.StatusCode)
	}
	link, err := w.db.ShareOf(t.Context(), "default", "t1")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(w.page("/share/"+link.Token), "gist") {
		t.Error("readers of a link see the summary")
	}
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
	if a := w.post("/ui/threads/t1/messages", url.Values{"text": {"Two"}}); a.StatusCode != http.StatusSeeOther {
		t.Fatal(a.body)
	}
	for _, c := range []struct {
		path string
		form url.Values
	}{{"compact", nil}, {"compact", url.Values{"to": {"chat"}}}, {"messages", url.Values{"text": {" /compact "}}}} {
		a := w.post("/ui/threads/t1/"+c.path, c.form)
		if a.StatusCode != http.StatusConflict || !strings.Contains(a.body, "Compact when it has ended") {
			t.Errorf("%s %v: %d", c.path, c.form, a.StatusCode)
		}
		if a := w.post("/ui/threads/t1/"+c.path, c.form, script()...); a.StatusCode != http.StatusConflict ||
			!strings.Contains(decodeFrame(t, a.body).Error, "Compact when it has ended") {
			t.Errorf("%s %v with script: %d %s", c.path, c.form, a.StatusCode, a.body)
		}
	}
	close(gate)
	w.settle("t1")
	w.ui.Compact = nil
	a := w.post("/ui/threads/t1/compact", nil)
	if a.StatusCode != http.StatusConflict || !strings.Contains(a.body, "turned off") {
		t.Error(a.StatusCode, a.body)
	}
	if a := w.post("/ui/threads/none/compact", nil); a.StatusCode != http.StatusNotFound {
		t.Error(a.StatusCode)
	}
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
		if err := r.dom.apply(f); err != nil {
			t.Fatal(err)
		}
		if f.Running {
			r.cursor, r.dom.done = f.Cursor, false
			r.read(0)
		}
		w.settle("t1")
		r.equalsPage()
		if has := strings.Contains(r.dom.section("turns"), "were summarised"); has != (i >= 2) {
			t.Errorf("%s: the line is there: %t", text, has)
		}
	}
}

func TestCommandsOfTheMessageBoxWorkWithoutScript(t *testing.T) {
	w := open(t, wordy(300, 600), windowed())
	w.shorten(gist(1))
	a := w.post("/ui/threads", url.Values{"thread": {"t0"}, "text": {"/compact"}})
	if a.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(a.body, "Nothing to compact") {
		t.Error(a.StatusCode, a.body)
	}
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
	if !strings.Contains(f.Say, "now summarised") {
		t.Errorf("%+v", f)
	}
	if a := w.post("/ui/threads/t1/messages",
		url.Values{"text": {"/compact"}}); a.Header.Get("Location") != "/workspace/chats/t1?did=nothing" {
		t.Error(a.StatusCode, a.Header)
	}
	if page := w.page("/workspace/chats/t1?did=compacted"); !strings.Contains(page, `class="toast good"`) ||
		strings.Contains(page, ">/compact<") {
		t.Error(page)
	}
	if list := w.get("/ui/commands?new=1", script()...).body; strings.Contains(list, "/compact") ||
		!strings.Contains(list, "/goal") {
		t.Error(list)
	}
	list := w.get("/ui/commands", script()...).body
	for _, want := range []string{`data-text="/compact"`, `data-text="/goal "`, `data-text="/new "`} {
		if !strings.Contains(list, want) {
			t.Errorf("%q is not in the list: %s", want, list)
		}
	}
}

func TestAnAnswerIsRatedAndTheRatingTakenBack(t *testing.T) {
	w := open(t, wordy(300))
	w.begin("t1", "One")
	w.settle("t1")
	d := parsePage(t, w.page("/workspace/chats/t1"))
	form := url.Values{}
	run, err := w.db.Runs(t.Context(), "t1", "", 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := w.db.Snapshot(t.Context(), "t1", "")
	if err != nil {
		t.Fatal(err)
	}
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
		if a := w.post("/ui/threads/t1/feedback", form); a.StatusCode != http.StatusSeeOther {
			t.Fatal(a.StatusCode, a.body)
		}
		list, err := w.db.Feedback(t.Context(), "", "t1", "")
		if err != nil || len(list) != len(c.stored) || len(list) == 1 && list[0].Rating != c.stored[0] {
			t.Errorf("after %s: %+v %v", c.rating, list, err)
		}
		if pressed := strings.Count(w.page("/workspace/chats/t1"), `aria-pressed="true"`); pressed != len(c.stored) {
			t.Errorf("after %s %d thumbs are pressed", c.rating, pressed)
		}
	}
	form.Set("rating", "5")
	if a := w.post("/ui/threads/t1/feedback", form); a.StatusCode != http.StatusUnprocessableEntity {
		t.Error(a.StatusCode)
	}
	form.Set("rating", "1")
	form.Set("run", "other")
	if a := w.post("/ui/threads/t1/feedback", form); a.StatusCode != http.StatusNotFound {
		t.Error(a.StatusCode)
	}
}
