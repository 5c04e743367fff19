package pool

import "testing"

// has says whether a place is somebody's.
func (w *waiter) has() bool {
	select {
	case <-w.turn:
		return true
	default:
		return false
	}
}

func TestPlacesAreSharedByOwners(t *testing.T) {
	p := &places{max: 8, shared: true, used: map[string]int{}}
	var eve []*waiter
	for range 80 {
		eve = append(eve, p.join("eve"))
	}
	if !eve[5].has() || eve[6].has() {
		t.Error("one owner has not three of four places")
	}
	ann := []*waiter{p.join("ann"), p.join("ann"), p.join("ann")}
	if !ann[0].has() || !ann[1].has() || ann[2].has() {
		t.Error("another owner has not the rest")
	}
	p.free("eve")
	if !ann[2].has() || eve[6].has() {
		t.Error("a free place is not for who has fewer")
	}
	p.free("eve")
	if !eve[6].has() {
		t.Error("the next in line got no place")
	}
	p.cancel(eve[7]) // before its turn
	p.cancel(eve[6]) // after it
	if eve[7].has() || !eve[8].has() {
		t.Error("who left was served, or its place was lost")
	}
	own := p.join("")
	p.free("ann")
	if !own.has() {
		t.Error("the server itself got no place")
	}
	alone := &places{max: 2, used: map[string]int{}}
	if one, two := alone.join("eve"), alone.join("eve"); !one.has() || !two.has() {
		t.Error("somebody who is alone has not all places")
	}
}
