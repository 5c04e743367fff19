package ui_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/web/webtest"
)

func TestMain(m *testing.M) {
	agenttest.Main(m, goleak.IgnoreAnyFunction("github.com/dlclark/regexp2/v2.runClock")) // the highlighter's clock
}

// reader is a browser that follows a thread.
type reader struct {
	w      *world
	thread string
	dom    *dom
	cursor string
	frames int
	resets int
	kinds  []string
	lang   string
	heard  func(data string) // called with each event
	enough func() bool       // ends reading after an event; nil reads on
}

func (w *world) reader(thread string) *reader { return w.readerIn(thread, "en") }

func (w *world) readerIn(thread, lang string) *reader {
	w.Helper()
	a := w.get("/workspace/chats/"+thread, "Accept-Language", lang)
	a.must(w, "the thread's page", http.StatusOK)
	r := &reader{w: w, thread: thread, lang: lang, dom: parsePage(w.T, a.body)}
	r.cursor = attr(r.dom.id("turns"), "data-cursor")
	return r
}

// read follows the stream for at most n events (0: to its end).
func (r *reader) read(n int) {
	r.w.Helper()
	ctx, cancel := context.WithTimeout(r.w.Context(), 3*time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		r.w.url+"/ui/threads/"+r.thread+"/stream?v="+url.QueryEscape(r.cursor), nil)
	if err != nil {
		r.w.Fatal(err)
	}
	req.Header.Set("Accept-Language", r.lang)
	resp, err := r.w.client.Do(req)
	if err != nil {
		r.w.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		r.w.Fatalf("stream = %d", resp.StatusCode)
	}
	r.apply(ctx, resp.Body, n)
}

// readUntil follows the stream until the turns on the page have a text.
func (r *reader) readUntil(text string) {
	r.w.Helper()
	has := func() bool { return strings.Contains(r.dom.section("turns"), text) }
	if has() {
		return
	}
	r.enough = has
	r.read(0)
	if r.enough = nil; !has() {
		r.w.Fatalf("the stream ended without %q:\n%s", text, r.dom.section("turns"))
	}
}

// apply applies at most n events of a stream to the page (0: all).
func (r *reader) apply(ctx context.Context, stream io.Reader, n int) {
	r.w.Helper()
	lines := bufio.NewReaderSize(stream, 1<<20)
	kind, data := "", ""
	for seen := 0; n == 0 || seen < n; {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) || err != nil && ctx.Err() == nil && errors.Is(err, io.ErrUnexpectedEOF) {
			return
		}
		if err != nil {
			r.w.Fatal(err)
		}
		line = strings.TrimSuffix(line, "\n")
		switch name, value, _ := strings.Cut(line, ": "); name {
		case "event":
			kind = value
		case "data":
			data = value
		case "id":
			r.cursor = value
		case "":
			if kind == "" {
				continue
			}
			if err := r.dom.event(kind, data); err != nil {
				r.w.Fatal(err)
			}
			seen++
			r.frames++
			r.kinds = append(r.kinds, kind)
			if r.heard != nil {
				r.heard(data)
			}
			if kind == "reset" {
				r.resets++
			}
			if kind == "done" || r.enough != nil && r.enough() {
				return
			}
			kind, data = "", ""
		}
	}
}

var parts = []string{"turns", "title", "files-button", "send", "threads", "todos", "gauge"}

// equalsPage insists that the reader's page is what a fresh one would be.
func (r *reader) equalsPage() {
	r.w.Helper()
	fresh := parsePage(r.w.T, r.w.get("/workspace/chats/"+r.thread, "Accept-Language", r.lang).body)
	if got, want := r.dom.section(parts...), fresh.section(parts...); got != want {
		r.w.Fatalf("the live page differs from a fresh one (events %v) %s", r.kinds, firstDifference(got, want))
	}
}

