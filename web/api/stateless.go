package api

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"fawn/agent/runs"
	"fawn/store"
)

// statelessSpace holds the threads to be deleted with their run. The key is the thread, the body the run.
const statelessSpace = "stateless"

// readers counts the readers of threads' runs, so that none is deleted while being read. The zero value is ready.
type readers struct {
	mu    sync.Mutex
	count map[string]int
	empty map[string]chan struct{} // closed when the last reader of a thread leaves
}

// read counts a reader of a thread until the function it returns is called.
func (r *readers) read(thread string) (leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == nil {
		r.count, r.empty = map[string]int{}, map[string]chan struct{}{}
	}
	r.count[thread]++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.count[thread]--; r.count[thread] > 0 {
			return
		}
		delete(r.count, thread)
		if empty := r.empty[thread]; empty != nil {
			close(empty)
			delete(r.empty, thread)
		}
	}
}

// left waits until a thread has no readers.
func (r *readers) left(ctx context.Context, thread string) error {
	r.mu.Lock()
	if r.count[thread] == 0 {
		r.mu.Unlock()
		return nil
	}
	empty := r.empty[thread]
	if empty == nil {
		empty = make(chan struct{})
		r.empty[thread] = empty
	}
	r.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// deleteAfter removes the thread of a stateless run once the run has ended and its readers have left, if necessary
// after a restart.
func (a *API) deleteAfter(ctx context.Context, r store.Run) error {
	ctx = context.WithoutCancel(ctx) // the run exists
	err := a.DB.Commit(ctx, store.Batch{ThreadID: r.ThreadID,
		KV: []store.KV{{Space: statelessSpace, Key: r.ThreadID, Body: []byte(r.ID)}}})
	if err != nil {
		return fmt.Errorf("mark thread %s for deletion with its run: %w", r.ThreadID, err)
	}
	a.deleteLater(r, 0)
	return nil
}

// othersRead is the time for readers on other servers to read a run's end before its thread is deleted on behalf of a
// dead server.
const othersRead = time.Minute

func (a *API) deleteLater(r store.Run, patience time.Duration) {
	a.work.Go(func() {
		ctx, done := a.UntilDrained(context.Background())
		defer done()
		if err := a.deleteEnded(ctx, r, patience); err != nil && ctx.Err() == nil {
			a.Log.Warn("couldn't delete a stateless run's thread", "thread", r.ThreadID, "run", r.ID, "err", err)
		}
	})
}

func (a *API) deleteEnded(ctx context.Context, r store.Run, patience time.Duration) error {
	if _, err := a.Runs.Wait(ctx, r.ID); err != nil && !gone(err) {
		return err
	}
	if patience > 0 {
		select {
		case <-time.After(patience):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := a.stateless.left(ctx, r.ThreadID); err != nil {
		return err
	}
	if err := a.keepPayload(ctx, r); err != nil {
		a.Log.Warn("lost a stateless run's webhook", "run", r.ID, "err", err)
	}
	if err := a.Runs.DeleteThread(ctx, r.ThreadID); err != nil && !gone(err) {
		return err
	}
	return a.DB.Commit(ctx, store.Batch{KV: []store.KV{{Space: statelessSpace, Key: r.ThreadID}}}) // the thread is gone
}

// gone reports whether an error means that the object was deleted.
func gone(err error) bool {
	return errors.Is(err, store.ErrNotFound) || errors.Is(err, runs.ErrNotFound)
}

// DeleteStateless completes pending deletions of an earlier process. Runs that continue after a restart must be known
// already.
func (a *API) DeleteStateless(ctx context.Context) error {
	list, err := a.DB.KVs(ctx, store.Global, statelessSpace, "")
	if err != nil {
		return fmt.Errorf("look for threads of stateless runs: %w", err)
	}
	for _, kv := range list {
		run, err := a.DB.Run(ctx, string(kv.Body))
		if gone(err) {
			run, err = store.Run{ID: string(kv.Body), ThreadID: kv.Key}, nil
		}
		if err != nil {
			return err
		}
		patience := time.Duration(0)
		if a.DB.Clustered() {
			patience = othersRead
		}
		a.deleteLater(run, patience)
	}
	return nil
}
