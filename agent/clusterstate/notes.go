package clusterstate

import (
	"context"
	"time"

	"fawn/store"
)

// Note is a message left by one server for any other.
type Note = store.Note

// Notes is the storage of notes: [Rows], or [Alone].
type Notes interface {
	// Swap removes notes and adds others atomically, or returns ErrChanged.
	Swap(ctx context.Context, take []string, leave ...Note) error
	// Notes returns the notes with a name prefix, sorted by name.
	Notes(ctx context.Context, prefix string) ([]Note, error)
	// HearNotes registers f for possible changes of notes. f must return at once.
	HearNotes(f func()) (stop func())
	// Now returns the time by the servers' common clock, by which notes expire.
	Now() time.Time
	// Self is the number of this server; Servers returns the numbers of all running servers of the database.
	Self() int64
	Servers(ctx context.Context) ([]int64, error)
}

// NotesIn returns the notes in rows, or those of a single server if rows is nil.
func NotesIn(rows *Rows) Notes {
	if rows == nil {
		return &Alone{}
	}
	return rows
}

// Swap removes notes and adds others atomically, or returns ErrChanged. New notes are sealed if there is a key; their
// size isn't limited here.
func (r *Rows) Swap(ctx context.Context, take []string, leave ...Note) error {
	sealed := make([]Note, len(leave))
	for i, n := range leave {
		n.Body = r.keys.seal("note/"+n.Name, n.Body)
		sealed[i] = n
	}
	return r.db.SwapNotes(ctx, take, sealed...)
}

// Notes returns the notes with a name prefix, except those that can't be decrypted.
func (r *Rows) Notes(ctx context.Context, prefix string) ([]Note, error) {
	list, err := r.db.Notes(ctx, prefix)
	out := list[:0]
	for _, n := range list {
		body, openErr := r.keys.open("note/"+n.Name, n.Body)
		if openErr != nil {
			r.log.Error("another server's note is unreadable", "problem", openErr)
			continue
		}
		n.Body = body
		out = append(out, n)
	}
	return out, err
}

// HearNotes registers f for possible changes of notes. f must return at once.
func (r *Rows) HearNotes(f func()) (stop func()) {
	return r.db.Hear(store.WakeNote, 0, func(store.Wake) { f() })
}

// Now implements [Notes].
func (r *Rows) Now() time.Time { return r.db.Now() }

// Self implements [Notes].
func (r *Rows) Self() int64 {
	n, _ := r.db.Node()
	return n.ID
}

// Servers implements [Notes].
func (r *Rows) Servers(ctx context.Context) ([]int64, error) { return r.db.Servers(ctx) }
