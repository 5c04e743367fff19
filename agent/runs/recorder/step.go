package recorder

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"fawn/agent"
	"fawn/agent/runs/eventlog"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// Base is a recorder's position in its thread: the loaded state as rows.
type Base struct {
	Messages []*agent.Message // as of the last step, aligned with Rows
	Rows     []int64
	MaxRow   int64
	Versions map[string]int64 // greatest ever used
	Card     store.Card
	Head     string // parent of the next checkpoint
	Newest   string // greatest checkpoint id of the thread
	Next     int64  // number of the next event at that time; 0 if it must be queried
	Number   int    // step number of the last checkpoint
	Meta     json.RawMessage
	Source   string // source of the next checkpoint; "" is loop
	Shown    string // title of the thread in lists
	Keeps    bool   // steps replace no other title than Shown: a person may name the thread meanwhile
}

// Step implements agent.Sink: one batch with the new rows, the card, the folded deltas and
// the step's event. The last step of a run without tools may wait for the end, see [Recorder.hold].
func (r *Recorder) Step(ctx context.Context, s agent.Step) error {
	if err := r.Settle(ctx); err != nil {
		return err
	}
	if held, err := r.hold(s); held || err != nil {
		return err
	}
	step, err := r.open(ctx, s)
	if err != nil {
		return err
	}
	defer r.mu.Unlock()
	return r.store(ctx, step)
}

// openStep is a step to be stored.
type openStep struct {
	batch  store.Batch
	before mark
	plan   []agent.Todo
	passes bool // it isn't the last one
}

