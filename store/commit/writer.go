package commit

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	commitEvery = 3 * time.Millisecond // least time between commits of deltas alone
	atOnce      = 3                    // commits after a pause that may come sooner
	crowded     = 5                    // deltas per millisecond that double that time
	maxBytes    = 4 << 20              // byte limit of one commit
	maxItems    = 4096                 // limit of deltas and rows of one commit
	keepBuffer  = 1 << 20              // larger buffers aren't reused
	sweepRows   = 256                  // garbage rows in the tail worth a delete
	tidyAfter   = time.Second          // quiet time before housekeeping
	copyEvery   = time.Minute          // least interval if there was none: the file alone is never older
	probeEvery  = 2 * time.Second      // interval of retrying a failed disk
)

// Group is the content of one commit: deltas of all lanes, then jobs in order.
type Group struct {
	gen    uint64
	buf    []byte
	lanes  []laneSlot
	Jobs   []*Job
	Row    int64  // row in the tail, 0 for none
	Frames []byte // frames in that row
	After  []Stmt // deletions from the tail
	items  int
	size   int
	urgent bool
	since  time.Time // time of its first delta, if measured
}

// laneSlot is one lane's share of a group.
type laneSlot struct {
	lane        *Lane
	first, last int64 // numbers of its deltas
	bytes       int
}

// Job is a plan, a flush (nothing but a lane) or a function to call in the transaction.
type Job struct {
	Lane  *Lane
	Plan  *Plan
	Apply func() error // runs in the transaction
	Then  func()       // runs after the commit, with mu held
	Err   error        // this job's own failure
	Calm  bool         // it joins the next commit, like deltas
	done  chan error
	taken bool // with using: the caller was told that it isn't written

	using  sync.Mutex // held while apply runs
	unread bool       // with using: the caller has stopped waiting for apply's results
}

// Watcher learns of commits. Its methods must return at once.
type Watcher interface {
	// Settled is called for each job that was committed, before its caller learns it. The writer is locked meanwhile.
	Settled(j *Job)
	// Committed is called after each group that was committed, before callers learn it.
	Committed(g *Group)
}

// Options are the settings of a writer.
type Options struct {
	Dir       string // for messages
	Log       *slog.Logger
	NoEvents  bool                                // for measurements: deltas are dropped
	Committed func(took time.Duration, err error) // called after each commit; nil = none
	Meter     Meter                               // nil for a file
	Watcher   Watcher
}

// Writer has the only goroutine that writes. Fields without a comment belong to it.
type Writer struct {
	engine    Engine
	dir       string
	log       *slog.Logger
	noEvents  bool
	committed func(time.Duration, error) // may be nil
	meter     Meter                      // nil for a file
	watcher   Watcher
	strain    strain
	commits   atomic.Uint64
	slow      slowness
	last      time.Time     // end of the last commit
	patience  time.Duration // time between commits of deltas alone: commitEvery, or twice that in a crowd
	due       time.Time     // earliest time of their next commit
	Span      Span          // range of our rows in the tail; constant
	tailLow   int64         // our deleted tail rows end here, except an earlier process's
	lows      []tailLow     // earlier deletion limits, oldest first
	lookAt    int64         // tail row at which to check for garbage again
	shrink    bool          // much was deleted since the log was last cut off
	tidy      bool          // nothing was committed since the last housekeeping
	copied    time.Time     // when the log was last moved into the file
	probed    time.Time     // last try of a failed disk
	tell      []*Lane       // lanes of the group being finished, reused

	wake chan struct{} // one token: check the queue again
	done chan struct{} // closed when the goroutine has ended

	mu       sync.Mutex
	cur      *Group                 // being filled
	full     []*Group               // sealed, oldest first
	free     []*Group               // emptied, for reuse
	gen      uint64                 // last group number given
	closed   bool                   // rejects further work
	idle     bool                   // the writer sleeps until it is nudged
	health   error                  // last group failure
	outage   *outage                // never nil
	tails    map[string]*threadTail // tail state by thread of this process
	nextTail int64                  // id of the next tail row
	oldTail  int64                  // last tail row of an earlier process in our span, 0 once deleted
	oldSeqs  map[string]int64       // greatest number of each thread in rows of earlier processes
	oldRead  bool                   // they have been read
}

