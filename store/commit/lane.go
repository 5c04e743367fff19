package commit

import (
	"context"
	"fmt"
	"time"
)

// Lane is one open run's ordered way into the writer: deltas of a growing
// answer go in by Append without waiting, finished steps as jobs of the lane. Its methods
// are safe for concurrent use; order is the order of the calls.
type Lane struct {
	w       *Writer
	thread  string
	durable func(seq int64)

	// guarded by w.mu
	gen     uint64 // group in which slot is an index
	slot    int
	pending int   // bytes appended and not yet committed
	err     error // error of the commit that lost deltas
	lost    int64 // greatest number not stored because of err
	closed  bool
	late    bool          // a delta was appended after closing
	wake    chan struct{} // closed after the next commit if someone waits
	safe    int64         // greatest durable number
	told    int64         // greatest number passed to durable; used by the writer goroutine only
}

// OpenLane opens a lane for a run of the thread. After each commit that includes this lane, the writer calls durable
// with the greatest committed number; durable must return at once and must not call the store.
func (w *Writer) OpenLane(thread string, durable func(seq int64)) *Lane {
	return &Lane{w: w, thread: Clean(thread), durable: durable}
}

// Append queues a delta for the tail under its number, which must exceed the previous one. It never blocks and copies
// data; call Wait to keep the queue short. After a failed commit deltas are dropped until a job with events covers them; Wait
// and Flush return the error. The result is how many bytes of the lane aren't durable, or -1 where Wait would return an
// error: whoever sees that few wait needn't call it.
func (l *Lane) Append(seq int64, data []byte) (pending int) {
	w := l.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if l.closed || w.closed {
		l.late = true
		return -1
	}
	if l.err != nil {
		l.lost = max(l.lost, seq)
		return -1
	}
	size := 0
	if !w.noEvents {
		size = frameSize(l.thread, data)
	}
	g := w.room(size, 1)
	if w.meter != nil && g.since.IsZero() {
		g.since = time.Now()
	}
	before := len(g.buf)
	if !w.noEvents {
		g.buf = AppendFrame(g.buf, l.thread, seq, data)
	}
	n := len(g.buf) - before
	if l.gen != g.gen {
		l.gen, l.slot = g.gen, len(g.lanes)
		g.lanes = append(g.lanes, laneSlot{lane: l, first: seq})
	}
	s := &g.lanes[l.slot]
	s.last = seq
	s.bytes += n
	l.pending += n
	g.size += n
	g.items++
	if w.idle { // a busy writer checks by itself
		w.idle = false
		w.nudge()
	}
	return l.pending
}

// Wait blocks while more than max bytes of this lane are not durable. It
// returns the error of a commit that lost deltas of the lane.
func (l *Lane) Wait(ctx context.Context, max int) error {
	for {
		l.w.mu.Lock()
		if err := l.trouble(); err != nil || l.pending <= max {
			l.w.mu.Unlock()
			return err
		}
		if l.wake == nil {
			l.wake = make(chan struct{})
		}
		wake := l.wake
		l.w.mu.Unlock()
		select {
		case <-wake:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Flush returns when everything appended so far is durable, or with the error
// of the commit that lost some of it.
func (l *Lane) Flush(ctx context.Context) error {
	if err := l.w.Do(ctx, &Job{Lane: l}); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	return nil
}

// Close ends the lane. Appended deltas are still written; those not covered by an event stay in the tail for the next
// start.
func (l *Lane) Close() {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	l.closed = true
}

// trouble returns the reason why something appended will not be durable. w.mu must be held.
func (l *Lane) trouble() error {
	if l.err == nil && l.late {
		return ErrClosed
	}
	return l.err
}

// lose records that numbers up to seq of this lane were not stored. Called with w.mu held.
func (l *Lane) lose(err error, seq int64) {
	l.lost = max(l.lost, seq)
	if l.err == nil {
		l.err = err
	}
}
