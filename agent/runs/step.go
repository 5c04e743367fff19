package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"fawn/agent"
	"fawn/agent/runs/eventlog"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// base is where a recorder stands in its thread: the loaded state as rows.
type base struct {
	msgs     []*agent.Message // as of the last step, aligned with rows
	rows     []int64
	maxRow   int64
	versions map[string]int64 // greatest ever used
	card     store.Card
	head     string // parent of the next checkpoint
	newest   string // greatest checkpoint id of the thread
	number   int    // step number of the last checkpoint
	meta     json.RawMessage
	source   string // of the next checkpoint; "" is loop
}

// Step implements agent.Sink: one batch with the new rows, the card, the folded deltas and
// the step's event.
func (r *recorder) Step(ctx context.Context, s agent.Step) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.left(); err != nil {
		return err
	}
	before := r.mark()
	if err := r.joinEdit(&s); err != nil {
		return err
	}
	if err := r.step(ctx, s); err != nil {
		r.undo(before)
		return err
	}
	r.plan, r.edited = s.State.Todos, nil
	r.closeStep()
	return nil
}

func (r *recorder) step(ctx context.Context, s agent.Step) error {
	var b store.Batch
	row := eventlog.StepRow{StepData: runevent.StepData{Node: s.Node, Next: s.Next, Number: r.number + 1, Last: s.Last}}
	written, err := r.writeMessages(&b, &row, s)
	if err != nil {
		return err
	}
	if err := r.writeFields(&b, &row, s); err != nil {
		return err
	}
	cp := r.checkpoint(s)
	row.Checkpoint = cp.ID
	if r.one {
		if row.Saved, cp.Parent = &cp, r.from; r.head != r.from {
			b.Delete = &store.Delete{Checkpoints: []string{r.head}}
		}
	}
	data, err := agent.Encode(row)
	if err != nil {
		return err
	}
	stored := data
	from, first := r.seq+1, r.seq+1
	if len(r.ends) > 0 { // one row holds the step and all that led to it
		first = r.opened
		stored = append(stored, r.foldStep(written, s.Patch.Messages)...)
	}
	r.seq += int64(len(row.Whole)) + runevent.StepFrames
	b.Events = append(b.Events, store.Event{Thread: r.thread, Seq: first, To: r.seq, Run: r.run, Kind: eventlog.RowStep,
		Data: stored})
	shown := row.StepData
	r.log.Add(runevent.Event{Seq: from, To: r.seq, Kind: runevent.KindStep, Step: &shown})

	b.Checkpoints = []store.Checkpoint{cp}
	b.Patch = &store.ThreadPatch{Head: &row.Checkpoint, Title: s.Patch.Title, StateTouch: true}
	if err := r.commit(ctx, b); err != nil {
		return err
	}
	r.head, r.newest, r.number, r.source = row.Checkpoint, row.Checkpoint, row.Number, ""
	return nil
}

// checkpoint is what a step leaves, behind the last one.
func (r *recorder) checkpoint(s agent.Step) store.Checkpoint {
	return store.Checkpoint{ID: checkpointID(r.newest), Parent: r.head, Thread: r.thread, Run: r.run,
		Step: r.number + 1, Source: cmp.Or(r.source, "loop"), Next: s.Next, Meta: r.meta, Card: r.card, At: time.Now()}
}

// writeMessages gives each message of the patch a row and brings the card up to date. The
// usual case, messages appended, does not depend on the length of the thread.
func (r *recorder) writeMessages(b *store.Batch, row *eventlog.StepRow, s agent.Step) (map[string]int64, error) {
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
		r.maxRow++
		written[m.ID], byValue[m] = r.maxRow, r.maxRow
		b.Messages = append(b.Messages, store.MessageRow{N: r.maxRow, ID: m.ID, Body: body})
		whole := m.Type != agent.TypeHuman && m.Type != agent.TypeSystem && !r.streamed[m.ID] &&
			s.Node != agent.NodeInput
		if whole {
			row.Whole = append(row.Whole, len(row.Rows))
		}
		row.StepData.Whole = append(row.StepData.Whole, whole)
		row.Rows = append(row.Rows, r.maxRow)
		r.usage.count(m, s.Node)
	}
	now := s.State.Messages
	if !removed && len(now) == len(r.rows)+len(s.Patch.Messages) {
		for _, m := range now[len(r.rows):] {
			r.rows = append(r.rows, byValue[m])
			r.card.Messages = extend(r.card.Messages, byValue[m])
		}
	} else {
		for i, m := range r.msgs {
			if _, ok := byValue[m]; !ok {
				byValue[m] = r.rows[i]
			}
		}
		r.rows, r.card.Messages = make([]int64, 0, len(now)), nil
		for _, m := range now {
			r.rows = append(r.rows, byValue[m])
			r.card.Messages = extend(r.card.Messages, byValue[m])
		}
	}
	r.card.Messages = slices.Clip(r.card.Messages)
	r.msgs = slices.Clip(now)
	return written, nil
}

// extend adds row n behind the ranges, without touching arrays older cards hold.
func extend(ranges []store.Range, n int64) []store.Range {
	if k := len(ranges); k > 0 && ranges[k-1].To == n-1 {
		out := slices.Clone(ranges)
		out[k-1].To = n
		return out
	}
	return append(slices.Clip(ranges), store.Range{From: n, To: n})
}

// writeFields stores the value of each field the patch wrote.
func (r *recorder) writeFields(b *store.Batch, row *eventlog.StepRow, s agent.Step) error {
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
			fields := make(map[string]int64, len(r.card.Fields)+1)
			for k, v := range r.card.Fields {
				fields[k] = v
			}
			r.card.Fields, cloned = fields, true
		}
		r.versions[f.Name]++
		r.card.Fields[f.Name] = r.versions[f.Name]
		b.Fields = append(b.Fields, store.FieldRow{Name: f.Name, Version: r.versions[f.Name], Body: body})
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
			row.Version[f.Name] = r.versions[f.Name]
			continue
		}
		if row.Patch == nil {
			row.Patch = map[string]json.RawMessage{}
		}
		row.Patch[f.Name] = patch
	}
	return nil
}

// checkpointID is a time-ordered id (UUIDv6), greater than the newest one of the thread
// even when the clock was set back.
func checkpointID(newest string) string {
	if id, err := uuid.NewV6(); err == nil && id.String() > newest {
		return id.String()
	}
	id, err := uuid.Parse(newest)
	if err != nil { // a foreign id: stay behind it
		return newest + "0"
	}
	for i := len(id) - 1; i >= 0; i-- {
		if id[i]++; id[i] != 0 {
			break
		}
	}
	return id.String()
}
