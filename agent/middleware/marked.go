package middleware

import (
	"runtime"
	"sync"
	"weak"

	"fawn/agent"
)

// maxMemo is the longest message, in bytes of text, of which the marked copy is kept.
const maxMemo = 16 << 10

// markedCopies has the marked copy of each message that is in memory, so that a long thread's are not made again for
// every request, and later stages know them by their address. A copy goes with its message.
type markedCopies struct {
	mu sync.Mutex
	of map[weak.Pointer[agent.Message]]*agent.Message
}

// copyOf returns the copy that is kept for a message, or the one that mk returns.
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

// len returns how many copies there are.
func (c *markedCopies) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.of)
}
