// Package wake passes hints that something has changed to those in this process who listen, and over a wire to those in
// other servers. A hint saves waiting for the next look and may be lost: what it is about is always found by looking, too.
// Begin with [Hub]. How hints travel belongs to the database that carries them.
package wake

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Kind is the subject of a wake-up.
type Kind byte

// Kinds of wake-ups.
const (
	Tail    Kind = 't' // a server has written to its tail
	Runs    Kind = 'r' // runs or title of a thread have changed; IDs are threads
	Claim   Kind = 'q' // a run can be claimed
	Wish    Kind = 'w' // a run got a wish; IDs are runs
	Setting Kind = 'c' // a setting has changed
	Space   Kind = 'k' // values have changed; IDs are their spaces
	Note    Kind = 'n' // notes were added or removed; IDs are their names
	Box     Kind = 'b' // a sandbox should end or has ended; IDs are threads

	Follow Kind = 'f' // a server's tail is being read
)

// Hint is a hint that something may have changed. It may be late, repeated or lost, so listeners also poll.
type Hint struct {
	Kind Kind
	IDs  []string
	All  bool // IDs are incomplete: everything of that kind may have changed
}

// Topic is a subject to listen to.
type Topic struct {
	Kind   Kind
	Server int64
}

type hearer struct{ f func(Hint) }

// Wire carries hints to other servers, and theirs to the listeners here.
type Wire interface {
	Say(topic Topic, ids []string)
	Retune() // the topics with listeners have changed
	Wrote()  // this server's tail has grown
	Close()
}

// Hub calls the listeners in this process, and over a wire those in others.
type Hub struct {
	self int64 // this server
	wire Wire  // nil without other servers, or if they poll

	told     atomic.Bool // something may have become due since the last check
	expected atomic.Bool // the value of the last check

	mu    sync.Mutex
	heard map[Topic][]*hearer
}

// New returns a hub of a server without listeners.
func New(self int64) *Hub { return &Hub{self: self, heard: map[Topic][]*hearer{}} }

// Connect makes a wire carry hints to other servers. It is called before anything else.
func (w *Hub) Connect(wire Wire) { w.wire = wire }

// Over returns the wire, nil without one.
func (w *Hub) Over() Wire { return w.wire }

// Wired reports whether hints reach other servers.
func (w *Hub) Wired() bool { return w.wire != nil }

// Look begins a check for work that may have become due: hints from now on request another one.
func (w *Hub) Look() { w.expected.Store(w.told.Swap(false)) }

// Expected reports whether a hint had requested the last check.
func (w *Hub) Expected() bool { return w.expected.Load() }

// Take reports whether a hint requests a check, and clears the request. Remind restores it, or requests one without a
// hint.
func (w *Hub) Take() bool { return w.told.Swap(false) }

// Remind requests a check.
func (w *Hub) Remind() { w.told.Store(true) }

// Hear calls f for each hint on a topic until stop is called; f may be running then. f must return at once.
func (w *Hub) Hear(topic Topic, f func(Hint)) (stop func()) {
	h := &hearer{f}
	w.mu.Lock()
	w.heard[topic] = append(w.heard[topic], h)
	w.mu.Unlock()
	w.retune()
	return func() {
		w.mu.Lock()
		list := slices.DeleteFunc(slices.Clone(w.heard[topic]), func(o *hearer) bool { return o == h })
		if len(list) == 0 {
			delete(w.heard, topic)
		} else {
			w.heard[topic] = list
		}
		w.mu.Unlock()
		w.retune()
	}
}

// Say sends a hint to listeners here and at other servers. It never blocks.
func (w *Hub) Say(topic Topic, ids ...string) {
	w.Tell(topic, Hint{Kind: topic.Kind, IDs: ids})
	if w.wire != nil {
		w.wire.Say(topic, ids)
	}
}

// Tell calls the listeners of this process.
func (w *Hub) Tell(topic Topic, wake Hint) {
	if topic.Kind != Tail && topic.Kind != Follow {
		w.told.Store(true)
	}
	w.mu.Lock()
	list := w.heard[topic]
	w.mu.Unlock()
	for _, h := range list {
		h.f(wake)
	}
}

// Topics returns the topics with listeners in this process.
func (w *Hub) Topics() []Topic {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := make([]Topic, 0, len(w.heard))
	for topic := range w.heard {
		list = append(list, topic)
	}
	return list
}

// Wrote notifies readers of this server's tail.
func (w *Hub) Wrote() {
	if w.wire != nil {
		w.wire.Wrote()
	}
	w.Tell(Topic{Tail, w.self}, Hint{Kind: Tail})
}

// Close closes the wire.
func (w *Hub) Close() {
	if w.wire != nil {
		w.wire.Close()
	}
}

func (w *Hub) retune() {
	if w.wire != nil {
		w.wire.Retune()
	}
}
