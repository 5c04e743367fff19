package middleware

import (
	"runtime"
	"sync"
	"weak"

	"fawn/agent"
)

// maxMemo is the longest message, in bytes of text, of which the marked copy is kept.
const maxMemo = 16 << 10

// markedCopies caches the marked copy of each message in memory, which saves repeating the work for every request and
// lets later stages identify copies by address. A copy lives as long as its message.
type markedCopies struct {
	mu sync.Mutex
	of map[weak.Pointer[agent.Message]]*agent.Message
}

// copyOf returns a message's cached copy, creating it with mk.
func (c *markedCopies) copyOf(m *agent.Message, mk func() *agent.Message) *agent.Message {
	if m.Content.Blocks != nil || len(m.Content.Text) > maxMemo {
		return mk()
	}
	at := weak.Make(m)
	c.mu.Lock()
	defer c.mu.Unlock()
	if made := c.of[at]; made != nil {
		return made
	}
	made := mk()
	if c.of == nil {
		c.of = map[weak.Pointer[agent.Message]]*agent.Message{}
	}
	c.of[at] = made
	runtime.AddCleanup(m, c.forget, at)
	return made
}

func (c *markedCopies) forget(at weak.Pointer[agent.Message]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.of, at)
}

// len returns the number of copies.
func (c *markedCopies) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.of)
}
