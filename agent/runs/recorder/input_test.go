package recorder

import (
	"context"
	"errors"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs/eventlog"
)

// input is a turn whose input is to be stored, and how to.
func input(t *testing.T, b *bench) (store func() error) {
	t.Helper()
	store = must.Get(b.rec.Input(t.Context(), &agent.Turn{NewID: func() string { return "in" }},
		agent.State{Messages: []*agent.Message{{Type: agent.TypeHuman, Content: agent.Text("hello")}}}))(t)
	return store
}

func TestWhatIsToldMeanwhileComesBehindTheInput(t *testing.T) {
	t.Parallel()
	b := newBench(t, "t")
	store, told := input(t, b), make(chan error)
	go func() {
		told <- b.rec.Record(context.WithoutCancel(t.Context()),
			agent.Event{Kind: agent.EventChunk, Message: "m", Chunk: agent.Chunk{Text: "word"}})
	}()
	select {
	case err := <-told:
		t.Fatalf("something came before the input was stored: %v", err)
	default:
	}
	must.Do(t, store())
	if err := <-told; err != nil {
		t.Fatal(err)
	}
	rows := must.Get(b.db.Events(t.Context(), "t", 0, 1<<60, 1<<20))(t)
	if len(rows) == 0 || rows[0].Kind != eventlog.RowStep {
		t.Errorf("the input is not the first that is stored: %v", rows)
	}
}

func TestNothingComesBehindAnInputThatIsNotStored(t *testing.T) {
	t.Parallel()
	b := newBench(t, "t")
	ctx, cancel := context.WithCancelCause(t.Context())
	b.rec.ctx, b.rec.done, b.rec.cancel = ctx, ctx.Done(), cancel
	store := input(t, b)
	b.db.Close()
	err := store()
	if !errors.Is(err, ErrStorage) {
		t.Fatalf("got %v", err)
	}
	if cause := context.Cause(ctx); cause != err {
		t.Errorf("the run ends with %v", cause)
	}
	chunk := agent.Event{Kind: agent.EventChunk, Message: "m", Chunk: agent.Chunk{Text: "word"}}
	if got := b.rec.Record(t.Context(), chunk); !errors.Is(got, err) {
		t.Errorf("an event is taken: %v", got)
	}
	if got := b.rec.Step(t.Context(), agent.Step{State: &agent.State{}}); !errors.Is(got, err) {
		t.Errorf("a step is taken: %v", got)
	}
}
