package store

import "sync"

// maxRecent bounds the message rows kept in memory, in bytes of their bodies.
const (
	maxRecent = 8 << 20
	perRow    = 128 // for what a row takes besides its body
)

// rows keeps the message rows of the threads read last: the checkpoints of a thread have
// nearly all their messages in common, so that a reader of the newest one needs few rows
// from the file. Stored rows never change; a commit that deletes some ends the age of all.
type rows struct {
	mu      sync.Mutex
	age     uint64
	threads map[string]*recent
	clock   uint64 // counts uses
	bytes   int
}

// recent are rows of one thread. A nil one has none.
type recent struct {
	mu    sync.Mutex
	rows  map[int64]MessageRow
	used  uint64 // guarded by rows.mu, like bytes
	bytes int
}

// of returns the rows of a thread that are good at this age; nil when the age is none.
func (c *rows) of(thread string, age uint64) *recent {
	if age%2 == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.age != age {
		if c.age > age {
			return nil
		}
		c.age, c.threads, c.bytes = age, map[string]*recent{}, 0
	}
	r := c.threads[thread]
	if r != nil {
		c.clock++
		r.used = c.clock
	}
	return r
}

// keep remembers rows that were read at this age. Those that would not leave room for other
// threads are not kept.
func (c *rows) keep(thread string, age uint64, fresh []MessageRow) {
	if age%2 == 0 || len(fresh) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.age != age {
		return
	}
	r := c.threads[thread]
	if r == nil {
		c.clock++
		r = &recent{rows: map[int64]MessageRow{}, used: c.clock}
		c.threads[thread] = r
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
		delete(c.threads, thread)
	}
	for c.bytes > maxRecent {
		c.dropOldest()
	}
}

// Rest drops what only makes the next reads quicker. Call it when the server has no work.
func (db *DB) Rest() {
	db.rows.mu.Lock()
	defer db.rows.mu.Unlock()
	db.rows.threads, db.rows.bytes = map[string]*recent{}, 0
}

// dropOldest forgets the thread whose last use is longest ago. Called with mu held.
func (c *rows) dropOldest() {
	oldest, least := "", ^uint64(0)
	for id, r := range c.threads {
		if r.used < least {
			oldest, least = id, r.used
		}
	}
	c.bytes -= c.threads[oldest].bytes
	delete(c.threads, oldest)
}

// take appends the rows from on to all until one is missing, and returns the longest range
// of missing ones from there; an empty range when nothing is missing up to to.
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
