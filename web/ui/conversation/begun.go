package conversation

import (
	"context"
	"errors"
	"strings"

	"fawn/agent"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/ui/turns"
)

// begun marks the cursor of a page that shows a thread without a run, and the run's message below it.
const begun = ".begun"

// Begun returns the answer to a page that showed a thread at rest and has just started a run: the message, a button
// that stops the run, and a cursor from which the page's stream does the rest. Nothing of the conversation is read for
// it.
func (h *Handlers) Begun(ctx context.Context, run store.Run) (views.Frame, error) {
	v := &View{Thread: store.Thread{ID: run.ThreadID}, Turns: turns.New(run.ThreadID, h.Describer(run.ThreadID)), run: run}
	v.Turns.Model = h.ModelLabel
	v.start()
	f := views.Frame{Running: true, Cursor: run.ID + begun}
	for _, t := range v.Scene(false).Turns {
		if err := f.Put(ctx, views.SwapAppend, "turns", chat.Turn(run.ThreadID, t)); err != nil {
			return f, err
		}
	}
	return f, f.Put(ctx, views.SwapOuter, "send", chat.SendButton(run.ThreadID, true, false))
}

// keepBefore remembers the scene of a thread before its run is added.
func (v *View) keepBefore() {
	run := v.run
	v.run = store.Run{}
	v.before = v.Scene(true)
	v.run = run
}

// shownByBegun returns the scene of a page that showed the thread at rest and got [Handlers.Begun].
func (v *View) shownByBegun() Scene {
	s, now := v.before, v.Scene(true)
	if len(v.Turns.Turns) > v.base {
		s.Turns = append(s.Turns, now.Turns[len(now.Turns)-1])
	}
	s.Running = true
	return s
}

// resumeBegun brings a page that got [Handlers.Begun] up to date; false when the run is gone, or when the page lacks turns
// that were added from another one.
func (l *live) resumeBegun(ctx context.Context, run string) (bool, error) {
	v, err := l.h.Load(ctx, l.thread, run, 0, "")
	if err != nil || v.run.ID == "" {
		return false, err
	}
	above := ""
	if n := len(v.before.Turns); n > 0 {
		above = v.before.Turns[n-1].ID
	}
	if l.told && l.above != above {
		return false, nil
	}
	l.v, l.screen = v, NewScreen(l.speak(ctx), v.shownByBegun())
	l.progress.forget()
	return true, nil
}

// begunRun returns the run of a cursor of [Handlers.Begun].
func begunRun(cursor string) (run string, ok bool) { return strings.CutSuffix(cursor, begun) }

// Asking reports whether the next message of a thread may answer a question. A thread that isn't there asks nothing.
func (h *Handlers) Asking(ctx context.Context, thread string) (bool, error) {
	t, err := h.OwnThread(ctx, thread)
	if errors.Is(err, store.ErrNotFound) || err == nil && (t.Head == "" || h.Runs.Active(thread) != "") {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	cp, err := h.DB.Checkpoint(ctx, thread, "", t.Head)
	if isGone(err) {
		return false, nil
	}
	return len(cp.Next) > 0 && cp.Next[0] == agent.NodeInterrupt, err
}

// LoadStored reads the newest stored turns of a thread, without the runs that made them. The View is good for
// [View.Question] and [View.Attached]. Errors: store.ErrNotFound.
func (h *Handlers) LoadStored(ctx context.Context, thread string) (*View, error) {
	v := &View{Gaps: map[string]*views.Gap{}, Turns: turns.New(thread, h.Describer(thread))}
	var err error
	if v.Thread, err = h.OwnThread(ctx, thread); err != nil {
		return nil, err
	}
	_, v.later = h.Queue(thread)
	active := h.Runs.Active(thread)
	if active != "" { // its message may not be stored in the thread yet
		run, err := h.DB.Run(ctx, active)
		if err != nil && !isGone(err) {
			return nil, err
		}
		v.later = append(v.later, inputFiles(run)...)
	}
	if v.Thread.Head == "" {
		return v, nil
	}
	snap, err := h.DB.Snapshot(ctx, thread, v.Thread.Head)
	if err != nil {
		return nil, err
	}
	next := snap.Checkpoint.Next
	v.asking = len(next) > 0 && next[0] == agent.NodeInterrupt && active == ""
	if err := DecodeField(snap, "told_files", &v.told); err != nil {
		return nil, err
	}
	_, err = v.Fill(snap.Messages, Extent{})
	return v, err
}
