package store

import (
	"slices"
	"sync"
	"sync/atomic"
)

// WakeKind is the subject of a wake-up.
type WakeKind byte

// Kinds of wake-ups.
const (
	WakeTail    WakeKind = 't' // a server has written to its tail
	WakeRuns    WakeKind = 'r' // runs or title of a thread have changed; IDs are threads
	WakeClaim   WakeKind = 'q' // a run can be claimed
	WakeWish    WakeKind = 'w' // a run got a wish; IDs are runs
	WakeSetting WakeKind = 'c' // a setting has changed
	WakeSpace   WakeKind = 'k' // values have changed; IDs are their spaces
	WakeNote    WakeKind = 'n' // notes were left or taken; IDs are their names
	WakeBox     WakeKind = 'b' // a sandbox should end or has ended; IDs are threads

	wakeFollow WakeKind = 'f' // a server's tail is being read
)

// WakePoll for [Config.Wake] makes servers poll more often instead of notifying each other.
const WakePoll = "poll"

// Wake is a hint that something may have changed. It may be late, repeated or lost, so listeners also poll.
type Wake struct {
	Kind WakeKind
	IDs  []string
	All  bool // IDs are incomplete: everything of that kind may have changed
}

// Wakes are hints between servers that share a database, and within one. [DB] implements them.
type Wakes interface {
	// Hear calls f for each wake-up of a kind for or about a server, 0 for those for all, until stop is called; f may
	// be running then. f must return at once. When hints may have been lost it is called with All.
	Hear(kind WakeKind, server int64, f func(Wake)) (stop func())
	// Say wakes the listeners of a kind on all servers. It never waits. Hints in quick succession are combined.
	Say(kind WakeKind, server int64, ids ...string)
	// Polls reports whether other servers send no hints, which requires frequent polling.
	Polls() bool
}

var _ Wakes = (*DB)(nil)

// wakeTopic is a subject to listen to.
type wakeTopic struct {
	kind   WakeKind
	server int64
}

type hearer struct{ f func(Wake) }

// wakes calls the listeners in this process, and over a wire those in others.
type wakes struct {
	self int64     // this server
	wire *wakeWire // nil without other servers

	told     atomic.Bool // something may have become due since the last check
	expected atomic.Bool // the value of the last check

	mu    sync.Mutex
	heard map[wakeTopic][]*hearer
}

// Hear implements [Wakes].
func (db *DB) Hear(kind WakeKind, server int64, f func(Wake)) (stop func()) {
	return db.w.wakes.hear(wakeTopic{kind, server}, f)
}

// Say implements [Wakes].
func (db *DB) Say(kind WakeKind, server int64, ids ...string) {
	db.w.wakes.say(wakeTopic{kind, server}, ids...)
}

// Polls implements [Wakes].
func (db *DB) Polls() bool { return db.Shared() && db.w.wakes.wire == nil }

func (w *wakes) hear(topic wakeTopic, f func(Wake)) (stop func()) {
	h := &hearer{f}
	w.mu.Lock()
	w.heard[topic] = append(w.heard[topic], h)
	w.mu.Unlock()
	w.wire.retune()
	return func() {
		w.mu.Lock()
		list := slices.DeleteFunc(slices.Clone(w.heard[topic]), func(o *hearer) bool { return o == h })
		if len(list) == 0 {
			delete(w.heard, topic)
		} else {
			w.heard[topic] = list
		}
		w.mu.Unlock()
		w.wire.retune()
	}
}

func (w *wakes) say(topic wakeTopic, ids ...string) {
	w.tell(topic, Wake{Kind: topic.kind, IDs: ids})
	w.wire.say(topic, ids)
}

// tell calls the listeners of this process.
func (w *wakes) tell(topic wakeTopic, wake Wake) {
	if topic.kind != WakeTail && topic.kind != wakeFollow {
		w.told.Store(true)
	}
	w.mu.Lock()
	list := w.heard[topic]
	w.mu.Unlock()
	for _, h := range list {
		h.f(wake)
	}
}

// topics returns the topics with listeners in this process.
func (w *wakes) topics() []wakeTopic {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := make([]wakeTopic, 0, len(w.heard))
	for topic := range w.heard {
		list = append(list, topic)
	}
	return list
}

// wrote notifies readers of this server's tail.
func (w *wakes) wrote() {
	w.wire.wrote()
	w.tell(wakeTopic{WakeTail, w.self}, Wake{Kind: WakeTail})
}

func (w *wakes) close() { w.wire.close() }
