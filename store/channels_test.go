package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

func TestMessagesOfChatsAreTakenOnceAndInOrder(t *testing.T) {
	db := open(t)
	list := []store.Inbound{{ID: "a", Chat: "c", State: store.InboundNew, Body: []byte("{}"), At: time.Now()},
		{ID: "b", Chat: "c", State: store.InboundNew, Body: []byte("{}"), At: time.Now()},
		{ID: "a", Chat: "c", State: store.InboundNew, Body: []byte("{}"), At: time.Now()}}
	fresh, err := db.TakeInbound(t.Context(), "telegram", list, map[string]string{"offset": "3"})
	if err != nil || len(fresh) != 2 || fresh[0].ID != "a" || fresh[1].N <= fresh[0].N {
		t.Fatalf("took %+v: %v", fresh, err)
	}
	again, err := db.TakeInbound(t.Context(), "telegram", list[:1], nil)
	if err != nil || len(again) != 0 {
		t.Fatalf("took %+v twice: %v", again, err)
	}
	if v, err := db.KV(t.Context(), store.Global, store.ChannelSpace, "telegram offset"); err != nil ||
		string(v) != "3" {
		t.Errorf("cursor %q: %v", v, err)
	}
	turn := store.ChannelTurn{Run: "r1", Numbers: []int64{fresh[0].N}, Thread: &store.Thread{ID: "t1"},
		Chat: store.ChannelChat{Provider: "telegram", Chat: "c", Thread: "t1"},
		Out:  store.Outbound{Run: "r1", Piece: "0", Provider: "telegram", Chat: "c", State: store.OutboundPlanned}}
	for range 2 { // as after a crash
		must.Do(t, db.BeginTurn(t.Context(), turn))
	}
	waiting, err := db.WaitingInbound(t.Context(), "telegram", "c", "", 10)
	if err != nil || len(waiting) != 1 || waiting[0].ID != "b" {
		t.Errorf("waiting: %+v, %v", waiting, err)
	}
	lines, err := db.OpenLines(t.Context(), "telegram")
	if err != nil || fmt.Sprint(lines) != "[{telegram c  r1} {telegram c  }]" {
		t.Errorf("lines: %v, %v", lines, err)
	}
	must.Do(t, db.SettleInbound(t.Context(), store.InboundDone, "", fresh[0].N))
	if rows, err := db.RunInbound(t.Context(), "r1"); err != nil || len(rows) != 0 {
		t.Errorf("open after the end: %+v, %v", rows, err)
	}
	must.Do(t, db.ForgetInbound(t.Context(), time.Now().Add(time.Second)))
	again, err = db.TakeInbound(t.Context(), "telegram", list[:2], nil)
	if err != nil || len(again) != 1 || again[0].ID != "a" {
		t.Errorf("what is open was forgotten, or what is done with was not: %+v, %v", again, err)
	}
	if findings, err := db.Check(t.Context()); err != nil || len(findings) > 0 {
		t.Errorf("check: %v %v", findings, err)
	}
}

func TestACodeConnectsOnceAndTheLastConnectionWins(t *testing.T) {
	db := open(t)
	until := time.Now().Add(time.Minute)
	for i := range 5 {
		must.Do(t, db.AddChannelCode(t.Context(), "o1", "slack", fmt.Sprint("h", i), until, 5))
	}
	if err := db.AddChannelCode(t.Context(), "o1", "slack", "h9", until, 5); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a sixth code: %v", err)
	}
	must.Do(t, db.AddChannelCode(t.Context(), "o2", "slack", "k", until, 5))
	c := store.Connection{ID: "1", Provider: "slack", Account: "U1", Workspace: "T"}
	if got, err := db.Connect(t.Context(), "h0", c); err != nil || got.Owner != "o1" {
		t.Fatalf("%+v: %v", got, err)
	}
	if _, err := db.Connect(t.Context(), "h0", c); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a used code: %v", err)
	}
	c.ID = "2"
	must.Get(db.Connect(t.Context(), "k", c))(t)
	if got, err := db.ConnectionOf(t.Context(), "slack", "U1", "T"); err != nil || got.Owner != "o2" {
		t.Errorf("the account is %+v: %v", got, err)
	}
	if list, err := db.Connections(t.Context(), "o1"); err != nil || len(list) != 1 || list[0].Status != store.Revoked {
		t.Errorf("the loser has %+v: %v", list, err)
	}
	if err := db.Disconnect(t.Context(), "o1", "2"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("somebody else's connection: %v", err)
	}
	must.Do(t, db.Disconnect(t.Context(), "o2", "2"))
	if _, err := db.ConnectionOf(t.Context(), "slack", "U1", "T"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("revoked and found: %v", err)
	}
}

func TestADeletedThreadIsForgottenByItsChat(t *testing.T) {
	db := open(t)
	must.Do(t, db.BeginTurn(t.Context(), store.ChannelTurn{Run: "r", Thread: &store.Thread{ID: "t"},
		Chat: store.ChannelChat{Provider: "slack", Chat: "c", Thread: "t"},
		Out: store.Outbound{Run: "r", Piece: "0", Provider: "slack", Chat: "c",
			State: store.OutboundPlanned}}))
	must.Do(t, db.Commit(t.Context(), store.Batch{ThreadID: "t", Run: &store.Run{ID: "r", ThreadID: "t"},
		NewRun: true}))
	err := db.Commit(t.Context(), store.Batch{ThreadID: "t", Run: &store.Run{ID: "r", ThreadID: "t"}, NewRun: true})
	if !errors.Is(err, store.ErrExists) {
		t.Errorf("a run that exists was made: %v", err)
	}
	must.Do(t, db.Commit(t.Context(), store.Batch{ThreadID: "t", Delete: &store.Delete{Thread: true}}))
	if _, err := db.ChannelChat(t.Context(), "slack", "c", ""); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the chat: %v", err)
	}
	if rows, err := db.Outbound(t.Context(), "r"); err != nil || len(rows) != 0 {
		t.Errorf("the answer: %+v, %v", rows, err)
	}
}
