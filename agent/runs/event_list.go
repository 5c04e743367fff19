package runs

import (
	"slices"
	"sort"
)

// eventBlock is how many events a block holds.
const eventBlock = 64

// eventList is an ascending list of events in blocks: a long answer never has all its events
// copied to make room for one more, and what is dropped is let go of. Slices of it that readers
// hold do not change.
type eventList struct {
	blocks [][]Event // none is empty
}

func (l *eventList) add(ev Event) {
	n := len(l.blocks)
	if n == 0 {
		l.blocks = append(l.blocks, nil) // grows as it must: most runs are short
	} else if len(l.blocks[n-1]) == eventBlock {
		l.blocks = append(l.blocks, make([]Event, 0, eventBlock))
	}
	end := &l.blocks[len(l.blocks)-1]
	*end = append(*end, ev)
}

// last is nil when there are none.
func (l *eventList) last() *Event {
	if len(l.blocks) == 0 {
		return nil
	}
	end := l.blocks[len(l.blocks)-1]
	return &end[len(end)-1]
}

func (l *eventList) dropLast() {
	n := len(l.blocks) - 1
	if end := l.blocks[n]; len(end) > 1 {
		l.blocks[n] = end[:len(end)-1]
		return
	}
	l.blocks = l.blocks[:n]
}

// dropWhile drops the oldest events for which f says so.
func (l *eventList) dropWhile(f func(*Event) bool) {
	for len(l.blocks) > 0 {
		first, n := l.blocks[0], 0
		for n < len(first) && f(&first[n]) {
			n++
		}
		if n < len(first) {
			if n > 0 {
				l.blocks[0] = slices.Clone(first[n:])
			}
			return
		}
		l.blocks = l.blocks[1:]
	}
}

// after returns the events past seq that are in one block; none when there are none at all.
func (l *eventList) after(seq int64) []Event {
	at := sort.Search(len(l.blocks), func(i int) bool {
		b := l.blocks[i]
		return b[len(b)-1].To > seq
	})
	if at == len(l.blocks) {
		return nil
	}
	b := l.blocks[at]
	return b[sort.Search(len(b), func(i int) bool { return b[i].To > seq }):]
}
