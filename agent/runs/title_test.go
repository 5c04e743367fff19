package runs_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

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
		most         store.Work // four commits, and some of deltas alone, as many as there is time for
	}{
		{"the first run of a new thread", "t", store.Work{Queries: 4, Statements: 37, Commits: 7}},
		{"the next one", "t", store.Work{Queries: 11, Statements: 37, Commits: 7}},
	} {
		got := run(c.thread)
		if got.Queries > c.most.Queries || got.Statements > c.most.Statements || got.Commits > c.most.Commits {
			t.Errorf("%s: %+v, want at most %+v", c.what, got, c.most)
		}
		t.Logf("%s: %+v", c.what, got)
	}
}
