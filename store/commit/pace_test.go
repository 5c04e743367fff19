package commit

import (
	"testing"
	"time"
)

// TestUrgentCommitsDoNotHoldUpDeltas: however many there were, the next deltas wait no longer
// than behind a single commit.
func TestUrgentCommitsDoNotHoldUpDeltas(t *testing.T) {
	w, now := &Writer{}, time.Unix(1e9, 0)
	for range 10_000 {
		now = now.Add(100 * time.Microsecond)
		w.pace(1, now)
	}
	if wait := w.due.Sub(now); wait > 2*commitEvery {
		t.Errorf("deltas would wait %v", wait)
	}
	now = now.Add(time.Second)
	for n := range atOnce {
		w.pace(1, now)
		if wait := w.due.Sub(now); wait > 0 {
			t.Errorf("after a pause and %d commits deltas would wait %v", n+1, wait)
		}
	}
}
