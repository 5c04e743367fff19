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

// Wake is a hint that something may have changed. It may be late, repeated or lost, so listeners also poll.
type Wake struct {
	Kind WakeKind
	IDs  []string
	All  bool // IDs are incomplete: everything of that kind may have changed
}

// wakeTopic is a subject to listen to.
type wakeTopic struct {
	kind   WakeKind
	server int64
}

type hearer struct{ f func(Wake) }

// hintWire carries hints to other servers, and theirs to the listeners here.
type hintWire interface {
	Say(topic wakeTopic, ids []string)
	Retune() // the topics with listeners have changed
	Wrote()  // this server's tail has grown
	Close()
}

// wakes calls the listeners in this process, and over a wire those in others.
type wakes struct {
	self int64    // this server
	wire hintWire // nil without other servers, or if they poll

	told     atomic.Bool // something may have become due since the last check
	expected atomic.Bool // the value of the last check

	mu    sync.Mutex
	heard map[wakeTopic][]*hearer
}

func newHub(self int64) *wakes { return &wakes{self: self, heard: map[wakeTopic][]*hearer{}} }

// connect makes a wire carry hints to other servers. It is called before anything else.
func (w *wakes) connect(wire hintWire) { w.wire = wire }

// wired reports whether hints reach other servers.
func (w *wakes) wired() bool { return w.wire != nil }

// due reports whether something may have become due since it was last asked.
func (w *wakes) due() bool {
	w.expected.Store(w.told.Swap(false))
	return w.expected.Load()
}

func (w *wakes) hear(topic wakeTopic, f func(Wake)) (stop func()) {
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

func (w *wakes) say(topic wakeTopic, ids ...string) {
	w.tell(topic, Wake{Kind: topic.kind, IDs: ids})
	if w.wire != nil {
		w.wire.Say(topic, ids)
	}
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
	if w.wire != nil {
		w.wire.Wrote()
	}
	w.tell(wakeTopic{WakeTail, w.self}, Wake{Kind: WakeTail})
}

func (w *wakes) close() {
	if w.wire != nil {
		w.wire.Close()
	}
}

func (w *wakes) retune() {
	if w.wire != nil {
		w.wire.Retune()
	}
}
