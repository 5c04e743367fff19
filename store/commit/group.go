package commit

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
	g.Row, g.Frames = w.nextTail, w.soundFrames(g)
	swept := w.sweep(g, sweepRows)
	defer w.slow.begin(false)()
	if began := time.Now(); w.committed != nil || w.meter != nil {
		defer func() { w.measure(g, time.Since(began), err) }()
	}
	if err = w.engine.Write(g, w.rest); err != nil {
		return fmt.Errorf("write to %s: %w", w.dir, Translate(err, w.engine.Cause))
	}
	w.commits.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if swept != nil {
		swept()
	}
	if len(g.Frames) > 0 || w.engine.EveryGroup() {
		w.noteFrames(g)
	}
	return nil
}

func (g *Group) hasWork() bool {
	for _, j := range g.Jobs {
		if !j.Empty() {
			return true
		}
	}
	return false
}

// Repeatable reports whether g can be repeated after a rollback: values recorded by apply can't be taken back.
func (g *Group) Repeatable() bool {
	return !slices.ContainsFunc(g.Jobs, func(j *Job) bool { return j.Apply != nil })
}

// Empty reports whether j writes nothing.
func (j *Job) Empty() bool { return j.Plan == nil && j.Apply == nil }

// Stmts returns the planned statements of j.
func (j *Job) Stmts() []Stmt {
	if j.Plan == nil {
		return nil
	}
	return j.Plan.Stmts
}

// rest runs the part of a job that isn't a statement, inside the open transaction.
func (w *Writer) rest(j *Job) error {
	if j.Apply != nil {
		return j.use()
	}
	w.shrink = w.shrink || j.Plan.Frees
	if j.Plan.Removes {
		return w.forget(j.Plan.Target)
	}
	return nil
}

// Withdraw removes jobs from g whose callers gave up when the database became unreachable; they retry.
func (g *Group) Withdraw() {
	g.Jobs = slices.DeleteFunc(g.Jobs, func(j *Job) bool {
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
	return j.Apply()
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
	return KeepFrames(g.buf, func(thread []byte, seq int64) bool {
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
	for _, j := range g.Jobs {
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
			w.engine.Relieve()
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
	for _, j := range g.Jobs {
		j.done <- j.Err
	}
	w.recycle(g)
}

// settle records the outcome of a job in lanes and tail. Called with mu held.
func (w *Writer) settle(j *Job, err error) {
	if err != nil {
		j.Err = err
		return
	}
	if j.Err != nil {
		return
	}
	if j.Then != nil {
		j.Then()
	}
	w.watcher.Settled(j)
	l, p := j.Lane, j.Plan
	if p == nil {
		if l != nil {
			j.Err = l.trouble()
		}
		return
	}
	if p.Removes {
		delete(w.tails, p.Target)
		delete(w.oldSeqs, p.Target)
	} else if t := w.tails[p.Target]; t != nil {
		t.fold(p.Folds)
	}
	if l == nil || p.To == 0 {
		return
	}
	if p.To >= l.lost {
		l.err, l.lost = nil, 0
	}
	if l.err == nil {
		l.safe = max(l.safe, p.To)
		w.tell = append(w.tell, l)
	}
}

func (w *Writer) recycle(g *Group) {
	if cap(g.buf) > keepBuffer {
		g.buf = nil
	}
	clear(g.lanes)
	clear(g.Jobs)
	clear(g.After)
	*g = Group{buf: g.buf[:0], lanes: g.lanes[:0], Jobs: g.Jobs[:0], After: g.After[:0]}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.free) < 2 {
		w.free = append(w.free, g)
	}
}
