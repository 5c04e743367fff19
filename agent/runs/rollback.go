package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"fawn/agent/runs/past"
	"fawn/agent/runs/recorder"
	"fawn/agent/runs/runevent"
	"fawn/store"
)

// Rollback ends a run and takes back everything it has stored, as if it had never been:
// the thread stands where it stood before. Files it wrote stay. With wait it returns once
// that is done. A run that has ended gives ErrNotCancelable, an unknown one ErrNotFound.
func (m *Manager) Rollback(ctx context.Context, thread, run string, wait bool) error {
	e, drop := m.endLive(thread, run, true)
	if e == nil {
		r, err := m.db.Run(ctx, run)
		switch {
		case errors.Is(err, store.ErrNotFound) || err == nil && thread != "" && r.ThreadID != thread:
			return fmt.Errorf("run %s: %w", run, ErrNotFound)
		case err != nil:
			return err
		case !Done(r.Status) && !m.has(run):
			return m.endElsewhere(ctx, r, store.WishRollback, wait)
		}
		return fmt.Errorf("%w: run %s has status %s", ErrNotCancelable, run, r.Status)
	}
	return m.await(ctx, e, drop, wait, store.WishRollback)
}

// undo takes a live run back and lets its readers go.
func (m *Manager) undo(ctx context.Context, e *entry, rec *recorder.Recorder) (err error) {
	batch := func(first, last int64) (store.Batch, error) {
		run := e.run
		run.FirstSeq = first
		return m.undoing(ctx, run, last)
	}
	if rec != nil {
		err = rec.TakeBack(ctx, runevent.End{Status: Interrupted}, batch)
	} else if b, failed := batch(e.run.FirstSeq, 0); failed != nil {
		err = failed
	} else if failed := m.db.Commit(ctx, b); failed != nil {
		err = fmt.Errorf("%w: roll back run %s: %w", ErrStorage, e.run.ID, failed)
	}
	if err != nil {
		return err
	}
	e.log.Abandon()
	return nil
}

// undoing is the batch that takes a run back, with its events up to last.
func (m *Manager) undoing(ctx context.Context, run store.Run, last int64) (b store.Batch, err error) {
	p, err := past.Read(ctx, m.db, run)
	if err != nil {
		return b, err
	}
	children, err := m.db.ChildRuns(ctx, run.ID)
	if err != nil {
		return b, err
	}
	d := &store.Delete{Runs: append(children, run.ID), MessagesFrom: p.Row}
	if run.FirstSeq > 0 {
		d.EventsFrom, d.EventsTo = run.FirstSeq, last
	}
	var base, before store.Checkpoint
	if run.BaseCheckpoint != "" {
		if base, err = m.db.Checkpoint(ctx, run.ThreadID, "", run.BaseCheckpoint); err != nil {
			return b, err
		}
	}
	_, err = m.db.Checkpoints(ctx, run.ThreadID, "", "", 1, func(c store.Checkpoint) bool {
		if c.Run != run.ID { // the newest one is the head
			before = c
			return true
		}
		d.Checkpoints = append(d.Checkpoints, c.ID)
		for name, v := range c.Card.Fields {
			f := store.FieldRow{Name: name, Version: v}
			if base.Card.Fields[name] != v &&
				!slices.ContainsFunc(d.Fields, func(o store.FieldRow) bool {
					return o.Name == name && o.Version == v
				}) {
				d.Fields = append(d.Fields, f)
			}
		}
		return false
	})
	if err != nil {
		return b, err
	}
	title, err := m.titleAt(ctx, before)
	if err != nil {
		return b, err
	}
	rest := Idle
	if len(before.Next) > 0 {
		rest = ThreadInterrupted
	}
	b = store.Batch{ThreadID: run.ThreadID, Delete: d, Patch: &store.ThreadPatch{Touch: true},
		Line: &store.Line{Rest: rest}}
	if len(d.Checkpoints) > 0 {
		b.Patch.Head, b.Patch.Title, b.Patch.StateTouch = &before.ID, &title, true
	}
	return b, nil
}

// titleAt is the title in the state at a checkpoint.
func (m *Manager) titleAt(ctx context.Context, c store.Checkpoint) (string, error) {
	v, ok := c.Card.Fields["title"]
	if !ok {
		return "", nil
	}
	body, err := m.db.Field(ctx, c.Thread, "title", v)
	if err != nil {
		return "", err
	}
	var title string
	return title, json.Unmarshal(body, &title)
}

// rollBack takes back a run that a crash cut off.
func (m *Manager) rollBack(ctx context.Context, run store.Run) error {
	last, err := m.db.LastSeq(ctx, run.ThreadID)
	if err != nil {
		return err
	}
	b, err := m.undoing(ctx, run, last)
	if err != nil {
		return err
	}
	return m.db.Commit(ctx, b)
}
