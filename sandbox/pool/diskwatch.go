package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"fawn/sandbox"
	"fawn/sandbox/files"
)

const (
	// The disk's free space is checked this often while any process of a sandbox lives.
	diskLook = 250 * time.Millisecond
	// Files are counted when as much is gone from the disk as the thread may still write,
	// and this often in any case: at first, and after a while without growth.
	diskCount, diskRest = time.Second, 10 * time.Second
	// Writes of others to the same disk trigger a recount of a nearly full thread at most this often.
	diskStep = 1 << 20
	// Disk usage grows a little when blocks are flushed after the writer has exited: a thread that was full before may
	// grow by this much.
	diskLate = 1 << 20
	// diskSettle is the age from which a command is held responsible for writes without a known writer.
	diskSettle = time.Second
	// clearTime limits the wait for an answer about processes.
	clearTime = 5 * time.Second
)

// diskWatch ends the writer when a thread exceeds its quota, as long as any process of its box lives, even after the
// command that started it. A thread that is over its quota already may continue, and delete files.
type diskWatch struct {
	box    Box
	pool   *Pool
	thread string
	limit  int64
	meter  *files.Meter
	shelf  string // folder of the project's files, if commands may write to them
	stored *files.Meter

	mu      sync.Mutex
	blind   bool            // open files of the box are unknown
	next    int             // guarded by mu, as all here
	calls   map[int]watched // running commands
	base    int64           // usage when the last command started
	full    int64           // the project's usage at that time
	deep    bool            // too deep to be counted
	running bool            // the loop is running
	notes   []string        // for the next result
}

// watched is a running command.
type watched struct {
	cancel context.CancelCauseFunc
	since  time.Time
}

func (p *Pool) watch(b Box, thread string, policy sandbox.Policy) *diskWatch {
	w := &diskWatch{box: b, pool: p, thread: thread, limit: policy.Limits.Disk, meter: p.quota.Meter(thread),
		calls: map[int]watched{}}
	if policy.Project.Dir != "" && !policy.Project.ReadOnly {
		if shelf, err := p.cfg.Dirs.ShelfID(thread); err != nil {
			p.cfg.Log.Warn("couldn't find the files of a project; its size limit isn't enforced", "thread", thread, "err", err)
		} else if shelf != "" {
			w.shelf, w.stored = shelf, p.quota.Meter(shelf)
		}
	}
	return w
}

