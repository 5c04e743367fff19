package runs

import (
	"fmt"
	"sync"

	"fawn/agent"
	"fawn/store"
)

// maxDecoded limits the messages kept decoded, in bytes of their stored form; decoded they take about four times that.
const (
	maxDecoded = 8 << 20
	perMessage = 256 // overhead of a message besides its body
)

// messageCache caches decoded messages of recently used threads, so that a turn of a long thread parses only new ones.
// Stored messages are immutable, as are decoded ones in a state, and a message's number is permanent within an
// incarnation of its thread: see store.Snapshot. The zero value is ready.
type messageCache struct {
	mu      sync.Mutex
	threads map[string]*cachedThread
	clock   uint64 // counts uses
	bytes   int
}

type cachedThread struct {
	incarnation int64
	used        uint64
	bytes       int
	messages    map[int64]decodedMessage // by row number; each load creates a new map, which is never modified
}

// decodedMessage is one message with its size in the cache.
type decodedMessage struct {
	Message *agent.Message
	bytes   int
}

// Of returns the messages of an incarnation of a thread by row number, nil if none are known.
func (d *messageCache) Of(id string, incarnation int64) map[int64]decodedMessage {
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
func (d *messageCache) Keep(id string, incarnation int64, known map[int64]decodedMessage, rows []store.MessageRow,
	messages []*agent.Message) {
	if incarnation == 0 {
		return
	}
	t := &cachedThread{incarnation: incarnation, messages: make(map[int64]decodedMessage, len(rows))}
	for i, row := range rows {
		k, ok := known[row.N]
		if !ok {
			k = decodedMessage{messages[i], len(row.Body) + perMessage}
		}
		t.messages[row.N] = k
		t.bytes += k.bytes
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop(id)
	if t.bytes > maxDecoded {
		return
	}
	if d.threads == nil {
		d.threads = map[string]*cachedThread{}
	}
	d.clock++
	t.used = d.clock
	d.threads[id], d.bytes = t, d.bytes+t.bytes
	for d.bytes > maxDecoded {
		d.drop(d.oldest())
	}
}

// Clear empties the cache: later turns parse their messages again.
func (d *messageCache) Clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.threads, d.bytes = nil, 0
}

// Threads returns the ids of cached threads, and the cache's approximate size in bytes.
func (d *messageCache) Threads() (ids []string, bytes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id := range d.threads {
		ids = append(ids, id)
	}
	return ids, d.bytes
}

// decodeState decodes a stored snapshot. known has messages that need no decoding; it may be nil.
func decodeState(s store.Snapshot, known map[int64]decodedMessage) (agent.State, error) {
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
func (d *messageCache) drop(id string) {
	if t := d.threads[id]; t != nil {
		d.bytes -= t.bytes
		delete(d.threads, id)
	}
}

// oldest returns the least recently used thread. Called with mu held.
func (d *messageCache) oldest() (oldest string) {
	least := ^uint64(0)
	for id, t := range d.threads {
		if t.used < least {
			oldest, least = id, t.used
		}
	}
	return oldest
}
