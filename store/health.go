package store

import (
	"context"
	"time"

	"fawn/store/commit"
)

// Healthy returns nil, or the last write error until writing works again. If the disk was the cause,
// the error wraps ErrFull.
func (db *DB) Healthy() error { return db.w.Healthy() }

// Queued counts the batches and deltas that wait for a commit.
func (db *DB) Queued() int { return db.w.Queued() }

// Patiently returns a context for commits that must complete: the wait ends when the commit is written or failed, or
// when this process loses the right to write, but not by a timeout or the end of ctx. An interrupted wait can't tell
// whether the commit will still be written.
func Patiently(ctx context.Context) context.Context { return commit.Patiently(ctx) }

// OnWait calls tell with true when a commit has taken two seconds, at once if that is so already, and with false when
// commits are fast again. Calls are sequential and from a separate goroutine, so they may block. stop ends the calls
// after a current one.
func (db *DB) OnWait(tell func(waiting bool)) (stop func()) { return db.w.OnWait(tell) }

// Slow returns how long the current commit has been awaited, 0 below two seconds, and the number of commits that ever
// took longer.
func (db *DB) Slow() (now time.Duration, times uint64) { return db.w.Stalled() }