// NewWriter prepares a writer, whose goroutine is [Writer.run].
func NewWriter(ctx context.Context, e Engine, o Options) (*Writer, error) {
	w := &Writer{
		engine: e, dir: o.Dir, log: o.Log, noEvents: o.NoEvents, committed: o.Committed, meter: o.Meter,
		watcher: o.Watcher,
		tails:   map[string]*threadTail{},
		outage:  &outage{done: make(chan struct{})},
		tidy:    true, wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	w.slow.busy, w.slow.origin, w.copied = w.busy, time.Now(), time.Now()
	var err error
	if w.Span, w.oldTail, err = e.Tail(ctx); err != nil {
		return nil, err
	}
	w.nextTail = max(w.oldTail+1, w.Span.First)
	w.tailLow = w.nextTail
	w.cur = w.newGroup()
	return w, nil
}

// newGroup is called with mu held.
func (w *Writer) newGroup() *Group {
	g := &Group{}
	if n := len(w.free); n > 0 {
		g, w.free = w.free[n-1], w.free[:n-1]
	}
	w.gen++
	g.gen = w.gen
	return g
}

// room returns the group to add size bytes and items to. Called with mu held.
func (w *Writer) room(size, items int) *Group {
	g := w.cur
	if g.items > 0 && (g.size+size > maxBytes || g.items+items > maxItems) {
		w.full = append(w.full, g)
		w.cur = w.newGroup()
		w.nudge()
	}
	return w.cur
}

// nudge wakes the writer. It never blocks.
func (w *Writer) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Do queues j as urgent and waits for it. If ctx ends first, it is unknown whether j takes effect; its
// apply no longer runs, as it may write to variables of the caller.
func (w *Writer) Do(ctx context.Context, j *Job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	patient := j.Lane != nil || ctx.Value(patientKey{}) != nil
	j.done = make(chan error, 1)
	size, items := 0, 1
	if j.Plan != nil {
		size, items = j.Plan.bytes, j.Plan.Items
	}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return ErrClosed
	}
	out := w.outage
	if out.err != nil && !patient {
		w.mu.Unlock()
		return out.err
	}
	g := w.room(size, items)
	g.Jobs = append(g.Jobs, j)
	g.size += size
	g.items += items
	g.urgent = g.urgent || !j.Calm
	w.nudge()
	w.mu.Unlock()
	away := out.done
	if patient {
		away = nil
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
	case <-away:
	}
	j.using.Lock()
	defer j.using.Unlock()
	j.unread = true
	if err := context.Cause(ctx); err != nil {
		return err
	}
	j.taken = true
	return out.err
}

// Run is the writer's goroutine. It ends when the writer is closed and empty.
func (w *Writer) Run() {
	defer close(w.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		g, wait := w.next()
		if g != nil {
			w.finish(g, w.write(g))
			w.copyLog()
			continue
		}
		if wait == 0 {
			w.housekeep()
			return
		}
		timer.Reset(wait)
		select {
		case <-w.wake:
		case <-timer.C:
			w.quiet()
		}
	}
}

// next returns the group to commit now, or how long to wait for one; no wait at all means the end.
func (w *Writer) next() (g *Group, wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle = false
	if len(w.full) > 0 {
		g, w.full = w.full[0], w.full[1:]
		return g, 0
	}
	early := time.Until(w.due)
	switch {
	case w.cur.urgent || w.closed && w.cur.items > 0:
	case w.closed:
		return nil, 0
	case early > 0 && !w.noEvents:
		return nil, early
	case w.cur.items == 0:
		w.idle = true
		switch {
		case w.health != nil:
			return nil, probeEvery
		case !w.tidy:
			return nil, tidyAfter
		}
		return nil, time.Hour
	}
	g, w.cur = w.cur, w.newGroup()
	return g, 0
}

// quiet runs the work that waits for a pause. Called when the timer has fired.
func (w *Writer) quiet() {
	w.mu.Lock()
	busy, sick := !w.idle || len(w.full) > 0 || w.cur.items > 0, w.health != nil
	w.mu.Unlock()
	switch {
	case busy:
	case sick:
		w.probe()
	default:
		w.housekeep()
	}
}

// housekeep deletes unneeded tail rows and lets the engine tidy up, so that the next start has little to read.
func (w *Writer) housekeep() {
	if w.tidy {
		return
	}
	w.tidy, w.copied = true, time.Now()
	defer w.slow.begin(true)()
	g := &Group{}
	done := w.sweep(g, 1)
	err := w.engine.Write(g, w.rest)
	if err == nil && done != nil {
		w.mu.Lock()
		done()
		w.mu.Unlock()
	}
	if err == nil {
		var forgotten bool
		if forgotten, err = w.engine.Upkeep(w.shrink, w.busy); forgotten {
			w.shrink = false
		}
		w.tidy = (!w.shrink || !w.busy()) && len(w.lows) == 0
	}
	if err != nil {
		w.log.Warn("store housekeeping failed", "err", err)
	}
}

// copyLog moves the log into the file of a database that is never quiet, so that a file without its log lacks little.
func (w *Writer) copyLog() {
	if time.Since(w.copied) < copyEvery {
		return
	}
	w.copied = time.Now()
	defer w.slow.begin(true)()
	if _, err := w.engine.Upkeep(false, w.busy); err != nil {
		w.log.Warn("couldn't checkpoint the write-ahead log", "dir", w.dir, "err", err)
	}
}

// busy reports whether there is something to commit.
func (w *Writer) busy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.full) > 0 || w.cur.items > 0
}

// probe checks whether a failed disk accepts writes again.
func (w *Writer) probe() {
	w.probed = time.Now()
	if w.engine.Probe(w.nextTail) != nil {
		return
	}
	w.mu.Lock()
	w.health = nil
	w.mu.Unlock()
	w.log.Info("store accepts writes again", "dir", w.dir)
}

// Queued returns the number of waiting writes.
func (w *Writer) Queued() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.cur.items
	for _, g := range w.full {
		n += g.items
	}
	return n
}

// CommitCount returns the number of commits.
func (w *Writer) CommitCount() uint64 { return w.commits.Load() }

// FreesMuch makes the writer cut off the log in the next pause, because a job deleted much. It is for functions of jobs.
func (w *Writer) FreesMuch() { w.shrink = true }

// Healthy returns nil, or the last error of a commit until one works again.
func (w *Writer) Healthy() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.health
}

// Close rejects further work and waits until the queue is written.
func (w *Writer) Close() error {
	w.mu.Lock()
	w.closed = true
	w.nudge()
	w.mu.Unlock()
	<-w.done
	return nil
}
