package store_test

import (
	"errors"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

// TestWhatCallsTookIsForgottenInTime: what is too old goes, a part that was used since stays, and
// with the run or the thread everything goes.
func (s suite) WhatCallsTookIsForgottenInTime(t *testing.T) {
	db, ctx := s.open(t), t.Context()
	now := time.Now()
	for _, thread := range []string{"a", "b"} {
		for _, run := range []string{"1", "2"} {
			b := store.Batch{ThreadID: thread, Run: &store.Run{ID: thread + run, ThreadID: thread, Status: "success",
				CreatedAt: now, UpdatedAt: now}}
			if run == "1" {
				b.Thread = &store.Thread{ID: thread, CreatedAt: now, UpdatedAt: now, StateUpdatedAt: now}
				b.NewThread = true
			}
			must.Do(t, db.Commit(ctx, b))
		}
	}
	put := func(thread, run string, at time.Time, parts ...string) {
		t.Helper()
		var list []store.PromptPart
		for _, p := range parts {
			list = append(list, store.PromptPart{Thread: thread, Hash: []byte(p), Body: []byte("body of " + p)})
		}
		must.Do(t, db.PutTrace(ctx, []store.Span{{Thread: thread, Run: run, N: at.UnixMicro(), Body: []byte("{}")}},
			list, at))
	}
	const month = 30 * 24 * time.Hour
	put("a", "a1", now.Add(-2*month), "old", "shared")
	put("a", "a2", now, "shared", "new")
	put("b", "b1", now, "new")
	put("a", "a1", now.Add(-month-30*time.Hour), "in use")
	put("a", "a2", now.Add(-month-10*time.Hour), "in use") // and for half a day more, which nobody reports
	put("b", "gone", now)
	put("gone", "b1", now, "lost")
	for _, at := range []time.Time{now.Add(-2 * month), now} { // those of all threads
		of := map[bool]string{true: "all", false: "all, once"}[at.Equal(now)]
		if err := db.PutTrace(ctx, nil, []store.PromptPart{{Hash: []byte(of), Body: []byte("body")}}, at); err != nil {
			t.Fatal(err)
		}
	}
	spans := func(thread, run string) int { return len(must.Get(db.Spans(ctx, thread, run))(t)) }
	for more := true; more; {
		more = must.Get(db.ForgetTraces(ctx, now.Add(-month)))(t)
	}
	if spans("a", "a1") != 0 || spans("a", "a2") != 1 || spans("b", "b1") != 1 ||
		spans("b", "gone")+spans("gone", "b1") != 0 {
		t.Errorf("left: %d %d %d", spans("a", "a1"), spans("a", "a2"), spans("b", "b1"))
	}
	for part, want := range map[string]bool{"old": false, "shared": true, "new": true, "in use": true, "all": true, "all, once": false} {
		_, err := db.PromptPart(ctx, "a", []byte(part))
		if (err == nil) != want || err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("part %s: %v", part, err)
		}
	}
	if err := db.Commit(ctx, store.Batch{ThreadID: "b", Delete: &store.Delete{Runs: []string{"b1"}}}); err != nil {
		t.Fatal(err)
	}
	if err := db.Commit(ctx, store.Batch{ThreadID: "a", Delete: &store.Delete{Thread: true}}); err != nil {
		t.Fatal(err)
	}
	shape := must.Get(db.Shape(ctx))(t)
	if shape.Rows["span"] != 0 || shape.Rows["prompt"] != 2 || shape.Rows["thread"] != 1 || shape.Schema < 14 {
		t.Errorf("in the end: %+v", shape)
	}
}
