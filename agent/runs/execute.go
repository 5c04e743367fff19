package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"fawn/agent"
	"fawn/agent/runs/eventlog"
	"fawn/agent/runs/recorder"
	"fawn/agent/runs/request"
	"fawn/agent/runs/runevent"
	"fawn/agent/runs/trace"
	"fawn/store"
)

// execute drives one run from its first event to its last. It owns e.run, and reports whether the
// run's end is stored.
func (m *Manager) execute(ctx context.Context, e *entry) (stored bool) {
	ctx, ended := m.observe(trace.WithParent(ctx, e.req.Trace), e.run)
	defer func() { ended(e.run) }()
	rec, title, outcome, err := m.drive(ctx, e)
	stored = m.conclude(ctx, e, rec, outcome, err)
	if err == nil && stored && title != "" && e.alone && m.cluster == nil {
		m.rested.keep(e.run.ThreadID, rested{at: rec.At(), next: outcome.Next, title: title})
	}
	return stored
}

// conclude stores the end of a run. It is separate from execute because a stack frame reserves space
// for everything its function may still do, here for as long as a model answers.
func (m *Manager) conclude(ctx context.Context, e *entry, rec *recorder.Recorder, outcome agent.Outcome,
	err error) (stored bool) {
	e.family.End(cmp.Or(context.Cause(ctx), errParentEnded))
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = context.Cause(ctx)
	}
	ending := store.Patiently(ctx)
	if rec != nil {
		defer rec.Close()
	}
	if m.settling(e) {
		undoErr := m.undo(ending, e, rec)
		if undoErr == nil {
			return true
		}
		m.logger.Error("couldn't roll back a run; marked it interrupted", "thread", e.run.ThreadID,
			"run", e.run.ID, "err", undoErr)
	}
	if errors.Is(err, ErrShutdown) && !m.mark { // its row stays open, and the next server resumes it
		m.leave(ending, e, rec)
		return true
	}
	m.closeChildren(ending, e.goOn.childRows())
	e.run.Metadata = e.remarks.Over(e.run.Metadata)
	if rec == nil { // nothing was written yet: the row is all there is
		_, rest := m.decide(e, outcome, err)
		return m.settleRow(ending, e, rest)
	}
	return m.finish(ending, e, rec, outcome, err)
}

// leave leaves a run to another server, with its last step if the run has come that far.
func (m *Manager) leave(ctx context.Context, e *entry, rec *recorder.Recorder) {
	if rec != nil {
		if err := rec.Settle(ctx); err != nil {
			m.logger.Warn("couldn't store the last step of a run at shutdown", "thread", e.run.ThreadID, "run", e.run.ID,
				"err", err)
		}
	}
	e.log.Close()
	if e.handed {
		m.handOver(ctx, e)
	} else {
		m.noteStop(context.WithoutCancel(ctx), e.run)
	}
}

// finish stores the end of a run that has written something. cause is why it failed, or nil.
func (m *Manager) finish(ctx context.Context, e *entry, rec *recorder.Recorder, outcome agent.Outcome,
	cause error) (stored bool) {
	failure, rest := m.decide(e, outcome, cause)
	changes, done := m.watch.After(ctx, e.run)
	kept, told := m.ending(e.run.ID)
	more := false
	finish := func() error {
		end := recorder.End{Run: e.run, Failure: failure, Thread: rest, Keep: slices.Concat(webhooks(e.run),
			changes, kept, forgetStops(e.run)), More: &more}
		if cause == nil {
			end.Halt = outcome.Next
		}
		err := rec.Finish(ctx, end)
		if errors.Is(err, store.ErrFull) { // nothing was written, and what failed has made room
			err = rec.Finish(ctx, end)
		}
		return err
	}
	err := finish()
	if err != nil && rec.Holds() { // perhaps only the step or only the end can't be stored
		if lost := rec.Settle(ctx); lost != nil && cause == nil {
			cause = lost
			failure, rest = m.decide(e, outcome, cause)
		}
		err = finish()
	}
	if err != nil {
		m.logger.Error("couldn't store the end of a run", "thread", e.run.ThreadID, "run", e.run.ID, "err", err)
		e.run.FirstSeq, e.run.LastSeq = rec.Span()
		return m.settleRow(ctx, e, rest)
	}
	e.alone = !more
	done()
	told()
	return true
}

// settleRow stores only the statuses and releases the readers.
func (m *Manager) settleRow(ctx context.Context, e *entry, rest string) (stored bool) {
	e.run.UpdatedAt = m.db.Now()
	err := m.storeEnd(ctx, e.run, rest)
	if err != nil {
		m.logger.Error("couldn't store a run's status", "thread", e.run.ThreadID, "run", e.run.ID, "err", err)
	}
	if errors.Is(err, store.ErrFenced) { // another server resumes it
		e.log.Close()
	} else {
		e.log.Abandon()
	}
	return err == nil
}

