package chats

import (
	"context"
	"errors"
	"sync"
	"time"

	"fawn/agent/runs"
	"fawn/store"
	"fawn/web/principal"
	"fawn/web/ui/page"
)

const (
	// trashTime is how long deleted threads can be restored: longer than the page offers it, for slow readers.
	trashTime = 30 * time.Second
	// trashRetry is the delay after a failed removal of a thread.
	trashRetry = time.Minute
	// maxTrash limits the threads of one deletion.
	maxTrash = 500
)

// errLate means that a deletion can no longer be undone.
var errLate = errors.New("the time to undo this is over")

// Trash keeps deleted threads until they expire. The threads' rows mark them, so the trash survives a restart.
type trash struct {
	wake chan struct{} // holds one

	mu   sync.Mutex
	last time.Time // moment of the last deletion
}

func newTrash() *trash { return &trash{wake: make(chan struct{}, 1)} }

// moment returns a unique time for a deletion.
func (t *trash) moment(now time.Time) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	now = now.Truncate(time.Millisecond)
	if !now.After(t.last) {
		now = t.last.Add(time.Millisecond)
	}
	t.last = now
	return now
}

// discard ends the runs of threads and moves them to the trash. Missing threads are skipped; ErrNotFound if all are
// missing. After an error, the threads moved before it stay in the trash.
func (h *Handlers) discard(ctx context.Context, threads []string) (token string, err error) {
	at, n := h.trash.moment(h.DB.Now()), 0
	for _, id := range threads {
		err = h.discardOne(ctx, id, at)
		if err == nil {
			n++
		} else if !errors.Is(err, store.ErrNotFound) {
			break
		}
	}
	if n == 0 {
		return "", err
	}
	h.Discarded()
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return page.UndoToken(at), err
}

// Discarded notifies the trash of new threads, so that it is emptied in time.
func (h *Handlers) Discarded() {
	select {
	case h.trash.wake <- struct{}{}:
	default:
	}
}

func (h *Handlers) discardOne(ctx context.Context, thread string, at time.Time) error {
	if _, err := h.OwnThread(ctx, thread); err != nil {
		return err
	}
	if err := h.Runs.CancelAll(ctx, thread); err != nil {
		return err
	}
	return h.DB.Discard(ctx, principal.Owner(ctx), thread, at)
}

// restore takes back a deletion. errLate when it is too late for that.
func (h *Handlers) restore(ctx context.Context, token string) ([]string, error) {
	at, ok := page.DeletionOf(token)
	if !ok {
		return nil, errLate
	}
	threads, err := h.DB.Restore(ctx, principal.Owner(ctx), at, h.Keep)
	if err == nil && len(threads) == 0 {
		err = errLate
	}
	return threads, err
}

// EmptyTrash removes deleted threads of all owners when their time is up, until ctx ends.
func (h *Handlers) EmptyTrash(ctx context.Context) {
	for ctx.Err() == nil {
		threads, wait, err := h.DB.Overdue(ctx, h.Keep)
		if err != nil && ctx.Err() == nil {
			h.Log.Error("couldn't list deleted threads", "err", err)
		}
		if err != nil || !h.purge(ctx, threads) {
			wait = trashRetry
		}
		if wait == 0 {
			wait = time.Hour
		}
		if h.DB.Clustered() { // other servers delete, too
			wait = min(wait, trashRetry)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-h.trash.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// purge removes threads for good and reports whether all are gone.
func (h *Handlers) purge(ctx context.Context, threads []string) bool {
	all := true
	for _, id := range threads {
		err := h.Runs.DeleteThread(ctx, id)
		if err == nil || errors.Is(err, store.ErrNotFound) || errors.Is(err, runs.ErrNotFound) {
			continue
		}
		all = false
		if ctx.Err() == nil && !errors.Is(err, runs.ErrClosed) {
			h.Log.Warn("couldn't remove a deleted thread; retrying later", "thread", id, "err", err)
		}
	}
	return all
}
