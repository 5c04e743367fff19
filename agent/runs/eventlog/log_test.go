package eventlog

import (
	"context"
	"errors"
	"testing"
	"time"

	"fawn/agent/runs/runevent"
	"fawn/store"
)

// logOf has one event that readers see, and one that they do not see yet.
func logOf() *Log {
	l := New(0)
	for seq := range int64(2) {
		l.Add(&runevent.Event{Seq: seq + 1, To: seq + 1, Kind: runevent.KindText})
	}
	l.Mark(1)
	return l
}

// waiting is what a reader gets that waits for what is behind its cursor when f is called.
func waiting(t *testing.T, r *Reader, l *Log, f func()) ([]runevent.Event, error) {
	t.Helper()
	type answer struct {
		evs []runevent.Event
		err error
	}
	got := make(chan answer, 1)
	go func() {
		evs, err := r.Next(t.Context(), 1)
		got <- answer{evs, err}
	}()
	for is := false; !is; time.Sleep(time.Millisecond) {
		l.mu.Lock()
		is = len(l.waiters) > 0
		l.mu.Unlock()
	}
	f()
	a := <-got
	return a.evs, a.err
}

// TestAClosedLogIsNoEnd: readers get what is stored, and then an error, unless the log was abandoned.
func TestAClosedLogIsNoEnd(t *testing.T) {
	for _, c := range []struct {
		name string
		let  func(*Log)
		want error
	}{{"closed", (*Log).Close, ErrClosed}, {"abandoned", (*Log).Abandon, nil}} {
		t.Run(c.name, func(t *testing.T) {
			l := logOf()
			r := NewReader(nil, store.Run{}, l)
			if evs, err := waiting(t, r, l, func() { c.let(l) }); len(evs) > 0 || !errors.Is(err, c.want) {
				t.Errorf("who waited got %v, %v", evs, err)
			}
			if evs, err := r.Next(t.Context(), 0); len(evs) != 1 || evs[0].Seq != 1 || err != nil {
				t.Errorf("from the first one: %v, %v", evs, err)
			}
			if evs, err := r.Next(t.Context(), 1); len(evs) > 0 || !errors.Is(err, c.want) {
				t.Errorf("behind it: %v, %v", evs, err)
			}
			if evs, err := r.Ready(t.Context(), 1); len(evs) > 0 || err != nil {
				t.Errorf("without waiting: %v, %v", evs, err)
			}
		})
	}
}

// TestAnEndIsAnEndInAClosedLog, if it is stored.
func TestAnEndIsAnEndInAClosedLog(t *testing.T) {
	for _, c := range []struct {
		stored int64
		want   error
	}{{1, ErrClosed}, {2, nil}} {
		l := New(0)
		l.Add(&runevent.Event{Seq: 1, To: 1, Kind: runevent.KindText})
		l.Add(&runevent.Event{Seq: 2, To: 2, Kind: runevent.KindEnd})
		l.Mark(c.stored)
		l.Close()
		evs, err := NewReader(nil, store.Run{}, l).Next(t.Context(), c.stored)
		if len(evs) > 0 || !errors.Is(err, c.want) {
			t.Errorf("with %d events stored: %v, %v", c.stored, evs, err)
		}
	}
}

// TestALogThatIsLeftIsReadOn in the one that the run has then.
func TestALogThatIsLeftIsReadOn(t *testing.T) {
	l, next := logOf(), New(1)
	next.Add(&runevent.Event{Seq: 2, To: 2, Kind: runevent.KindText})
	next.Mark(2)
	r := NewOpener(nil, store.Run{}, l, func(context.Context, string) (store.Run, *Log, error) {
		return store.Run{}, next, nil
	})
	if evs, err := waiting(t, r, l, l.Leave); len(evs) != 1 || evs[0].Seq != 2 || err != nil {
		t.Errorf("%v, %v", evs, err)
	}
}
