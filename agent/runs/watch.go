package runs

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"

	"fawn/agent"
	"fawn/store"
)

// Watch records the file changes of runs.
type Watch interface {
	// Before is called before the first tool of a run works, again for each attempt.
	Before(ctx context.Context, thread, run string) error
	// Noted is called after each tool that may have changed files.
	Noted(ctx context.Context, thread, run, call, tool string) error
	// After is called at the end of a run. It returns the run's changes, nil for none; done is called once they are
	// stored.
	After(ctx context.Context, thread, run string) (body json.RawMessage, done func() error, err error)
}

// watcher calls a Watch and continues without it when it fails.
type watcher struct {
	Watch Watch // nil watches nothing
	Log   *slog.Logger
}

// Before records the files' state before the first tool runs; nil without a watch.
func (w watcher) Before(run store.Run) func(context.Context) {
	if w.Watch == nil {
		return nil
	}
	return func(ctx context.Context) {
		if err := w.Watch.Before(ctx, run.ThreadID, run.ID); err != nil && ctx.Err() == nil {
			w.Log.Warn("couldn't start watching a run's file changes", "thread", run.ThreadID, "run", run.ID, "err", err)
		}
	}
}

// Noted records the files' versions after a tool, unless it only reads; nil without a watch.
func (w watcher) Noted(run store.Run) func(context.Context, agent.ToolCall) {
	if w.Watch == nil {
		return nil
	}
	var mu sync.Mutex // calls of one answer may end together
	return func(ctx context.Context, c agent.ToolCall) {
		switch c.Name {
		case "ls", "read_file", "glob", "grep", "view_image", "list_uploaded_files", "search_documents", "present_files",
			"ask_clarification", "write_todos", "web_search", "web_fetch", "image_search":
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if err := w.Watch.Noted(ctx, run.ThreadID, run.ID, c.ID, c.Name); err != nil && ctx.Err() == nil {
			w.Log.Warn("couldn't note versions of files", "thread", run.ThreadID, "run", run.ID, "tool", c.Name, "err", err)
		}
	}
}

// After returns the file changes of a run, to be stored with its end. The caller calls done after that.
func (w watcher) After(ctx context.Context, run store.Run) (list []store.KV, done func()) {
	done = func() {}
	if w.Watch == nil {
		return nil, done
	}
	body, settle, err := w.Watch.After(ctx, run.ThreadID, run.ID)
	if err != nil {
		w.Log.Warn("couldn't report a run's file changes", "thread", run.ThreadID, "run", run.ID, "err", err)
		return nil, done
	}
	if body != nil {
		list = []store.KV{{Owner: store.Global, Space: store.ChangesSpace, Key: store.ChangesKey(run.ThreadID, run.ID),
			Body: body}}
	}
	return list, func() {
		if err := settle(); err != nil {
			w.Log.Warn("couldn't keep a snapshot of a thread's files", "thread", run.ThreadID, "err", err)
		}
	}
}
