package chattest

import (
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// item is an event that is sent until it is acknowledged.
type item struct {
	text     string
	body     any
	envelope string // new with each delivery
	on       *websocket.Conn
	done     bool
	since    time.Time // when it was delivered
	self     *item     // of a copy for encode, which runs without the lock
}

// sockets delivers events over WebSockets: each to one socket, and again if that ends before it was acknowledged.
type sockets struct {
	s     *State
	items []*item
	conns map[*websocket.Conn]bool
	work  sync.WaitGroup
	over  bool // no more are served
	once  bool // events aren't acknowledged: writing completes them
}

// start starts the server of a state. Everything is set before, because clients of the port's previous owner may still
// connect.
func (q *sockets) start(t testing.TB, s *State, secret string, h http.Handler) {
	q.s, q.conns = s, map[*websocket.Conn]bool{}
	s.open = q.open
	s.serve(t, secret, h)
	t.Cleanup(func() {
		s.do(func() { q.over = true })
		q.cut()
		q.work.Wait()
	})
}

// enter counts a handler, unless the server ends: a bot may have connected at the last moment.
func (q *sockets) enter() bool {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	if !q.over {
		q.work.Add(1)
	}
	return !q.over
}

// push queues an event. It needs the lock.
func (q *sockets) push(text string, body any) {
	q.items = append(q.items, &item{text: text, body: body})
}

func (q *sockets) repeat() {
	q.s.do(func() {
		for _, it := range q.items {
			it.on, it.done = nil, false
		}
	})
}

func (q *sockets) cut() {
	q.s.mu.Lock()
	var all []*websocket.Conn
	for c := range q.conns {
		all = append(all, c)
	}
	q.s.mu.Unlock()
	for _, c := range all {
		_ = c.CloseNow()
	}
}

// open counts the sockets. It needs the lock.
func (q *sockets) open() int { return len(q.conns) }

// ack marks the delivery of that envelope. It needs the lock.
func (q *sockets) ack(envelope string) {
	for _, it := range q.items {
		if it.envelope == envelope {
			it.done = true
			q.s.confirmed[it.text] = true
			q.s.acks = append(q.s.acks, time.Since(it.since))
			return
		}
	}
}

// serve handles a socket: it sends hello first, encode creates the message of an event, heard receives the bot's
// messages. Without a hello, events wait until heard reports that the bot is ready; a greeting does not change that.
func (q *sockets) serve(w http.ResponseWriter, r *http.Request, hello []byte,
	encode func(*item) (websocket.MessageType, []byte), heard func(*websocket.Conn, []byte) (ready bool),
	greeting ...[]byte) {
	if !q.enter() {
		return
	}
	defer q.work.Done()
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	conn.SetReadLimit(64 << 20)
	stop := make(chan struct{})
	defer func() {
		q.s.do(func() {
			delete(q.conns, conn)
			for _, it := range q.items {
				if it.on == conn && !it.done {
					it.on = nil
				}
			}
		})
	}()
	if hello != nil && conn.Write(r.Context(), websocket.MessageText, hello) != nil {
		return
	}
	for _, g := range greeting {
		if conn.Write(r.Context(), websocket.MessageText, g) != nil {
			return
		}
	}
	q.s.do(func() { q.conns[conn] = true })
	deliver := sync.OnceFunc(func() { q.work.Go(func() { q.deliver(r, conn, stop, encode) }) })
	if hello != nil {
		deliver()
	}
	defer func() { q.s.do(func() { close(stop) }) }()
	for {
		_, data, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		if heard(conn, data) {
			deliver()
		}
	}
}

// deliver sends unacknowledged events that are on no other socket, one at a time.
func (q *sockets) deliver(r *http.Request, conn *websocket.Conn, stop chan struct{},
	encode func(*item) (websocket.MessageType, []byte)) {
	ended := func() bool {
		select {
		case <-stop:
			return true
		default:
			return false
		}
	}
	for {
		var next *item
		var copied item
		q.s.wait(r.Context(), func() bool {
			if ended() {
				return true
			}
			for _, it := range q.items {
				if !it.done && it.on == nil {
					it.since, it.on, it.envelope = time.Now(), conn, "envelope-"+strconv.Itoa(q.s.id())
					next, copied = it, *it
					copied.self = it
					return true
				}
			}
			return false
		})
		if next == nil {
			return
		}
		kind, data := encode(&copied)
		if data == nil || conn.Write(r.Context(), kind, data) != nil {
			return
		}
		if q.once {
			q.s.do(func() { next.done = true })
		}
	}
}
