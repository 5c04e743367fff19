package recorder

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs/eventlog"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// bench is a recorder over a real store, with nothing else.
type bench struct {
	db    *store.DB
	rec   *Recorder
	state agent.State
}

func newBench(t testing.TB, thread string) *bench {
	t.Helper()
	db := must.Get(store.Open(context.Background(), store.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}))(t)
	t.Cleanup(func() { db.Close() })
	b := &bench{db: db}
	b.open(t, thread)
	return b
}

// open starts a recorder on a new thread.
func (b *bench) open(t testing.TB, thread string) {
	t.Helper()
	ctx := context.Background()
	must.Do(t, b.db.Commit(ctx, store.Batch{Thread: &store.Thread{ID: thread}, NewThread: true}))
	var err error
	b.rec, err = Open(ctx, Config{DB: b.db, Log: eventlog.New(0), Thread: thread, Run: "run",
		Base: Base{Number: -2, Versions: map[string]int64{}}})
	if err != nil {
		t.Fatal(err)
	}
	b.state = agent.State{}
}

func (b *bench) step(t testing.TB, node string, msgs ...*agent.Message) {
	t.Helper()
	p := agent.State{Messages: msgs}
	must.Do(t, b.state.Apply(p))
	must.Do(t, b.rec.Step(context.Background(), agent.Step{Node: node, Patch: p, State: &b.state, Next: []string{}}))
}

// stored reads all rows of the thread.
func (b *bench) stored(t testing.TB) (evs []runevent.Event, rows []store.Event) {
	t.Helper()
	rows = must.Get(b.db.Events(context.Background(), b.rec.thread, 0, 0, 0))(t)
	for _, row := range rows {
		part, err := eventlog.Expand(context.Background(), b.db, row)
		if err != nil {
			t.Fatalf("row %d..%d: %v", row.Seq, row.To, err)
		}
		evs = append(evs, part...)
	}
	return evs, rows
}

// shown are the events that readers of the run got while it was at work.
func (b *bench) shown(t testing.TB) (evs []runevent.Event) {
	t.Helper()
	r := eventlog.NewReader(b.db, store.Run{ID: b.rec.run, ThreadID: b.rec.thread}, b.rec.log)
	for after := int64(0); ; after = evs[len(evs)-1].To {
		more := must.Get(r.Ready(context.Background(), after))(t)
		if len(more) == 0 {
			return evs
		}
		evs = append(evs, more...)
	}
}

// lines is a comparable form of events with everything readers see of them.
func lines(evs []runevent.Event) []string {
	var out []string
	for _, e := range evs {
		line := fmt.Sprintf("%d-%d kind %d ns %q text %q data %s", e.Seq, e.To, e.Kind, e.NS, e.Text, e.Data)
		if e.Msg != nil {
			line += fmt.Sprintf(" msg %q/%q", e.Msg.ID, e.Msg.NS)
		}
		if s := e.Step; s != nil {
			line += fmt.Sprintf(" step %s %s %d next %v", s.Node, s.Checkpoint, s.Number, s.Next)
			for i, m := range s.Messages {
				line += fmt.Sprintf("\n  %v %s", s.Whole[i], m)
			}
			fields, _ := json.Marshal(s.Fields) // sorted; absent and empty are the same
			line += "\n  " + strings.Replace(string(fields), "null", "{}", 1)
		}
		out = append(out, line)
	}
	return out
}

func sameEvents(t interface {
	Helper()
	Fatalf(string, ...any)
}, got, want []runevent.Event) {
	t.Helper()
	g, w := lines(got), lines(want)
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("event %d:\n got %s\nwant %s", i, g[i], w[i])
		}
	}
	if len(g) != len(w) {
		t.Fatalf("%d events, want %d", len(g), len(w))
	}
}

var oddTexts = []string{"", " ", "plain words", "größe 漢字 🦌🍃", "\u2028<b>&\"\\", "x\x00y", "\xff\xfe", "\ufffd",
	"a\n\tb"}

// cut splits text into random pieces, also inside runes.
func cut(t *rapid.T, text string) []string {
	var out []string
	for text != "" {
		n := rapid.IntRange(1, len(text)).Draw(t, "piece")
		out, text = append(out, text[:n]), text[n:]
	}
	return out
}

