package threads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/google/uuid"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/agent/runs/recorder"
	"fawn/agent/runs/request"
	"fawn/store"
)

// CopyFiles copies the files of thread from to the new thread to.
type CopyFiles func(ctx context.Context, from, to string) error

// ErrGone is returned when the checkpoints needed by a branch are no longer stored.
var ErrGone = errors.New("can no longer be branched")

// Copier creates threads from others. Files and Remove may be nil.
type Copier struct {
	DB    *store.DB
	Files CopyFiles // copies the files of another thread
	// FilesAt copies another thread's files in a version; nil without versions.
	FilesAt func(ctx context.Context, from string, version int64, to string) error
	Remove  func(thread string) error // deletes a thread's files
	Log     *slog.Logger
}

// Copy creates a new thread with all messages, fields and checkpoints of another, and its files if possible. Runs and
// their events aren't copied. Errors: ErrNotFound, ErrStorage.
func (c *Copier) Copy(ctx context.Context, thread string) (store.Thread, error) {
	t, err := c.source(ctx, thread)
	if err != nil {
		return t, err
	}
	status, err := runs.Resting(ctx, c.DB, thread)
	if err != nil {
		return t, err
	}
	id := uuid.Must(uuid.NewV7()).String()
	t.Status = status
	if t.Metadata, err = withMembers(t.Metadata, map[string]any{"thread_id": id}); err != nil {
		return t, err
	}
	return c.spawn(ctx, thread, id, t, store.Batch{CopyFrom: thread}, c.Files)
}

// Branched is a new thread that continues from a message of another.
type Branched struct {
	Thread     store.Thread
	Parent     string // the original thread
	Checkpoint string // checkpoint of the parent with the initial state
	Message    string // the last message it has
	Files      bool   // the parent's files were copied because they match this state
}

// Branch creates a new thread from the state in which one of some messages of a turn was the last. It gets the rows
// live there, one checkpoint, and the files only if nothing came after. title is its title; "" keeps the parent's.
// Errors: ErrNotFound for a message that isn't in the thread, ErrGone, ErrStorage.
func (c *Copier) Branch(ctx context.Context, thread string, messages []string, title string) (Branched, error) {
	b := Branched{Parent: thread}
	t, err := c.source(ctx, thread)
	if err != nil {
		return b, err
	}
	snap, latest, err := c.turnEnd(ctx, t, messages)
	if err != nil {
		return b, err
	}
	old := snap.Checkpoint
	copyFiles := c.Files
	if v := old.Card.Tree; c.FilesAt != nil && v != 0 && !latest {
		latest, copyFiles = true, func(ctx context.Context, from, to string) error {
			return c.FilesAt(ctx, from, v, to)
		}
	}
	b.Checkpoint, b.Message, b.Files = old.ID, snap.Messages[len(snap.Messages)-1].ID, latest
	if title != "" {
		if snap.Fields["title"], err = agent.Encode(title); err != nil {
			return b, err
		}
		t.Title = title
	}
	id := uuid.Must(uuid.NewV7()).String()
	rows := store.Batch{Messages: slices.Clone(snap.Messages)}
	card := store.Card{Fields: map[string]int64{}, Tree: old.Card.Tree}
	for i := range rows.Messages {
		rows.Messages[i].N = int64(i + 1)
	}
	if n := int64(len(rows.Messages)); n > 0 {
		card.Messages = []store.Range{{From: 1, To: n}}
	}
	for name, body := range snap.Fields {
		rows.Fields = append(rows.Fields, store.FieldRow{Name: name, Version: 1, Body: body})
		card.Fields[name] = 1
	}
	from := map[string]any{"parent_thread_id": thread, "parent_checkpoint_id": old.ID,
		"branched_from_message_id": b.Message}
	meta, err := agent.Encode(from)
	if err != nil {
		return b, err
	}
	cp := store.Checkpoint{ID: recorder.CheckpointID(""), Step: old.Step, Source: "fork", Next: old.Next, Meta: meta,
		Card: card, At: c.DB.Now()}
	rows.Checkpoints = []store.Checkpoint{cp}
	t.Head, t.Status = cp.ID, runs.Idle
	if len(cp.Next) > 0 {
		t.Status = runs.ThreadInterrupted
	}
	if t.Metadata, err = withMembers(t.Metadata, from); err != nil {
		return b, err
	}
	if !latest {
		copyFiles = nil
	}
	b.Thread, err = c.spawn(ctx, thread, id, t, rows, copyFiles)
	return b, err
}

