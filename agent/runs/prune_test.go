package runs_test

import (
	"encoding/json"
	"errors"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/threads"
	"fawn/store"
)

// PruneKeepsWhatAThreadSays: history and events go, the state, the list of runs and
// the way on stay.
func (s suite) PruneKeepsWhatAThreadSays(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	var last store.Run
	for _, text := range []string{"one", "two", "three"} {
		last = w.start(t, "t1", text)
		w.end(t, last, runs.Success)
	}
	msgs := w.state(t, "t1", "").Messages
	for _, edit := range []string{
		`{"messages":[{"type":"remove","id":"` + msgs[2].ID + `"}],"title":"first name"}`,
		`{"messages":[{"type":"ai","id":"` + msgs[1].ID + `","content":"edited"}],"title":"second name"}`,
	} {
		must.Get(w.m.UpdateState(t.Context(), "t1", runs.Update{Values: json.RawMessage(edit)}))(t)
	}
	before, head := texts(w.state(t, "t1", "")), w.head(t, "t1")
	n, err := threads.Prune(t.Context(), w.db, w.m, []string{"t1", "nobody"}, threads.KeepLatest)
	if err != nil || n != 1 {
		t.Fatalf("pruned %d, %v", n, err)
	}
	if got := texts(w.state(t, "t1", "")); got != before {
		t.Errorf("messages:\n%s\nwant\n%s", got, before)
	}
	cps, err := w.db.Checkpoints(t.Context(), "t1", "", "", 0, nil)
	if err != nil || len(cps) != 1 || cps[0].ID != head.ID || cps[0].Parent != "" {
		t.Errorf("checkpoints: %+v, %v", cps, err)
	}
	for table, want := range map[string]int{"message": 5, "field": 1, "event": 0} {
		if n := w.rows(t, "t1")[table]; n != want {
			t.Errorf("%d rows in %s, want %d", n, table, want)
		}
	}
	if evs := w.read(t, last.ID, 0); len(evs) > 0 {
		t.Errorf("events: %s", shape(evs))
	}
	if list, err := w.db.Runs(t.Context(), "t1", "", 0, 0); err != nil || len(list) != 3 {
		t.Errorf("%d runs, %v", len(list), err)
	}
	w.sound(t)
	next := w.start(t, "t1", "four")
	w.end(t, next, runs.Success)
	if evs := w.read(t, next.ID, 0); evs[0].Seq <= last.LastSeq {
		t.Errorf("numbers are used again: %d", evs[0].Seq)
	}
	if got, want := texts(w.state(t, "t1", "")), before+"\nhuman:four\nai:re: four"; got != want {
		t.Errorf("messages:\n%s\nwant\n%s", got, want)
	}
	w.sound(t)
}

func (s suite) PruneLeavesThreadsAtWorkAlone(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	run := w.start(t, "t1", "hang")
	w.until(t, run, text("hang"))
	if n, err := threads.Prune(t.Context(), w.db, w.m, []string{"t1"}, threads.KeepLatest); err != nil || n != 0 {
		t.Errorf("pruned %d, %v", n, err)
	}
	if n, err := threads.Prune(t.Context(), w.db, w.m, []string{"t1"}, threads.PruneDelete); err != nil || n != 1 {
		t.Errorf("deleted %d, %v", n, err)
	}
	for table, n := range w.rows(t, "t1") {
		if n != 0 {
			t.Errorf("%d rows in %s", n, table)
		}
	}
	if _, err := threads.Prune(t.Context(), w.db, w.m, []string{"t1"}, "all"); !errors.Is(err, runs.ErrInput) {
		t.Errorf("an unknown strategy: %v", err)
	}
	w.sound(t)
}

// MetadataOfTwoWritersAreBothKept: a run begins and a client patches in one moment.
func (s suite) MetadataOfTwoWritersAreBothKept(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	must.Do(t, w.db.Commit(t.Context(),
		store.Batch{NewThread: true,
			Thread: &store.Thread{ID: "t1", Metadata: json.RawMessage(`{"mine":"<1>"}`)}}))
	patched := make(chan error)
	go func() {
		patched <- w.db.Commit(t.Context(),
			store.Batch{ThreadID: "t1", Patch: &store.ThreadPatch{Merge: json.RawMessage(`{"color":"red","mine":2}`)}})
	}()
	w.end(t, w.start(t, "t1", "one"), runs.Success)
	if err := <-patched; err != nil {
		t.Fatal(err)
	}
	th, err := w.db.Thread(t.Context(), "t1")
	var meta map[string]any
	if err != nil || json.Unmarshal(th.Metadata, &meta) != nil || meta["color"] != "red" || meta["mine"] != 2.0 ||
		meta["graph_id"] != "lead_agent" {
		t.Errorf("metadata: %s, %v", th.Metadata, err)
	}
}

// rows counts a thread's rows; of messages and titles the first fifty.
func (w *world) rows(t *testing.T, thread string) map[string]int {
	t.Helper()
	out := map[string]int{}
	cps := must.Get(w.db.Checkpoints(t.Context(), thread, "", "", 0, nil))(t)
	list := must.Get(w.db.Runs(t.Context(), thread, "", 0, 0))(t)
	evs := must.Get(w.db.Events(t.Context(), thread, 0, 0, 0))(t)
	msgs, fields := 0, 0
	for n := range int64(50) {
		if _, err := w.db.Message(t.Context(), thread, n); err == nil {
			msgs++
		}
		if _, err := w.db.Field(t.Context(), thread, "title", n); err == nil {
			fields++
		}
	}
	out["checkpoint"], out["run"], out["event"], out["message"], out["field"] = len(cps), len(list), len(evs),
		msgs, fields
	return out
}