// during runs a command and watches meanwhile.
func (w *diskWatch) during(ctx context.Context, run func(context.Context) (Exit, error)) (Exit, error) {
	if w.limit <= 0 {
		return run(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	base, deep := w.start(ctx)
	full := w.startShelf(ctx)
	w.mu.Lock()
	w.next++
	id := w.next
	w.calls[id] = watched{cancel, time.Now()}
	w.base, w.deep, w.full = base, deep, full
	if !w.running {
		w.running = true
		w.pool.work.Go(w.loop)
	}
	w.mu.Unlock()
	e, err := run(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.calls, id)
	e.Quota = e.Quota || e.Signal != "" && errors.Is(context.Cause(ctx), ErrOverQuota)
	if err == nil {
		e.Notes, w.notes = append(e.Notes, w.notes...), nil
	}
	return e, err
}

// start measures the thread before a command. Near the limit it counts again: a command isn't responsible for late
// writes of earlier ones.
func (w *diskWatch) start(ctx context.Context) (used int64, deep bool) {
	used, deep = w.meter.Last()
	if used <= w.limit-files.Unseen && !deep {
		return used, deep
	}
	// Without an answer, or a count, the last one holds.
	asking, cancel := context.WithTimeout(ctx, files.CountTime)
	_, _ = w.processes(asking)
	cancel()
	ctx, cancel = context.WithTimeout(ctx, files.CountTime)
	defer cancel()
	if n, err := w.meter.Recount(ctx, w.pool.cfg.Dirs, w.thread); err == nil || errors.Is(err, files.ErrNesting) {
		return n, err != nil
	}
	return used, deep
}

// loop ends with the last process.
func (w *diskWatch) loop() {
	defer w.meter.Hold(0)
	tick := time.NewTicker(diskLook)
	defer tick.Stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	root := w.pool.cfg.Dirs.Above()
	counted, pause := time.Now(), diskCount
	free, _ := files.FreeSpace(root)
	used, _ := w.meter.Last()
	for {
		select {
		case <-w.box.Done():
			w.rest(true)
			return
		case <-tick.C:
		}
		now, known := files.FreeSpace(root)
		room := min(max(w.limit-used, diskStep), w.limit/8)
		if time.Since(counted) < pause && (!known || free-now < room) {
			continue
		}
		procs, err := w.processes(ctx)
		if err == nil && procs == 0 && w.rest(false) {
			return
		}
		before := used
		used, err = w.meter.Count(ctx, w.pool.cfg.Dirs, w.thread)
		counted, free = time.Now(), now
		if w.overShelf(ctx) {
			w.endWriter(ctx, counted)
			continue
		}
		if err != nil && !errors.Is(err, files.ErrNesting) {
			continue // a file removed meanwhile
		}
		pause = min(2*pause, diskRest)
		if used > before {
			pause = diskCount
		}
		if !w.over(used, err != nil) {
			continue
		}
		// The counted files may be gone, and a command starting now wrote none of them.
		counted = time.Now()
		used, err = w.meter.Recount(ctx, w.pool.cfg.Dirs, w.thread)
		if (err == nil || errors.Is(err, files.ErrNesting)) && w.over(used, err != nil) {
			w.endWriter(ctx, counted)
		}
	}
}

// startShelf measures the project before a command.
func (w *diskWatch) startShelf(ctx context.Context) int64 {
	if w.stored == nil {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, files.CountTime)
	defer cancel()
	used, _ := w.stored.Count(ctx, w.pool.cfg.Dirs, w.shelf)
	return used
}

// overShelf reports whether commands have given the project more files than it may have.
func (w *diskWatch) overShelf(ctx context.Context) bool {
	if w.stored == nil {
		return false
	}
	used, err := w.stored.Recount(ctx, w.pool.cfg.Dirs, w.shelf)
	w.mu.Lock()
	defer w.mu.Unlock()
	most := w.limit
	if w.full > w.limit {
		most = w.full + min(diskLate, w.limit/8)
	}
	return (err == nil || errors.Is(err, files.ErrNesting)) && used > most
}

// processes lists processes and the unnamed files they hold open.
func (w *diskWatch) processes(ctx context.Context) (procs int, err error) {
	w.mu.Lock()
	skip := w.blind && len(w.calls) > 0
	w.mu.Unlock()
	if skip {
		return 1, nil
	}
	ctx, cancel := context.WithTimeout(ctx, clearTime)
	defer cancel()
	u, err := w.box.Stat(ctx, true)
	if err == nil {
		w.meter.Hold(max(0, u.Gone))
		w.mu.Lock()
		w.blind = u.Gone < 0
		w.mu.Unlock()
	}
	return u.Procs, err
}

// rest reports whether the loop may end: nothing runs, or the box is gone.
func (w *diskWatch) rest(gone bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running = len(w.calls) > 0 && !gone
	return !w.running
}

func (w *diskWatch) over(used int64, deep bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	most := w.limit
	if w.base > w.limit {
		most = w.base + min(diskLate, w.limit/8)
	}
	return used > most || deep && !w.deep
}

// endWriter ends the writing process, or all if it can't be found. Commands started after the count are spared until
// the next one.
func (w *diskWatch) endWriter(ctx context.Context, counted time.Time) {
	ctx, cancel := context.WithTimeout(ctx, clearTime)
	defer cancel()
	c, err := w.box.Clear(ctx, counted)
	log := w.pool.cfg.Log.With("thread", w.thread, "limit", w.limit)
	switch {
	case err == nil && c.Procs > 0:
		log.Warn("thread storage full; stopped background processes", "processes", c.Procs,
			"programs", c.Names)
		w.notice(endedNote(c))
		return
	case err == nil && c.Call:
		return
	}
	w.mu.Lock()
	calls := len(w.calls)
	for _, c := range w.calls {
		// Blocks of an earlier command may be allocated shortly after its end.
		if c.since.Before(counted) && time.Since(c.since) > diskSettle {
			c.cancel(ErrOverQuota)
		}
	}
	w.mu.Unlock()
	if calls > 0 {
		return
	}
	// Writes at the end of a command may be counted only now, when there is no process to end.
	if u, err := w.box.Stat(ctx, false); err != nil || u.Procs > 0 {
		log.Warn("thread storage full; stopped the sandbox")
		w.notice(endedNote(Cleared{}))
		w.box.Stop()
	}
}

func (w *diskWatch) notice(note string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = []string{note}
}

func endedNote(c Cleared) string {
	if c.Names == "" {
		return "Processes in the background were ended because the thread's storage was full."
	}
	return fmt.Sprintf("Processes in the background (%s) were ended because the thread's storage was full.", c.Names)
}
