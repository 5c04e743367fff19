package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/google/uuid"

	"fawn/agent"
	"fawn/agent/runs/recorder"
	"fawn/agent/runs/resume"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// Task is the work of a child run. A repeated call after a crash must return the same task.
type Task struct {
	Call        string // the call that asks for it, which names the child's namespace
	AssistantID string
	Metadata    json.RawMessage // metadata of the child's row
	Input       agent.State     // initial state of the child
	Options     agent.Options
	MaxSteps    int   // 0 is the default
	Build       Build // builds the child's agent; nil uses the manager's

	// Began is called once the child's row is stored; again means that it resumes after a crash with the state in
	// soFar. It may be nil.
	Began func(soFar agent.State, again bool)
	// Tell returns the parent's events for a step of the child, any JSON objects. They are recorded after the step. It
	// may be nil.
	Tell func(agent.Step) []json.RawMessage
}

// Spawn is the function form of [Manager.Child].
type Spawn func(ctx context.Context, t *agent.Turn, task Task) (store.Run, agent.State, error)

// ErrTimeLimit, as the cause of its context, ends a child that has worked for too long.
var ErrTimeLimit = errors.New("the time limit is reached")

// errParentEnded ends children of a parent that returned without waiting for them.
var errParentEnded = errors.New("the parent run has ended")

// Child runs an agent inside a tool call of t's run and returns when it has ended: its row and final state. The child
// works in a namespace of the thread and reports in the parent's events; it has no checkpoints. It ends with ctx, and
// always before its parent. After a crash, an ended child isn't run again, and another resumes after its last stored
// step. Errors: ErrNotFound if the parent isn't active, ErrStorage, and the child's own.
func (m *Manager) Child(ctx context.Context, t *agent.Turn, task Task) (store.Run, agent.State, error) {
	parent := m.parentOf(t.RunID)
	if parent == nil {
		return store.Run{}, agent.State{}, fmt.Errorf("parent run %s: %w", t.RunID, ErrNotFound)
	}
	place := resume.Place{Call: task.Call, NS: runevent.Below(t.NS, task.Call), Message: callerOf(&t.State)}
	was := m.takeUp(parent, place)
	run, err := m.childRow(parent, t, task, place, was)
	if err != nil {
		return store.Run{}, agent.State{}, err
	}
	sink := &recorder.ChildSink{Recorder: parent.rec, NS: place.NS, Tell: task.Tell}
	turn := &agent.Turn{Owner: t.Owner, ThreadID: t.ThreadID, RunID: run.ID, NS: sink.NS, Options: task.Options,
		MaxSteps: task.MaxSteps, Sink: sink,
		Log: t.Log.With("run", run.ID, "parent", t.RunID), NewID: newMessageID, Remark: t.Remark, Observer: m.calls()}
	if err := recorder.Fill(turn, task.Input); err != nil {
		return run, turn.State, err
	}
	on := true
	if was != nil {
		if on, err = was.StandOn(turn); err != nil {
			return run, turn.State, err
		}
		sink.Number, sink.Usage = was.Steps, was.Usage
		if Done(run.Status) {
			if task.Began != nil {
				task.Began(turn.State.Clone(), true)
			}
			return run, turn.State, nil
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if !parent.family.Add(run.ID, sink.NS, cancel) {
		return store.Run{}, agent.State{}, fmt.Errorf("parent run %s: %w", t.RunID, ErrNotFound)
	}
	defer parent.family.Remove(run.ID)
	if err := m.storeChild(ctx, &run); err != nil {
		return store.Run{}, agent.State{}, err
	}
	m.adopt(run.ID, parent)
	defer m.orphan(run.ID)
	if task.Began != nil {
		task.Began(turn.State.Clone(), was != nil)
	}
	var out agent.Outcome
	switch {
	case on:
		seen, ended := m.observe(ctx, run)
		out, err = m.driveChild(seen, run, turn, task.Build)
		defer func() { ended(run) }()
	case was.Broken():
		err = ErrInterrupted
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = context.Cause(ctx)
	}
	if errors.Is(err, ErrShutdown) && !m.mark { // another server continues it
		return run, turn.State, err
	}
	settle(&run, out, err)
	usage, encodeErr := agent.Encode(sink.Usage)
	run.Usage = usage
	return run, turn.State, errors.Join(err, encodeErr, m.storeChild(ctx, &run))
}

// childRow returns the row of a new or resumed child.
func (m *Manager) childRow(parent *entry, t *agent.Turn, task Task, at resume.Place,
	was *resume.Child) (store.Run, error) {
	if was != nil {
		run := was.Run
		if !Done(run.Status) {
			run.Attempt++
		}
		return run, nil
	}
	now := m.db.Now()
	kwargs, err := agent.Encode(at)
	return store.Run{ID: uuid.Must(uuid.NewV7()).String(), ThreadID: t.ThreadID, Parent: t.RunID,
		AssistantID: task.AssistantID, Owner: parent.run.Owner, Status: Running, Multitask: "enqueue",
		Metadata: object(task.Metadata), Kwargs: kwargs, Attempt: 1, CreatedAt: now, UpdatedAt: now}, err
}

// driveChild builds the agent and runs it.
func (m *Manager) driveChild(ctx context.Context, run store.Run, t *agent.Turn,
	build Build) (out agent.Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			m.logger.Error("run panicked", "run", run.ID, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("internal error: %v", p)
		}
	}()
	if build == nil {
		build = m.build
	}
	a, err := build(ctx, Spec{Owner: t.Owner, ThreadID: run.ThreadID, RunID: run.ID, Parent: run.Parent,
		AssistantID: run.AssistantID, Options: &t.Options, Remark: t.Remark})
	if err != nil {
		return out, err
	}
	return a.Run(ctx, t)
}

// storeChild writes a child's row, even if ctx ends.
func (m *Manager) storeChild(ctx context.Context, run *store.Run) error {
	run.UpdatedAt = m.db.Now()
	if err := m.db.Commit(store.Patiently(ctx), store.Batch{ThreadID: run.ThreadID, Run: run}); err != nil {
		return fmt.Errorf("%w: child run %s: %w", ErrStorage, run.ID, err)
	}
	return nil
}

// parentOf returns the live run that a child of run belongs to: run itself, or for a child its own parent. It is nil
// when that does not work.
func (m *Manager) parentOf(run string) *entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.runs[run]
	if e == nil {
		e = m.children[run]
	}
	if e == nil || !e.stage.active() || e.rec == nil {
		return nil
	}
	return e
}

func (m *Manager) adopt(child string, parent *entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.children[child] = parent
}

func (m *Manager) orphan(child string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.children, child)
}

// cancelChild cancels an active child. Its parent continues with the call's result.
func (m *Manager) cancelChild(thread, run string) bool {
	m.mu.Lock()
	e := m.children[run]
	m.mu.Unlock()
	return e != nil && (thread == "" || e.run.ThreadID == thread) && e.family.Cancel(run, ErrInterrupted)
}

// CancelTask cancels the child running for a call of the thread's active run; the run continues with the call's result.
// ErrNotFound without one.
func (m *Manager) CancelTask(thread, call string) error {
	e := m.atWork(thread)
	if e == nil && m.cluster != nil {
		return m.cancelTaskElsewhere(thread, call)
	}
	if e == nil || !e.family.Cancel(e.family.In(runevent.Below("", call)), ErrInterrupted) {
		return fmt.Errorf("helper for call %.80s: %w", call, ErrNotFound)
	}
	return nil
}
