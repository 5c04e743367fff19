package egress

import (
	"context"
	"slices"
	"sync"
	"time"
)

// memoryDecisions bounds how many decisions [Memory] holds.
const memoryDecisions = 4096

// Memory keeps decisions of one owner until the process ends, the oldest
// dropping out beyond 4,096. The zero value is ready for use.
type Memory struct {
	// Now is the clock, time.Now when nil. It is set before use.
	Now func() time.Time

	mu  sync.Mutex
	all []Decision // oldest first
}

// Lookup implements [Decisions].
func (m *Memory) Lookup(_ context.Context, thread, host string) (Answer, bool, error) {
	now := time.Now()
	if m.Now != nil {
		now = m.Now()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var about []Decision
	for _, d := range m.all {
		if d.Host == host {
			about = append(about, d)
		}
	}
	answer, ok := Decide(about, thread, now)
	return answer, ok, nil
}

// Remember implements [Decisions].
func (m *Memory) Remember(_ context.Context, d Decision) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = slices.DeleteFunc(m.all, func(o Decision) bool { return o.Thread == d.Thread && o.Host == d.Host })
	m.all = append(m.all, d)
	if len(m.all) > memoryDecisions {
		m.all = slices.Delete(m.all, 0, len(m.all)-memoryDecisions)
	}
	return nil
}
