package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
	"fawn/store"
	"fawn/web/httpx"
)

// modesOfSteps are the modes that show checkpoints and nodes.
const modesOfSteps = ModeTasks | ModeCheckpoints | ModeDebug | ModeEvents

// taskStart is a node that begins to run.
type taskStart struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Input      json.RawMessage `json:"input"`
	Triggers   []string        `json:"triggers"`
	Interrupts []Interrupt     `json:"interrupts"`
	Metadata   map[string]any  `json:"metadata"`
}

// taskEnd is a node that has run: its result, or its error.
type taskEnd struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Result     json.RawMessage `json:"result,omitempty"`
	Error      string          `json:"error,omitempty"`
	Interrupts []Interrupt     `json:"interrupts"`
}

// debugFrame wraps the data for debuggers.
type debugFrame struct {
	Step    int    `json:"step"`
	Type    string `json:"type"` // checkpoint, task, task_result
	At      string `json:"timestamp"`
	Payload any    `json:"payload"`
}

// configJSON names a checkpoint the way LangGraph's Python client reads it.
type configJSON struct {
	Configurable struct {
		Thread string `json:"thread_id"`
		NS     string `json:"checkpoint_ns"`
		CP     string `json:"checkpoint_id"`
	} `json:"configurable"`
}

func configOf(thread, checkpoint string) *configJSON {
	if checkpoint == "" {
		return nil
	}
	var c configJSON
	c.Configurable.Thread, c.Configurable.CP = thread, checkpoint
	return &c
}

// checkpointFrame is a checkpoint as streams show it.
type checkpointFrame struct {
	Config       *configJSON     `json:"config"`
	ParentConfig *configJSON     `json:"parent_config"`
	Values       json.RawMessage `json:"values"`
	Metadata     map[string]any  `json:"metadata"`
	Next         []string        `json:"next"`
	Tasks        []Task          `json:"tasks"`
	Checkpoint   *Pointer        `json:"checkpoint"`
	Parent       *Pointer        `json:"parent_checkpoint"`
}

// put appends a frame of one mode if its reader wants it and hasn't had it. make is called only then.
func (e *Encoder) put(mode Modes, event, ns string, id httpx.ID, make func() (any, error)) error {
	name, ok := e.name(event, ns)
	if !ok || !e.modes.has(mode) || !e.fresh(id) {
		return nil
	}
	v, err := make()
	if err != nil {
		return err
	}
	body, err := agent.Encode(v)
	if err != nil {
		return err
	}
	e.buf = httpx.AppendFrame(e.buf, name, body, id)
	return nil
}

// debug puts a payload into the frame for debuggers.
func (e *Encoder) debug(id httpx.ID, step int, what string, at time.Time, payload any) error {
	return e.put(ModeDebug, "debug", "", id, func() (any, error) {
		return debugFrame{Step: step, Type: what, At: Stamp(at), Payload: payload}, nil
	})
}

// saved is a checkpoint with the values the reader needs.
type saved struct {
	cp     store.Checkpoint
	values json.RawMessage
	snap   store.Snapshot
}

// shownAt reads a checkpoint for readers of a run. saved is the checkpoint of a step that the next one may have
// replaced; nil for none.
func shownAt(ctx context.Context, db *store.DB, thread, id string, saved *store.Checkpoint) (store.Snapshot, error) {
	if saved != nil && saved.ID == id {
		return db.SnapshotOf(ctx, *saved)
	}
	return db.Snapshot(ctx, thread, id)
}

// load reads a checkpoint; nil if it was rolled back or pruned.
func (e *Encoder) load(ctx context.Context, checkpoint string) (*saved, error) {
	snap, err := shownAt(ctx, e.db, e.run.ThreadID, checkpoint, e.saved)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("values of checkpoint %s: %w", checkpoint, err)
	}
	return &saved{cp: snap.Checkpoint, values: runs.Values(snap, false), snap: snap}, nil
}

// checkpoint shows a checkpoint to readers of checkpoints.
func (e *Encoder) checkpoint(s *saved, seq, debugSeq int64) error {
	if !e.modes.has(ModeCheckpoints | ModeDebug) {
		return nil
	}
	meta, err := CheckpointMetadata(s.cp)
	if err != nil {
		return err
	}
	f := checkpointFrame{Config: configOf(s.cp.Thread, s.cp.ID), ParentConfig: configOf(s.cp.Thread, s.cp.Parent),
		Values: s.values, Metadata: meta,
		Next: s.cp.Next, Tasks: Tasks(s.snap, nil), Checkpoint: &Pointer{Thread: s.cp.Thread, CP: s.cp.ID}}
	if f.Next == nil {
		f.Next = []string{}
	}
	if s.cp.Parent != "" {
		f.Parent = &Pointer{Thread: s.cp.Thread, CP: s.cp.Parent}
	}
	if err := e.put(ModeCheckpoints, "checkpoints", "", one(seq), func() (any, error) { return f, nil }); err != nil {
		return err
	}
	return e.debug(one(debugSeq), s.cp.Step, "checkpoint", s.cp.At, f)
}

