package pool

import "slices"

// places limits the running boxes. Callers are served in order of arrival, owners with fewer boxes first. With several
// owners each gets at most three of four places, which leaves room for others.
type places struct {
	max     int
	shared  bool
	all     int
	used    map[string]int // by owner
	line    []*waiter
	resting int // boxes that are being stopped to make room
}

// waiter is a caller waiting for a place.
type waiter struct {
	owner string
	turn  chan struct{} // closed when the place is granted
}

// share returns the limit of an owner. The nameless server itself may have all.
func (p *places) share(owner string) int {
	if owner == "" || !p.shared {
		return p.max
	}
	return max(1, p.max*3/4)
}

// full reports whether an owner has all places that it may have.
func (p *places) full(owner string) bool { return p.used[owner] >= p.share(owner) }

// join joins the queue.
func (p *places) join(owner string) *waiter {
	w := &waiter{owner, make(chan struct{})}
	p.line = append(p.line, w)
	p.serve()
	return w
}

// cancel gives up waiting; a place assigned meanwhile is freed.
func (p *places) cancel(w *waiter) {
	if i := slices.Index(p.line, w); i >= 0 {
		p.line = slices.Delete(p.line, i, i+1)
		return
	}
	p.free(w.owner)
}

// free returns a place.
func (p *places) free(owner string) {
	p.all--
	if p.used[owner]--; p.used[owner] == 0 {
		delete(p.used, owner)
	}
	p.serve()
}

// serve assigns free places.
func (p *places) serve() {
	for p.all < p.max {
		next := -1
		for i, w := range p.line {
			if !p.full(w.owner) && (next < 0 || p.used[w.owner] < p.used[p.line[next].owner]) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		w := p.line[next]
		p.line = slices.Delete(p.line, next, next+1)
		p.all++
		p.used[w.owner]++
		close(w.turn)
	}
}
