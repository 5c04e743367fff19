package runs_test

import (
	"errors"
	"testing"

	"fawn/agent/runs"
	"fawn/store"
)

// RunsOfAnotherServerEndThere: whoever wants to end one says so in its row, and does not work on it.
func (s suite) RunsOfAnotherServerEndThere(t *testing.T) {
	w := s.open(t, t.TempDir(), parrotAgent())
	other := runs.New(runs.Config{DB: w.db, Log: quiet()})
	defer other.Close()
	other.ActAs(99)
	stopped, undone := w.start(t, "t1", "hang one"), w.start(t, "t2", "hang two")
	w.until(t, stopped, text("hang"))
	w.until(t, undone, text("hang"))
	if got := other.Active("t1"); got != stopped.ID {
		t.Errorf("the other server sees %q at work", got)
	}
	if err := other.Exclusive(t.Context(), "t1", nil); !errors.Is(err, runs.ErrBusy) {
		t.Errorf("it writes: %v", err)
	}
	for run, end := range map[string]func() error{
		stopped.ID: func() error { return other.Cancel(t.Context(), "t1", stopped.ID, true) },
		undone.ID:  func() error { return other.Rollback(t.Context(), "t2", undone.ID, true) },
	} {
		ended := make(chan error, 1)
		go func() { ended <- end() }()
		for w.row(t, run).Wish == "" {
			select {
			case err := <-ended:
				t.Fatalf("it did not wait: %v", err)
			case <-t.Context().Done():
				t.Fatal("no wish was stored")
			default:
			}
		}
		if err := w.m.Hear(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	w.end(t, stopped, runs.Interrupted)
	if row, err := w.db.Run(t.Context(), undone.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a run that was taken back is %s: %v", row.Status, err)
	}
	if err := other.Rollback(t.Context(), "t1", stopped.ID, true); !errors.Is(err, runs.ErrNotCancelable) {
		t.Errorf("rolled back after its end: %v", err)
	}
	w.sound(t)
	if n := held(other); n != 0 {
		t.Errorf("the other server holds %d", n)
	}
}
