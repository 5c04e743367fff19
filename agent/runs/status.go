package runs

import (
	"context"
	"errors"

	"fawn/store"
)

// Statuses of a run.
const (
	Pending     = "pending"
	Running     = "running"
	Success     = "success"
	Failed      = "error"
	Timeout     = "timeout"
	Interrupted = "interrupted"
)

// Done reports whether a run with this status has ended.
func Done(status string) bool { return status != Pending && status != Running }

// Statuses of a thread.
const (
	Idle              = "idle"
	Busy              = "busy"
	ThreadInterrupted = "interrupted"
	ThreadError       = "error"
)

// Resting returns the status of an idle thread.
func Resting(ctx context.Context, db *store.DB, thread string) (string, error) {
	head, err := db.Checkpoint(ctx, thread, "", "")
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Idle, nil
	case err != nil:
		return "", err
	case len(head.Next) > 0:
		return ThreadInterrupted, nil
	}
	return Idle, nil
}
