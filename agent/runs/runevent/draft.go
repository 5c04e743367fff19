package runevent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fawn/agent"
)

// Draft is an answer between its first event and the step that stores it, or its withdrawal.
type Draft[T any] struct {
	ID, NS string
	Sofar  agent.Collector // the reader's sum of the pieces
	Own    T               // the reader's own data
}

// DraftChange is the effect of an event. At most one of Message and Ended is set.
type DraftChange[T any] struct {
	Message *Draft[T]   // began or grew
	Began   bool        // it began at this event
	Ended   []*Draft[T] // ended, in order of their start
}

// Drafts holds the unfinished messages of one run, in all namespaces. The zero value is ready. It belongs to one
// goroutine.
type Drafts[T any] struct {
	open []*Draft[T] // in order of their start
	told *Msg        // the last event's, by which its message is found again
	last *Draft[T]
}

// Take applies an event.
func (f *Drafts[T]) Take(ev *Event) DraftChange[T] {
	switch ev.Kind {
	case KindMessage, KindText, KindReasoning, KindCall, KindFinish:
		return f.grow(ev)
	case KindStep:
		return f.end(func(m *Draft[T]) bool { return within(m.NS, ev.NS) })
	case KindWithdraw:
		var w Withdrawal
		if json.Unmarshal(ev.Data, &w) != nil {
			return DraftChange[T]{}
		}
		return f.end(func(m *Draft[T]) bool { return m.ID == w.ID })
	case KindEnd:
		return f.end(func(*Draft[T]) bool { return true })
	}
	return DraftChange[T]{}
}

func (f *Drafts[T]) grow(ev *Event) DraftChange[T] {
	if ev.Msg == nil {
		return DraftChange[T]{}
	}
	if ev.Msg == f.told {
		return DraftChange[T]{Message: f.last}
	}
	i := slices.IndexFunc(f.open, func(m *Draft[T]) bool { return m.ID == ev.Msg.ID && m.NS == ev.Msg.NS })
	began := i < 0
	if began {
		i = len(f.open)
		f.open = append(f.open, &Draft[T]{ID: ev.Msg.ID, NS: ev.Msg.NS})
	}
	f.told, f.last = ev.Msg, f.open[i]
	return DraftChange[T]{Message: f.last, Began: began}
}

func (f *Drafts[T]) end(over func(*Draft[T]) bool) (c DraftChange[T]) {
	var kept []*Draft[T]
	for _, m := range f.open {
		if over(m) {
			c.Ended = append(c.Ended, m)
		} else {
			kept = append(kept, m)
		}
	}
	f.open, f.told, f.last = kept, nil, nil
	return c
}

// Reset ends all messages.
func (f *Drafts[T]) Reset() []*Draft[T] {
	return f.end(func(*Draft[T]) bool { return true }).Ended
}

// within reports whether a namespace is another one or below it.
func within(ns, top string) bool {
	return top == "" || ns == top || strings.HasPrefix(ns, top+"|")
}

// DraftPiece returns an event's addition to its message.
func DraftPiece(ev Event) (k agent.Chunk, err error) {
	switch ev.Kind {
	case KindText:
		k.Text = ev.Text
	case KindReasoning:
		k.Reasoning = ev.Text
	case KindCall:
		var d agent.CallDelta
		if err := json.Unmarshal(ev.Data, &d); err != nil {
			return k, fmt.Errorf("read a call's delta: %w", err)
		}
		k.Calls = []agent.CallDelta{d}
	case KindFinish:
		var f Finish
		if err := json.Unmarshal(ev.Data, &f); err != nil {
			return k, fmt.Errorf("read a message's end: %w", err)
		}
		k.Finish, k.Model, k.Kwargs = f.Finish, f.Model, f.Kwargs
		if len(f.Usage) > 0 {
			if err := json.Unmarshal(f.Usage, &k.Usage); err != nil {
				return k, fmt.Errorf("read a message's usage: %w", err)
			}
		}
	}
	return k, nil
}
