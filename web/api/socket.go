package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	"fawn/web/principal"
)

const (
	maxSubscriptions = 32               // limit per socket
	socketWrite      = 30 * time.Second // time limit of sending a message
	closeRefused     = 4000             // plus the HTTP status: reason for closing a socket
)

// socket is a connection of the thread protocol that carries commands and events.
type socket struct {
	m      mount
	c      echo.Context
	thread string
	conn   *websocket.Conn
	work   sync.WaitGroup

	subs map[string]wire.Filter // used by the goroutine that executes commands, like the next two
	next int
	stop func() // ends the reader and waits for it; nil without one
}

// threadSocket opens one. Other pages of a browser may not: their origin is refused.
func (m mount) threadSocket(c echo.Context, id string) error {
	r := c.Request()
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		c.Response().Header().Set("Upgrade", "websocket")
		return httpx.Errorf(http.StatusUpgradeRequired, "open a WebSocket here, or POST for events as a stream")
	}
	o := &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		allowed := err == nil && u.Host != "" && (u.Host == r.Host ||
			c.Response().Header().Get("Access-Control-Allow-Origin") == origin)
		if !allowed {
			return httpx.Errorf(http.StatusForbidden, "pages of %.100q may not open a WebSocket here", origin)
		}
		o.OriginPatterns = []string{u.Host}
	}
	release, err := m.Readers.Acquire(m.Limits().MaxReaders)
	if err != nil {
		return err
	}
	defer release()
	conn, err := websocket.Accept(c.Response(), r, o)
	if err != nil {
		return nil // it has responded
	}
	defer conn.CloseNow()
	conn.SetReadLimit(m.BodyLimit().Bytes)
	ctx, done := m.UntilDrained(r.Context())
	defer done()
	s := &socket{m: m, c: c, thread: id, conn: conn, subs: map[string]wire.Filter{}}
	ctx, stop := context.WithCancel(ctx)
	defer s.work.Wait()
	defer stop()
	s.work.Go(func() { s.beat(ctx) })
	if err := s.serve(ctx); ctx.Err() == nil && websocket.CloseStatus(err) < 0 {
		m.Log.Debug("socket closed", "thread", id, "err", err)
	}
	return nil
}

// beat keeps the connection alive and detects its end.
func (s *socket) beat(ctx context.Context) {
	tick := time.NewTicker(s.m.beat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			s.leave(context.Cause(ctx))
			return
		case <-tick.C:
		}
		within, done := context.WithTimeout(context.WithoutCancel(ctx), socketWrite)
		err := s.conn.Ping(within)
		done()
		if err != nil {
			_ = s.conn.CloseNow() // the reader gets the error
			return
		}
	}
}

// leave closes the connection and tells its reader. If the server stops, the reader reconnects elsewhere.
func (s *socket) leave(cause error) {
	if errors.Is(cause, runs.ErrClosed) {
		_ = s.conn.Close(websocket.StatusGoingAway, "the server stops") // the client may have left
	}
	_ = s.conn.CloseNow()
}

// serve carries out commands until the client leaves, or beat closes the connection.
func (s *socket) serve(ctx context.Context) error {
	for {
		kind, data, err := s.conn.Read(context.WithoutCancel(ctx)) // an ended context would close the connection
		if err != nil {
			return err
		}
		var cmd command
		if kind != websocket.MessageText || json.Unmarshal(data, &cmd) != nil || cmd.ID == nil || cmd.Method == "" {
			return s.refuse(http.StatusUnprocessableEntity, "want commands with id, method and params, as JSON")
		}
		result, err := s.carryOut(ctx, cmd)
		no := asRefusal(err)
		if err != nil && no == nil {
			s.m.Log.Error("thread protocol command failed", "thread", s.thread, "method", cmd.Method, "err", err)
			no = &refusal{code: "unknown_error", message: "The server could not carry it out."}
		}
		var last int64
		switch _, err := s.m.DB.ThreadOf(ctx, principal.Owner(ctx), s.thread); {
		case err == nil:
			if last, err = s.m.DB.LastSeq(ctx, s.thread); err != nil {
				return err
			}
		case !errors.Is(err, store.ErrNotFound): // otherwise it doesn't exist yet, or belongs to someone else
			return err
		}
		b, err := agent.Encode(repliedTo(*cmd.ID, result, no, commandMeta{last, s.thread}))
		if err == nil {
			err = s.send(b)
		}
		if err != nil {
			return err
		}
	}
}

