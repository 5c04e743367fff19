package commit

import (
	"testing"
	"time"
)

// keeper is an engine of which only this is asked.
type keeper struct {
	Engine
	time time.Duration
}

func (k keeper) Keeps() time.Duration { return k.time }

func TestRowsStayForOthersAfterTheyAreNeeded(t *testing.T) {
	at := time.Unix(1000, 0)
	w := &Writer{engine: keeper{time: 30 * time.Second}}
	for second := range int64(100) { // each second 10 rows become garbage
		low := w.keep(10*second, at.Add(time.Duration(second)*time.Second))
		if want := 10 * max(0, second-30); low != want {
			t.Fatalf("after %d s rows below %d go, want %d", second, low, want)
		}
		w.tailLow = low
	}
	w.engine = keeper{}
	if low := w.keep(990, at.Add(time.Hour)); low != 990 || w.lows != nil {
		t.Errorf("alone, rows below %d go", low)
	}
}
