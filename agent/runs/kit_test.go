package runs_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
	"fawn/agent/threads"
	"fawn/store"
)

// modelOf is a model whose calls are made by a function.
type modelOf func(ctx context.Context, req *agent.Request, yield func(agent.Chunk, error) bool)

// Stream implements agent.Model.
func (f modelOf) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) { f(ctx, req, yield) }
}

// hang waits until the run is cancelled.
func hang(ctx context.Context, yield func(agent.Chunk, error) bool) {
	<-ctx.Done()
	yield(agent.Chunk{}, ctx.Err())
}

// parrot repeats the newest human message; "hang" and "fail" do that after it.
func parrot(ctx context.Context, req *agent.Request, yield func(agent.Chunk, error) bool) {
	text := agent.LastGenuine(req.Messages).Content.Text
	for _, word := range strings.SplitAfter("re: "+text, " ") {
		if !yield(agent.Chunk{Text: word}, nil) {
			return
		}
	}
	switch {
	case strings.HasPrefix(text, "hang"):
		hang(ctx, yield)
	case strings.HasPrefix(text, "fail"):
		yield(agent.Chunk{}, errors.New("the provider is gone"))
	default:
		yield(agent.Chunk{Finish: "stop"}, nil)
	}
}

func parrotAgent() *agent.Agent { return &agent.Agent{Model: modelOf(parrot)} }

// openWith is open with a build function and hooks of its own.
func (s suite) openWith(t *testing.T, dir string, cfg runs.Config) *world {
	t.Helper()
	db := must.Get(s.openStore(t.Context(), dir))(t)
	cfg.DB, cfg.Log = db, quiet()
	w := &world{db: db, m: runs.New(cfg), dir: dir}
	t.Cleanup(w.close)
	must.Do(t, w.m.Recover(t.Context()))
	return w
}

func human(text string) json.RawMessage {
	in, _ := json.Marshal(map[string]any{"messages": []any{map[string]any{"type": "human", "content": text}}})
	return in
}

// startAs starts a run with a strategy.
func (w *world) startAs(t *testing.T, thread, text, strategy string) store.Run {
	t.Helper()
	run := must.Get(w.m.Start(t.Context(), runs.Request{Thread: thread, Input: human(text), Multitask: strategy}))(t)
	return run
}

// end waits for a run and checks its status.
func (w *world) end(t *testing.T, run store.Run, status string) store.Run {
	t.Helper()
	row, err := w.m.Wait(t.Context(), run.ID)
	if err != nil || row.Status != status {
		t.Fatalf("run %s: status %s (%s, %s), want %s; %v", run.ID, row.Status, row.StopReason, row.Error, status, err)
	}
	return row
}

// until reads a run until an event is there.
func (w *world) until(t *testing.T, run store.Run, is func(runevent.Event) bool) {
	t.Helper()
	r := must.Get(w.m.Follow(t.Context(), run.ID))(t)
	for after := int64(0); ; {
		evs, err := r.Next(t.Context(), after)
		if err != nil || evs == nil {
			t.Fatalf("the run ended without the event: %v", err)
		}
		if slices.ContainsFunc(evs, is) {
			return
		}
		after = evs[len(evs)-1].To
	}
}

func text(s string) func(runevent.Event) bool {
	return func(e runevent.Event) bool { return e.Kind == runevent.KindText && strings.Contains(e.Text, s) }
}

// state is the thread's state at a checkpoint, "" for the head.
func (w *world) state(t *testing.T, thread, checkpoint string) agent.State {
	t.Helper()
	snap := must.Get(w.db.Snapshot(t.Context(), thread, checkpoint))(t)
	st := must.Get(runs.State(snap))(t)
	return st
}

// texts are the messages of a state, as "type:text", one a line.
func texts(s agent.State) string {
	var out []string
	for _, m := range s.Messages {
		out = append(out, m.Type+":"+m.Content.String())
	}
	return strings.Join(out, "\n")
}

func (w *world) status(t *testing.T, thread string) string {
	t.Helper()
	th := must.Get(w.db.Thread(t.Context(), thread))(t)
	return th.Status
}

func (w *world) head(t *testing.T, thread string) store.Checkpoint {
	t.Helper()
	cp := must.Get(w.db.Checkpoint(t.Context(), thread, "", ""))(t)
	return cp
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// held is how many threads and runs a manager remembers. It lets go of a run a moment after it told the end: whose
// turn it is then, is in the store.
func held(m *runs.Manager) int {
	for end := time.Now().Add(30 * time.Second); m.Held() != 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	return m.Held()
}

// sound checks what must hold whenever nothing runs.
func (w *world) sound(t *testing.T) {
	t.Helper()
	if n := held(w.m); n != 0 {
		t.Errorf("the manager still holds %d threads and runs", n)
	}
	findings, err := w.db.Check(t.Context())
	if err != nil || len(findings) > 0 {
		t.Errorf("check: %v %v", findings, err)
	}
	findings, err = threads.Check(t.Context(), w.db)
	if err != nil || len(findings) > 0 {
		t.Errorf("check: %v %v", findings, err)
	}
	must.Report(t, w.m.DecodedAsStored(t.Context()))
	list, _, err := w.db.Threads(t.Context(), store.ThreadQuery{Status: runs.Busy})
	if err != nil || len(list) > 0 {
		t.Errorf("%d threads are busy though nothing runs: %v", len(list), err)
	}
	open, err := w.db.OpenRuns(t.Context())
	if err != nil || len(open) > 0 {
		t.Errorf("%d runs are open: %v", len(open), err)
	}
}

// line is one event with everything a reader sees of it.
func line(e runevent.Event) string {
	s := fmt.Sprintf("%d-%d kind %d ns %q text %s data %s", e.Seq, e.To, e.Kind, e.NS, short(e.Text), e.Data)
	if e.Msg != nil {
		s += " msg " + e.Msg.ID
	}
	if st := e.Step; st != nil {
		s += fmt.Sprintf(" step %s %s %d %v %v", st.Node, st.Checkpoint, st.Number, st.Next, st.Whole)
		for _, m := range st.Messages {
			s += " " + short(string(m))
		}
		names := make([]string, 0, len(st.Fields))
		for name, body := range st.Fields {
			names = append(names, name+"="+string(body))
		}
		slices.Sort(names)
		s += fmt.Sprint(names)
	}
	return s
}

// short is a text, or the hash of a long one.
func short(s string) string {
	if len(s) < 1000 {
		return s
	}
	return fmt.Sprintf("%d bytes %x", len(s), sha256.Sum256([]byte(s))) // quick under the race detector, too
}

func allLines(evs []runevent.Event) []string {
	out := make([]string, len(evs))
	for i, e := range evs {
		out[i] = line(e)
	}
	return out
}

// past are the events whose end is past a cursor.
func past(evs []runevent.Event, after int64) []runevent.Event {
	return slices.DeleteFunc(slices.Clone(evs), func(e runevent.Event) bool { return e.To <= after })
}
