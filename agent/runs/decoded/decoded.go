// Package decoded keeps stored messages of threads decoded between their runs.
package decoded

import (
	"fmt"
	"sync"

	"fawn/agent"
	"fawn/store"
)

// Most bounds the messages kept decoded, in bytes of their stored form; decoded
// they take about four times that.
const (
	Most       = 8 << 20
	perMessage = 256 // for what a message takes besides its body
)

// Cache keeps the messages of the threads used last, so that a turn of a long thread
// parses only what is new. Stored messages never change, nor do decoded ones that belong
// to a state, and the number of one means the same message in all snapshots of an
// incarnation of its thread: see store.Snapshot. The zero value is ready.
type Cache struct {
	mu      sync.Mutex
	threads map[string]*thread
	clock   uint64 // counts uses
	bytes   int
}

type thread struct {
	incarnation int64
	used        uint64
	bytes       int
	messages    map[int64]Kept // by row number; a new map for each load, never changed
}

// Kept is one message and the bytes it counts for.
type Kept struct {
	Message *agent.Message
	bytes   int
}

// Of returns the messages of an incarnation of a thread by row number, nil when none are known.
func (d *Cache) Of(id string, incarnation int64) map[int64]Kept {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.threads[id]
	if t == nil {
		return nil
	}
	if t.incarnation != incarnation {
		d.drop(id)
		return nil
	}
	d.clock++
	t.used = d.clock
	return t.messages
}

// Keep remembers the messages of a thread as they were just loaded.
func (d *Cache) Keep(id string, incarnation int64, known map[int64]Kept, rows []store.MessageRow,
	messages []*agent.Message) {
	if incarnation == 0 {
		return
	}
	t := &thread{incarnation: incarnation, messages: make(map[int64]Kept, len(rows))}
	for i, row := range rows {
		k, ok := known[row.N]
		if !ok {
			k = Kept{messages[i], len(row.Body) + perMessage}
		}
		t.messages[row.N] = k
		t.bytes += k.bytes
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop(id)
	if t.bytes > Most {
		return
	}
	if d.threads == nil {
		d.threads = map[string]*thread{}
	}
	d.clock++
	t.used = d.clock
	d.threads[id], d.bytes = t, d.bytes+t.bytes
	for d.bytes > Most {
		d.drop(d.oldest())
	}
}

// Clear lets go of all: the next turns parse their messages again.
func (d *Cache) Clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.threads, d.bytes = nil, 0
}

// Threads returns the ids of those it has messages of, and about how many bytes these take.
func (d *Cache) Threads() (ids []string, bytes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id := range d.threads {
		ids = append(ids, id)
	}
	return ids, d.bytes
}

// State turns a stored snapshot into a state. known has messages that need no decoding; it
// may be nil.
func State(s store.Snapshot, known map[int64]Kept) (agent.State, error) {
	st := agent.State{Messages: make([]*agent.Message, 0, len(s.Messages)+8)}
	for _, row := range s.Messages {
		m := known[row.N].Message
		if m == nil {
			var err error
			if m, err = agent.ParseMessage(row.Body); err != nil {
				return st, fmt.Errorf("decode stored message %d: %w", row.N, err)
			}
		}
		st.Messages = append(st.Messages, m)
	}
	for name, body := range s.Fields {
		f, ok := agent.FieldByName(name)
		if !ok { // a newer version wrote it
			continue
		}
		if err := f.Decode(&st, body); err != nil {
			return st, err
		}
	}
	return st, nil
}

// drop forgets a thread. Called with mu held.
func (d *Cache) drop(id string) {
	if t := d.threads[id]; t != nil {
		d.bytes -= t.bytes
		delete(d.threads, id)
	}
}

// oldest returns the thread whose last use is longest ago. Called with mu held.
func (d *Cache) oldest() (oldest string) {
	least := ^uint64(0)
	for id, t := range d.threads {
		if t.used < least {
			oldest, least = id, t.used
		}
	}
	return oldest
}