// equalsCursor insists that the reader's page is what one at its cursor would be.
func (r *reader) equalsCursor() {
	r.w.Helper()
	if r.cursor == "" || strings.HasSuffix(r.cursor, ".x") {
		return
	}
	inner, err := r.w.ui.TurnsAt(r.w.Context(), r.thread, r.cursor)
	if err != nil {
		r.w.Fatal(err)
	}
	fresh := parsePage(r.w.T, `<div id="turns">`+inner+`</div>`)
	if got, want := still(r.dom.section("turns")), still(fresh.section("turns")); got != want {
		r.w.Fatalf("the live page at %s differs from a fresh one (events %v) %s", r.cursor, r.kinds,
			firstDifference(got, want))
	}
}

// stroll reads to the end of the run, a few events a connection, and insists after each that
// the page is what one at its cursor would be.
func (r *reader) stroll(random *rand.Rand, most int) {
	r.w.Helper()
	for i := 0; !r.dom.done && i < 10_000; i++ {
		r.read(1 + random.IntN(most))
		if !r.dom.done {
			r.equalsCursor()
		}
	}
}

const prose = "# Findings\n\nHeat pumps are **cheaper** over *ten* years, see [the report](https://example.org/a_b).\n\n" +
	"| year | cost |\n|---|---:|\n| 1 | 900 |\n| 2 | `850` |\n\n```go\nfunc main() { println(\"hi\") }\n```\n\n1. one\n2. two\n   - deep\n\n> quoted\n\nDone[^1].\n\n[^1]: a note\n"

// journey is a run with everything in it: thinking, words before calls, parallel calls, one
// that fails, a file that is written and handed over, and an answer.
func journey(pause time.Duration) *typist {
	write := `{"path":"/mnt/user-data/outputs/report.md","content":"# Report\n\nwith \"quotes\" and <b>tags</b>\n"}`
	return &typist{pause: pause, Script: agenttest.Script{Replies: []agenttest.Reply{
		{Chunks: []agent.Chunk{{Reasoning: "The reader wants *numbers*[^1].\n\n- first\n- second\n\n[^1]: really"},
			{Text: "Let me look."},
			{Calls: []agent.CallDelta{{Index: 0, ID: "call_1", Name: "ls", Args: `{"path":"/mnt/user-data/workspace"}`}}},
			{Calls: []agent.CallDelta{{Index: 1, ID: "call_2", Name: "read_file",
				Args: `{"path":"/mnt/user-data/workspace/none.txt"}`}}}, {Finish: "tool_calls", Model: "m-1"}}},
		{Chunks: []agent.Chunk{{Calls: []agent.CallDelta{{ID: "call_1", Name: "write_file", Args: write}}}, {Finish: "tool_calls"}}},
		{Chunks: []agent.Chunk{{Text: "Here it is."}, {Calls: []agent.CallDelta{{ID: "call 3 \"odd\"", Name: "present_files", Args: `{"filepaths":["/mnt/user-data/outputs/report.md"]}`}}}, {Finish: "tool_calls"}}},
		{Chunks: []agent.Chunk{{Reasoning: "Now the answer."}, {Text: prose}, {Finish: "stop", Model: "m-1", Usage: &agent.Usage{Input: 10, Output: 20, Total: 30}}}},
	}}}
}

func TestLivePageEndsEqualToAFreshOne(t *testing.T) {
	model, opened := journey(time.Millisecond), make(chan struct{})
	model.Replies[0].Before = opened // a page that is opened later shows the whole anew
	w := open(t, model)
	w.begin("t1", "Compare the two, please")
	r := w.reader("t1")
	close(opened)
	r.read(0)
	if !r.dom.done || r.resets > 0 {
		t.Fatalf("done %t after events %v", r.dom.done, r.kinds)
	}
	w.settle("t1")
	r.equalsPage()
	webtest.Holds(t, "is not on the page", r.dom.section("turns"), "Findings", "report.md", "Let me look.", "Compare the two")
}

