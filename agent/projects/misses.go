package projects

import (
	"fmt"
	"sync"
	"time"
)

// Limits of sharing with unknown addresses, so that accounts can't be discovered by trying addresses.
const (
	maxMisses  = 20
	missTime   = time.Hour
	maxMissers = 10_000 // counted people; beyond it all counters restart
)

// TooMany means that a person has tried too many addresses.
type TooMany struct{ Wait time.Duration }

// Error reports how long to wait.
func (e *TooMany) Error() string {
	return fmt.Sprintf("too many addresses without an account; try again in %d minutes", int(e.Wait.Minutes())+1)
}

// Misses counts by person addresses that have no account.
type Misses struct {
	mu sync.Mutex
	by map[string]*missed
}

type missed struct {
	n     int
	until time.Time
}

// Check returns *TooMany until the person may try again.
func (m *Misses) Check(person string, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if one := m.by[person]; one != nil && one.n >= maxMisses && now.Before(one.until) {
		return &TooMany{one.until.Sub(now)}
	}
	return nil
}

// Count adds one.
func (m *Misses) Count(person string, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.by == nil || len(m.by) >= maxMissers {
		m.by = map[string]*missed{}
	}
	one := m.by[person]
	if one == nil || !now.Before(one.until) {
		one = &missed{until: now.Add(missTime)}
		m.by[person] = one
	}
	one.n++
}
