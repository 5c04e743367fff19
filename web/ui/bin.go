package ui

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"fawn/agent/runs"
	"fawn/store"
	"fawn/web/principal"
)

const (
	// binned owns threads that were deleted and may still be asked back: to everybody else
	// they are not there.
	binned = "bin:" + principal.Default
	// binTime is how long they can be: longer than the page offers it, for slow readers.
	binTime = 30 * time.Second
	// maxBin is how many threads one deletion may take.
	maxBin = 500
)

// errLate means that what was deleted is gone for good.
var errLate = errors.New("the time to undo this is over")

// bin holds what was deleted until its time is up. A mark in the database, the owner, is the
// truth: what a stop leaves in the bin is removed at the next start.
type bin struct {
	keep time.Duration
	wake chan struct{} // holds one

	mu   sync.Mutex
	lots []lot // oldest first
}

// lot is what one deletion took.
type lot struct {
	token   string
	threads []string
	until   time.Time
}

func newBin() *bin { return &bin{keep: binTime, wake: make(chan struct{}, 1)} }

func (b *bin) put(threads []string) (token string) {
	token = uuid.NewString()
	b.mu.Lock()
	b.lots = append(b.lots, lot{token, threads, time.Now().Add(b.keep)})
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
	return token
}

// count is how many threads can be had back for a token.
func (b *bin) count(token string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.lots {
		if l.token == token {
			return len(l.threads)
		}
	}
	return 0
}

// take hands out what a token stands for, once.
func (b *bin) take(token string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, l := range b.lots {
		if l.token == token {
			b.lots = append(b.lots[:i:i], b.lots[i+1:]...)
			return l.threads
		}
	}
	return nil
}

// due hands out what is to be removed now, and how long until there is more.
func (b *bin) due(now time.Time) (threads []string, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.lots) > 0 && !now.Before(b.lots[0].until) {
		threads = append(threads, b.lots[0].threads...)
		b.lots = b.lots[1:]
	}
	wait = time.Hour
	if len(b.lots) > 0 {
		wait = b.lots[0].until.Sub(now)
	}
	return threads, wait
}

// discard ends the runs of threads and puts them into the bin. Threads that are not there
// are left out; ErrNotFound when none is there. What was taken before an error is in the bin,
// too.
func (u *UI) discard(ctx context.Context, threads []string) (token string, err error) {
	var gone []string
	for _, id := range threads {
		err = u.discardOne(ctx, id)
		if err == nil {
			gone = append(gone, id)
		} else if !errors.Is(err, store.ErrNotFound) {
			break
		}
	}
	if len(gone) == 0 {
		return "", err
	}
	if token = u.bin.put(gone); errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return token, err
}

func (u *UI) discardOne(ctx context.Context, thread string) error {
	if _, err := u.mine(ctx, thread); err != nil {
		return err
	}
	if err := u.Runs.CancelAll(ctx, thread); err != nil {
		return err
	}
	return u.give(ctx, thread, binned)
}

// restore takes back a deletion. errLate when it is too late for that.
func (u *UI) restore(ctx context.Context, token string) ([]string, error) {
	threads := u.bin.take(token)
	if threads == nil {
		return nil, errLate
	}
	for _, id := range threads {
		if err := u.give(ctx, id, principal.Owner(ctx)); err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
	}
	return threads, nil
}

func (u *UI) give(ctx context.Context, thread, to string) error {
	return u.DB.Commit(ctx, store.Batch{ThreadID: thread, Patch: &store.ThreadPatch{Owner: &to}})
}

// EmptyBin removes deleted threads when their time is up, until ctx ends. It begins with
// those a stop of the server left behind.
func (u *UI) EmptyBin(ctx context.Context) {
	left, _, err := u.DB.Threads(ctx, store.ThreadQuery{Owner: binned})
	if err != nil && ctx.Err() == nil {
		u.Log.Error("deleted threads could not be listed", "err", err)
	}
	old := make([]string, 0, len(left))
	for _, t := range left {
		if !u.bin.holds(t.ID) {
			old = append(old, t.ID)
		}
	}
	u.purge(ctx, old)
	for ctx.Err() == nil {
		threads, wait := u.bin.due(time.Now())
		u.purge(ctx, threads)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-u.bin.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (b *bin) holds(thread string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.lots {
		for _, id := range l.threads {
			if id == thread {
				return true
			}
		}
	}
	return false
}

func (u *UI) purge(ctx context.Context, threads []string) {
	for _, id := range threads {
		err := u.Runs.DeleteThread(ctx, id)
		if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, runs.ErrNotFound) && !errors.Is(err, runs.ErrClosed) {
			u.Log.Warn("couldn't remove a deleted thread; the next start will retry", "thread", id, "err", err)
		}
	}
}
