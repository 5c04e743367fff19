package store_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
)

// TestWhatWasSpentAddsUp: answers of runs, also of runs which kept no models, and the calls
// beside them; those of a deleted thread go with it.
func (s suite) WhatWasSpentAddsUp(t *testing.T) {
	db := s.open(t)
	run := func(id, status, kwargs, usage string) store.Batch {
		return store.Batch{ThreadID: "t", Run: &store.Run{ID: id, ThreadID: "t", Status: status,
			Kwargs: json.RawMessage(kwargs), Usage: json.RawMessage(usage)}}
	}
	side := func(thread, run, model string, tokens int, cost float64) store.Batch {
		return store.Batch{
			Spending: []store.Spending{{Thread: thread, Run: run, Purpose: "title", Model: model, Input: tokens - 1,
				Output: 1, Total: tokens, Cost: cost, Currency: "USD"}},
		}
	}
	for _, b := range []store.Batch{
		{Thread: &store.Thread{ID: "t", Owner: "eve"}},
		run("old", "success", `{"context":{"model_name":"big"}}`, `{"total_tokens":10,"total_input_tokens":6,"total_output_tokens":4}`),
		run("new", "success", `{}`, `{"total_tokens":30,"by_model":{"big":{"total_tokens":20,"input_tokens":15,"output_tokens":5,"cost":0.5,"currency":"EUR"},"small":{"total_tokens":10}}}`),
		run("none", "error", `{}`, `{"total_tokens":0}`),
		run("now", "running", `{}`, `{}`),
		side("t", "new", "small", 7, 0.25), side("t", "now", "small", 3, 0), side("gone", "new", "small", 99, 9),
		side("", "", "small", 2, 1),
	} {
		if b.Run != nil {
			b.Run.Owner = "eve"
		}
		must.Do(t, db.Commit(t.Context(), b))
	}
	got, err := db.SpentIn(t.Context(), "t", false)
	want := []store.Spent{
		{Caller: "lead_agent", Model: "big", Runs: 1, Total: 10, Input: 6, Output: 4},
		{Caller: "lead_agent", Model: "big", Currency: "EUR", Runs: 1, Total: 20, Input: 15, Output: 5, Cost: 0.5},
		{Caller: "lead_agent", Model: "small", Runs: 1, Total: 10},
		{Caller: "middleware", Model: "small", Currency: "USD", Runs: 1, Total: 7, Input: 6, Output: 1, Cost: 0.25},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("thread: %+v %v", got, err)
	}
	if got, err = db.SpentIn(t.Context(), "t", true); err != nil || len(got) != 4 || got[3].Total != 10 ||
		got[3].Runs != 2 {
		t.Errorf("with what is in progress: %+v %v", got, err)
	}
	r, err := db.Run(t.Context(), "new")
	if err != nil || r.Helpers != (store.Helpers{Calls: 1, Input: 6, Output: 1, Total: 7}) {
		t.Errorf("run: %+v %v", r.Helpers, err)
	}
	for owner, total := range map[string]int64{"eve": 50, "": 2} {
		all, err := db.Totals(t.Context(), owner)
		if err != nil || all.Tokens != total {
			t.Errorf("owner %q: %+v %v", owner, all, err)
		}
	}
	days, err := db.SpentByDay(t.Context(), "eve", time.Now().Add(-time.Hour), 0)
	sum := int64(0)
	for _, d := range days {
		sum += d.Total
	}
	if err != nil || sum != 50 {
		t.Errorf("days: %+v %v", days, err)
	}
	must.Do(t, db.Commit(t.Context(), store.Batch{ThreadID: "t", Delete: &store.Delete{Thread: true}}))
	if all, err := db.SpentByModel(t.Context(), "eve", time.Unix(0, 0)); err != nil || len(all) != 0 {
		t.Errorf("after the thread was deleted: %+v %v", all, err)
	}
}
