package runs

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"fawn/agent"
	"fawn/agent/runs/eventlog"
	"fawn/agent/runs/recorder"
	"fawn/agent/runs/resume"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// maxAttempts limits consecutive starts of a run without a stored step or result before it is marked as interrupted, so
// that a run that crashes the server can't do so forever. Starts that ended with an orderly shutdown don't count.
const maxAttempts = 3

// stoppedSpace holds, for each run, the attempts that a server stop ended.
const stoppedSpace = "stopped_runs"

// noteStop records that an attempt ends because the server stops. If it can't be stored soon, the attempt counts as a
// crash.
func (m *Manager) noteStop(ctx context.Context, run store.Run) {
	ctx, cancel := context.WithTimeout(ctx, stopNote)
	defer cancel()
	row, err := m.db.Run(ctx, run.ID) // the attempt as stored
	var body []byte
	if err == nil {
		stops, _ := m.stops(ctx, run.ID)
		body, err = json.Marshal(append(stops, row.Attempt))
	}
	if err == nil {
		err = m.db.Commit(ctx, store.Batch{KV: []store.KV{{Space: stoppedSpace, Key: run.ID, Body: body}}})
	}
	if err != nil && m.db.Writable() {
		m.logger.Warn("couldn't store a run's progress at shutdown; it counts as a crash", "thread", run.ThreadID, "run", run.ID, "err", err)
	}
}

// stopNote limits the wait for storing it.
const stopNote = 2 * time.Second

// stops returns the attempts of a run that a server stop ended.
func (m *Manager) stops(ctx context.Context, run string) (list []int, err error) {
	body, err := m.db.KV(ctx, store.Global, stoppedSpace, run)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(body, &list)
	}
	return list, err
}

// forgetStops removes the marks of noteStop together with the end of a resumed run.
func forgetStops(run store.Run) []store.KV {
	if run.Attempt < 2 {
		return nil
	}
	return []store.KV{{Space: stoppedSpace, Key: run.ID}}
}

// fruitless counts the consecutive attempts that crashed without storing anything, from the events after a run's last
// step.
func fruitless(open []runevent.Event, stops []int) (n int) {
	for _, e := range open {
		switch e.Kind {
		case runevent.KindToolResult:
			n = 0
		case runevent.KindMeta:
			var meta struct {
				Attempt int `json:"attempt"`
			}
			if json.Unmarshal(e.Data, &meta) != nil || !slices.Contains(stops, meta.Attempt) {
				n++
			}
		}
	}
	return n
}

// resumption is the state from which an interrupted run continues.
type resumption struct {
	past     resume.Run
	open     []runevent.Event // after the last step
	results  map[string]agent.Result
	children map[resume.Place]*resume.Child // not resumed by a call yet; guarded by Manager.mu while it runs
}

// reopen prepares an interrupted run for its next attempt: in one commit, it folds the shown frames, announces the
// attempt and withdraws incomplete answers. The caller queues the entry. It returns nil for a run that was ending and
// is closed.
func (m *Manager) reopen(ctx context.Context, run store.Run, frames []store.Delta) (*entry, error) {
	e, err := storedEntry(run)
	if err != nil {
		return nil, err
	}
	p, err := resume.Read(ctx, m.db, run)
	if err != nil {
		return nil, err
	}
	if p.Ending(&e.req) {
		return nil, m.closeRun(ctx, run, frames)
	}
	cfg := m.outside(run.ThreadID, recorder.Base{})
	cfg.Run = run.ID
	rec, err := recorder.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer rec.Close()
	fresh, err := rec.Adopt(frames)
	if err != nil {
		m.logger.Error("couldn't read the end of an interrupted run", "thread", run.ThreadID, "run", run.ID, "err", err)
	}
	open := append(slices.Clip(p.Open), fresh...)
	stops, err := m.stops(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	if fruitless(open, stops) >= maxAttempts {
		return nil, m.closeRun(ctx, run, frames)
	}
	left, err := runevent.Gather(open, "")
	if err != nil {
		return nil, err
	}
	e.goOn = &resumption{open: open}
	if e.goOn.children, err = resume.Children(ctx, m.db, run, &p, open, newMessageID); err != nil {
		return nil, err
	}
	e.goOn.past = p
	for _, c := range e.goOn.children {
		if !Done(c.Run.Status) {
			left.Said = append(left.Said, c.Left.Said...)
		}
	}
	if e.goOn.results, err = left.Answered(newMessageID); err != nil {
		return nil, err
	}
	e.run.Attempt++
	if err := rec.Again(ctx, e.run, left.Said); err != nil {
		return nil, err
	}
	e.log = eventlog.New(rec.Seq())
	return e, nil
}

// storedEntry returns the entry of a run from its row.
func storedEntry(run store.Run) (*entry, error) {
	var req Request
	if err := json.Unmarshal(run.Kwargs, &req); err != nil {
		return nil, err
	}
	req.Thread, req.Owner = run.ThreadID, run.Owner
	in, cmd, err := req.Parse()
	if err != nil {
		return nil, err
	}
	e := &entry{run: run, req: req, in: in, cmd: cmd, log: eventlog.New(0), stored: make(chan struct{}),
		done: make(chan struct{})}
	close(e.stored)
	return e, nil
}

// standing returns a run's current checkpoint: its own last one, else its first. "" is for a thread without any.
func (m *Manager) standing(ctx context.Context, run store.Run) (string, error) {
	head, err := m.db.Checkpoint(ctx, run.ThreadID, "", "")
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return "", err
	}
	if head.Run == run.ID {
		return head.ID, nil
	}
	return run.BaseCheckpoint, nil
}

// standOn restores the turn of an interrupted run. on is false if nothing is left to do; out is then its outcome.
func (e *entry) standOn(t *agent.Turn) (out agent.Outcome, on bool) {
	p := e.goOn.past
	t.MaxSteps = max(1, t.MaxSteps-p.Steps)
	t.Results = e.goOn.results
	out.Next = p.Next
	switch {
	case p.Last == agent.NodeEnd:
		return out, false
	case p.AtBreakpoint(&e.req):
		out.Breakpoint, out.StopReason = true, agent.StopBreakpoint
		return out, false
	case p.Final || !recorder.RunsNext(p.Next):
		t.From = []string{agent.NodeEnd}
	case p.Last != agent.NodeInput || !e.in.Given: // a run begins after its input
		t.From = p.Next
	}
	return out, true
}
