package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/coder/websocket"
)

// maxMessage limits a message of the browser.
const maxMessage = 32 << 20

// wire carries messages to a browser and back. receive ends with an error once it is closed.
type wire interface {
	send(ctx context.Context, message []byte) error
	receive() ([]byte, error)
	close() error
}

// message is one of the DevTools protocol.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// conversation is about one page. It belongs to one goroutine.
type conversation struct {
	wire
	in   chan message
	quit chan struct{}
	work sync.WaitGroup
	err  error // reason for the end of in
	last int

	frame, session string
	loaded, idle   bool
	status         int
	answers        map[int]message
}

func newConversation(ctx context.Context, w wire) *conversation {
	c := &conversation{wire: w, in: make(chan message), quit: make(chan struct{}), answers: map[int]message{}}
	c.work.Go(func() {
		defer close(c.in)
		for {
			raw, err := w.receive()
			var m message
			if err == nil {
				err = json.Unmarshal(raw, &m)
			}
			if err != nil {
				c.err = fmt.Errorf("the browser disconnected: %w", err)
				return
			}
			select {
			case c.in <- m:
			case <-c.quit:
				c.err = context.Canceled
				return
			case <-ctx.Done():
				c.err = context.Cause(ctx)
				return
			}
		}
	})
	return c
}

func (c *conversation) close() error {
	close(c.quit)
	err := c.wire.close()
	c.work.Wait()
	return err
}

// next handles one message.
func (c *conversation) next(ctx context.Context) error {
	select {
	case m, ok := <-c.in:
		switch {
		case !ok:
			return c.err
		case m.Method != "":
			return c.event(ctx, m.Session, m.Method, m.Params)
		}
		c.answers[m.ID] = m
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// send sends a command without waiting for its response.
func (c *conversation) send(ctx context.Context, session, method string, params any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	c.last++
	body, err := json.Marshal(message{ID: c.last, Session: session, Method: method, Params: raw})
	if err != nil {
		return err
	}
	return c.wire.send(ctx, body)
}

// call sends a command and decodes its response into out unless that is nil.
func (c *conversation) call(ctx context.Context, session, method string, params, out any) error {
	if err := c.send(ctx, session, method, params); err != nil {
		return err
	}
	id := c.last
	for {
		if m, ok := c.answers[id]; ok {
			clear(c.answers)
			if m.Error != nil {
				return fmt.Errorf("%w: %s: %.200s", ErrPage, method, m.Error.Message)
			}
			if out == nil {
				return nil
			}
			return json.Unmarshal(m.Result, out)
		}
		if err := c.next(ctx); err != nil {
			return err
		}
	}
}

// socket is the connection to an external browser.
type socket struct{ conn *websocket.Conn }

func connect(ctx context.Context, at string) (wire, error) {
	conn, _, err := websocket.Dial(ctx, at, nil)
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(maxMessage)
	return socket{conn}, nil
}

func (s socket) send(ctx context.Context, m []byte) error {
	return s.conn.Write(ctx, websocket.MessageText, m)
}

func (s socket) receive() ([]byte, error) {
	_, m, err := s.conn.Read(context.Background()) // closing ends it
	return m, err
}

func (s socket) close() error {
	err := s.conn.CloseNow()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