func (c *Copier) source(ctx context.Context, thread string) (store.Thread, error) {
	t, err := c.DB.Thread(ctx, thread)
	if errors.Is(err, store.ErrNotFound) {
		err = fmt.Errorf("thread %s: %w", thread, runs.ErrNotFound)
	}
	return t, err
}

// turnEnd returns the newest state on the way to the thread's head whose last message is one of messages. latest
// reports whether no message follows it.
func (c *Copier) turnEnd(ctx context.Context, t store.Thread,
	messages []string) (snap store.Snapshot, latest bool, err error) {
	gone := fmt.Errorf("find message in thread %s: %w", t.ID, runs.ErrNotFound)
	if t.Head == "" {
		return snap, false, gone
	}
	head, err := c.DB.Snapshot(ctx, t.ID, t.Head)
	if err != nil {
		return snap, false, err
	}
	wanted := map[int64]bool{}
	for _, row := range head.Messages {
		if slices.Contains(messages, row.ID) {
			wanted[row.N] = true
		}
	}
	if len(wanted) == 0 {
		return snap, false, gone
	}
	last := head.Checkpoint.Card.Last()
	for cp := head.Checkpoint; ; {
		if n := cp.Card.Last(); wanted[n] {
			snap, err = c.DB.SnapshotOf(ctx, cp)
			return snap, n == last, err
		}
		if cp.Parent == "" {
			break
		}
		if cp, err = c.DB.Checkpoint(ctx, t.ID, "", cp.Parent); errors.Is(err, store.ErrNotFound) {
			break
		} else if err != nil {
			return snap, false, err
		}
	}
	return snap, false, fmt.Errorf("find message in thread %s: %w", t.ID, ErrGone)
}

// spawn stores a thread created from another one, its files first, so a visible thread has its files.
func (c *Copier) spawn(ctx context.Context, from, id string, t store.Thread, rows store.Batch,
	files CopyFiles) (store.Thread, error) {
	now := c.DB.Now()
	t.ID, t.CreatedAt, t.UpdatedAt, t.StateUpdatedAt = id, now, now, now
	if files != nil {
		if err := files(ctx, from, id); err != nil {
			if ctx.Err() != nil {
				return t, errors.Join(context.Cause(ctx), c.removeFiles(id))
			}
			c.Log.Warn("couldn't copy all files of a thread", "thread", from, "copy", id, "err", err)
		}
	}
	rows.Thread, rows.NewThread = &t, true
	if err := c.DB.Commit(context.WithoutCancel(ctx), rows); err != nil {
		return t, errors.Join(fmt.Errorf("%w: %w", runs.ErrStorage, err), c.removeFiles(id))
	}
	return t, nil
}

func (c *Copier) removeFiles(thread string) error {
	if c.Remove == nil {
		return nil
	}
	return c.Remove(thread)
}

// withMembers adds members to a metadata object. Pins and archive marks aren't copied; a copy of a temporary thread is
// temporary.
func withMembers(raw json.RawMessage, more map[string]any) (json.RawMessage, error) {
	meta := map[string]json.RawMessage{} // verbatim: large numbers keep their digits
	if err := json.Unmarshal(object(raw), &meta); err != nil {
		return nil, err
	}
	delete(meta, "deerflow_pinned")
	delete(meta, store.ArchivedKey)
	for k, v := range more {
		var err error
		if meta[k], err = agent.Encode(v); err != nil {
			return nil, err
		}
	}
	return agent.Encode(meta)
}

func object(raw json.RawMessage) json.RawMessage {
	if raw = request.Present(raw); raw == nil {
		return json.RawMessage("{}")
	}
	return raw
}
