package runs

import (
	"sync"

	"fawn/agent"
	"fawn/store"
)

// maxDecoded bounds the messages kept decoded, in bytes of their stored form; decoded
// they take about four times that.
const (
	maxDecoded = 8 << 20
	perMessage = 256 // for what a message takes besides its body
)

// decoded keeps the messages of the threads used last, so that a turn of a long thread
// parses only what is new. Stored messages never change, nor do decoded ones that belong
// to a state, and the number of one means the same message in all snapshots of an
// incarnation of its thread: see store.Snapshot.
type decoded struct {
	mu      sync.Mutex
	threads map[string]*decodedThread
	clock   uint64 // counts uses
	bytes   int
}

type decodedThread struct {
	incarnation int64
	used        uint64
	bytes       int
	messages    map[int64]kept // by row number; a new map for each load, never changed
}

// kept is one message and the bytes it counts for.
type kept struct {
	message *agent.Message
	bytes   int
}

// of returns the messages of an incarnation of a thread by row number, nil when none are known.
func (d *decoded) of(thread string, incarnation int64) map[int64]kept {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.threads[thread]
	if t == nil {
		return nil
	}
	if t.incarnation != incarnation {
		d.drop(thread)
		return nil
	}
	d.clock++
	t.used = d.clock
	return t.messages
}

// keep remembers the messages of a thread as they were just loaded.
func (d *decoded) keep(thread string, incarnation int64, known map[int64]kept, rows []store.MessageRow,
	messages []*agent.Message) {
	if incarnation == 0 {
		return
	}
	t := &decodedThread{incarnation: incarnation, messages: make(map[int64]kept, len(rows))}
	for i, row := range rows {
		k, ok := known[row.N]
		if !ok {
			k = kept{messages[i], len(row.Body) + perMessage}
		}
		t.messages[row.N] = k
		t.bytes += k.bytes
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop(thread)
	if t.bytes > maxDecoded {
		return
	}
	if d.threads == nil {
		d.threads = map[string]*decodedThread{}
	}
	d.clock++
	t.used = d.clock
	d.threads[thread], d.bytes = t, d.bytes+t.bytes
	for d.bytes > maxDecoded {
		d.drop(d.oldest())
	}
}

// Rest lets go of what only makes the next turns quicker: for a server without work. The
// first turn of a thread afterwards parses its messages again.
func (m *Manager) Rest() {
	m.decoded.mu.Lock()
	defer m.decoded.mu.Unlock()
	m.decoded.threads, m.decoded.bytes = nil, 0
}

// drop forgets a thread. Called with mu held.
func (d *decoded) drop(thread string) {
	if t := d.threads[thread]; t != nil {
		d.bytes -= t.bytes
		delete(d.threads, thread)
	}
}

// oldest returns the thread whose last use is longest ago. Called with mu held.
func (d *decoded) oldest() (thread string) {
	least := ^uint64(0)
	for id, t := range d.threads {
		if t.used < least {
			thread, least = id, t.used
		}
	}
	return thread
}