// starts shows the nodes that begin after a checkpoint.
func (e *Encoder) starts(s *saved, seq, debugSeq int64) error {
	list := make([]taskStart, len(s.cp.Next))
	for i, node := range s.cp.Next {
		meta := map[string]any{"thread_id": e.run.ThreadID, "run_id": e.run.ID, "graph_id": GraphID,
			"assistant_id": Canonical(e.run.AssistantID), "langgraph_step": s.cp.Step + 1}
		list[i] = taskStart{ID: taskID(s.cp.ID, node), Name: node, Input: s.values,
			Triggers: []string{"branch:to:" + node}, Interrupts: []Interrupt{}, Metadata: meta}
		err := e.put(ModeTasks, "tasks", "", part(seq, 2*i), func() (any, error) { return list[i], nil })
		if err != nil {
			return err
		}
		if err := e.nodeStart(s, node, part(seq, 2*i+1)); err != nil {
			return err
		}
	}
	for i, start := range list {
		if err := e.debug(part(debugSeq, i), s.cp.Step+1, "task", s.cp.At, start); err != nil {
			return err
		}
	}
	return nil
}

// goesOn shows the node with which a run without input starts, at its first event.
func (e *Encoder) goesOn() error {
	if e.waiting == nil {
		return nil
	}
	s := e.waiting
	e.waiting = nil
	return e.starts(s, e.waitingAt, e.waitingAt+1)
}

// result shows the output of a step's node. Hooks after an answer weren't announced as tasks.
func (e *Encoder) result(ctx context.Context, ev runevent.Event, before string) error {
	s := ev.Step
	if s.Node == agent.NodeInput || !e.modes.has(ModeTasks|ModeDebug|ModeEvents) {
		return nil
	}
	patch, err := patchBody(s)
	if err != nil {
		return err
	}
	name := updateName(s.Node)
	end := taskEnd{ID: taskID(before, name), Name: name, Result: patch, Interrupts: []Interrupt{}}
	if err := e.put(ModeTasks, "tasks", "", one(ev.PartSeq(runevent.PartResult)),
		func() (any, error) { return end, nil }); err != nil {
		return err
	}
	if err := e.nodeEnd(ctx, s, before, ev.PartSeq(runevent.PartResult)); err != nil {
		return err
	}
	if !e.modes.has(ModeDebug) {
		return nil
	}
	cp := s.Saved
	if cp == nil {
		stored, err := e.db.Checkpoint(ctx, e.run.ThreadID, "", s.Checkpoint)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		cp = &stored
	}
	return e.debug(one(ev.PartSeq(runevent.PartResultDebug)), s.Number, "task_result", cp.At, end)
}

// failed shows which task an error ended.
func (e *Encoder) failed(ev runevent.Event) error {
	if e.running == "" {
		return nil
	}
	return e.put(ModeTasks, "tasks", "", part(ev.Seq-1, partLate), func() (any, error) {
		var f runevent.Failure
		if err := json.Unmarshal(ev.Data, &f); err != nil {
			return nil, err
		}
		return taskEnd{ID: taskID(e.cp, e.running), Name: e.running, Error: f.Message, Interrupts: []Interrupt{}}, nil
	})
}

// around shows the frames after a step's messages and updates: the new checkpoint and the next tasks.
func (e *Encoder) around(ctx context.Context, ev runevent.Event) error {
	if !e.modes.has(modesOfSteps|ModeValues) || ev.To < e.after.Seq {
		return nil
	}
	s := ev.Step
	now, err := e.load(ctx, s.Checkpoint)
	if err != nil || now == nil {
		return err
	}
	if s.Node == agent.NodeInput && e.modes.has(ModeCheckpoints|ModeDebug) {
		if err := e.first(ctx, now.cp.Parent, ev); err != nil {
			return err
		}
	}
	if e.modes.has(ModeValues) && e.fresh(one(ev.ValuesSeq())) {
		e.buf = httpx.AppendFrame(e.buf, "values", now.values, one(ev.ValuesSeq()))
	}
	at, debug := ev.PartSeq(runevent.PartCheckpoint), ev.PartSeq(runevent.PartCheckpointDebug)
	if err := e.checkpoint(now, at, debug); err != nil {
		return err
	}
	if s.Last || nodeBehind(s.Next) == "" {
		return nil
	}
	return e.starts(now, ev.PartSeq(runevent.PartTask), ev.PartSeq(runevent.PartTaskDebug))
}

// first shows a thread's initial empty checkpoint, which precedes its first input.
func (e *Encoder) first(ctx context.Context, parent string, ev runevent.Event) error {
	if parent == "" {
		return nil
	}
	cp, err := e.db.Checkpoint(ctx, e.run.ThreadID, "", parent)
	if errors.Is(err, store.ErrNotFound) || err == nil && (cp.Run != e.run.ID || cp.Parent != "") {
		return nil
	}
	if err != nil {
		return err
	}
	s, err := e.load(ctx, parent)
	if err != nil || s == nil {
		return err
	}
	return e.checkpoint(s, ev.PartSeq(runevent.PartUpdates), ev.PartSeq(runevent.PartResult))
}

// halted reports where the run stopped that is not complete: at a question, or with an empty list at a breakpoint.
func (e *Encoder) halted(ctx context.Context, ev runevent.Event) error {
	var h runevent.Halt
	if err := json.Unmarshal(ev.Data, &h); err != nil {
		return err
	}
	snap, err := e.db.Snapshot(ctx, e.run.ThreadID, h.Checkpoint)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("interrupts of checkpoint %s: %w", h.Checkpoint, err)
	}
	values, asked, err := Interrupted(runs.Values(snap, false), snap)
	if err != nil {
		return err
	}
	if e.modes.has(ModeUpdates) && e.fresh(one(ev.Seq)) {
		e.buf = httpx.AppendFrame(e.buf, "updates", asked, one(ev.Seq))
	}
	if e.modes.has(ModeValues) && e.fresh(one(ev.To)) {
		e.buf = httpx.AppendFrame(e.buf, "values", values, one(ev.To))
	}
	return nil
}