// open creates the batch of a step. Unless it fails, it leaves mu locked, so that nothing comes between it and
// [Recorder.store].
func (r *Recorder) open(ctx context.Context, s agent.Step) (step *openStep, err error) {
	version := int64(0)
	if r.files != nil {
		if version, err = r.tree(context.WithoutCancel(ctx), s.Node); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	defer func() {
		if step == nil {
			r.mu.Unlock()
		}
	}()
	if err := r.left(); err != nil {
		return nil, err
	}
	before := r.mark()
	if r.files != nil {
		r.at.Card.Tree = version
	}
	if err := r.joinEdit(&s); err != nil {
		return nil, err
	}
	b, err := r.step(s)
	if err != nil {
		r.undo(before)
		return nil, err
	}
	return &openStep{batch: b, before: before, plan: s.State.Todos, passes: !s.Last && RunsNext(s.Next)}, nil
}

// store commits the result of open. mu is held.
func (r *Recorder) store(ctx context.Context, step *openStep) error {
	if err := r.commit(ctx, step.batch); err != nil {
		r.undo(step.before)
		return err
	}
	r.moveTo(*step.batch.Patch.Head)
	r.plan, r.edited = step.plan, nil
	r.closeStep()
	if r.passed != nil && step.passes {
		r.passed()
	}
	return nil
}

// moveTo moves to the checkpoint of the step after the last one. mu is held.
func (r *Recorder) moveTo(head string) {
	r.at.Head, r.at.Newest, r.at.Source = head, head, ""
	r.at.Number++
}

func (r *Recorder) step(s agent.Step) (b store.Batch, err error) {
	var row eventlog.StepRow
	row.StepData = runevent.StepData{Node: s.Node, Next: s.Next, Number: r.at.Number + 1, Last: s.Last}
	written, err := r.writeMessages(&b, &row, s)
	if err != nil {
		return b, err
	}
	if err := r.writeFields(&b, &row, s); err != nil {
		return b, err
	}
	cp := r.checkpoint(s)
	row.Checkpoint = cp.ID
	if r.one {
		if row.Saved, cp.Parent = &cp, r.from; r.at.Head != r.from {
			b.Delete = &store.Delete{Checkpoints: []string{r.at.Head}}
		}
	}
	data, err := agent.Encode(row)
	if err != nil {
		return b, err
	}
	stored := data
	from, first := r.seq+1, r.seq+1
	if r.frames.Len() > 0 { // one row holds the step and all that led to it
		first = r.opened
		stored = append(stored, r.foldStep(written, s.Patch.Messages)...)
	}
	r.seq += int64(len(row.Whole)) + runevent.StepFrames
	b.Events = append(b.Events, store.Event{Thread: r.thread, Seq: first, To: r.seq, Run: r.run, Kind: eventlog.RowStep,
		Data: stored})
	shown := row.StepData
	r.log.Add(&runevent.Event{Seq: from, To: r.seq, Kind: runevent.KindStep, Step: &shown})

	b.Checkpoints = []store.Checkpoint{cp}
	b.Patch = &store.ThreadPatch{Head: &row.Checkpoint, Title: s.Patch.Title, StateTouch: true}
	if s.Patch.Title != nil && r.at.Keeps {
		was := r.at.Shown
		b.Patch.TitleWas, r.at.Shown = &was, *s.Patch.Title
	}
	return b, nil
}

// checkpoint returns the card of a step, after the last one.
func (r *Recorder) checkpoint(s agent.Step) store.Checkpoint {
	return store.Checkpoint{ID: CheckpointID(r.at.Newest), Parent: r.at.Head, Thread: r.thread, Run: r.run,
		Step: r.at.Number + 1, Source: cmp.Or(r.at.Source, "loop"), Next: s.Next, Meta: r.at.Meta, Card: r.at.Card,
		At: r.db.Now()}
}

// writeMessages assigns each message of the patch a row and updates the card. The usual case, appended messages,
// doesn't depend on the length of the thread.
func (r *Recorder) writeMessages(b *store.Batch, row *eventlog.StepRow, s agent.Step) (map[string]int64, error) {
	written := make(map[string]int64, len(s.Patch.Messages))
	byValue := make(map[*agent.Message]int64, len(s.Patch.Messages))
	removed := false
	for _, m := range s.Patch.Messages {
		body, err := agent.Encode(m)
		if err != nil {
			return nil, fmt.Errorf("encode message %s: %w", m.ID, err)
		}
		row.Messages = append(row.Messages, body)
		if m.Type == agent.TypeRemove {
			removed = true
			row.Rows, row.Removed = append(row.Rows, 0), append(row.Removed, m.ID)
			row.StepData.Whole = append(row.StepData.Whole, false)
			continue
		}
		r.at.MaxRow++
		written[m.ID], byValue[m] = r.at.MaxRow, r.at.MaxRow
		b.Messages = append(b.Messages, store.MessageRow{N: r.at.MaxRow, ID: m.ID, Body: body})
		whole := m.Type != agent.TypeHuman && m.Type != agent.TypeSystem && !r.streamed[m.ID] &&
			s.Node != agent.NodeInput
		if whole {
			row.Whole = append(row.Whole, len(row.Rows))
		}
		row.StepData.Whole = append(row.StepData.Whole, whole)
		row.Rows = append(row.Rows, r.at.MaxRow)
		r.usage.Count(m, s.Node)
	}
	now := s.State.Messages
	if !removed && len(now) == len(r.at.Rows)+len(s.Patch.Messages) {
		for _, m := range now[len(r.at.Rows):] {
			r.at.Rows = append(r.at.Rows, byValue[m])
			r.at.Card.Messages = extend(r.at.Card.Messages, byValue[m])
		}
	} else {
		for i, m := range r.at.Messages {
			if _, ok := byValue[m]; !ok {
				byValue[m] = r.at.Rows[i]
			}
		}
		r.at.Rows, r.at.Card.Messages = make([]int64, 0, len(now)), nil
		for _, m := range now {
			r.at.Rows = append(r.at.Rows, byValue[m])
			r.at.Card.Messages = extend(r.at.Card.Messages, byValue[m])
		}
	}
	r.at.Card.Messages = slices.Clip(r.at.Card.Messages)
	r.at.Messages = slices.Clip(now)
	return written, nil
}

// extend appends row n to the ranges without modifying arrays of older cards.
func extend(ranges []store.Range, n int64) []store.Range {
	if k := len(ranges); k > 0 && ranges[k-1].To == n-1 {
		out := slices.Clone(ranges)
		out[k-1].To = n
		return out
	}
	return append(slices.Clip(ranges), store.Range{From: n, To: n})
}

// writeFields stores the value of each field the patch wrote.
func (r *Recorder) writeFields(b *store.Batch, row *eventlog.StepRow, s agent.Step) error {
	cloned := false
	for _, f := range agent.Fields {
		if !f.Set(&s.Patch) {
			continue
		}
		body, err := f.Encode(s.State)
		if err != nil {
			return fmt.Errorf("encode field %s: %w", f.Name, err)
		}
		if !cloned { // the previous checkpoint holds the map
			fields := make(map[string]int64, len(r.at.Card.Fields)+1)
			for k, v := range r.at.Card.Fields {
				fields[k] = v
			}
			r.at.Card.Fields, cloned = fields, true
		}
		r.at.Versions[f.Name]++
		r.at.Card.Fields[f.Name] = r.at.Versions[f.Name]
		b.Fields = append(b.Fields, store.FieldRow{Name: f.Name, Version: r.at.Versions[f.Name], Body: body})
		if f.Hidden {
			continue
		}
		patch, err := f.Encode(&s.Patch)
		if err != nil {
			return fmt.Errorf("encode field %s: %w", f.Name, err)
		}
		if row.Fields == nil {
			row.Fields = map[string]json.RawMessage{}
		}
		row.Fields[f.Name] = patch
		if string(patch) == string(body) {
			if row.Version == nil {
				row.Version = map[string]int64{}
			}
			row.Version[f.Name] = r.at.Versions[f.Name]
			continue
		}
		if row.Patch == nil {
			row.Patch = map[string]json.RawMessage{}
		}
		row.Patch[f.Name] = patch
	}
	return nil
}

// CheckpointID returns a time-ordered id (UUIDv6), greater than the newest one of the thread even when the clock was
// set back.
func CheckpointID(newest string) string {
	if id, err := uuid.NewV6(); err == nil && id.String() > newest {
		return id.String()
	}
	id, err := uuid.Parse(newest)
	if err != nil { // a foreign id: stay after it
		return newest + "0"
	}
	for i := len(id) - 1; i >= 0; i-- {
		if id[i]++; id[i] != 0 {
			break
		}
	}
	return id.String()
}
