package resume

import (
	"context"
	"encoding/json"
	"slices"

	"fawn/store"
)

// Files resets the files of a thread to a version, dropping a run's changes.
type Files interface {
	Undo(ctx context.Context, thread, run string, version int64) error
}

// Undo returns the batch that reverts a run, with its events up to last. If files isn't nil, the files are reset first,
// which is repeated after an interruption.
func Undo(ctx context.Context, db *store.DB, files Files, run store.Run, last int64) (b store.Batch, err error) {
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
	var base, before, first store.Checkpoint
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
		first = c
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
	if v := treeBefore(before, first); v != 0 && files != nil {
		if err := files.Undo(ctx, run.ThreadID, run.ID, v); err != nil {
			return b, err
		}
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

// treeBefore returns the files' version before a run whose first checkpoint follows another; 0 is unknown. A run from
// the current state begins with the current files, including people's changes.
func treeBefore(before, first store.Checkpoint) int64 {
	switch {
	case first.ID == "": // no tool has worked
		return 0
	case before.ID == "":
		return store.NoTree
	case first.Parent == before.ID && first.Step == before.Step+1 && first.Card.Tree != 0:
		return first.Card.Tree
	}
	return before.Card.Tree
}

// titleAt returns the title in the state at a checkpoint.
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
