package runs_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
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
	db := must.Get(s.openStore(t.Context(), dir))(t)
	m := runs.New(runs.Config{DB: db, Log: slog.New(slog.DiscardHandler),
		Build: func(context.Context, runs.Spec) (*agent.Agent, error) { return a, nil }})
	must.Do(t, m.Recover(t.Context()))
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
	run := must.Get(w.m.Start(t.Context(), runs.Request{Thread: thread, Input: in}))(t)
	return run
}

// read follows a run to its end from a cursor.
func (w *world) read(t *testing.T, run string, after int64) []runevent.Event {
	t.Helper()
	r := must.Get(w.m.Follow(t.Context(), run))(t)
	var all []runevent.Event
	for {
		evs := must.Get(r.Next(t.Context(), after))(t)
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
	must.Get(w.m.Wait(t.Context(), run.ID))(t)
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
