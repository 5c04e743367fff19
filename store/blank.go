package store

import (
	"context"
	"sync"
)

// blanks remembers which spaces of an owner have no values: most are for rarely used switches, and each run reads some
// of them. It is for a database file, which has no other writers.
type blanks struct {
	mu    sync.Mutex
	gen   uint64
	known map[spaceKey]bool // whether the space is empty
}

type spaceKey struct{ owner, space string }

// maxBlanks limits the remembered spaces.
const maxBlanks = 4096

// empty reports whether a space is known to have no values, and returns the generation for keep.
func (b *blanks) empty(owner, space string) (empty, known bool, gen uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	empty, known = b.known[spaceKey{owner, space}]
	return empty, known, b.gen
}

// keep remembers the result of a query that began at gen, unless something was written since.
func (b *blanks) keep(owner, space string, empty bool, gen uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if gen != b.gen {
		return
	}
	if b.known == nil || len(b.known) >= maxBlanks {
		b.known = map[spaceKey]bool{}
	}
	b.known[spaceKey{owner, space}] = empty
}

// written forgets spaces in which a commit changed values. It is called before the commit is announced.
func (b *blanks) written(list []KV) {
	if len(list) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gen++
	for _, kv := range list {
		delete(b.known, spaceKey{kv.Owner, kv.Space})
	}
}

// lookBlank finds out whether a space has no values, after one was not found in it.
func (db *DB) lookBlank(ctx context.Context, owner, space string, gen uint64) {
	filled := false
	err := db.queryRow(db.brief(ctx), `SELECT EXISTS (SELECT 1 FROM kv WHERE owner = ? AND space = ?)`,
		[]any{owner, space}, &filled)
	if err == nil { // otherwise it is checked again
		db.w.blank.keep(owner, space, !filled, gen)
	}
}
