package runs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"fawn/agent"
	"fawn/agent/runs/recorder"
	"fawn/agent/runs/request"
	"fawn/store"
)

// drive loads, records the input and runs the agent. The recorder is nil when not even the thread's log could be opened.
// title is the one that the run gave its thread, if any.
func (m *Manager) drive(ctx context.Context, e *entry) (rec *recorder.Recorder, title string, out agent.Outcome,
	err error) {
	// A cancel must not lose the input, so the run's own context comes in with the agent.
	d := e.begun
	if d == nil {
		d = &drive{m: m, e: e}
	}
	d.kept = context.WithoutCancel(ctx)
	err = d.run(ctx)
	if d.turn != nil && !d.titled && d.turn.State.Title != nil {
		title = *d.turn.State.Title
	}
	return d.rec, title, d.out, err
}

// drive is a run at work.
type drive struct {
	m    *Manager
	e    *entry
	kept context.Context // is not cancelled with the run
	rec  *recorder.Recorder
	turn *agent.Turn   // nil until the run has begun
	row  *store.Thread // the thread's row, if it was just read
	out  agent.Outcome

	titled bool                         // the thread had a title before the run
	stored func() (struct{}, error)     // waits until the input is stored; nil when there is none
	build  func() (*agent.Agent, error) // waits for the agent; set if the input is stored
}

func (d *drive) run(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			d.m.logger.Error("run panicked", "run", d.e.run.ID, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("internal error: %v", p)
		}
	}()
	var opts *request.Choices
	var head string
	if d.build == nil {
		if opts, head, err = d.begin(ctx); err != nil {
			return err
		}
	}
	defer func() {
		if lost := d.rec.SettlePlan(d.kept, &d.turn.State, d.out.Next); lost != nil {
			err = errors.Join(err, lost)
		}
	}()
	defer func() { // the input, which is stored while the agent begins
		if d.stored == nil {
			return
		}
		if _, lost := d.stored(); lost != nil {
			err = lost
		}
	}()
	build := d.build
	if build == nil {
		build, err = d.enter(ctx, opts, head)
	} else if err = d.m.admitted(d.kept, d.e, d.e.run.ID); err != nil { // runs that began together counted only those before
		_, _ = build() // it has the turn's options until then
	}
	if err != nil || build == nil {
		return err
	}
	a, err := build()
	d.m.giveWay(d.e)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	d.m.attach(d.e, d.rec)
	d.out, err = a.Run(ctx, d.turn)
	return err
}

// begin opens the log and makes the turn. It returns the run's choices and the checkpoint it starts from.
func (d *drive) begin(ctx context.Context) (opts *request.Choices, head string, err error) {
	m, e := d.m, d.e
	last := func() (int64, error) { return m.db.LastSeq(d.kept, e.run.ThreadID) }
	if m.cluster != nil { // each question is a round trip
		last = startFuture(last)
	}
	asked, state, b, failed := m.prepare(d.kept, e)
	if known := m.lastBefore(b); known != nil {
		last = known
	}
	if err := d.open(ctx, &state, b, last); err != nil {
		return nil, "", err
	}
	if e.goOn != nil {
		d.rec.TakeEdit(e.goOn.open)
		e.goOn.open = nil
		d.rec.GoOn(e.run.FirstSeq, e.goOn.past.Usage)
	} else {
		e.run.Status, e.run.BaseCheckpoint, e.run.UpdatedAt = Running, b.Head, d.m.db.Now()
		if err := d.rec.Begin(e.run, Busy, !e.in.Given); err != nil {
			return nil, "", err
		}
	}
	if failed == nil && !e.fresh { // its owner may have been disabled while it waited, or while no server ran
		failed = m.barred(d.kept, e.run.Owner)
	}
	if failed == nil && e.goOn == nil {
		failed = m.admitted(d.kept, e, e.run.ID)
	}
	if failed != nil {
		return nil, "", failed
	}
	d.take(asked.Options, state)
	return &asked, b.Head, nil
}

// open opens the recorder at the end of the thread.
func (d *drive) open(ctx context.Context, state *agent.State, b recorder.Base, last func() (int64, error)) (err error) {
	m, e := d.m, d.e
	cfg := recorder.Config{DB: m.db, Log: e.log, Thread: e.run.ThreadID, Base: b, Run: e.run.ID, Context: ctx,
		Cancel: e.cancel, One: e.req.LeavesOne(), From: b.Head, Plan: state.Todos,
		Files: m.files, Last: last}
	if e.goOn != nil {
		cfg.From = e.run.BaseCheckpoint
	}
	if !m.mark {
		cfg.Leave = ErrShutdown
	}
	if m.cluster != nil {
		cfg.Passed = func() { m.passes(e) }
	}
	if watch := m.watch.Before(e.run); watch != nil {
		cfg.Watch = watch
	}
	cfg.Noted = m.watch.Noted(e.run)
	d.rec, err = recorder.Open(d.kept, cfg)
	return err
}

// take makes the turn.
func (d *drive) take(options agent.Options, state agent.State) {
	m, e := d.m, d.e
	d.titled = state.Title != nil
	d.turn = &agent.Turn{Owner: e.run.Owner, ThreadID: e.run.ThreadID, RunID: e.run.ID, Options: options,
		State: state, StopBefore: e.req.InterruptBefore, StopAfter: e.req.InterruptAfter,
		Sink: d.rec, Log: m.logger.With("thread", e.run.ThreadID, "run", e.run.ID), NewID: newMessageID,
		Remark: e.remarks.Add, Plan: d.rec.Todos, Observer: m.calls()}
	if e.goOn == nil {
		d.turn.Listed = d.rec.At().Shown
	}
}

// make builds the agent.
func (d *drive) make(ctx context.Context) (*agent.Agent, error) {
	e := d.e
	s := Spec{Owner: e.run.Owner, ThreadID: e.run.ThreadID, RunID: e.run.ID, AssistantID: e.run.AssistantID,
		Options: &d.turn.Options, Remark: d.turn.Remark}
	if d.row != nil {
		s.Metadata, s.Unfiled = d.row.Metadata, d.row.Project == ""
	}
	return d.m.build(ctx, s)
}

// enter stores the input or command of a run and returns a function that builds the agent, nil if the run is over.
// While an input is stored, the agent is built if there is room for that, and calls its model.
func (d *drive) enter(ctx context.Context, opts *request.Choices, head string) (b func() (*agent.Agent, error),
	err error) {
	m, e := d.m, d.e
	m.limitSteps(d.turn, *opts)
	b = func() (*agent.Agent, error) { return d.make(ctx) }
	switch {
	case e.goOn != nil && e.goOn.past.Last != "":
		goes := false
		if d.out, goes = e.standOn(d.turn); !goes {
			return nil, nil
		}
	case e.in.Given:
		b = startFutureIn(m.room, b)
		defer b() // it holds the turn's options until then
		commit, err := d.rec.Input(d.kept, d.turn, e.in.Patch)
		if err != nil {
			return nil, err
		}
		d.stored = startFuture(func() (struct{}, error) { return struct{}{}, commit() })
		d.out.Next = []string{agent.NodeModel}
	default:
		d.out.Next = m.from(d.kept, e.run.ThreadID, head, &d.turn.State)
		d.out.Next, err = d.rec.Command(d.kept, d.turn, e.cmd, d.out.Next)
		if err != nil || !recorder.RunsNext(d.out.Next) {
			return nil, err
		}
		d.turn.From = d.out.Next
	}
	return b, nil
}