func TestLivePageSurvivesCutsAnywhere(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(string(rune('a'+seed)), func(t *testing.T) {
			t.Parallel()
			w := open(t, journey(time.Millisecond))
			w.begin("t1", "Compare")
			random := rand.New(rand.NewPCG(seed, 1))
			r := w.reader("t1")
			r.stroll(random, 4)
			w.settle("t1")
			r.equalsPage()
		})
	}
}

func TestPagesOpenedMidRunGoOn(t *testing.T) {
	w := open(t, journey(time.Millisecond))
	w.begin("t1", "Compare")
	first := w.reader("t1")
	var late []*reader
	for !first.dom.done {
		first.read(7)
		late = append(late, w.reader("t1"))
	}
	w.settle("t1")
	for _, r := range late {
		if attr(r.dom.id("turns"), "data-cursor") == "" {
			continue // the run had ended
		}
		r.read(0)
		if r.resets > 0 || !r.dom.done {
			t.Errorf("a page from the middle saw %v", r.kinds)
		}
		r.equalsPage()
	}
}

func TestCursorsThatCannotBeHonouredAreReset(t *testing.T) {
	w := open(t, journey(0))
	w.begin("t1", "Compare")
	w.settle("t1")
	for _, cursor := range []string{"", "nonsense", "01a1fcb8-f974-7c0d-8ea5-e6fa28a6af8e.4",
		w.newest("t1") + ".9999999", w.newest("t1") + ".3.x", "-1"} {
		r := w.reader("t1")
		r.dom.id("turns").FirstChild.Data = "broken"
		r.cursor = cursor
		r.read(0)
		if !r.dom.done || r.resets != 1 {
			t.Errorf("cursor %q: events %v", cursor, r.kinds)
		}
		r.equalsPage()
	}
}

func (w *world) newest(thread string) string {
	w.Helper()
	list, err := w.db.Runs(w.Context(), thread, "", 1, 0)
	if err != nil || len(list) == 0 {
		w.Fatal(list, err)
	}
	return list[0].ID
}

func TestStopKeepsTextAndContinueGoesOn(t *testing.T) {
	model := &typist{pause: time.Millisecond, Script: agenttest.Script{Replies: []agenttest.Reply{
		{Chunks: []agent.Chunk{{Reasoning: "hm"}, {Text: "Half an answer"}}, Hang: true},
		agenttest.Say("The ", "rest."),
	}}}
	w := open(t, model)
	w.begin("t1", "Go")
	r := w.reader("t1")
	r.readUntil("Half an answer")
	a := w.post("/ui/threads/t1/stop", nil, script()...)
	// it may come after the end of the stream
	if a.StatusCode != http.StatusOK || len(decodeFrame(t, a.body).Swap) > 0 {
		t.Fatal(a.StatusCode, a.body)
	}
	r.read(0)
	w.settle("t1")
	r.equalsPage()
	page := w.page("/workspace/chats/t1")
	if !strings.Contains(page, "Half an answer") || !strings.Contains(page, `name="resume"`) {
		t.Fatal("the text or the way to go on is missing")
	}
	r.follow("/ui/threads/t1/messages", url.Values{"resume": {"1"}})
	w.settle("t1")
	r.equalsPage()
	if s := r.dom.section("turns"); !strings.Contains(s, "The rest.") || !strings.Contains(s, "Half an answer") {
		t.Fatal(s)
	}
}

// follow posts a form as the script does, applies the answer and reads on. Of a run that is over by then the answer
// shows all.
func (r *reader) follow(path string, form url.Values) {
	r.w.Helper()
	a := r.w.post(path, form, script()...)
	f := decodeFrame(r.w.T, a.body)
	if a.StatusCode != http.StatusOK || f.Error != "" || f.Running && f.Cursor == "" {
		r.w.Fatalf("POST %s = %d %s", path, a.StatusCode, a.body)
	}
	if err := r.dom.apply(f); err != nil {
		r.w.Fatal(err)
	}
	if f.Running {
		r.cursor, r.dom.done = f.Cursor, false
		r.read(0)
	}
}

