package runs_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/store"
)

// ALateTitleChangesNothingElse: messages and place stay, what it cost is in the accounts, and a title that a person
// has changed is left alone.
func (s suite) ALateTitleChangesNothingElse(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	w.end(t, w.startAs(t, "t", "hello", ""), runs.Success)
	must.Get(w.m.UpdateState(t.Context(), "t", runs.Update{Values: json.RawMessage(`{"title":"hello"}`)}))(t)
	before := w.head(t, "t")
	cost := store.Spending{Thread: "t", Purpose: "title", Model: "m", Total: 7}
	for _, c := range []struct{ from, to, want string }{
		{"other", "Wrong", "hello"}, {"hello", "Greeting", "Greeting"}, {"hello", "Late", "Greeting"},
	} {
		must.Do(t, w.m.Retitle(t.Context(), "t", c.from, c.to, cost))
		st := w.state(t, "t", "")
		if st.Title == nil || *st.Title != c.want || texts(st) != "human:hello\nai:re: hello" {
			t.Errorf("%+v: %v\n%s", c, st.Title, texts(st))
		}
	}
	after := w.head(t, "t")
	th, err := w.db.Thread(t.Context(), "t")
	if err != nil || th.Title != "Greeting" || after.Parent != before.ID || after.Source != "update" ||
		after.Step != before.Step+1 || len(after.Next) != 0 {
		t.Errorf("%+v, %+v behind %s, %v", th, after, before.ID, err)
	}
	calls, err := w.db.SideCalls(t.Context(), "t")
	if err != nil || len(calls) != 1 || calls[0].Calls != 3 || calls[0].Total != 21 {
		t.Errorf("accounts: %+v, %v", calls, err)
	}
	mine := "Mine" // as a person names a chat during a run that doesn't take it over
	must.Do(t, w.db.Commit(t.Context(), store.Batch{ThreadID: "t", Patch: &store.ThreadPatch{Title: &mine}}))
	must.Do(t, w.m.Retitle(t.Context(), "t", "Greeting", "Wrong"))
	if th := must.Get(w.db.Thread(t.Context(), "t"))(t); th.Title != mine {
		t.Errorf("a late title made %q of it", th.Title)
	}
	w.end(t, w.startAs(t, "t", "again", ""), runs.Success)
	if st := w.state(t, "t", ""); *st.Title != "Greeting" || len(st.Messages) != 4 {
		t.Errorf("the next run has %s of %v", texts(st), st.Title)
	}
	if err := w.m.Retitle(t.Context(), "gone", "a", "b"); err != nil {
		t.Errorf("a deleted thread: %v", err)
	}
	w.sound(t)
}

