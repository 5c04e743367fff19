package threads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fawn/agent/runs"
	"fawn/agent/runs/request"
	"fawn/store"
)

// Policy configures the retention of idle threads. Zero values keep everything.
type Policy struct {
	MaxAge     time.Duration // threads untouched for longer are deleted
	KeepLatest time.Duration // threads untouched for longer lose their history
	MaxSize    int64         // bytes of rows; past them the oldest threads lose their history, then go
}

// Swept is the result of one sweep.
type Swept struct {
	Deleted int   // threads
	Pruned  int   // threads that lost their history
	Freed   int64 // bytes the file gave back
}

// sweepPage limits the threads read at a time by a sweep.
const sweepPage = 100

// youngest is the minimum idle time before a thread is deleted to reduce the total size.
const youngest = time.Hour

// Sweep applies a policy and the threads' own times to live, as of a moment. Busy, waiting, pinned and scheduled
// threads are skipped.
func Sweep(ctx context.Context, db *store.DB, m *runs.Manager, p Policy, now time.Time) (Swept, error) {
	w := &sweep{db: db, runs: m}
	err := w.apply(ctx, p, now)
	if err == nil && w.done.Deleted+w.done.Pruned > 0 {
		w.done.Freed, err = db.Shrink(ctx)
	}
	return w.done, err
}

// sweep is one sweep in progress.
type sweep struct {
	db   *store.DB
	runs *runs.Manager
	done Swept
}

func (w *sweep) apply(ctx context.Context, p Policy, now time.Time) error {
	expired, err := w.db.Expired(ctx, now)
	if err != nil {
		return err
	}
	for _, d := range expired {
		if err := w.expire(ctx, d, Strategy(d.Strategy)); err != nil {
			return err
		}
	}
	if p.MaxAge > 0 {
		if err := w.old(ctx, now.Add(-p.MaxAge), PruneDelete, nil); err != nil {
			return err
		}
	}
	if p.KeepLatest > 0 {
		if err := w.old(ctx, now.Add(-p.KeepLatest), KeepLatest, nil); err != nil {
			return err
		}
	}
	if p.MaxSize > 0 {
		small := func() (bool, error) {
			r, err := w.db.Room(ctx)
			return r.Used <= p.MaxSize, err
		}
		for _, s := range []Strategy{KeepLatest, PruneDelete} {
			if err := w.old(ctx, now.Add(-youngest), s, small); err != nil {
				return err
			}
		}
	}
	return w.db.DropUnsent(ctx, now)
}

// old prunes the threads idle since a moment, oldest first, until enough returns true.
func (w *sweep) old(ctx context.Context, before time.Time, s Strategy, enough func() (bool, error)) error {
	passed := map[string]bool{} // could not be pruned now
	for {
		list, err := w.db.Stale(ctx, before, s == KeepLatest, sweepPage+len(passed))
		if err != nil {
			return err
		}
		fresh := false
		for _, d := range list {
			if passed[d.ID] {
				continue
			}
			if enough != nil {
				if ok, err := enough(); ok || err != nil {
					return err
				}
			}
			n := w.done.Deleted + w.done.Pruned
			if err := w.expire(ctx, d, s); err != nil {
				return err
			}
			passed[d.ID], fresh = w.done.Deleted+w.done.Pruned == n, true
		}
		if !fresh {
			return nil
		}
	}
}

// expire prunes one thread, unless it was used meanwhile.
func (w *sweep) expire(ctx context.Context, d store.Due, s Strategy) error {
	err := w.runs.Exclusive(ctx, d.ID, func(ctx context.Context) error {
		t, err := w.db.Thread(ctx, d.ID)
		if err != nil || t.UpdatedAt.After(d.Touched) {
			return err
		}
		waiting, err := w.db.Runs(ctx, d.ID, runs.Pending, 1, 0)
		if err != nil || len(waiting) > 0 {
			return err
		}
		if s == KeepLatest {
			w.done.Pruned++
			return w.db.Commit(ctx, store.Batch{ThreadID: d.ID, Delete: &store.Delete{History: true}})
		}
		w.done.Deleted++
		return w.runs.RemoveThread(ctx, d.ID)
	})
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, runs.ErrNotFound) || errors.Is(err, runs.ErrBusy) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("thread %s: %w", d.ID, err)
	}
	return nil
}

// ParseTTL parses a client's time to live of a thread: minutes, or an object with ttl in minutes and a strategy. nil is
// none. Errors: ErrInput.
func ParseTTL(raw json.RawMessage) (*store.TTL, error) {
	if raw = request.Present(raw); raw == nil {
		return nil, nil
	}
	var body struct {
		TTL      *float64 `json:"ttl"`
		Strategy Strategy `json:"strategy"`
	}
	if json.Unmarshal(raw, &body.TTL) != nil {
		if err := json.Unmarshal(raw, &body); err != nil {
			return nil, fmt.Errorf("%w: ttl: want minutes, or an object with ttl and strategy", runs.ErrInput)
		}
	}
	const most = 100 * 366 * 24 * 60 // minutes of a hundred years
	if body.TTL == nil || !(*body.TTL > 0) || *body.TTL > most {
		return nil, fmt.Errorf("%w: ttl: want minutes above 0 and up to %d", runs.ErrInput, most)
	}
	switch body.Strategy {
	case "":
		body.Strategy = PruneDelete
	case PruneDelete, KeepLatest:
	default:
		return nil, fmt.Errorf("%w: ttl.strategy %q (want delete or keep_latest)", runs.ErrInput, body.Strategy)
	}
	return &store.TTL{After: time.Duration(*body.TTL * float64(time.Minute)), Strategy: string(body.Strategy)}, nil
}

// Strategy is a way of pruning a thread.
type Strategy string

// The strategies.
const (
	PruneDelete Strategy = "delete"      // delete the thread and everything that belongs to it
	KeepLatest  Strategy = "keep_latest" // delete the history and the runs' events, keep the current state
)

// Prune deletes threads or their history and returns the number of affected ones. Missing threads, and with
// [KeepLatest] busy ones, are skipped; with [PruneDelete] their runs are ended first. It stops at the first error.
// Errors: ErrInput for an unknown strategy.
func Prune(ctx context.Context, db *store.DB, m *runs.Manager, ids []string, s Strategy) (int, error) {
	prune := m.DeleteThread
	switch s {
	case PruneDelete:
	case KeepLatest:
		prune = func(ctx context.Context, thread string) error { return forgetHistory(ctx, db, m, thread) }
	default:
		return 0, fmt.Errorf("%w: strategy %q (want delete or keep_latest)", runs.ErrInput, s)
	}
	n := 0
	for _, id := range ids {
		err := prune(ctx, id)
		switch {
		case err == nil:
			n++
		case errors.Is(err, runs.ErrNotFound), errors.Is(err, store.ErrNotFound), errors.Is(err, runs.ErrBusy):
		default:
			return n, fmt.Errorf("prune thread %s: %w", id, err)
		}
	}
	return n, nil
}

// forgetHistory deletes everything of a thread except its newest checkpoint. ErrBusy during a run, ErrNotFound if the
// thread doesn't exist or has no state.
func forgetHistory(ctx context.Context, db *store.DB, m *runs.Manager, thread string) error {
	return m.Exclusive(ctx, thread, func(ctx context.Context) error {
		return db.Commit(ctx, store.Batch{ThreadID: thread, Delete: &store.Delete{History: true}})
	})
}
