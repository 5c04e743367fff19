package runs_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// world is a manager over a real store whose runs all use one scripted agent.
type world struct {
	db  *store.DB
	m   *runs.Manager
	dir string
}

func (s suite) open(t *testing.T, dir string, a *agent.Agent) *world {
	t.Helper()
	db, err := s.openStore(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	m := runs.New(runs.Config{DB: db, Log: slog.New(slog.DiscardHandler),
		Build: func(context.Context, runs.Spec) (*agent.Agent, error) { return a, nil }})
	if err := m.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := &world{db: db, m: m, dir: dir}
	t.Cleanup(w.close)
	return w
}

func (w *world) close() {
	w.m.Close()
	w.db.Close()
}

func (w *world) start(t *testing.T, thread, text string) store.Run {
	t.Helper()
	in, _ := json.Marshal(map[string]any{"messages": []any{map[string]any{"type": "human", "content": text}}})
	run, err := w.m.Start(t.Context(), runs.Request{Thread: thread, Input: in})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// read follows a run to its end from a cursor.
func (w *world) read(t *testing.T, run string, after int64) []runevent.Event {
	t.Helper()
	r, err := w.m.Follow(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	var all []runevent.Event
	for {
		evs, err := r.Next(t.Context(), after)
		if err != nil {
			t.Fatal(err)
		}
		if evs == nil {
			return all
		}
		all = append(all, evs...)
		after = evs[len(evs)-1].To
	}
}

// shape is a short, comparable form of events.
func shape(evs []runevent.Event) string {
	names := map[runevent.Kind]string{runevent.KindMeta: "meta", runevent.KindMessage: "msg", runevent.KindText: "text",
		runevent.KindReasoning: "think", runevent.KindCall: "call", runevent.KindFinish: "finish",
		runevent.KindToolStart: "start", runevent.KindToolResult: "result", runevent.KindCustom: "custom",
		runevent.KindStep: "step", runevent.KindError: "error", runevent.KindEnd: "end", runevent.KindHalt: "halt",
		runevent.KindWithdraw: "withdraw"}
	var b strings.Builder
	for _, e := range evs {
		b.WriteString(names[e.Kind])
		switch e.Kind {
		case runevent.KindText, runevent.KindReasoning:
			b.WriteString("(" + e.Text + ")")
		case runevent.KindStep:
			b.WriteString("(" + e.Step.Node + ")")
		}
		b.WriteString(" ")
	}
	return strings.TrimSpace(b.String())
}

func toolAgent() *agent.Agent {
	return &agent.Agent{Tools: []*agent.Tool{agenttest.Echo("echo")},
		Model: &agenttest.Script{Replies: []agenttest.Reply{
			{Chunks: []agent.Chunk{{Reasoning: "hm"}, {Text: "Let "}, {Text: "me."},
				{Calls: []agent.CallDelta{{ID: "c1", Name: "echo", Args: `{"a":1}`}}}, {Finish: "tool_calls"}}},
			agenttest.Say("All ", "good."),
		}}}
}

const toolShape = "meta step(__input__) msg think(hm) text(Let ) text(me.) call finish step(model) start result step(tools) msg text(All ) text(good.) finish step(model) end"

func (s suite) LiveAndStoredReadersSeeTheSame(t *testing.T) {
	w := s.open(t, t.TempDir(), toolAgent())
	run := w.start(t, "t1", "hi")
	live := w.read(t, run.ID, 0)
	if got := shape(live); got != toolShape {
		t.Fatalf("live = %s", got)
	}
	if _, err := w.m.Wait(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	for after := int64(-1); after <= live[len(live)-1].To; after++ {
		stored := w.read(t, run.ID, after)
		var want []runevent.Event
		for _, e := range live {
			if e.To > after {
				want = append(want, e)
			}
		}
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(stored)
		if string(a) != string(b) {
			t.Fatalf("after %d:\nlive   %s\nstored %s", after, a, b)
		}
	}
	r, err := w.db.Run(t.Context(), run.ID)
	if err != nil || r.Status != runs.Success {
		t.Fatalf("run = %+v, %v", r, err)
	}
	th, _ := w.db.Thread(t.Context(), "t1")
	if th.Status != runs.Idle {
		t.Errorf("thread status = %s", th.Status)
	}
	snap, err := w.db.Snapshot(t.Context(), "t1", "")
	if err != nil || len(snap.Messages) != 4 {
		t.Fatalf("snapshot: %d messages, %v", len(snap.Messages), err)
	}
}

func (s suite) QueueRunsInOrderAndRejectRefuses(t *testing.T) {
	gate := make(chan struct{})
	first := agenttest.Say("one")
	first.Before = gate
	w := s.open(t, t.TempDir(),
		&agent.Agent{Model: &agenttest.Script{Replies: []agenttest.Reply{first, agenttest.Say("two")}}})
	a := w.start(t, "t1", "1")
	b := w.start(t, "t1", "2")
	_, err := w.m.Start(t.Context(), runs.Request{Thread: "t1", Input: json.RawMessage(`{"messages":"3"}`),
		Multitask: "reject"})
	if !errors.Is(err, runs.ErrBusy) {
		t.Fatalf("reject: %v", err)
	}
	close(gate)
	for _, id := range []string{a.ID, b.ID} {
		if r, err := w.m.Wait(t.Context(), id); err != nil || r.Status != runs.Success {
			t.Fatalf("%+v %v", r, err)
		}
	}
	snap, _ := w.db.Snapshot(t.Context(), "t1", "")
	var texts []string
	for _, m := range snap.Messages {
		msg, _ := agent.ParseMessage(m.Body)
		texts = append(texts, msg.Content.Text)
	}
	if got := strings.Join(texts, " "); got != "1 one 2 two" {
		t.Errorf("messages = %s", got)
	}
	if n := w.m.Live(); n != 0 {
		t.Errorf("%d runs still held", n)
	}
}

func (s suite) CancelKeepsPartialAnswer(t *testing.T) {
	w := s.open(t, t.TempDir(), &agent.Agent{Model: &agenttest.Script{Replies: []agenttest.Reply{
		{Chunks: []agent.Chunk{{Text: "half an "}}, Hang: true},
	}}})
	run := w.start(t, "t1", "hi")
	r, err := w.m.Follow(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	for after, seen := int64(0), false; !seen; {
		evs, err := r.Next(t.Context(), after)
		if err != nil || evs == nil {
			t.Fatal("no text", err)
		}
		for _, e := range evs {
			seen = seen || e.Kind == runevent.KindText
			after = e.To
		}
	}
	if err := w.m.Cancel(t.Context(), "t1", run.ID, true); err != nil {
		t.Fatal(err)
	}
	if got := shape(w.read(t, run.ID, 0)); got != "meta step(__input__) msg text(half an ) step(model) end" {
		t.Errorf("events = %s", got)
	}
	cp, err := w.db.Checkpoint(t.Context(), "t1", "", "")
	if err != nil || strings.Join(cp.Next, ",") != "model" {
		t.Errorf("next = %v, %v", cp.Next, err)
	}
	if err := w.m.Cancel(t.Context(), "t1", run.ID, true); err != nil {
		t.Errorf("second cancel: %v", err)
	}
	th, _ := w.db.Thread(t.Context(), "t1")
	if th.Status != runs.ThreadInterrupted {
		t.Errorf("thread = %s", th.Status)
	}
	// going on from there needs no input
	again, err := w.m.Start(t.Context(), runs.Request{Thread: "t1"})
	if err != nil {
		t.Fatal(err)
	}
	if row, err := w.m.Wait(t.Context(), again.ID); err != nil || row.Status != runs.Success {
		t.Fatalf("continue: %+v %v", row, err)
	}
}
