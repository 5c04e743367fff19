package eventlog

import (
	"context"
	"math"
	"time"

	"fawn/store"
)

const (
	lookEvery  = 250 * time.Millisecond // polling interval without wake-ups
	pollEvery  = 50 * time.Millisecond  // polling interval without notifications
	checkEvery = time.Second            // interval of checking for ended or moved runs without notifications
	tellEvery  = 5 * time.Second        // interval of reporting that the tail is read
	idleAfter  = 10 * time.Second       // an unread log is closed after it
	mostNews   = 1000                   // limit of threads remembered as changed
)

// follower reads a server's tail for those of its runs that have readers here. The follower of server 0 only waits
// until a server takes the runs.
type follower struct {
	logs   *RemoteLogs
	server int64
	wake   chan struct{} // one token: look now

	// guarded by logs.mu
	fresh []*remoteRun    // runs to follow as well
	news  map[string]bool // threads with changes
	all   bool            // any thread may have changes

	// The fields below belong to the follower's goroutine.
	runs          map[string]*remoteRun // by thread for a server's own, else by id
	cursor        int64                 // last row that was read, 0 for none
	checked, told time.Time
	failing       bool
}

func newFollower(l *RemoteLogs, server int64) *follower {
	return &follower{logs: l, server: server, wake: make(chan struct{}, 1), news: map[string]bool{},
		runs: map[string]*remoteRun{}}
}

func (f *follower) poke() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// changed is called with logs.mu held.
func (f *follower) changed(w store.Wake) {
	f.all = f.all || w.All || len(f.news) > mostNews
	for _, id := range w.IDs {
		if !f.all {
			f.news[id] = true
		}
	}
	f.poke()
}

func (f *follower) key(r *remoteRun) string {
	if f.server == 0 {
		return r.id
	}
	return r.thread
}

// follow works until no reader of the server is left.
func (f *follower) follow() {
	l := f.logs
	defer f.end()
	defer l.db.Hear(store.WakeTail, f.server, func(store.Wake) { f.poke() })()
	every := lookEvery
	if l.db.Polls() {
		every = pollEvery
	}
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		err := f.round(l.ctx)
		if l.ctx.Err() != nil {
			return
		}
		if err != nil && !f.failing {
			l.logger.Warn("couldn't read another server's runs; retrying", "server", f.server, "err", err)
		}
		f.failing = err != nil
		if len(f.runs) == 0 && f.leave() {
			return
		}
		timer.Reset(every)
		select {
		case <-f.wake:
			if err != nil { // it would fail again
				time.Sleep(pollEvery)
			}
		case <-timer.C:
		case <-l.ctx.Done():
			return
		}
	}
}

// leave ends the follower unless it is in use again.
func (f *follower) leave() bool {
	f.logs.mu.Lock()
	defer f.logs.mu.Unlock()
	if len(f.fresh) > 0 {
		return false
	}
	delete(f.logs.followers, f.server)
	return true
}

// end releases all remaining readers.
func (f *follower) end() {
	l := f.logs
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range f.fresh {
		r.err = ErrClosed
		delete(l.runs, r.id)
		close(r.ready)
	}
	f.fresh = nil
	for _, r := range f.runs {
		r.log.Leave()
		delete(l.runs, r.id)
	}
}

// round reads available rows.
func (f *follower) round(ctx context.Context) error {
	if f.server > 0 && time.Since(f.told) >= tellEvery {
		f.logs.db.ReadsTail(f.server)
		f.told = time.Now()
	}
	f.logs.mu.Lock()
	fresh, news, all := f.fresh, f.news, f.all
	f.fresh, f.news, f.all = nil, map[string]bool{}, false
	f.logs.mu.Unlock()
	for i, r := range fresh {
		if err := f.begin(ctx, r); err != nil {
			f.logs.mu.Lock()
			f.fresh = append(f.fresh, fresh[i:]...)
			f.logs.mu.Unlock()
			return err
		}
	}
	if err := f.read(ctx); err != nil {
		return err
	}
	var look []*remoteRun
	due := all || time.Since(f.checked) >= checkEvery
	for _, r := range f.runs {
		switch {
		case r.log.Idle(idleAfter):
			r.log.Leave()
			f.remove(r)
		case due || news[r.thread]:
			look = append(look, r)
		}
	}
	if due {
		f.checked = time.Now()
	}
	return f.check(ctx, look...)
}