// TitlesAndRunsMeet: no run waits for ever, however they come together.
func (s suite) TitlesAndRunsMeet(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	w.end(t, w.startAs(t, "t", "first", ""), runs.Success)
	must.Get(w.m.UpdateState(t.Context(), "t", runs.Update{Values: json.RawMessage(`{"title":"a"}`)}))(t)
	const n = 40
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for k := range n {
				if i == 0 {
					must.Report(t, w.m.Retitle(t.Context(), "t", strings.Repeat("a", k+1), strings.Repeat("a", k+2)))
					continue
				}
				run, err := w.m.Start(t.Context(), runs.Request{Thread: "t", Input: human("more"), Multitask: "enqueue"})
				if err == nil && k%2 == 0 {
					_, err = w.m.Wait(t.Context(), run.ID)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	list, err := w.db.Runs(t.Context(), "t", "", 0, 0)
	if err != nil || len(list) != 1+3*n {
		t.Fatalf("%d runs, %v", len(list), err)
	}
	for _, run := range list {
		w.end(t, run, runs.Success)
	}
	if st := w.state(t, "t", ""); len(st.Messages) != 2*len(list) || *st.Title != strings.Repeat("a", n+1) {
		t.Errorf("%d messages of %d runs, title %s", len(st.Messages), len(list), *st.Title)
	}
	w.sound(t)
}

// TestAShortRunAsksForLittle: what this server wrote or read a moment ago is not asked for again, and nothing is
// written twice.
func TestAShortRunAsksForLittle(t *testing.T) {
	w := suite{openSQLite}.open(t, t.TempDir(), parrotAgent())
	run := func(thread string) store.Work {
		before := w.db.Work()
		w.end(t, w.startAs(t, thread, "hello", ""), runs.Success)
		held(w.m)
		now := w.db.Work()
		return store.Work{Queries: now.Queries - before.Queries, Statements: now.Statements - before.Statements,
			Commits: now.Commits - before.Commits}
	}
	run("other")
	for _, c := range []struct {
		what, thread string
		most         store.Work // two commits, and some of deltas alone, as many as there is time for
	}{
		{"the first run of a new thread", "t", store.Work{Queries: 3, Statements: 31, Commits: 5}},
		{"the next one", "t", store.Work{Queries: 9, Statements: 31, Commits: 5}},
	} {
		got := run(c.thread)
		if got.Queries > c.most.Queries || got.Statements > c.most.Statements || got.Commits > c.most.Commits {
			t.Errorf("%s: %+v, want at most %+v", c.what, got, c.most)
		}
		t.Logf("%s: %+v", c.what, got)
	}
}

// TestATitleRightBehindARunReadsNothing: the server knows where its run left the thread, and the commit finds out whether
// it is still there.
func TestATitleRightBehindARunReadsNothing(t *testing.T) {
	first := "first words"
	a := parrotAgent()
	a.Chain = []agent.Middleware{{Name: "title", BeforeModel: func(_ context.Context, t *agent.Turn) (agent.State, error) {
		if t.State.Title != nil {
			return agent.State{}, nil
		}
		return agent.State{Title: &first}, nil
	}}}
	w := suite{openSQLite}.open(t, t.TempDir(), a)
	retitle := func(thread, from, to, want string) (queries uint64) {
		t.Helper()
		before := w.db.Work().Queries
		if err := w.m.Retitle(t.Context(), thread, from, to, store.Spending{Thread: thread, Purpose: "title", Total: 1}); err != nil {
			t.Fatal(err)
		}
		queries = w.db.Work().Queries - before
		th, err := w.db.Thread(t.Context(), thread)
		if err != nil || th.Title != want || *w.state(t, thread, "").Title != want {
			t.Errorf("%s: %q, want %q; %v", thread, th.Title, want, err)
		}
		return queries
	}
	w.end(t, w.startAs(t, "t", "hello", ""), runs.Success)
	before := w.head(t, "t")
	if n := retitle("t", first, "Better", "Better"); n != 0 {
		t.Errorf("a title right behind its run asked %d times", n)
	}
	if now := w.head(t, "t"); now.Parent != before.ID || now.Step != before.Step+1 || now.Source != "update" || len(now.Next) > 0 {
		t.Errorf("%+v behind %+v", now, before)
	}
	retitle("t", "Better", "Best", "Best")
	retitle("t", "other", "Wrong", "Best")
	w.end(t, w.startAs(t, "t", "again", ""), runs.Success)

	// Somebody else has moved the thread meanwhile, and changed the title.
	for _, c := range []struct{ thread, title, want string }{{"moved", first, "Better"}, {"renamed", "Mine", "Mine"}} {
		w.end(t, w.startAs(t, c.thread, "hello", ""), runs.Success)
		head := w.head(t, c.thread)
		field := head.Card.Fields["title"]
		card := head.Card
		card.Fields = map[string]int64{"title": field + 1}
		id := head.ID[:len(head.ID)-1] + "g"
		err := w.db.Commit(t.Context(), store.Batch{ThreadID: c.thread, Patch: &store.ThreadPatch{Head: &id, Title: &c.title},
			Fields: []store.FieldRow{{Name: "title", Version: field + 1, Body: []byte(`"` + c.title + `"`)}},
			Checkpoints: []store.Checkpoint{{ID: id, Parent: head.ID, Thread: c.thread, Step: head.Step + 1, Source: "update",
				Card: card}}})
		if err != nil {
			t.Fatal(err)
		}
		retitle(c.thread, first, "Better", c.want)
	}
	calls, err := w.db.SideCalls(t.Context(), "renamed")
	if err != nil || len(calls) != 1 || calls[0].Calls != 1 {
		t.Errorf("accounts: %+v, %v", calls, err)
	}
	w.sound(t)
}
