package commit

import (
	"database/sql"
	"errors"
	"fmt"
)

// Causes of errors, for errors.Is. Every error of this package that has one of these causes wraps it.
var (
	// ErrNotFound means that the requested row, or the thread to write to, doesn't exist.
	ErrNotFound = errors.New("not found")
	// ErrExists means a new thread's id is taken.
	ErrExists = errors.New("already exists")
	// ErrConflict means that a row that is written only once (message, field version, checkpoint,
	// event) exists already.
	ErrConflict = errors.New("conflict")
	// ErrBusy means that runs are in line where none may be.
	ErrBusy = errors.New("runs are queued")
	// ErrFull means that the disk is full or no longer accepts writes.
	ErrFull = errors.New("disk full or failing")
	// ErrAway means that the database can't be reached, for longer than is waited for it.
	ErrAway = errors.New("the database can't be reached")
	// ErrClosed means the database or the lane is closed.
	ErrClosed = errors.New("store closed")
)

// Translate wraps an error of database/sql or of a database with the cause that callers know, which cause finds for
// those of a database; nil for none.
func Translate(err error, cause func(error) error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		return ErrNotFound
	case errors.Is(err, sql.ErrConnDone):
		return ErrClosed
	}
	if what := cause(err); what != nil {
		return fmt.Errorf("%w: %w", what, err)
	}
	return err
}