// begin opens the log of a run: its stored rows, and the later frames read from the tail.
func (f *follower) begin(ctx context.Context, r *remoteRun) error {
	db := f.logs.db
	if old := f.runs[f.key(r)]; old != nil { // its run has ended
		if err := f.check(ctx, old); err != nil {
			return err
		}
	}
	if f.server > 0 && len(f.runs) == 0 {
		end, err := db.TailEnd(ctx, f.server)
		if err != nil {
			return err
		}
		f.cursor = max(f.cursor, end)
	}
	at, err := db.Underway(ctx, r.id)
	if err != nil {
		return err
	}
	u, ok := at[r.id]
	if !ok || ended(u.Status) || u.Node != f.server || f.runs[f.key(r)] != nil {
		r.log = NewElsewhere(0)
		r.log.Leave()
		f.remove(r)
		close(r.ready)
		return nil
	}
	log, open := NewElsewhere(u.Folded), remoteFrames{last: u.Folded}
	for from := max(0, u.TailFrom-1); from < f.cursor; {
		rows, err := db.TailRows(ctx, f.server, from, func(thread []byte) bool { return string(thread) == r.thread })
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			break
		}
		for _, row := range rows {
			if from = row.ID; row.ID > f.cursor {
				break
			}
			for _, d := range row.Frames {
				open.hole = !open.add(log, d) || open.hole
			}
		}
	}
	log.Mark(open.last)
	r.log, r.open = log, open
	f.runs[f.key(r)] = r
	close(r.ready)
	return nil
}

// read reads the rows after the cursor.
func (f *follower) read(ctx context.Context) error {
	if f.server == 0 || len(f.runs) == 0 {
		return nil
	}
	for {
		rows, err := f.logs.db.TailRows(ctx, f.server, f.cursor, func(thread []byte) bool {
			return f.runs[string(thread)] != nil
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			if err := f.row(ctx, row); err != nil {
				return err
			}
			f.cursor = row.ID
		}
	}
}

// row handles one row. It may be repeated if it was incomplete.
func (f *follower) row(ctx context.Context, row store.TailRow) error {
	if f.cursor > 0 && row.ID != f.cursor+1 { // the ones in between are in rows
		if err := f.check(ctx, f.list()...); err != nil {
			return err
		}
	}
	for _, d := range row.Frames {
		if to := row.Folded[d.Thread]; to > 0 && d.Seq > to {
			if err := f.fold(ctx, d.Thread, to); err != nil {
				return err
			}
		}
		r := f.runs[d.Thread]
		if r == nil || r.open.add(r.log, d) {
			continue
		}
		if err := f.check(ctx, r); err != nil {
			return err
		}
		r.open.hole = !r.open.add(r.log, d)
	}
	for _, d := range row.Frames {
		if r := f.runs[d.Thread]; r != nil {
			r.log.Mark(r.open.last)
		}
	}
	for thread, to := range row.Folded {
		if err := f.fold(ctx, thread, to); err != nil {
			return err
		}
	}
	return nil
}

// fold handles a fold from the tail, the only sign there that a run has ended.
func (f *follower) fold(ctx context.Context, thread string, to int64) error {
	r := f.runs[thread]
	if r == nil || to <= r.open.last {
		return nil
	}
	if err := f.check(ctx, r); err != nil {
		return err
	}
	if to < math.MaxInt64 && f.runs[thread] == r {
		r.open.fold(r.log, to)
	}
	return nil
}

func (f *follower) list() []*remoteRun {
	list := make([]*remoteRun, 0, len(f.runs))
	for _, r := range f.runs {
		list = append(list, r)
	}
	return list
}

// check reads the servers and stored positions of runs.
func (f *follower) check(ctx context.Context, list ...*remoteRun) error {
	if len(list) == 0 {
		return nil
	}
	ids := make([]string, len(list))
	for i, r := range list {
		ids[i] = r.id
	}
	at, err := f.logs.db.Underway(ctx, ids...)
	if err != nil {
		return err
	}
	for _, r := range list {
		u, ok := at[r.id]
		switch {
		case !ok || ended(u.Status):
			r.open.fold(r.log, u.LastSeq)
			r.log.Finish()
			f.remove(r)
		case u.Node != f.server && u.Node > 0:
			r.log.Leave()
			f.remove(r)
		default:
			r.open.fold(r.log, u.Folded)
		}
	}
	return nil
}

func (f *follower) remove(r *remoteRun) {
	if f.runs[f.key(r)] == r {
		delete(f.runs, f.key(r))
	}
	f.logs.mu.Lock()
	defer f.logs.mu.Unlock()
	if f.logs.runs[r.id] == r {
		delete(f.logs.runs, r.id)
	}
}

func ended(status string) bool { return status != "pending" && status != "running" }
