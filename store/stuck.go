package store

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// UnlessStuck returns a context for waiting for commits. It ends when the store got nothing
// done for as long as patience, or up to twice that: a disk that hangs must not hold anybody
// for ever. Being slow, or having much to write first, is no reason to give up, since what
// was waited for is written then, too. The caller must cancel it.
func (db *DB) UnlessStuck(ctx context.Context, patience time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watch{db: db, seen: db.engine.works(), patience: patience, cancel: cancel}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(patience, w.look)
	return ctx, func() { w.stop(); cancel(nil) }
}

// watch ends a context when the store stands still.
type watch struct {
	db       *DB
	patience time.Duration
	cancel   context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer // nil when nobody waits any more
	seen  uint64      // statements that were done when it looked last
}

func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.db.engine.works()
	switch {
	case w.timer == nil:
	case now == w.seen:
		w.cancel(fmt.Errorf("%w: nothing was written for %v", context.DeadlineExceeded, w.patience))
	default:
		w.seen = now
		w.timer.Reset(w.patience)
	}
}

func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}