func TestFailedRunSaysWhyAndCanBeTriedAgain(t *testing.T) {
	model := &typist{pause: time.Millisecond, Script: agenttest.Script{Replies: []agenttest.Reply{
		{Chunks: []agent.Chunk{{Text: "It bre"}},
			Err: errors.New("the model provider answered 429: slow down <b>now</b>")},
		agenttest.Say("Fine ", "now."),
		agenttest.Say("And ", "more."),
	}}}
	w := open(t, model)
	w.begin("t1", "Go")
	r := w.reader("t1")
	r.read(0)
	w.settle("t1")
	r.equalsPage()
	s := r.dom.section("turns")
	webtest.Holds(t, "is not on the page", s, "It bre", "The model is busy", "slow down &lt;b&gt;now&lt;/b&gt;", `name="resume"`)
	r.follow("/ui/threads/t1/messages", url.Values{"resume": {"1"}})
	w.settle("t1")
	r.equalsPage()
	r.follow("/ui/threads/t1/messages", url.Values{"text": {"next"}})
	w.settle("t1")
	r.equalsPage()
	if s := r.dom.section("turns"); strings.Contains(s, `name="resume"`) || strings.Count(s, "<article") != 2 {
		t.Error("the second turn is not as it should be")
	}
}

func TestDrainingEndsStreams(t *testing.T) {
	model := &agenttest.Script{Replies: []agenttest.Reply{{Chunks: []agent.Chunk{{Text: "a"}}, Hang: true}}}
	w := open(t, model)
	w.begin("t1", "Go")
	r := w.reader("t1")
	w.drain()
	r.read(0)
	if r.dom.done {
		t.Fatal("the stream said that the run is over")
	}
}

// TestTheTrailIsOpenUntilThereIsAnAnswer: what is said first may yet turn out to be a step, and a page
// that comes meanwhile would keep the steps folded.
func TestTheTrailIsOpenUntilThereIsAnAnswer(t *testing.T) {
	for text, want := range map[string]bool{"I look first.": true, strings.Repeat("The answer is long. ", 20): false} {
		model := &agenttest.Script{
			Replies: []agenttest.Reply{{Chunks: []agent.Chunk{{Reasoning: "Hm."}, {Text: text}}, Hang: true}},
		}
		w := open(t, model)
		w.begin("t1", "Go")
		var page string
		for !strings.Contains(page, text[:10]) {
			page = w.page("/workspace/chats/t1")
		}
		webtest.Same(t, fmt.Sprintf("%.20q: the trail is open", text), regexp.MustCompile(`<details class="trail" id="[^"]*" open`).MatchString(page), want)
	}
}

// TestARolledBackRunLeavesThePageOpen: the page is told the conversation without the run, and isn't sent away as from a
// deleted chat.
func TestARolledBackRunLeavesThePageOpen(t *testing.T) {
	w := open(t, &typist{pause: time.Millisecond, Script: agenttest.Script{Replies: []agenttest.Reply{
		agenttest.Say("One."), {Chunks: []agent.Chunk{{Text: "Half an answer"}}, Hang: true}}}})
	w.begin("t1", "Go")
	w.settle("t1")
	w.begin("t1", "On")
	r := w.reader("t1")
	r.readUntil("Half an answer")
	ended := make(chan error, 1)
	r.heard = func(string) {
		r.heard = nil
		go func() { ended <- w.runs.Rollback(w.Context(), "t1", w.runs.Active("t1"), true) }()
	}
	r.read(0)
	must.Do(t, <-ended)
	r.read(0)
	if slices.Contains(r.kinds, "gone") {
		t.Errorf("the page is sent away: %v", r.kinds)
	}
	r.equalsPage()
}
