package runs

import (
	"context"
	"sort"
	"sync"
)

// logMemory is how many bytes of stored events a live run keeps in memory for its readers.
const logMemory = 4 << 20

// Log is the memory of a live run: events with a durable mark. Readers hold cursors, so
// a slow one costs nothing and loses nothing.
type Log struct {
	mu      sync.Mutex
	events  []Event // ascending
	dropped int64   // greatest To no longer in memory
	folded  int64   // greatest To that is in stored rows
	durable int64
	bytes   int
	ended   bool // the terminal event is in events
	wake    chan struct{}
	waiting bool
}

func newLog(after int64) *Log {
	return &Log{dropped: after, folded: after, durable: after, wake: make(chan struct{})}
}

// add appends an event which is not durable yet.
func (l *Log) add(ev Event) {
	l.mu.Lock()
	l.events = append(l.events, ev)
	l.bytes += eventSize(ev)
	l.ended = l.ended || ev.Kind == KindEnd
	l.mu.Unlock()
}

// retract takes events from seq on back, which were never stored.
func (l *Log) retract(seq int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n := len(l.events); n > 0 && l.events[n-1].Seq >= seq; n-- {
		l.bytes -= eventSize(l.events[n-1])
		l.ended = l.ended && l.events[n-1].Kind != KindEnd
		l.events = l.events[:n-1]
	}
}

// mark makes everything up to seq visible. It is called by the store's writer.
func (l *Log) mark(seq int64) {
	l.mu.Lock()
	if seq > l.durable {
		l.durable = seq
		if l.waiting {
			close(l.wake)
			l.wake, l.waiting = make(chan struct{}), false
		}
	}
	l.mu.Unlock()
}

// over says whether readers can see the end of the run.
func (l *Log) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended && (len(l.events) == 0 || l.events[len(l.events)-1].To <= l.durable)
}

// fold says that events up to seq are in stored rows, and drops the oldest ones past the
// memory bound.
func (l *Log) fold(seq int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.folded = max(l.folded, seq)
	n := 0
	for n < len(l.events) && l.bytes > logMemory && l.events[n].To <= l.folded {
		l.bytes -= eventSize(l.events[n])
		l.dropped = l.events[n].To
		n++
	}
	if n > 0 {
		l.events = append(make([]Event, 0, len(l.events)-n+64), l.events[n:]...)
	}
}

// next returns durable events past after. When they are no longer in memory, stored is the
// cursor up to which the caller reads rows. ended is true past the terminal event.
func (l *Log) next(ctx context.Context, after int64) (evs []Event, stored int64, ended bool, err error) {
	for {
		evs, stored, ended, wake := l.take(after, true)
		if wake == nil {
			return evs, stored, ended, nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return nil, 0, false, context.Cause(ctx)
		}
	}
}

// take is next without waiting: while there is nothing past after, it returns only what
// is closed when there may be more. wait says that the caller will wait for it.
func (l *Log) take(after int64, wait bool) (evs []Event, stored int64, ended bool, wake <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if after < l.dropped {
		return nil, l.dropped, false, nil
	}
	from := sort.Search(len(l.events), func(i int) bool { return l.events[i].To > after })
	to := from + sort.Search(len(l.events)-from, func(i int) bool { return l.events[from+i].To > l.durable })
	if to > from {
		return l.events[from:to:to], 0, false, nil
	}
	if l.ended && from == len(l.events) {
		return nil, 0, true, nil
	}
	l.waiting = l.waiting || wait
	return nil, 0, false, l.wake
}

func eventSize(ev Event) int {
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

// abandon lets readers go when a run ended without a stored terminal event. They still
// get what is stored.
func (l *Log) abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := sort.Search(len(l.events), func(i int) bool { return l.events[i].To > l.durable })
	l.events, l.ended = l.events[:n:n], true
	if l.waiting {
		close(l.wake)
		l.wake, l.waiting = make(chan struct{}), false
	}
}