// refuse closes a socket for good: clients don't come back after such a code.
func (s *socket) refuse(status int, why string) error {
	return s.conn.Close(websocket.StatusCode(closeRefused+status), why)
}

// send writes a message. No context of a subscription ends it: that would end the connection.
func (s *socket) send(data []byte) error {
	within, done := context.WithTimeout(context.WithoutCancel(s.c.Request().Context()), socketWrite)
	defer done()
	return s.conn.Write(within, websocket.MessageText, data)
}

func (s *socket) carryOut(ctx context.Context, cmd command) (any, error) {
	switch cmd.Method {
	case "subscription.subscribe":
		return s.subscribe(ctx, cmd.Params)
	case "subscription.unsubscribe":
		return s.unsubscribe(ctx, cmd.Params)
	case "run.start", "input.respond", "state.fork":
		if principal.Of(s.c.Request().Context()).ReadOnly {
			return nil, refuse("permission_denied", "This token may only read.")
		}
	}
	return s.m.carryOut(s.c, s.thread, cmd)
}

// subscribe starts sending events, those of the last run first. All subscriptions share one reader, so that events arrive
// in order; each new one restarts it, and clients skip known events.
func (s *socket) subscribe(ctx context.Context, raw json.RawMessage) (any, error) {
	var f wire.Filter
	if err := params(raw, &f); err != nil {
		return nil, err
	}
	switch {
	case len(f.Channels) == 0:
		return nil, refuse("invalid_argument", "channels: want a list of at least one channel.")
	case f.Depth != nil && *f.Depth < 0, f.Since != nil && *f.Since < 0:
		return nil, refuse("invalid_argument", "depth, since: want whole numbers from 0.")
	case len(s.subs) >= maxSubscriptions:
		return nil, refuse("invalid_argument", "A socket has at most "+strconv.Itoa(maxSubscriptions)+" subscriptions.")
	}
	s.next++
	id := "sub_" + strconv.Itoa(s.next)
	s.subs[id] = f
	if err := s.follow(ctx); err != nil {
		delete(s.subs, id)
		return nil, err
	}
	return map[string]string{"subscription_id": id}, nil
}

// follow sends what any of the subscriptions wants, from now on.
func (s *socket) follow(ctx context.Context) error {
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
	if len(s.subs) == 0 {
		return nil
	}
	f := s.wanted()
	var after httpx.ID
	if f.Since != nil {
		after = httpx.ID{Seq: *f.Since, Part: httpx.LastPart}
	}
	following, cancel := context.WithCancel(ctx)
	reader, err := s.m.Runs.FollowThread(following, s.thread, after.Seq)
	if err != nil {
		cancel()
		return err
	}
	over := make(chan struct{})
	s.stop = func() {
		cancel()
		<-over
	}
	s.work.Go(func() {
		defer close(over)
		defer cancel()
		err := s.m.tell(following, s.thread, reader, &f, after, func(p *wire.ProtocolEncoder, _ bool) error {
			return p.Events(s.send)
		})
		if following.Err() == nil {
			s.leave(err)
		}
	})
	return nil
}

// wanted returns a filter that admits everything any subscription wants; clients select from it.
func (s *socket) wanted() (f wire.Filter) {
	first := true
	for _, one := range s.subs {
		for _, c := range one.Channels {
			if !slices.Contains(f.Channels, c) {
				f.Channels = append(f.Channels, c)
			}
		}
		if first {
			f.Since = one.Since
		} else if one.Since == nil || f.Since != nil && *one.Since < *f.Since {
			f.Since = one.Since
		}
		first = false
	}
	if len(s.subs) == 1 {
		for _, one := range s.subs {
			f.Namespaces, f.Depth = one.Namespaces, one.Depth
		}
	}
	return f
}

func (s *socket) unsubscribe(ctx context.Context, raw json.RawMessage) (any, error) {
	var p struct {
		ID string `json:"subscription_id"`
	}
	if err := params(raw, &p); err != nil {
		return nil, err
	}
	if _, ok := s.subs[p.ID]; !ok {
		return nil, refuse("no_such_subscription", "There is no such subscription.")
	}
	delete(s.subs, p.ID)
	if len(s.subs) > 0 {
		return map[string]any{}, nil // other subscriptions continue
	}
	return map[string]any{}, s.follow(ctx)
}
