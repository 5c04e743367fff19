package runs

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// startLine lets some runs at a time go from their request to their agent, the others in the order of their requests.
// All together would only finish late together: with one after the other, half of them wait half as long, and the last
// one no longer. Its capacity is more than the processors, as a start waits for its commit meanwhile.
type startLine chan struct{}

// startTime is how long a start keeps its place. One that waits for something slow, such as a server of tools, holds
// nobody up for longer.
const startTime = 100 * time.Millisecond

func startsAtOnce() int { return 4 * runtime.GOMAXPROCS(0) }

// enter waits for a place, or for the end of ctx. leave gives the place back; it may be called several times.
func (l startLine) enter(ctx context.Context) (leave func()) {
	select {
	case l <- struct{}{}:
	case <-ctx.Done():
		return func() {}
	}
	once := sync.OnceFunc(func() { <-l })
	timer := time.AfterFunc(startTime, once)
	return func() {
		timer.Stop()
		once()
	}
}

// passOn leaves the place of a start to its run, which gives it back once it has its agent. It returns false if the run
// doesn't begin now, or is that far already.
func (m *Manager) passOn(e *entry, leave func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !e.stage.active() || e.built {
		return false
	}
	e.leave = leave
	return true
}

// giveWay gives back the place of a run's start, if it still has it.
func (m *Manager) giveWay(e *entry) {
	m.mu.Lock()
	leave := e.leave
	e.built, e.leave = true, nil
	m.mu.Unlock()
	if leave != nil {
		leave()
	}
}
