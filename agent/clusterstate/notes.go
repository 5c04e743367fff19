package clusterstate

import (
	"context"
	"time"

	"fawn/store"
)

// Note is what one server leaves for whichever of them has use for it.
type Note = store.Note

// Notes is where servers leave them: [Rows], or [Alone].
type Notes interface {
	// Swap takes notes away and leaves others, all of that or, with ErrChanged, nothing.
	Swap(ctx context.Context, take []string, leave ...Note) error
	// Notes are those whose names begin with prefix, in the order of names.
	Notes(ctx context.Context, prefix string) ([]Note, error)
	// HearNotes calls f when notes may have been left or taken. It must return at once.
	HearNotes(f func()) (stop func())
	// Now is the time by the clock of all servers, by which notes count.
	Now() time.Time
	// Self is the number of this server, and Servers are those of all that have the database at this moment.
	Self() int64
	Servers(ctx context.Context) ([]int64, error)
}

// NotesIn are those in rows; without any, those of a server that is alone.
func NotesIn(rows *Rows) Notes {
	if rows == nil {
		return &Alone{}
	}
	return rows
}

// Swap takes notes away and leaves others, all of that or, with ErrChanged, nothing. What is left is sealed if there is
// a key, and has no bound but its sender's.
func (r *Rows) Swap(ctx context.Context, take []string, leave ...Note) error {
	sealed := make([]Note, len(leave))
	for i, n := range leave {
		n.Body = r.keys.seal("note/"+n.Name, n.Body)
		sealed[i] = n
	}
	return r.db.SwapNotes(ctx, take, sealed...)
}

// Notes are those whose names begin with prefix, without any that cannot be opened.
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

// HearNotes calls f when notes may have been left or taken. It must return at once.
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
