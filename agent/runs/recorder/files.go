package recorder

import (
	"context"
	"fmt"
	"time"

	"fawn/agent"
	"fawn/store"
)

// saveTime limits how long storing a tool's file changes may take.
const saveTime = 10 * time.Minute

// Files keeps the files of threads in versions, one of which each checkpoint names.
type Files interface {
	// Begin is called before each tool call, after which the files include other servers' changes.
	Begin(ctx context.Context, thread, run string) error
	// End is called when all tools of the run have ended.
	End(thread, run string)
	// SaveVersion stores the changes and returns the newest version.
	SaveVersion(ctx context.Context, thread string) (int64, error)
	// Version returns the newest stored version, 0 for none.
	Version(ctx context.Context, thread string) (int64, error)
	// Restore resets the files to a version, or to none with [store.NoTree]. Files uploaded since then stay.
	Restore(ctx context.Context, thread string, version int64) error
	// Undo is Restore, and drops the run's unsaved changes.
	Undo(ctx context.Context, thread, run string, version int64) error
}

// tree stores the files changed by a step before the step is visible, and returns the step's version. The first step
// after an earlier checkpoint resets the files to that checkpoint. Results of tools have stored their changes, so
// nothing is searched after tools: changes by background processes are stored with the next tool.
func (r *Recorder) tree(ctx context.Context, node string) (v int64, err error) {
	r.mu.Lock()
	at, first, saved := r.at, !r.began, r.saved
	r.began, r.saved = true, 0
	r.mu.Unlock()
	if first && !r.goesOn && at.Card.Tree != 0 && at.Head < at.Newest {
		if err := r.files.Restore(ctx, r.thread, at.Card.Tree); err != nil {
			return 0, fmt.Errorf("%w: %w", ErrStorage, err)
		}
	}
	switch {
	case node == agent.NodeTools && saved != 0:
		return saved, nil
	case node == agent.NodeTools:
		v, err = r.files.SaveVersion(ctx, r.thread)
	case first:
		v, err = r.files.Version(ctx, r.thread)
	default:
		return at.Card.Tree, nil
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrStorage, err)
	}
	return named(v), nil
}

// named returns a version as checkpoints name it.
func named(v int64) int64 {
	if v == 0 {
		return store.NoTree
	}
	return v
}

// around updates the thread's files before a tool runs, and stores its changes before its result is shown: a tool with
// a result is not called again.
func (r *Recorder) around(ctx context.Context, ev agent.Event) (err error) {
	if r.files == nil {
		return nil
	}
	switch ev.Kind {
	case agent.EventToolStart:
		err = r.files.Begin(ctx, r.thread, r.run)
	case agent.EventToolResult:
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
		defer cancel()
		var v int64
		if v, err = r.files.SaveVersion(ctx, r.thread); err == nil {
			r.mu.Lock()
			r.saved = max(r.saved, named(v)) // tools of a step may end in any order
			r.mu.Unlock()
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStorage, err)
	}
	return nil
}