// TestFoldedEventsReadAsTheyStreamed writes random steps the way agents do, with helpers
// speaking in between, and reads back from rows exactly what live readers saw.
func TestFoldedEventsReadAsTheyStreamed(t *testing.T) {
	n := 0
	b := newBench(t, "t0")
	rapid.Check(t, func(rt *rapid.T) {
		n++
		b.open(t, fmt.Sprintf("t%d", n))
		text := rapid.OneOf(rapid.SampledFrom(oddTexts), rapid.String())
		id := func(kind string) string { n++; return fmt.Sprintf("%s%d", kind, n) }
		for range rapid.IntRange(1, 4).Draw(rt, "rounds") {
			msgID := id("ai")
			var queue []agent.Event
			emit := func(ns, msg string, k agent.Chunk) {
				queue = append(queue, agent.Event{Kind: agent.EventChunk, NS: ns, Message: msg, Chunk: k})
			}
			var c agent.Collector
			lead := func(k agent.Chunk) { c.Add(k); emit("", msgID, k) }
			for _, p := range cut(rt, text.Draw(rt, "reasoning")) {
				lead(agent.Chunk{Reasoning: p})
			}
			for _, p := range cut(rt, text.Draw(rt, "text")) {
				lead(agent.Chunk{Text: p})
			}
			for i := range rapid.IntRange(0, 3).Draw(rt, "calls") {
				args, _ := json.Marshal(map[string]string{"q": text.Draw(rt, "arg")})
				if rapid.Bool().Draw(rt, "loose") {
					args = append([]byte("{ "), args[1:]...)
				}
				d := agent.CallDelta{Index: i,
					ID: rapid.SampledFrom([]string{"c", fmt.Sprint("c", i), "", "\xff"}).Draw(rt, "id"), Name: "look"}
				if rapid.Bool().Draw(rt, "atOnce") {
					d.Args = string(args)
					lead(agent.Chunk{Calls: []agent.CallDelta{d}})
					continue
				}
				lead(agent.Chunk{Calls: []agent.CallDelta{d}})
				for _, p := range cut(rt, string(args)) {
					lead(agent.Chunk{Calls: []agent.CallDelta{{Index: i, Args: p}}})
				}
			}
			last := agent.Chunk{Finish: rapid.SampledFrom([]string{"stop", "", "\xff"}).Draw(rt, "finish"), Model: "m"}
			if rapid.Bool().Draw(rt, "usage") {
				last.Usage = &agent.Usage{Input: 1, Output: 2, Total: 3, InputDetails: map[string]int{"cache_read": 1}}
			}
			if rapid.Bool().Draw(rt, "kwargs") {
				last.Kwargs = map[string]any{"signature": "s"}
			}
			lead(last)
			helper := id("helper")
			for _, p := range cut(rt, text.Draw(rt, "helper")) {
				emit("tools:c", helper, agent.Chunk{Text: p})
			}
			interleave(rt, b.rec, queue)
			msg := c.Message(msgID, true)
			switch rapid.IntRange(0, 3).Draw(rt, "hook") { // what stages may do to an answer
			case 0:
				msg.Content = agent.Text(msg.Content.Text + "!")
			case 1:
				msg.ToolCalls = nil
			}
			b.step(t, agent.NodeModel, msg)

			var results []*agent.Message
			for _, call := range msg.ToolCalls {
				if err := b.rec.Record(rt.Context(), agent.Event{Kind: agent.EventToolStart, Call: call}); err != nil {
					rt.Fatal(err)
				}
				b.rec.Emit(agent.Event{Kind: agent.EventToolOutput, Call: call, Data: json.RawMessage(`"out"`)})
				r := agent.TextResult(text.Draw(rt, "result"))
				if rapid.Bool().Draw(rt, "patch") {
					r.Patch.Artifacts = []string{"/mnt/a"}
					r.Patch.Notes = []agent.Note{{ID: "n", Text: "hidden"}}
				}
				r.End = rapid.Bool().Draw(rt, "end")
				tool := id("tool")
				b.rec.Emit(agent.Event{Kind: agent.EventToolResult, Call: call, Message: tool, Result: r})
				if rapid.Bool().Draw(rt, "changed") {
					r.Content = agent.Text("shorter")
				}
				results = append(results, r.Message(tool, call))
			}
			b.rec.Emit(agent.Event{Kind: agent.EventCustom, NS: "tools:c", Data: json.RawMessage(`{"a":1}`)})
			if rapid.Bool().Draw(rt, "child") {
				childSteps(rt, b.rec, id, text)
			}
			b.step(t, agent.NodeTools, results...)
		}
		got, _ := b.stored(t)
		sameEvents(rt, got, b.shown(t))
		b.rec.Close()
	})
}

