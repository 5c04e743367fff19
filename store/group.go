package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// write commits g. Jobs that fail for their own reasons keep their error and don't affect others; the
// returned error means that nothing was written.
func (w *writer) write(g *group) (err error) {
	if len(g.buf) == 0 && !g.hasWork() {
		return nil
	}
	w.tidy = false
	g.row, g.frames = w.nextTail, w.soundFrames(g)
	swept := w.sweep(g, sweepRows)
	defer w.slow.begin(false)()
	if began := time.Now(); w.committed != nil || w.meter != nil {
		defer func() { w.measure(g, time.Since(began), err) }()
	}
	if err = w.engine.write(g, w.rest); err != nil {
		return fmt.Errorf("write to %s: %w", w.dir, translate(err))
	}
	w.commits.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if swept != nil {
		swept()
	}
	if len(g.frames) > 0 || w.engine.everyGroup() {
		w.noteFrames(g)
	}
	return nil
}

func (g *group) hasWork() bool {
	for _, j := range g.jobs {
		if j.batch != nil || j.apply != nil {
			return true
		}
	}
	return false
}

// repeatable reports whether g can be repeated after a rollback: values recorded by apply can't be taken back.
func (g *group) repeatable() bool {
	return !slices.ContainsFunc(g.jobs, func(j *job) bool { return j.apply != nil })
}

// stmts returns the planned statements of j.
func (j *job) stmts() []stmt {
	if j.batch == nil {
		return nil
	}
	return j.batch.stmts
}

// rest runs the part of a job that isn't a statement, inside the open transaction.
func (w *writer) rest(j *job) error {
	if j.apply != nil {
		return j.use(w)
	}
	w.shrink = w.shrink || j.batch.shrinks()
	if j.batch.removesThread() {
		return w.forget(j.batch.ThreadID)
	}
	return nil
}

// withdraw removes jobs from g that nobody waits for since the database became unreachable: their callers will retry.
func (g *group) withdraw() {
	g.jobs = slices.DeleteFunc(g.jobs, func(j *job) bool {
		j.using.Lock()
		defer j.using.Unlock()
		return j.taken
	})
}

// use runs apply if the caller still waits for j.
func (j *job) use(w *writer) error {
	j.using.Lock()
	defer j.using.Unlock()
	if j.unread {
		return context.Canceled
	}
	return j.apply(w)
}

// soundFrames returns the deltas of a group without lanes that lost earlier ones: a shorter stream is better than one
// with a hole.
func (w *writer) soundFrames(g *group) []byte {
	w.mu.Lock()
	var broken []laneSlot
	for _, s := range g.lanes {
		if s.lane.err != nil {
			broken = append(broken, s)
		}
	}
	w.mu.Unlock()
	if broken == nil {
		return g.buf
	}
	return keepFrames(g.buf, func(thread []byte, seq int64) bool {
		for _, s := range broken {
			if s.lane.thread == string(thread) && s.first <= seq && seq <= s.last {
				return false
			}
		}
		return true
	})
}

// pace chooses how long deltas may wait for company. A commit costs the same whether it
// holds ten of them or fifty, so that in a crowd half as many commits halve the cost of
// each delta, and a wait of some milliseconds is lost among hundreds of streams. After a
// pause a few go out at once: the first words of an answer follow commits of its run closely.
func (w *writer) pace(items int, now time.Time) {
	since := now.Sub(w.last)
	w.last, w.patience = now, commitEvery
	if since < time.Second && items > int(crowded*max(since, commitEvery)/time.Millisecond) {
		w.patience = 2 * commitEvery
	}
	if earliest := now.Add(-atOnce * w.patience); w.due.Before(earliest) {
		w.due = earliest
	}
	w.due = w.due.Add(w.patience)
	if latest := now.Add(w.patience); w.due.After(latest) { // urgent commits neither wait nor delay others
		w.due = latest
	}
}

// noteFrames remembers which row has which thread's deltas. Called with mu held.
func (w *writer) noteFrames(g *group) {
	row := w.nextTail
	w.nextTail++
	for _, s := range g.lanes {
		if s.lane.err != nil {
			continue
		}
		t := w.tails[s.lane.thread]
		if t == nil {
			t = &threadTail{}
			w.tails[s.lane.thread] = t
		}
		t.note(row, s.last)
	}
}

// finish reports the result of g's commit to everyone waiting.
func (w *writer) finish(g *group, err error) {
	now := time.Now()
	w.pace(g.items, now)
	w.tell = w.tell[:0]
	w.blank.written(w.puts)
	w.puts = nil
	w.mu.Lock()
	for _, s := range g.lanes {
		l := s.lane
		l.pending -= s.bytes
		switch {
		case err != nil:
			l.lose(err, s.last)
		case l.err != nil:
			l.lost = max(l.lost, s.last)
		default:
			l.safe = max(l.safe, s.last)
			w.tell = append(w.tell, l)
		}
	}
	for _, j := range g.jobs {
		w.settle(j, err)
	}
	for _, s := range g.lanes {
		if l := s.lane; l.wake != nil {
			close(l.wake)
			l.wake = nil
		}
	}
	w.comeBack()
	failed := err != nil && w.health == nil
	if err != nil {
		w.health = err
	}
	sick := w.health != nil
	w.mu.Unlock()

	if failed {
		w.log.Error("store can't write", "dir", w.dir, "err", err)
		w.probed = time.Time{}
		if errors.Is(err, ErrFull) {
			w.engine.relieve()
		}
	} else if sick && err == nil && time.Since(w.probed) >= probeEvery {
		w.probe()
	}
	for _, l := range w.tell {
		if l.safe > l.told {
			l.told = l.safe
			if l.durable != nil {
				l.durable(l.safe)
			}
		}
	}
	clear(w.tell)
	if err == nil {
		w.wakes.group(g)
	}
	for _, j := range g.jobs {
		j.done <- j.err
	}
	w.recycle(g)
}

// settle records the outcome of a job in lanes and tail. Called with mu held.
func (w *writer) settle(j *job, err error) {
	if err != nil {
		j.err = err
		return
	}
	if j.err != nil {
		return
	}
	if j.then != nil {
		j.then(w)
	}
	l := j.lane
	if j.batch == nil {
		if l != nil {
			j.err = l.trouble()
		}
		return
	}
	b := j.batch
	w.blank.written(b.KV)
	if b.Thread != nil || b.removesThread() || b.Patch != nil && (b.Patch.Metadata != nil || b.Patch.Merge != nil) {
		w.listed++
	}
	if b.removesThread() {
		delete(w.tails, b.ThreadID)
		delete(w.oldSeqs, b.ThreadID)
	} else if t := w.tails[b.ThreadID]; t != nil {
		t.fold(b.folds)
	}
	if l == nil || b.to == 0 {
		return
	}
	if b.to >= l.lost {
		l.err, l.lost = nil, 0
	}
	if l.err == nil {
		l.safe = max(l.safe, b.to)
		w.tell = append(w.tell, l)
	}
}

func (w *writer) recycle(g *group) {
	if cap(g.buf) > keepBuffer {
		g.buf = nil
	}
	clear(g.lanes)
	clear(g.jobs)
	clear(g.after)
	*g = group{buf: g.buf[:0], lanes: g.lanes[:0], jobs: g.jobs[:0], after: g.after[:0]}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.free) < 2 {
		w.free = append(w.free, g)
	}
}
