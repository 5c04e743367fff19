package past

import (
	"context"
	"encoding/json"
	"slices"

	"fawn/store"
)

// Undo is the batch that takes a run back, with its events up to last.
func Undo(ctx context.Context, db *store.DB, run store.Run, last int64) (b store.Batch, err error) {
	p, err := Read(ctx, db, run)
	if err != nil {
		return b, err
	}
	children, err := db.ChildRuns(ctx, run.ID)
	if err != nil {
		return b, err
	}
	d := &store.Delete{Runs: append(children, run.ID), MessagesFrom: p.Row}
	if run.FirstSeq > 0 {
		d.EventsFrom, d.EventsTo = run.FirstSeq, last
	}
	var base, before store.Checkpoint
	if run.BaseCheckpoint != "" {
		if base, err = db.Checkpoint(ctx, run.ThreadID, "", run.BaseCheckpoint); err != nil {
			return b, err
		}
	}
	_, err = db.Checkpoints(ctx, run.ThreadID, "", "", 1, func(c store.Checkpoint) bool {
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
	title, err := titleAt(ctx, db, before)
	if err != nil {
		return b, err
	}
	rest := "idle"
	if len(before.Next) > 0 {
		rest = "interrupted"
	}
	b = store.Batch{ThreadID: run.ThreadID, Delete: d, Patch: &store.ThreadPatch{Touch: true},
		Line: &store.Line{Rest: rest}}
	if len(d.Checkpoints) > 0 {
		b.Patch.Head, b.Patch.Title, b.Patch.StateTouch = &before.ID, &title, true
	}
	return b, nil
}

// titleAt is the title in the state at a checkpoint.
func titleAt(ctx context.Context, db *store.DB, c store.Checkpoint) (string, error) {
	v, ok := c.Card.Fields["title"]
	if !ok {
		return "", nil
	}
	body, err := db.Field(ctx, c.Thread, "title", v)
	if err != nil {
		return "", err
	}
	var title string
	return title, json.Unmarshal(body, &title)
}
