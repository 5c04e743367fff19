package store

import (
	"context"
	"sync"
)

// blanks remembers which spaces of an owner have no values: most are for switches that hardly anybody uses, and each
// run asks for some of them. It is for a file, to which nobody else writes.
type blanks struct {
	mu    sync.Mutex
	gen   uint64
	known map[spaceKey]bool // whether the space is empty
}

type spaceKey struct{ owner, space string }

// maxBlanks bounds what is remembered.
const maxBlanks = 4096

// empty tells whether a space is known to have no values, and what to pass to keep.
func (b *blanks) empty(owner, space string) (empty, known bool, gen uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	empty, known = b.known[spaceKey{owner, space}]
	return empty, known, b.gen
}

// keep remembers what a query found that began at gen, unless something was written since.
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

// written forgets what is known of spaces in which a commit changed values. It comes before anybody hears of the commit.
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
	if err == nil { // else it is looked for again
		db.w.blank.keep(owner, space, !filled, gen)
	}
}
