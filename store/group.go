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
func (w *Writer) write(g *Group) (err error) {
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
		return fmt.Errorf("write to %s: %w", w.dir, Translate(err, w.engine.cause))
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

func (g *Group) hasWork() bool {
	for _, j := range g.jobs {
		if !j.empty() {
			return true
		}
	}
	return false
}

// repeatable reports whether g can be repeated after a rollback: values recorded by apply can't be taken back.
func (g *Group) repeatable() bool {
	return !slices.ContainsFunc(g.jobs, func(j *Job) bool { return j.apply != nil })
}

// empty reports whether j writes nothing.
func (j *Job) empty() bool { return j.plan == nil && j.apply == nil }

// stmts returns the planned statements of j.
func (j *Job) stmts() []stmt {
	if j.plan == nil {
		return nil
	}
	return j.plan.stmts
}

// rest runs the part of a job that isn't a statement, inside the open transaction.
func (w *Writer) rest(j *Job) error {
	if j.apply != nil {
		return j.use()
	}
	w.shrink = w.shrink || j.plan.frees
	if j.plan.removes {
		return w.forget(j.plan.target)
	}
	return nil
}

// withdraw removes jobs from g that nobody waits for since the database became unreachable: their callers will retry.
func (g *Group) withdraw() {
	g.jobs = slices.DeleteFunc(g.jobs, func(j *Job) bool {
		j.using.Lock()
		defer j.using.Unlock()
		return j.taken
	})
}

// use runs apply if the caller still waits for j.
func (j *Job) use() error {
	j.using.Lock()
	defer j.using.Unlock()
	if j.unread {
		return context.Canceled
	}
	return j.apply()
}

// soundFrames returns the deltas of a group without lanes that lost earlier ones: a shorter stream is better than one
// with a hole.
func (w *Writer) soundFrames(g *Group) []byte {
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
func (w *Writer) pace(items int, now time.Time) {
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
func (w *Writer) noteFrames(g *Group) {
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
func (w *Writer) finish(g *Group, err error) {
	now := time.Now()
	w.pace(g.items, now)
	w.tell = w.tell[:0]
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
		w.watcher.Committed(g)
	}
	for _, j := range g.jobs {
		j.done <- j.err
	}
	w.recycle(g)
}

// settle records the outcome of a job in lanes and tail. Called with mu held.
func (w *Writer) settle(j *Job, err error) {
	if err != nil {
		j.err = err
		return
	}
	if j.err != nil {
		return
	}
	if j.then != nil {
		j.then()
	}
	w.watcher.Settled(j)
	l, p := j.lane, j.plan
	if p == nil {
		if l != nil {
			j.err = l.trouble()
		}
		return
	}
	if p.removes {
		delete(w.tails, p.target)
		delete(w.oldSeqs, p.target)
	} else if t := w.tails[p.target]; t != nil {
		t.fold(p.folds)
	}
	if l == nil || p.to == 0 {
		return
	}
	if p.to >= l.lost {
		l.err, l.lost = nil, 0
	}
	if l.err == nil {
		l.safe = max(l.safe, p.to)
		w.tell = append(w.tell, l)
	}
}

func (w *Writer) recycle(g *Group) {
	if cap(g.buf) > keepBuffer {
		g.buf = nil
	}
	clear(g.lanes)
	clear(g.jobs)
	clear(g.after)
	*g = Group{buf: g.buf[:0], lanes: g.lanes[:0], jobs: g.jobs[:0], after: g.after[:0]}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.free) < 2 {
		w.free = append(w.free, g)
	}
}
