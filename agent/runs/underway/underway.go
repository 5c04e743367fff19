// Package underway folds the events of a run into the messages that are being written: where one
// begins, what comes to it and when it is over. What readers show of that is their own.
package underway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fawn/agent"
	"fawn/agent/runs/runevent"
)

// Message is an answer between its first event and the step that stores it, or its withdrawal.
type Message[T any] struct {
	ID, NS string
	Sofar  agent.Collector // what its reader has added of the pieces
	Own    T               // what its reader keeps of it
}

// Change is what an event did. At most one of Message and Ended is set.
type Change[T any] struct {
	Message *Message[T]   // began or grew
	Began   bool          // with this event
	Ended   []*Message[T] // are over, in the order in which they began
}

// Fold holds the messages under way in one run, of all namespaces. The zero value is ready. It
// belongs to one goroutine.
type Fold[T any] struct {
	open []*Message[T] // in the order in which they began
	told *runevent.Msg // the last event's, by which its message is found again
	last *Message[T]
}

// Take takes an event in.
func (f *Fold[T]) Take(ev *runevent.Event) Change[T] {
	switch ev.Kind {
	case runevent.KindMessage, runevent.KindText, runevent.KindReasoning, runevent.KindCall, runevent.KindFinish:
		return f.grow(ev)
	case runevent.KindStep:
		return f.end(func(m *Message[T]) bool { return within(m.NS, ev.NS) })
	case runevent.KindWithdraw:
		var w runevent.Withdrawal
		if json.Unmarshal(ev.Data, &w) != nil {
			return Change[T]{}
		}
		return f.end(func(m *Message[T]) bool { return m.ID == w.ID })
	case runevent.KindEnd:
		return f.end(func(*Message[T]) bool { return true })
	}
	return Change[T]{}
}

func (f *Fold[T]) grow(ev *runevent.Event) Change[T] {
	if ev.Msg == nil {
		return Change[T]{}
	}
	if ev.Msg == f.told {
		return Change[T]{Message: f.last}
	}
	i := slices.IndexFunc(f.open, func(m *Message[T]) bool { return m.ID == ev.Msg.ID && m.NS == ev.Msg.NS })
	began := i < 0
	if began {
		i = len(f.open)
		f.open = append(f.open, &Message[T]{ID: ev.Msg.ID, NS: ev.Msg.NS})
	}
	f.told, f.last = ev.Msg, f.open[i]
	return Change[T]{Message: f.last, Began: began}
}

func (f *Fold[T]) end(over func(*Message[T]) bool) (c Change[T]) {
	var kept []*Message[T]
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
func (f *Fold[T]) Reset() []*Message[T] {
	return f.end(func(*Message[T]) bool { return true }).Ended
}

// within tells whether a namespace is another one or below it.
func within(ns, top string) bool {
	return top == "" || ns == top || strings.HasPrefix(ns, top+"|")
}

// Piece is what an event adds to its message.
func Piece(ev runevent.Event) (k agent.Chunk, err error) {
	switch ev.Kind {
	case runevent.KindText:
		k.Text = ev.Text
	case runevent.KindReasoning:
		k.Reasoning = ev.Text
	case runevent.KindCall:
		var d agent.CallDelta
		if err := json.Unmarshal(ev.Data, &d); err != nil {
			return k, fmt.Errorf("read a call's delta: %w", err)
		}
		k.Calls = []agent.CallDelta{d}
	case runevent.KindFinish:
		var f runevent.Finish
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
