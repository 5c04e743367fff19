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

// again runs sessions, one after the other, until ctx ends or one says that the owner must act. Between two it waits
// twice as long each time, up to a minute; a session that was up begins anew. up says that the connection stands.
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
		if err == nil { // asked to connect again
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

// sleep is false if ctx ended first.
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

	ahead  chan []byte // what was read and not yet asked for; nil before batch is called
	rest   [][]byte    // what batch gives first
	broken error       // why ahead is closed
}

// How much is read ahead, and handed out at once.
const (
	readAhead  = 16
	batchMost  = 64
	batchBytes = 4 << 20
)

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

// keep asks for a sign of life every interval, beside read. A socket that gives none for as long again is cut, which
// ends read.
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

// batch waits for a message and gives all that have come meanwhile, so that they are stored and confirmed together. It
// is for one goroutine, in place of read.
func (s *socket) batch(ctx context.Context) (all [][]byte, err error) {
	if s.ahead == nil {
		s.readAhead(ctx)
	}
	if all, s.rest = s.rest, nil; len(all) > 0 {
		return all, nil
	}
	for size := 0; len(all) < batchMost && size < batchBytes; {
		var data []byte
		open := true
		if len(all) == 0 {
			select {
			case data, open = <-s.ahead:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		} else {
			select {
			case data, open = <-s.ahead:
			default:
				return all, nil
			}
		}
		if !open {
			break
		}
		all, size = append(all, data), size+len(data)
	}
	if len(all) == 0 {
		return nil, s.broken
	}
	return all, nil
}

// readAhead reads until the socket ends or is closed.
func (s *socket) readAhead(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	before := s.quit
	s.quit = func() { cancel(); before() }
	s.ahead = make(chan []byte, readAhead)
	s.work.Go(func() {
		defer close(s.ahead)
		for {
			data, err := s.read(ctx)
			if err != nil {
				s.broken = err
				return
			}
			select {
			case s.ahead <- data:
			case <-ctx.Done():
				s.broken = ctx.Err()
				return
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

// close ends the socket and waits for what belongs to it.
func (s *socket) close(code websocket.StatusCode) {
	s.quit()
	if code == 0 {
		_ = s.conn.CloseNow()
	} else {
		_ = s.conn.Close(code, "")
	}
	s.work.Wait()
}
