package store

import "sync"

// maxRecent limits the message rows kept in memory, in bytes of their bodies.
const (
	maxRecent = 8 << 20
	perRow    = 128 // overhead of a row besides its body
)

// rows caches the message rows of recently read threads: the checkpoints of a thread share nearly all
// messages, so that a reader of the newest one needs few rows from the file. A row with its number is
// immutable within an incarnation of a thread.
type rows struct {
	mu      sync.Mutex
	threads map[threadKey]*recent
	clock   uint64 // counts uses
	bytes   int
}

// threadKey names an incarnation of a thread.
type threadKey struct {
	id          string
	incarnation int64
}

// recent are rows of one thread. A nil one has none.
type recent struct {
	mu    sync.Mutex
	rows  map[int64]MessageRow
	used  uint64 // guarded by rows.mu, like bytes
	bytes int
}

// of returns the rows of an incarnation of a thread, nil for none.
func (c *rows) of(thread string, incarnation int64) *recent {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.threads[threadKey{thread, incarnation}]
	if r != nil {
		c.clock++
		r.used = c.clock
	}
	return r
}

// keep caches rows of an incarnation of a thread, 0 for none. Rows that would leave no room for other threads aren't
// cached.
func (c *rows) keep(thread string, incarnation int64, fresh []MessageRow) {
	if incarnation == 0 || len(fresh) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.threads == nil {
		c.threads = map[threadKey]*recent{}
	}
	key := threadKey{thread, incarnation}
	r := c.threads[key]
	if r == nil {
		c.clock++
		r = &recent{rows: map[int64]MessageRow{}, used: c.clock}
		c.threads[key] = r
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range fresh {
		n := len(m.Body) + perRow
		if _, ok := r.rows[m.N]; ok || r.bytes+n > maxRecent/2 {
			continue
		}
		r.rows[m.N] = m
		r.bytes, c.bytes = r.bytes+n, c.bytes+n
	}
	if r.bytes == 0 {
		delete(c.threads, key)
	}
	for c.bytes > maxRecent {
		c.dropOldest()
	}
}

// Rest drops caches. Call it when the server has no work.
func (db *DB) Rest() {
	db.rows.mu.Lock()
	defer db.rows.mu.Unlock()
	db.rows.threads, db.rows.bytes = nil, 0
}

// dropOldest forgets the least recently used thread. Called with mu held.
func (c *rows) dropOldest() {
	oldest, least := threadKey{}, ^uint64(0)
	for key, r := range c.threads {
		if r.used < least {
			oldest, least = key, r.used
		}
	}
	c.bytes -= c.threads[oldest].bytes
	delete(c.threads, oldest)
}

// take appends the rows from "from" to all until one is missing, and returns the longest range of missing ones from
// there; an empty range when nothing is missing up to to.
func (r *recent) take(all []MessageRow, from, to int64) ([]MessageRow, Range) {
	if r == nil {
		return all, Range{from, to}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for ; from <= to; from++ {
		m, ok := r.rows[from]
		if !ok {
			break
		}
		all = append(all, m)
	}
	if from > to {
		return all, Range{from, to}
	}
	gap := Range{from, from}
	for gap.To < to {
		if _, ok := r.rows[gap.To+1]; ok {
			break
		}
		gap.To++
	}
	return all, gap
}
