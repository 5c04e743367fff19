package account

import (
	"context"
	"sync"
)

// live holds the active requests by user, so that they end with their session or token.
type live struct {
	mu   sync.Mutex
	gen  uint64
	open map[*liveRequest]struct{}
}

type liveRequest struct {
	user    string
	by      string // id of the session or token
	session bool
	cancel  context.CancelCauseFunc
}

// now returns a moment to compare with in add.
func (l *live) now() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gen
}

// add registers a request authenticated after the moment since. ok is false if an authentication ended meanwhile: the
// request must be authenticated again.
func (l *live) add(r *liveRequest, since uint64) (ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gen != since {
		return false
	}
	if l.open == nil {
		l.open = map[*liveRequest]struct{}{}
	}
	l.open[r] = struct{}{}
	return true
}

func (l *live) remove(r *liveRequest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, r)
}

// end cancels the requests that which selects.
func (l *live) end(which func(*liveRequest) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gen++
	for r := range l.open {
		if which(r) {
			r.cancel(ErrEnded)
		}
	}
}
