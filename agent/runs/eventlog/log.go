package eventlog

import (
	"context"
	"errors"
	"slices"
	"sort"
	"sync"
	"time"

	"fawn/agent/runs/runevent"
)

// Memory limits the bytes of stored events that a live run keeps in memory for its readers.
const Memory = 4 << 20

// ErrClosed means that this server provides no more events of a run that hasn't ended.
var ErrClosed = errors.New("the server is shutting down")

// errAway means that readers moved to another log.
var errAway = errors.New("the log of the run is another one now")

// Log is the in-memory log of a live run: events with a durable mark. Readers hold cursors, so slow ones cost nothing
// and miss nothing.
type Log struct {
	mu      sync.Mutex
	events  list
	dropped int64 // greatest To that is no longer in memory
	folded  int64 // greatest To that is in stored rows
	durable int64
	bytes   int
	ended   bool            // the terminal event is in events
	gone    error           // no more events here, although the run hasn't ended: errAway or ErrClosed
	waiters []chan struct{} // of readers that wait, each with room for one token

	// Of a log of NewElsewhere only.
	elsewhere bool
	readers   int       // number of waiting readers
	left      time.Time // when the last waiter left
}

// New returns a log for events after a number.
func New(after int64) *Log {
	return &Log{dropped: after, folded: after, durable: after}
}

// NewElsewhere is New for a run that another server works on.
func NewElsewhere(after int64) *Log {
	l := New(after)
	l.elsewhere, l.left = true, time.Now()
	return l
}

// Add appends a copy of an event which is not durable yet.
func (l *Log) Add(ev *runevent.Event) {
	l.mu.Lock()
	l.events.add(ev)
	l.bytes += eventSize(ev)
	l.ended = l.ended || ev.Kind == runevent.KindEnd
	l.mu.Unlock()
}

// Retract removes events from seq on, which were never stored.
func (l *Log) Retract(seq int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ev := l.events.last(); ev != nil && ev.Seq >= seq; ev = l.events.last() {
		l.bytes -= eventSize(ev)
		l.ended = l.ended && ev.Kind != runevent.KindEnd
		l.events.dropLast()
	}
}

// Mark makes everything up to seq visible. The store's writer calls it.
func (l *Log) Mark(seq int64) {
	l.mu.Lock()
	if seq > l.durable {
		l.durable = seq
		l.rouse()
	}
	l.mu.Unlock()
}

// rouse wakes waiting readers. mu is held.
func (l *Log) rouse() {
	for i, w := range l.waiters {
		select {
		case w <- struct{}{}:
		default: // it was woken before and gave up
		}
		l.waiters[i] = nil
	}
	l.waiters = l.waiters[:0]
}

// Over reports whether readers can see the end of the run.
func (l *Log) Over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.events.last()
	return l.ended && (last == nil || last.To <= l.durable)
}

// Dropped returns the greatest number of an event that is only in stored rows, 0 for none.
func (l *Log) Dropped() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropped
}

// Fold marks events up to seq as stored in rows, and drops the oldest ones beyond the memory limit.
func (l *Log) Fold(seq int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.folded = max(l.folded, seq)
	l.events.dropWhile(func(ev *runevent.Event) bool {
		if l.bytes <= Memory || ev.To > l.folded {
			return false
		}
		l.bytes -= eventSize(ev)
		l.dropped = ev.To
		return true
	})
}

// next returns durable events past after. If they are no longer in memory, stored is the cursor up to which the caller
// reads rows. ended is true past the terminal event. The error may be errAway or ErrClosed. wake is the reader's own
// channel, with room for one token.
func (l *Log) next(ctx context.Context, after int64, wake chan struct{}) (evs []runevent.Event, stored int64, ended bool,
	err error) {
	for {
		evs, stored, ended, empty, gone := l.take(after, wake)
		if !empty {
			return evs, stored, ended, gone
		}
		if err := l.wait(ctx, wake); err != nil {
			return nil, 0, false, err
		}
	}
}

func (l *Log) wait(ctx context.Context, wake chan struct{}) error {
	if l.elsewhere {
		l.count(1)
		defer l.count(-1)
	}
	select {
	case <-wake:
		return nil
	case <-ctx.Done():
		l.mu.Lock()
		defer l.mu.Unlock()
		l.waiters = slices.DeleteFunc(l.waiters, func(w chan struct{}) bool { return w == wake })
		return context.Cause(ctx)
	}
}

// Readers returns the number of readers waiting for a remote run.
func (l *Log) Readers() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.readers
}

func (l *Log) count(readers int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readers += readers
	l.left = time.Now()
}

// take is next without waiting: empty means that there is nothing past the cursor yet. Then wake, unless it is nil, gets
// a token when there may be more, or a reason why nothing more comes.
func (l *Log) take(after int64, wake chan struct{}) (evs []runevent.Event, stored int64, ended, empty bool, gone error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if after < l.dropped {
		return nil, l.dropped, false, false, nil
	}
	more := l.events.after(after)
	if n := sort.Search(len(more), func(i int) bool { return more[i].To > l.durable }); n > 0 {
		return more[:n:n], 0, false, false, nil
	}
	if l.ended && len(more) == 0 {
		return nil, 0, true, false, nil
	}
	if l.gone != nil {
		return nil, 0, false, false, l.gone
	}
	if wake != nil {
		l.waiters = append(l.waiters, wake)
	}
	return nil, 0, false, true, nil
}

func eventSize(ev *runevent.Event) int {
	n := 96 + len(ev.Text) + len(ev.Data)
	if ev.Step != nil {
		for _, m := range ev.Step.Messages {
			n += len(m)
		}
		for _, f := range ev.Step.Fields {
			n += len(f)
		}
	}
	return n
}

// Abandon releases readers of a run that ended without a stored terminal event. They still get the stored events.
func (l *Log) Abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropHidden()
	l.ended = true
	l.rouse()
}

// Close releases readers of an unended run that another server continues. They still get the stored events, and then
// ErrClosed.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropHidden()
	l.gone = ErrClosed
	l.rouse()
}

// dropHidden drops events that readers have not been shown. mu is held.
func (l *Log) dropHidden() {
	for ev := l.events.last(); ev != nil && ev.To > l.durable; ev = l.events.last() {
		l.ended = l.ended && ev.Kind != runevent.KindEnd
		l.events.dropLast()
	}
}

// Store marks everything up to seq as available in stored rows only.
func (l *Log) Store(seq int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events.dropWhile(func(ev *runevent.Event) bool {
		if ev.To > seq {
			return false
		}
		l.bytes -= eventSize(ev)
		return true
	})
	l.dropped, l.folded, l.durable = max(l.dropped, seq), max(l.folded, seq), max(l.durable, seq)
	l.rouse()
}

// Finish marks the end of the log.
func (l *Log) Finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.rouse()
}

// Leave moves the readers to another log of the same run, which [NewOpener] opens.
func (l *Log) Leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = errAway
	l.rouse()
}

// Away reports whether the log was closed because nobody read it.
func (l *Log) Away() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Is(l.gone, errAway)
}

// Idle reports whether no reader has waited for events for some time.
func (l *Log) Idle(since time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.readers == 0 && time.Since(l.left) >= since
}
