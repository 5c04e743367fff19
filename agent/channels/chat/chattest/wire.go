package chattest

import (
	"bytes"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// A Wire connects a bot with its platform.
type Wire struct {
	mu    sync.Mutex
	pairs map[*pair]bool
	work  sync.WaitGroup
}

// pair is a connection of the bot with its counterpart to the platform.
type pair struct {
	bot, platform net.Conn
	socket, asked atomic.Bool // an open WebSocket; a request not answered yet
	frozen        atomic.Bool
}

// NewWire puts a wire before a platform that no bot has connected to yet.
func NewWire(t testing.TB, s *State) *Wire {
	t.Helper()
	at, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &Wire{pairs: map[*pair]bool{}}
	s.do(func() { s.URL = "http://" + l.Addr().String() })
	w.work.Go(func() {
		for {
			bot, err := l.Accept()
			if err != nil {
				return
			}
			w.connect(bot, at.Host)
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		w.mu.Lock()
		for p := range w.pairs {
			p.close()
		}
		w.mu.Unlock()
		w.work.Wait()
	})
	return w
}

func (p *pair) close() {
	_ = p.bot.Close()
	_ = p.platform.Close()
}

func (w *Wire) connect(bot net.Conn, host string) {
	platform, err := net.Dial("tcp", host)
	if err != nil {
		_ = bot.Close()
		return
	}
	p := &pair{bot: bot, platform: platform}
	w.mu.Lock()
	w.pairs[p] = true
	w.mu.Unlock()
	forward := func(from, to net.Conn, see func([]byte)) {
		buf := make([]byte, 32<<10)
		for {
			n, err := from.Read(buf)
			if err != nil {
				break
			}
			see(buf[:n])
			if !p.frozen.Load() {
				_, _ = to.Write(buf[:n])
			}
		}
		p.close()
		w.mu.Lock()
		delete(w.pairs, p)
		w.mu.Unlock()
	}
	w.work.Go(func() {
		forward(bot, platform, func(b []byte) {
			p.asked.Store(true)
			if bytes.Contains(b, []byte("Upgrade: websocket")) {
				p.socket.Store(true)
			}
		})
	})
	w.work.Go(func() { forward(platform, bot, func([]byte) { p.asked.Store(false) }) })
}

// Freeze silently drops all data of open sockets and requests from now on, in both directions, like a machine waking
// from sleep. New connections work.
func (w *Wire) Freeze() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range w.pairs {
		if p.socket.Load() || p.asked.Load() {
			p.frozen.Store(true)
		} else {
			p.close()
		}
	}
}
