package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
)

const (
	maxFrame    = 1 << 20 // bytes of one message from a platform
	longestWait = time.Minute
)

// again runs sessions one after the other, until ctx ends or an error requires the owner to act. The delay between two
// doubles up to a minute and is reset by a session that was up. up reports that the connection works.
func again(ctx context.Context, o Options, in Inbox, session func(ctx context.Context, up func()) error) error {
	first := o.FirstWait
	if first == 0 {
		first = time.Second
	}
	next := first
	for {
		err := session(ctx, func() {
			next = first
			in.Status(nil)
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil { // a reconnect was requested
			if !sleep(ctx, first/10) {
				return ctx.Err()
			}
			continue
		}
		in.Status(err)
		pause := time.Duration(float64(next) * (0.8 + 0.4*rand.Float64()))
		if f, ok := errors.AsType[*Fatal](err); ok {
			if f.Retry == 0 {
				return err
			}
			pause = f.Retry
		} else if r, ok := errors.AsType[*Rate](err); ok && r.After > 0 {
			pause = r.After
		} else {
			next = min(2*next, longestWait)
		}
		if !sleep(ctx, pause) {
			return ctx.Err()
		}
	}
}

// sleep waits for d and returns false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// socket is a WebSocket of a platform. One goroutine reads; any may write.
type socket struct {
	conn *websocket.Conn
	c    *client

	quit context.CancelFunc
	work sync.WaitGroup

	rest  [][]byte // returned by batch first
	ahead *ahead   // nil before batch is called
}

// Limits of the read-ahead, and of one batch.
const (
	batchMost  = 512
	batchBytes = 4 << 20
)

// ahead buffers received messages that weren't requested yet.
type ahead struct {
	mu     sync.Mutex
	frames [][]byte
	bytes  int
	broken error // reason why no more messages arrive

	more chan struct{} // one token: there is more, or broken
	room chan struct{} // one token: frames were taken
}

// dial connects. A platform that answers other than by switching protocols gives a *statusError.
func (c *client) dial(ctx context.Context, op, address string, header http.Header) (*socket, error) {
	if err := safeURL(address); err != nil {
		return nil, fmt.Errorf("%s: address of the socket %w", op, err)
	}
	limited, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	conn, resp, err := websocket.Dial(limited, address, &websocket.DialOptions{HTTPClient: c.http, HTTPHeader: header})
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
			return nil, &statusError{op: op, Status: resp.StatusCode, Header: resp.Header}
		}
		return nil, c.clean(op, err)
	}
	conn.SetReadLimit(maxFrame)
	return &socket{conn: conn, c: c, quit: func() {}}, nil
}

// keep sends a ping every interval, concurrently with read. A socket that stays silent for another interval is cut,
// which ends read.
func (s *socket) keep(ctx context.Context, interval time.Duration) {
	s.every(ctx, interval, func(ctx context.Context) error {
		limited, cancel := context.WithTimeout(ctx, interval)
		defer cancel()
		return s.conn.Ping(limited)
	})
}

// every calls beat each interval until the socket closes, which it does when beat fails.
func (s *socket) every(ctx context.Context, interval time.Duration, beat func(context.Context) error) {
	ctx, cancel := context.WithCancel(ctx)
	before := s.quit
	s.quit = func() { cancel(); before() }
	s.work.Go(func() {
		for sleep(ctx, interval) {
			if beat(ctx) != nil {
				_ = s.conn.CloseNow()
				return
			}
		}
	})
}

// read waits for a message. How the platform closed the socket is a websocket.CloseError.
func (s *socket) read(ctx context.Context) ([]byte, error) {
	_, data, err := s.conn.Read(ctx)
	if err != nil {
		return nil, s.c.clean("read", err)
	}
	return data, nil
}

// batch waits for a message and returns all received ones, so that they are stored and confirmed together. It is for
// one goroutine, instead of read.
func (s *socket) batch(ctx context.Context) (all [][]byte, err error) {
	if s.ahead == nil {
		s.readAhead(ctx)
	}
	if all, s.rest = s.rest, nil; len(all) > 0 {
		return all, nil
	}
	for {
		if all, err = s.ahead.take(); len(all) > 0 || err != nil {
			return all, err
		}
		select {
		case <-s.ahead.more:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take returns the buffered messages, or the final error if no more will come.
func (a *ahead) take() (all [][]byte, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.frames) == 0 {
		return nil, a.broken
	}
	all, a.frames, a.bytes = a.frames, nil, 0
	signal(a.room)
	return all, nil
}

// put adds a message.
func (a *ahead) put(data []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.frames, a.bytes = append(a.frames, data), a.bytes+len(data)
	signal(a.more)
}

// full reports whether the buffer must be emptied before more is put.
func (a *ahead) full() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.bytes >= batchBytes || len(a.frames) >= batchMost
}

func (a *ahead) end(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.broken = err
	signal(a.more)
}

// signal leaves a token.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// readAhead reads until the socket ends or is closed.
func (s *socket) readAhead(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	before := s.quit
	s.quit = func() { cancel(); before() }
	a := &ahead{more: make(chan struct{}, 1), room: make(chan struct{}, 1)}
	s.ahead = a
	s.work.Go(func() {
		for {
			data, err := s.read(ctx)
			if err != nil {
				a.end(err)
				return
			}
			for a.put(data); a.full(); {
				select {
				case <-a.room:
				case <-ctx.Done():
					a.end(ctx.Err())
					return
				}
			}
		}
	})
}

// writeJSON sends v as text.
func (s *socket) writeJSON(ctx context.Context, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.write(ctx, websocket.MessageText, b)
}

func (s *socket) write(ctx context.Context, kind websocket.MessageType, b []byte) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if err := s.conn.Write(ctx, kind, b); err != nil {
		return s.c.clean("write", err)
	}
	return nil
}

// close closes the socket and waits for its goroutines.
func (s *socket) close(code websocket.StatusCode) {
	s.quit()
	if code == 0 {
		_ = s.conn.CloseNow()
	} else {
		_ = s.conn.Close(code, "")
	}
	s.work.Wait()
}
