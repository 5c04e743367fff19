package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"fawn/agent"
	"fawn/agent/runs/recorder"
	"fawn/agent/runs/resume"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// recoverAtOnce limits concurrently recovered runs. Commits of several take hardly longer than one.
const recoverAtOnce = 16

// StopOrphan marks runs interrupted by a crash.
const StopOrphan = "orphan_recovered"

// Recover continues or closes the runs that a crash left open, before the first request is served. Active runs continue
// from their last stored step or, with [Config.Mark] or after three consecutive attempts that stored nothing, are closed:
// partial text is kept, tool calls without a result are closed, the run is marked, and its thread is no longer busy.
// Queued runs start again.
func (m *Manager) Recover(ctx context.Context) error {
	if m.cluster != nil {
		return m.join(ctx)
	}
	if err := m.db.TakeOver(ctx); err != nil {
		return err
	}
	open, err := m.db.OpenRuns(ctx)
	if err != nil {
		return fmt.Errorf("list open runs: %w", err)
	}
	open = m.withoutChildren(ctx, open)
	tail, err := m.db.Tail(ctx)
	if err != nil {
		return fmt.Errorf("read the tail: %w", err)
	}
	cut := make([][]store.Delta, len(open))
	for i, run := range open {
		if run.Status == Running {
			cut[i] = tail[run.ThreadID]
			delete(tail, run.ThreadID)
		}
	}
	line, errs := make([]*entry, len(open)), make([]error, len(open))
	var wg sync.WaitGroup
	places := make(chan struct{}, recoverAtOnce)
	for i, run := range open {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			line[i], errs[i] = m.recoverRun(ctx, run, cut[i])
			if err := errs[i]; err != nil {
				m.logger.Error("couldn't recover an interrupted run cleanly", "thread", run.ThreadID, "run", run.ID,
					"err", err)
				errs[i] = m.fail(ctx, run, err)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("recover runs: %w", err)
	}
	for thread, frames := range tail {
		if err := m.keepNumbers(ctx, thread, frames); err != nil {
			return fmt.Errorf("read events of thread %s: %w", thread, err)
		}
	}
	if err := m.db.ClearTail(ctx); err != nil {
		return fmt.Errorf("clear the tail: %w", err)
	}
	if err := m.freeThreads(ctx); err != nil {
		return err
	}
	if err := m.removeRest(ctx); err != nil {
		return err
	}
	line = slices.DeleteFunc(line, func(e *entry) bool { return e == nil })
	for _, e := range line {
		if err := m.rejoin(e); err != nil {
			return err
		}
	}
	for _, e := range line {
		if e.goOn != nil { // it had started
			m.startFront(e.run.ThreadID, e, false)
		} else {
			m.startNext(e.run.ThreadID)
		}
	}
	return nil
}

// recoverRun recovers one open run and returns its entry if it continues.
func (m *Manager) recoverRun(ctx context.Context, run store.Run, frames []store.Delta) (*entry, error) {
	switch {
	case run.Wish == store.WishRollback:
		return nil, m.rollBack(ctx, run)
	case run.Status == Pending && run.Wish != "":
		run.Status, run.UpdatedAt = Interrupted, m.db.Now()
		return nil, m.db.Commit(ctx, store.Batch{ThreadID: run.ThreadID, Run: &run, KV: webhooks(run),
			Line: &store.Line{AsHead: true}})
	case run.Status == Pending:
		return storedEntry(run)
	case run.Wish != "" || m.mark:
		return nil, m.closeRun(ctx, run, frames)
	}
	e, err := m.reopen(ctx, run, frames)
	if err != nil || e == nil {
		return nil, err
	}
	m.logger.Info("resuming an interrupted run", "thread", run.ThreadID, "run", run.ID, "attempt", e.run.Attempt)
	return e, nil
}

// closeRun closes one run. It skips unreadable data, since the server must start.
func (m *Manager) closeRun(ctx context.Context, run store.Run, frames []store.Delta) error {
	p, err := resume.Read(ctx, m.db, run)
	if err != nil {
		m.logger.Error("couldn't read events of an interrupted run", "thread", run.ThreadID, "run", run.ID,
			"err", err)
	}
	at, err := m.standing(ctx, run)
	if err != nil {
		return err
	}
	state, b, err := m.load(ctx, run.ThreadID, at)
	if err != nil {
		return err
	}
	b.Meta = json.RawMessage(`{}`)
	var req Request
	if err := json.Unmarshal(run.Kwargs, &req); err != nil {
		m.logger.Error("couldn't read the request of an interrupted run", "thread", run.ThreadID, "run", run.ID, "err", err)
	}
	cfg := m.outside(run.ThreadID, b)
	cfg.Run, cfg.One, cfg.From, cfg.Plan = run.ID, req.LeavesOne(), run.BaseCheckpoint, state.Todos
	rec, err := recorder.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer rec.Close()
	fresh, err := rec.Adopt(frames)
	if err != nil {
		m.logger.Error("couldn't read the end of an interrupted run", "thread", run.ThreadID, "run", run.ID, "err", err)
	}
	rec.TakeEdit(append(slices.Clip(p.Open), fresh...))
	left, err := runevent.Gather(append(slices.Clip(p.Open), fresh...), "")
	if err != nil {
		m.logger.Error("couldn't read the end of an interrupted run", "thread", run.ThreadID, "run", run.ID, "err", err)
	}
	children, err := resume.Children(ctx, m.db, run, &p, append(slices.Clip(p.Open), fresh...), newMessageID)
	if err != nil {
		m.logger.Error("couldn't read subagents of an interrupted run", "thread", run.ThreadID, "run", run.ID,
			"err", err)
	}
	rec.GoOn(run.FirstSeq, p.Usage)
	m.closeChildren(ctx, resume.Open(children))
	step := agent.Step{Node: agent.NodeModel, State: &state, Next: []string{agent.NodeModel}}
	if msg := left.Partial(&state); msg != nil {
		step.Patch.Messages = []*agent.Message{msg}
		if err := state.Apply(step.Patch); err != nil {
			return err
		}
	} else if next := agent.Next(&state, agent.NodeModel); len(next) > 0 && next[0] == agent.NodeTools {
		step.Node = agent.NodeTools
		if step.Patch, err = resume.CloseCalls(&state, left.Results, &step, newMessageID, m.logger); err != nil {
			return err
		}
	}
	if !step.Patch.Empty() || rec.Edited() {
		if err := rec.Step(ctx, step); err != nil {
			return err
		}
	}
	run.Status, run.StopReason, run.UpdatedAt = Interrupted, StopOrphan, m.db.Now()
	rest, err := Resting(ctx, m.db, run.ThreadID)
	if err != nil {
		return err
	}
	m.logger.Info("closing an interrupted run", "thread", run.ThreadID, "run", run.ID, "attempt", run.Attempt)
	changes, done := m.watch.After(ctx, run)
	end := recorder.End{Run: run, Thread: rest, Keep: slices.Concat(webhooks(run), changes, forgetStops(run))}
	if err := rec.Finish(ctx, end); err != nil {
		return err
	}
	done()
	return nil
}

// keepNumbers stores events that a run couldn't store at its end, for instance on a full disk: readers
// may have seen their numbers.
func (m *Manager) keepNumbers(ctx context.Context, thread string, frames []store.Delta) error {
	rec, err := recorder.Open(ctx, m.outside(thread, recorder.Base{}))
	if err != nil {
		return err
	}
	defer rec.Close()
	if _, err := rec.Adopt(frames); err != nil {
		m.logger.Error("couldn't read the end of a thread's events", "thread", thread, "err", err)
	}
	return rec.KeepNumbers(ctx, frames[len(frames)-1].Seq)
}

// fail stores only the failure of a run and its thread.
func (m *Manager) fail(ctx context.Context, run store.Run, cause error) error {
	children, err := resume.Children(ctx, m.db, run, &resume.Run{}, nil, newMessageID)
	if err == nil { // otherwise the next server closes them
		m.closeChildren(ctx, resume.Open(children))
	}
	run.Status, run.StopReason, run.Error, run.UpdatedAt = Failed, StopOrphan, cause.Error(), m.db.Now()
	return m.storeEnd(ctx, run, ThreadError)
}

// freeThreads gives busy threads the status that follows from their lines.
func (m *Manager) freeThreads(ctx context.Context) error {
	stuck, err := m.db.StuckThreads(ctx)
	if err != nil {
		return err
	}
	for _, id := range stuck {
		err := m.db.Commit(ctx, store.Batch{ThreadID: id, Line: &store.Line{AsHead: true}})
		if err != nil {
			return err
		}
	}
	return nil
}

// rejoin returns a run from before the restart to where it waited.
func (m *Manager) rejoin(e *entry) error {
	waits := stageQueued
	switch {
	case e.run.Status == Pending && e.run.Held:
		waits = stageHeld
	case e.run.Status == Pending && !e.run.DueAt.IsZero():
		waits = stageDelayed
		defer m.expect()
	}
	return m.register(e, waits)
}
