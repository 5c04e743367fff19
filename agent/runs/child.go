package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"

	"fawn/agent"
	"fawn/store"
)

// Task is what a run gives a child to do.
type Task struct {
	Call        string // the call that asks for it, which names the child's namespace
	AssistantID string
	Metadata    json.RawMessage // of the child's row
	Input       agent.State     // what the child begins with
	Options     agent.Options
	MaxSteps    int // 0 is the default
}

// errParentEnded ends children whose parent did not wait for them.
var errParentEnded = errors.New("the parent run has ended")

// family are the children of a live run. The zero value is ready.
type family struct {
	mu    sync.Mutex
	ended bool // no more children
	kids  map[string]context.CancelCauseFunc
	wg    sync.WaitGroup
}

// add takes a child in, unless its parent ends.
func (f *family) add(id string, cancel context.CancelCauseFunc) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return false
	}
	if f.kids == nil {
		f.kids = map[string]context.CancelCauseFunc{}
	}
	f.kids[id] = cancel
	f.wg.Add(1)
	return true
}

func (f *family) remove(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.kids, id)
	f.wg.Done()
}

// cancel ends one child. It tells whether there was one.
func (f *family) cancel(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	cancel := f.kids[id]
	if cancel != nil {
		cancel(ErrInterrupted)
	}
	return cancel != nil
}

// end ends all children and waits for them: none outlives its parent.
func (f *family) end(cause error) {
	f.mu.Lock()
	f.ended = true
	for _, cancel := range f.kids {
		cancel(cause)
	}
	f.mu.Unlock()
	f.wg.Wait()
}

// Child runs an agent inside a tool call of the run of t, and returns when it has ended: its
// row, and the state it left. The child works in a namespace of the thread and shows what it
// does in the parent's events; it has no checkpoints. It ends with ctx, and before its parent
// ends for whatever reason. Errors: ErrNotFound when the parent does not work, ErrStorage, and
// what ended the child.
func (m *Manager) Child(ctx context.Context, t *agent.Turn, task Task) (store.Run, agent.State, error) {
	parent := m.parentOf(t.RunID)
	if parent == nil {
		return store.Run{}, agent.State{}, fmt.Errorf("parent run %s: %w", t.RunID, ErrNotFound)
	}
	now := time.Now()
	run := store.Run{ID: uuid.Must(uuid.NewV7()).String(), ThreadID: t.ThreadID, Parent: t.RunID,
		AssistantID: task.AssistantID, Owner: parent.run.Owner, Status: Running, Multitask: "enqueue",
		Metadata: object(task.Metadata), Attempt: 1, CreatedAt: now, UpdatedAt: now}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if !parent.family.add(run.ID, cancel) {
		return store.Run{}, agent.State{}, fmt.Errorf("parent run %s: %w", t.RunID, ErrNotFound)
	}
	defer parent.family.remove(run.ID)
	if err := m.storeChild(ctx, &run); err != nil {
		return store.Run{}, agent.State{}, err
	}
	m.adopt(run.ID, parent)
	defer m.orphan(run.ID)
	sink := &childSink{recorder: parent.rec, ns: Below(t.NS, task.Call)}
	turn := &agent.Turn{ThreadID: t.ThreadID, RunID: run.ID, NS: sink.ns, Options: task.Options,
		MaxSteps: task.MaxSteps, Sink: sink,
		Log: t.Log.With("run", run.ID, "parent", t.RunID), NewID: newMessageID, Remark: t.Remark}
	out, err := m.driveChild(ctx, run, turn, task.Input)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = context.Cause(ctx)
	}
	if errors.Is(err, ErrShutdown) && !m.mark { // the next server ends it, and its parent goes on
		return run, turn.State, err
	}
	settle(&run, out, err)
	usage, encodeErr := agent.Encode(sink.usage)
	run.Usage = usage
	return run, turn.State, errors.Join(err, encodeErr, m.storeChild(ctx, &run))
}

// driveChild builds the agent and runs it.
func (m *Manager) driveChild(ctx context.Context, run store.Run, t *agent.Turn, input agent.State) (
	out agent.Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			m.logger.Error("run panicked", "run", run.ID, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("internal error: %v", p)
		}
	}()
	if err := fill(t, input); err != nil {
		return out, err
	}
	a, err := m.build(ctx, Spec{ThreadID: run.ThreadID, RunID: run.ID, Parent: run.Parent,
		AssistantID: run.AssistantID, Options: &t.Options, Remark: t.Remark})
	if err != nil {
		return out, err
	}
	return a.Run(ctx, t)
}

// storeChild writes a child's row, whoever stops waiting.
func (m *Manager) storeChild(ctx context.Context, run *store.Run) error {
	run.UpdatedAt = time.Now()
	ctx, cancel := m.db.UnlessStuck(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := m.db.Commit(ctx, store.Batch{ThreadID: run.ThreadID, Run: run}); err != nil {
		return fmt.Errorf("%w: child run %s: %w", ErrStorage, run.ID, err)
	}
	return nil
}

// parentOf is the live run that a child of run belongs to: run itself, or for a child its own
// parent. It is nil when that does not work.
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

// cancelChild ends a child that works. Its parent goes on, told by the result of the call.
func (m *Manager) cancelChild(thread, run string) bool {
	m.mu.Lock()
	e := m.children[run]
	m.mu.Unlock()
	return e != nil && (thread == "" || e.run.ThreadID == thread) && e.family.cancel(run)
}

// closeChildren ends the rows of children which a crash cut off, and returns the other runs.
// Their parents go on, or end, by themselves.
func (m *Manager) closeChildren(ctx context.Context, open []store.Run) ([]store.Run, error) {
	others := make([]store.Run, 0, len(open))
	for _, run := range open {
		if run.Parent == "" {
			others = append(others, run)
			continue
		}
		run.Status, run.StopReason = Interrupted, StopOrphan
		if err := m.storeChild(ctx, &run); err != nil {
			return nil, err
		}
	}
	return others, nil
}

// childSink shows what a child does among the events of its parent.
type childSink struct {
	*recorder
	ns     string
	number int
	usage  usage
}

// Step implements agent.Sink.
func (s *childSink) Step(ctx context.Context, step agent.Step) error {
	before := s.usage
	for _, msg := range step.Patch.Messages {
		s.usage.count(msg, step.Node)
	}
	if err := s.subStep(ctx, s.ns, s.number+1, step); err != nil {
		s.usage = before
		return err
	}
	s.number++
	return nil
}
