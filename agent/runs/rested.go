package runs

import (
	"sync"

	"fawn/agent/runs/recorder"
)

// maxRested limits the remembered threads.
const maxRested = 256

// restedThreads remembers where runs that ended a moment ago left their threads, so that a title that comes then needs no
// query. A commit that relies on it checks the thread's head. The zero value is ready.
type restedThreads struct {
	mu   sync.Mutex
	list map[string]rested
}

// rested is where a run left its thread.
type rested struct {
	at    recorder.Base // without messages
	next  []string      // node that would run next
	title string
}

// keep remembers a thread.
func (r *restedThreads) keep(thread string, at rested) {
	at.at.Messages, at.at.Rows = nil, nil
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list == nil || len(r.list) >= maxRested {
		r.list = map[string]rested{}
	}
	r.list[thread] = at
}

// take removes a thread's entry and returns it.
func (r *restedThreads) take(thread string) (at rested, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok = r.list[thread]
	delete(r.list, thread)
	return at, ok
}
