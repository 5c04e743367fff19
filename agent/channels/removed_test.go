package channels

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

// TestARunThatEndsWhileItIsLookedForIsNotTakenForRemoved: its messages are done with by then, and its row is there.
func TestARunThatEndsWhileItIsLookedForIsNotTakenForRemoved(t *testing.T) {
	db := must.Get(store.Open(t.Context(), store.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}))(t)
	defer db.Close()
	fresh := must.Get(db.TakeInbound(t.Context(), "slack",
		[]store.Inbound{{ID: "a", Chat: "c", State: store.InboundNew, At: time.Now()}}, nil))(t)
	must.Do(t, db.BeginTurn(t.Context(), store.ChannelTurn{Run: "r", Numbers: []int64{fresh[0].N},
		Thread: &store.Thread{ID: "t"}, Chat: store.ChannelChat{Provider: "slack", Chat: "c", Thread: "t"},
		Out: store.Outbound{Run: "r", Piece: "0", Provider: "slack", Chat: "c",
			State: store.OutboundPlanned}}))
	d := &delivery{b: &bot{h: New(Config{DB: db})}, run: "r"}
	if err := d.removed(t.Context()); !errors.Is(err, errNotBegun) {
		t.Errorf("before the run is there: %v", err)
	}
	must.Do(t, db.Commit(t.Context(), store.Batch{ThreadID: "t", Run: &store.Run{ID: "r", ThreadID: "t"}, NewRun: true}))
	must.Do(t, db.SettleInbound(t.Context(), store.InboundDone, "", fresh[0].N))
	if err := d.removed(t.Context()); err != nil {
		t.Errorf("after it has ended: %v", err)
	}
	must.Do(t, db.Commit(t.Context(), store.Batch{ThreadID: "t", Delete: &store.Delete{Thread: true}}))
	if err := d.removed(t.Context()); !errors.Is(err, errRemoved) {
		t.Errorf("after it was deleted: %v", err)
	}
}

// TestTheEndOfARunLeavesLaterMessagesAlone: the rows of a deleted thread are gone, and SQLite gives the number of the
// last one to the next message.
func TestTheEndOfARunLeavesLaterMessagesAlone(t *testing.T) {
	db := must.Get(store.Open(t.Context(), store.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}))(t)
	defer db.Close()
	take := func(id string) int64 {
		fresh, err := db.TakeInbound(t.Context(), "slack",
			[]store.Inbound{{ID: id, Chat: "c", State: store.InboundNew, At: time.Now()}}, nil)
		if err != nil || len(fresh) != 1 {
			t.Fatal(fresh, err)
		}
		return fresh[0].N
	}
	first := take("a")
	must.Do(t, db.BeginTurn(t.Context(), store.ChannelTurn{Run: "r", Numbers: []int64{first},
		Thread: &store.Thread{ID: "t"}, Chat: store.ChannelChat{Provider: "slack", Chat: "c", Thread: "t"},
		Out: store.Outbound{Run: "r", Piece: "0", Provider: "slack", Chat: "c",
			State: store.OutboundPlanned}}))
	for _, b := range []store.Batch{{ThreadID: "t", Run: &store.Run{ID: "r", ThreadID: "t"}, NewRun: true},
		{ThreadID: "t", Delete: &store.Delete{Thread: true}}} {
		must.Do(t, db.Commit(t.Context(), b))
	}
	if second := take("b"); second != first {
		t.Skip("numbers are not given again")
	}
	b := &bot{h: New(Config{DB: db}), provider: "slack"}
	late := &turn{l: &line{b: b}, run: "r", batch: []*admitted{{row: store.Inbound{N: first}}}}
	must.Do(t, late.end(t.Context(), store.InboundFailed, "the run was deleted"))
	if rows, err := db.WaitingInbound(t.Context(), "slack", "c", "", 10); err != nil || len(rows) != 1 {
		t.Errorf("waiting are %+v, %v", rows, err)
	}
}
