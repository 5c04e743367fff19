package runs_test

import (
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/agent/threads"
	"fawn/store"
)

// CheckNamesWhatCannotBeRead plants damage in content; rows that are gone but needed
// are found by the events that refer to them.
func (s suite) CheckNamesWhatCannotBeRead(t *testing.T) {
	w := s.open(t, t.TempDir(), toolAgent())
	w.end(t, w.start(t, "t1", "hi"), runs.Success)
	w.sound(t)
	last := must.Get(w.db.LastSeq(t.Context(), "t1"))(t)
	must.Do(t, w.db.Commit(t.Context(), store.Batch{ThreadID: "t1",
		Run:      &store.Run{ID: "r9", ThreadID: "t1", Status: runs.Success, Kwargs: []byte(`[1`)},
		Messages: []store.MessageRow{{N: 50, ID: "m", Body: []byte(`{"type":`)}},
		Fields: []store.FieldRow{{Name: "title", Version: 9, Body: []byte(`{`)},
			{Name: "from_a_newer_program", Version: 1, Body: []byte(`{`)}},
		Events: []store.Event{{Seq: last + 1, Kind: "step", Data: []byte(`{"node":"model","rows":[77]}`)},
			{Seq: last + 2, Kind: "odd"}, {Seq: last + 3, To: last + 9, Kind: "meta", Data: []byte(`{}`)},
			{Seq: last + 10, To: last + 12, Kind: "fold", Data: []byte{0}}}}))
	found := must.Get(threads.Check(t.Context(), w.db))(t)
	all := strings.Join(found, "\n")
	for _, want := range []string{"Message 50 of thread t1 cannot be read",
		"Version 9 of field title of thread t1 cannot be read", "The request of run r9 of thread t1 cannot be read",
		"message 77 of thread t1: not found", `row kind "odd"`, "does not hold what it says"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in\n%s", want, all)
		}
	}
	if len(found) != 6 {
		t.Errorf("%d findings:\n%s", len(found), all)
	}
}
