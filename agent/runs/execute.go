package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"

	"fawn/agent"
	"fawn/agent/runs/eventlog"
	"fawn/agent/runs/request"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// patience is how long the store may get nothing done while a run waits to be stored.
const patience = 10 * time.Second

// execute drives one run from its first event to its last. It owns e.run. It returns the
// status of the thread when nothing else is left to run.
func (m *Manager) execute(ctx context.Context, e *entry) (rest string) {
	ctx, ended := m.observe(traced(ctx, e.req.Trace), e.run)
	defer func() { ended(e.run) }()
	rec, outcome, err := m.drive(ctx, e)
	return m.conclude(ctx, e, rec, outcome, err)
}

// conclude stores how a run ended. It is apart from execute since a stack keeps room for what a
// function has yet to do, here for as long as a model answers.
func (m *Manager) conclude(ctx context.Context, e *entry, rec *recorder, outcome agent.Outcome, err error) (rest string) {
	e.family.end(cmp.Or(context.Cause(ctx), errParentEnded))
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = context.Cause(ctx)
	}
	ending, cancel := m.db.UnlessStuck(context.WithoutCancel(ctx), patience)
	defer cancel()
	if rec != nil {
		defer rec.lane.Close()
	}
	if m.settling(e) {
		rest, undoErr := m.undo(ending, e, rec)
		if undoErr == nil {
			return rest
		}
		m.logger.Error("a run could not be rolled back and ends as interrupted", "thread", e.run.ThreadID, "run", e.run.ID,
			"err", undoErr)
	}
	if errors.Is(err, ErrShutdown) && !m.mark { // its row says that it is open, and the next server goes on with it
		e.log.Abandon()
		return Busy
	}
	m.closeChildren(ending, e.goOn.childRows())
	e.run.Metadata = e.remarks.over(e.run.Metadata)
	failure, rest := settle(&e.run, outcome, err)
	if rec != nil && err == nil {
		rec.halt = outcome.Next
	}
	if failure != nil {
		m.logger.Warn("run failed", "thread", e.run.ThreadID, "run", e.run.ID, "err", err)
	}
	if rec == nil { // nothing was written yet: the row is all there is
		m.settleRow(ending, e, rest)
		return rest
	}
	done := m.changed(ending, e.run, rec)
	stored := m.ending(e.run.ID, rec)
	err = rec.finish(ending, e.run, failure, m.statusAfter(e.run.ThreadID, rest))
	if errors.Is(err, ErrStorage) { // what failed has made room
		err = rec.finish(ending, e.run, failure, m.statusAfter(e.run.ThreadID, rest))
	}
	if err != nil {
		m.logger.Error("the end of a run could not be stored", "thread", e.run.ThreadID, "run", e.run.ID, "err", err)
		e.run.FirstSeq, e.run.LastSeq = rec.first, rec.stored
		m.settleRow(ending, e, rest)
		return rest
	}
	done()
	stored()
	return rest
}

// settleRow stores only the statuses and lets readers go.
func (m *Manager) settleRow(ctx context.Context, e *entry, rest string) {
	e.run.UpdatedAt = time.Now()
	status := m.statusAfter(e.run.ThreadID, rest)
	err := m.db.Commit(ctx, store.Batch{ThreadID: e.run.ThreadID, Run: &e.run, KV: webhooks(e.run),
		Patch: &store.ThreadPatch{Status: &status, Touch: true}})
	if err != nil {
		m.logger.Error("a run's status could not be stored", "thread", e.run.ThreadID, "run", e.run.ID, "err", err)
	}
	e.log.Abandon()
}

// prepare reads what a run starts from.
func (m *Manager) prepare(ctx context.Context, e *entry) (opts request.Choices, state agent.State, b base, err error) {
	if opts, err = e.req.Choices(); err != nil {
		return opts, state, b, err
	}
	from, err := e.req.Base()
	if e.goOn != nil {
		from, err = m.standing(ctx, e.run)
	}
	if err != nil {
		return opts, state, b, err
	}
	if state, b, err = m.load(ctx, e.run.ThreadID, from); err != nil {
		return opts, state, base{}, err
	}
	b.meta, err = checkpointMeta(e, opts)
	return opts, state, b, err
}

// from is where a run without input goes on. The empty checkpoint before a thread's first
// input has nothing to go on with.
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

// recorder opens a lane behind everything the thread has stored.
func (m *Manager) recorder(ctx context.Context, thread, run string, log *eventlog.Log, b base) (*recorder, error) {
	last, err := m.db.LastSeq(ctx, thread)
	if err != nil {
		return nil, err
	}
	if b.newest == "" {
		b.newest = b.head
	}
	rec := &recorder{db: m.db, log: log, thread: thread, run: run, ctx: ctx, cancel: func(error) {}, seq: last,
		slots: map[string]*slot{}, streamed: map[string]bool{}, base: b}
	rec.lane = m.db.OpenLane(thread, log.Mark)
	return rec, nil
}

// input applies the run's input as its first step.
func (r *recorder) input(ctx context.Context, t *agent.Turn, p agent.State) error {
	if err := fill(t, p); err != nil {
		return err
	}
	next := agent.Next(&t.State, agent.NodeInput)
	if len(next) == 0 && len(t.State.Messages) > 0 {
		next = []string{agent.NodeModel}
	}
	return r.inputStep(ctx, t, p, next, "input")
}

// fill gives the new messages of a patch ids and applies it.
func fill(t *agent.Turn, p agent.State) error {
	for i, msg := range p.Messages {
		if msg.ID == "" {
			c := *msg
			c.ID = t.NewID()
			p.Messages[i] = &c
		}
	}
	if err := t.State.Apply(p); err != nil {
		return fmt.Errorf("%w: %v", ErrInput, err)
	}
	return nil
}

// inputStep stores what was applied before the agent runs, as a checkpoint of a source. A thread's very first input gets
// an empty checkpoint before it, so that every message has a parent without it to go back to, unless its run leaves only one.
func (r *recorder) inputStep(ctx context.Context, t *agent.Turn, p agent.State, next []string, source string) error {
	if r.head == "" && !r.one {
		id := checkpointID(r.newest)
		r.number++
		r.extra.Checkpoints = append(r.extra.Checkpoints,
			store.Checkpoint{ID: id, Thread: r.thread, Run: r.run, Step: r.number,
				Source: "input", Next: []string{agent.NodeStart}, Meta: r.meta, At: time.Now()})
		r.head, r.newest = id, id
	}
	r.source = source
	return r.Step(ctx, agent.Step{Node: agent.NodeInput, Patch: p, State: &t.State, Next: next, Last: !runsNext(next)})
}

// runsNext tells whether a run goes on with next: not behind a complete answer, and not
// while a question is open.
func runsNext(next []string) bool { return len(next) > 0 && next[0] != agent.NodeInterrupt }

// settle turns how a run ended into its statuses.
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
	run.Status, run.Error = Failed, err.Error()
	return &runevent.Failure{Error: name, Name: name, Message: err.Error()}, ThreadError
}

// checkpointMeta is what a run adds to the metadata of its checkpoints.
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