// storeEnd stores an ended run and the status of its thread.
func (m *Manager) storeEnd(ctx context.Context, run store.Run, rest string) error {
	return m.db.Commit(ctx, store.Batch{ThreadID: run.ThreadID, Run: &run, KV: webhooks(run),
		Patch: &store.ThreadPatch{Touch: true}, Line: &store.Line{Rest: rest, Promote: recorder.EndsWell(run, rest)}})
}

// prepare reads the state from which a run starts.
func (m *Manager) prepare(ctx context.Context, e *entry) (opts request.Choices, state agent.State, b recorder.Base,
	err error) {
	from, err := e.req.Base()
	if e.goOn != nil {
		from, err = m.standing(ctx, e.run)
	}
	if err != nil {
		return opts, state, b, err
	}
	th, err := m.db.Standing(ctx, e.run.ThreadID)
	if err != nil {
		return opts, state, b, err
	}
	return m.prepareFrom(ctx, e, from, th)
}

// prepareFrom is prepare with the checkpoint to start from, "" for the head, and the thread's standing.
func (m *Manager) prepareFrom(ctx context.Context, e *entry, from string, th store.Standing) (opts request.Choices,
	state agent.State, b recorder.Base, err error) {
	if opts, err = e.req.Choices(); err != nil {
		return opts, state, b, err
	}
	if state, b, err = m.loadFrom(ctx, e.run.ThreadID, from, th); err != nil {
		return opts, state, recorder.Base{}, err
	}
	b.Keeps = true
	b.Meta, err = checkpointMeta(e, opts)
	return opts, state, b, err
}

// from returns the nodes where a run without input continues: none for the empty checkpoint before a
// thread's first input.
func (m *Manager) from(ctx context.Context, thread, head string, s *agent.State) []string {
	cp, err := m.db.Checkpoint(ctx, thread, "", head)
	if err != nil {
		return agent.Next(s, agent.NodeEnd)
	}
	if len(cp.Next) > 0 && cp.Next[0] == agent.NodeStart {
		return agent.Next(s, agent.NodeStart)
	}
	return cp.Next
}

// outside returns a recorder's config for a write from outside a run.
func (m *Manager) outside(thread string, b recorder.Base) recorder.Config {
	return recorder.Config{DB: m.db, Log: eventlog.New(0), Thread: thread, Base: b, Last: m.lastBefore(b)}
}

// lastBefore returns a function for the number of a thread's last event when that was just read, nil if it must be
// queried: others may write to the thread, or b lacks it.
func (m *Manager) lastBefore(b recorder.Base) func() (int64, error) {
	if m.cluster != nil || b.Next == 0 {
		return nil
	}
	return func() (int64, error) { return b.Next - 1, nil }
}

// decide sets the status of a run whose outcome is known, and returns its failure and the status of its thread.
func (m *Manager) decide(e *entry, outcome agent.Outcome, err error) (*runevent.Failure, string) {
	failure, rest := settle(&e.run, outcome, err)
	if failure != nil {
		m.logger.Warn("run failed", "thread", e.run.ThreadID, "run", e.run.ID, "err", err)
	}
	return failure, rest
}

// settle converts the outcome of a run to its statuses.
func settle(run *store.Run, out agent.Outcome, err error) (f *runevent.Failure, thread string) {
	run.StopReason = out.StopReason
	switch {
	case err == nil && len(out.Next) == 0:
		run.Status = Success
		return nil, Idle
	case err == nil && out.Breakpoint:
		run.Status = Interrupted
		return nil, ThreadInterrupted
	case err == nil: // a question is asked: the run has done its work
		run.Status = Success
		return nil, ThreadInterrupted
	case errors.Is(err, ErrInterrupted):
		run.Status = Interrupted
		return nil, ThreadInterrupted
	case errors.Is(err, ErrTimeLimit):
		run.Status, run.Error = Timeout, ErrTimeLimit.Error()
		return nil, ThreadInterrupted
	case errors.Is(err, ErrShutdown):
		run.Status, run.StopReason = Interrupted, "shutdown"
		return nil, ThreadInterrupted
	}
	name := "RunError"
	var named interface {
		error
		ErrorName() string
	}
	switch {
	case errors.As(err, &named):
		name, err = named.ErrorName(), named
	case errors.Is(err, ErrStorage):
		name = "storage_full"
	case errors.Is(err, ErrInput):
		name = "InvalidInput"
	}
	var early interface {
		error
		StopReason() string
	}
	if errors.As(err, &early) && early.StopReason() != "" {
		run.StopReason = early.StopReason()
	}
	run.Status, run.Error = Failed, err.Error()
	return &runevent.Failure{Error: name, Name: name, Message: err.Error()}, ThreadError
}

// checkpointMeta returns the run's part of its checkpoints' metadata.
func checkpointMeta(e *entry, opts request.Choices) (json.RawMessage, error) {
	meta := map[string]any{}
	if err := json.Unmarshal(e.run.Metadata, &meta); err != nil {
		return nil, fmt.Errorf("%w: metadata must be an object: %v", ErrInput, err)
	}
	maps.Copy(meta, opts.Metadata)
	meta["assistant_id"] = e.run.AssistantID
	return agent.Encode(meta)
}

func newMessageID() string { return uuid.Must(uuid.NewV7()).String() }
