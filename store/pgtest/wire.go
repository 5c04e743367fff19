package pgtest

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"
)

// Wire connects a client and a server, and can be cut.
type Wire struct {
	URL string // address of the server, through the wire

	listen net.Listener
	work   sync.WaitGroup

	mu     sync.Mutex
	moved  *sync.Cond // signals changes of the fields below
	to     string
	frozen bool
	muted  bool // frozen for answers only
	delay  time.Duration
	loses  float64
	marks  string // responses are held back after these bytes
	eats   string // an answer that is dropped
	closed bool
	conns  map[net.Conn]bool
}

// NewWire leads to a server's address. It ends with the test.
func NewWire(tb testing.TB, address string) *Wire {
	tb.Helper()
	u, err := url.Parse(address)
	if err != nil {
		tb.Fatal(err)
	}
	w := &Wire{to: u.Host, conns: map[net.Conn]bool{}}
	w.moved = sync.NewCond(&w.mu)
	if w.listen, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		tb.Fatal(err)
	}
	u.Host = w.listen.Addr().String()
	w.URL = u.String()
	w.work.Go(w.accept)
	tb.Cleanup(func() {
		w.listen.Close()
		w.mu.Lock()
		w.closed = true
		w.mu.Unlock()
		w.moved.Broadcast()
		w.Break()
		w.work.Wait()
	})
	return w
}

// Freeze stops all traffic in both directions without closing connections, like a lost network.
func (w *Wire) Freeze() { w.change(func() { w.frozen = true }) }

// Mute drops all responses: requests take effect, but their results are lost.
func (w *Wire) Mute() { w.change(func() { w.muted = true }) }

// MuteAfter is [Wire.Mute] after a request containing a text has passed.
func (w *Wire) MuteAfter(text string) { w.change(func() { w.marks = text }) }

// Swallow closes the connection instead of delivering a response containing a text, once.
func (w *Wire) Swallow(text string) { w.change(func() { w.eats = text }) }

// Swallowed reports whether this has happened.
func (w *Wire) Swallowed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.eats == ""
}

// Thaw resumes the traffic, including data held back.
func (w *Wire) Thaw() { w.change(func() { w.frozen, w.muted, w.marks = false, false, "" }) }

// Delay delays all traffic in both directions.
func (w *Wire) Delay(d time.Duration) { w.change(func() { w.delay = d }) }

// Lose drops a share of the notifications, from 0 to 1, on connections that begin from now on.
func (w *Wire) Lose(share float64) { w.change(func() { w.loses = share }) }

func (w *Wire) change(f func()) {
	w.mu.Lock()
	f()
	w.mu.Unlock()
	w.moved.Broadcast()
}

// Lead makes new connections end at another server's address.
func (w *Wire) Lead(tb testing.TB, address string) {
	tb.Helper()
	u, err := url.Parse(address)
	if err != nil {
		tb.Fatal(err)
	}
	w.change(func() { w.to = u.Host })
}

// Break closes all connections. Data held back is lost.
func (w *Wire) Break() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		c.Close()
		delete(w.conns, c)
	}
	w.moved.Broadcast()
}

func (w *Wire) accept() {
	for {
		in, err := w.listen.Accept()
		if err != nil {
			return
		}
		w.mu.Lock()
		to := w.to
		w.mu.Unlock()
		out, err := net.Dial("tcp", to)
		if err != nil {
			in.Close()
			continue
		}
		w.work.Go(func() { w.pass(in, out, false) })
		w.work.Go(func() { w.pass(out, in, true) })
	}
}

func (w *Wire) pass(from, to net.Conn, answers bool) {
	defer to.Close()
	w.mu.Lock()
	w.conns[from] = true
	closed, loses := w.closed, w.loses
	w.mu.Unlock()
	var read io.Reader = from
	if answers && loses > 0 {
		read = &lossy{from: from, loses: loses}
	}
	defer func() {
		w.mu.Lock()
		delete(w.conns, from)
		w.mu.Unlock()
	}()
	buf := make([]byte, 64<<10)
	for !closed {
		n, err := read.Read(buf)
		if n > 0 && w.flows(from, buf[:n], answers) {
			_, err = to.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// flows waits while traffic is held back; false means that the wire is closed.
func (w *Wire) flows(from net.Conn, b []byte, answers bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !answers && w.marks != "" && bytes.Contains(b, []byte(w.marks)) {
		w.muted = true
	}
	if answers && w.eats != "" && bytes.Contains(b, []byte(w.eats)) {
		w.eats = ""
		return false
	}
	if d := w.delay; d > 0 {
		w.mu.Unlock()
		time.Sleep(d)
		w.mu.Lock()
	}
	for (w.frozen || w.muted && answers) && !w.closed && w.conns[from] {
		w.moved.Wait()
	}
	return !w.closed && w.conns[from]
}

// lossy reads a server's messages and drops some notifications. Each message has a letter and a four-byte length that
// excludes the letter.
type lossy struct {
	from  io.Reader
	loses float64
	left  []byte
}

// Read implements [io.Reader].
func (l *lossy) Read(p []byte) (int, error) {
	for len(l.left) == 0 {
		head := make([]byte, 5)
		if _, err := io.ReadFull(l.from, head); err != nil {
			return 0, err
		}
		l.left = append(head, make([]byte, max(4, binary.BigEndian.Uint32(head[1:]))-4)...)
		if _, err := io.ReadFull(l.from, l.left[len(head):]); err != nil {
			return 0, err
		}
		if head[0] == 'A' && rand.Float64() < l.loses {
			l.left = nil
		}
	}
	n := copy(p, l.left)
	l.left = l.left[n:]
	return n, nil
}