// interleave emits the events of the lead and of helpers in their own orders, mixed.
func interleave(t *rapid.T, rec *Recorder, evs []agent.Event) {
	var lead, helper []agent.Event
	for _, e := range evs {
		if e.NS == "" {
			lead = append(lead, e)
		} else {
			helper = append(helper, e)
		}
	}
	for len(lead)+len(helper) > 0 {
		if len(helper) == 0 || len(lead) > 0 && rapid.Bool().Draw(t, "lead next") {
			rec.Emit(lead[0])
			lead = lead[1:]
			continue
		}
		rec.Emit(helper[0])
		helper = helper[1:]
	}
}

// TestRepeatedTextIsNotStoredTwice measures what a delta costs whose text the stored
// message repeats, and that nothing of a tool's output is stored with its event.
func TestRepeatedTextIsNotStoredTwice(t *testing.T) {
	size := func(deltas int, k agent.Chunk) int {
		b := newBench(t, "t1")
		var c agent.Collector
		for range deltas {
			c.Add(k)
			b.rec.Emit(agent.Event{Kind: agent.EventChunk, Message: "a", Chunk: k})
		}
		b.step(t, agent.NodeModel, c.Message("a", true))
		_, rows := b.stored(t)
		return len(rows[0].Data)
	}
	long := strings.Repeat("seven words of text in one delta. ", 30)
	for name, k := range map[string]agent.Chunk{"short text": {Text: "word "}, "long text": {Text: long},
		"reasoning": {Reasoning: long}} {
		if each := float64(size(200, k)-size(100, k)) / 100; each > 4 {
			t.Errorf("%s: %.1f bytes a delta", name, each)
		}
	}
	b := newBench(t, "t1")
	call := agent.ToolCall{ID: "c1", Name: "look", Args: json.RawMessage(`{"q":"` + long + `"}`)}
	b.step(t, agent.NodeModel, &agent.Message{ID: "a", Type: agent.TypeAI, ToolCalls: []agent.ToolCall{call}})
	b.rec.Emit(agent.Event{Kind: agent.EventToolStart, Call: call})
	b.rec.Emit(agent.Event{Kind: agent.EventToolResult, Call: call, Message: "r", Result: agent.TextResult(long)})
	b.step(t, agent.NodeTools, agent.TextResult(long).Message("r", call))
	if evs, rows := b.stored(t); len(rows[1].Data) > 200 || len(evs) != 4 {
		t.Errorf("%d events; the tool step takes %d bytes", len(evs), len(rows[1].Data))
	}
}

// Two stored messages which streamed at the same time, and calls which look the same.
func TestFoldKeepsSlotsAndCallsApart(t *testing.T) {
	b := newBench(t, "t1")
	var one, two agent.Collector
	say := func(c *agent.Collector, id string, k agent.Chunk) {
		c.Add(k)
		b.rec.Emit(agent.Event{Kind: agent.EventChunk, Message: id, Chunk: k})
	}
	same := agent.CallDelta{ID: "c", Name: "look", Args: `{"a":1}`}
	for i := range 4 {
		say(&one, "one", agent.Chunk{Text: fmt.Sprint("a", i)})
		say(&two, "two", agent.Chunk{Text: fmt.Sprint("bb", i), Reasoning: "r"})
	}
	again := same
	again.Index = 1
	say(&one, "one", agent.Chunk{Calls: []agent.CallDelta{same, again}})
	b.step(t, agent.NodeModel, two.Message("two", true), one.Message("one", true))
	for range 2 { // the same call twice, and its result
		b.rec.Emit(agent.Event{Kind: agent.EventToolStart,
			Call: agent.ToolCall{ID: "c", Name: "look", Args: json.RawMessage(same.Args)}})
		b.rec.Emit(agent.Event{Kind: agent.EventToolResult, Message: "r", Call: agent.ToolCall{ID: "c", Name: "look"},
			Result: agent.TextResult("x")})
	}
	b.step(t, agent.NodeTools, agent.TextResult("x").Message("r", agent.ToolCall{ID: "c", Name: "look"}))
	got, _ := b.stored(t)
	sameEvents(t, got, b.shown(t))
}
