package api

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/agent/runs/eventlog"
	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	"fawn/web/principal"
)

// writeAt is the buffer size in bytes from which a stream is written to the connection, without a flush.
const writeAt = 64 << 10

// streamRun creates a run and follows it.
func (m mount) streamRun(c echo.Context, thread string) error {
	r, f, err := m.startStream(c, thread)
	if err != nil {
		return err
	}
	defer f.release()
	return m.follow(c, r, f)
}

// startStream creates a run to follow.
func (m mount) startStream(c echo.Context, thread string) (*store.Run, *following, error) {
	req, err := m.bindRun(c, thread)
	if err != nil {
		return nil, nil, err
	}
	reader, err := m.Readers.Acquire(m.Limits().MaxReaders)
	if err != nil {
		return nil, nil, err
	}
	read := m.stateless.read(req.Thread)
	f := &following{modes: req.modes, subgraphs: req.StreamSubgraphs, leave: req.OnDisconnect == "cancel",
		release: func() { read(); reader() }}
	r, err := m.start(c, req)
	if err != nil {
		f.release()
		return nil, nil, err
	}
	m.contentLocation(c, r)
	resumable(c, r, "stream")
	return &r, f, nil
}

// joinStream follows an existing run from the client's cursor. With an action, it cancels the run
// first.
func (m mount) joinStream(c echo.Context, r store.Run) error {
	f, err := m.joining(c, &r)
	if err != nil {
		return err
	}
	defer f.release()
	return m.follow(c, &r, f)
}

// joining parses how a client wants to follow an existing run.
func (m mount) joining(c echo.Context, r *store.Run) (_ *following, err error) {
	f := &following{after: httpx.ParseID(c.Request().Header.Get("Last-Event-ID")),
		release: m.stateless.read(r.ThreadID)}
	defer func() {
		if err != nil {
			f.release()
		}
	}()
	q := c.QueryParams()
	names := httpx.List(q, "stream_mode")
	if len(names) == 0 {
		names = modesOf(*r)
	}
	if f.modes, err = parseModes(names); err != nil {
		return nil, err
	}
	if f.leave, err = cancelsOnLeave(c); err != nil {
		return nil, err
	}
	f.subgraphs, err = httpx.Bool(q, "stream_subgraphs", strings.Contains(string(r.Kwargs), `"stream_subgraphs":true`))
	if err != nil {
		return nil, err
	}
	reader, err := m.Readers.Acquire(m.Limits().MaxReaders)
	if err != nil {
		return nil, err
	}
	read := f.release
	f.release = func() { reader(); read() }
	wait, err := httpx.Bool(q, "wait", false)
	if err != nil {
		return nil, err
	}
	if action := q.Get("action"); action != "" && c.Request().Method == http.MethodPost { // a GET changes nothing
		rollback, err := cancelAction(action)
		if err != nil {
			return nil, err
		}
		if err := m.cancel(c, *r, rollback, wait); err != nil {
			return nil, err
		}
	}
	m.contentLocation(c, *r)
	resumable(c, *r, "stream")
	return f, nil
}

// cancelsOnLeave reports whether a run ends when the client that joins it leaves. That changes something, which a token
// that may only read can't, although it is a GET.
func cancelsOnLeave(c echo.Context) (bool, error) {
	leave, err := httpx.Bool(c.QueryParams(), "cancel_on_disconnect", false)
	if err == nil && leave && principal.Of(c.Request().Context()).ReadOnly {
		err = httpx.Errorf(http.StatusForbidden, "This token may only read: it can't cancel a run by disconnecting")
	}
	return leave && err == nil, err
}

// following is a client's mode of following a run.
type following struct {
	modes     wire.Modes
	subgraphs bool
	after     httpx.ID // last event the client has
	leave     bool     // the run is cancelled when the client leaves
	release   func()   // called at the end
}

// follow sends a run's frames past a cursor until it ends or the client leaves. When the server stops, the error is
// ErrClosed, and the stream is cut off: to clients an ended one is an ended run.
func (m mount) follow(c echo.Context, r *store.Run, f *following) error {
	ctx, done := m.UntilDrained(c.Request().Context())
	defer done()
	reader, err := m.Runs.FollowRow(ctx, *r)
	if err != nil {
		return err
	}
	out, err := httpx.NewStream(c.Response(), m.beat)
	if err != nil {
		return err
	}
	defer out.Close()
	if f.modes.Custom() {
		defer m.DB.OnWait(func(waiting bool) { // the next writer gets the error
			_ = out.Write(wire.WaitFrame(waiting), true)
		})()
	}
	if m.gone(reader, f) {
		return m.gap(out, reader.Run(), f.after)
	}
	err = m.pump(ctx, out, reader, wire.NewEncoder(m.DB, *r, f.modes, f.subgraphs, f.after))
	if c.Request().Context().Err() != nil || errors.Is(err, wire.ErrLeft) {
		return m.left(c, r, f.leave)
	}
	return err
}

// gone reports whether events that a returning reader hasn't seen no longer exist.
func (m mount) gone(reader *eventlog.Reader, f *following) bool {
	now := reader.Run()
	return runs.Done(now.Status) && now.LastSeq == 0 && f.after.Seq > 0
}

// gap tells a reader that seen or pending events are gone: the run's thread keeps only its current state, or a database
// standby without them took over. The reader gets the state instead.
func (m mount) gap(out *httpx.Stream, r store.Run, after httpx.ID) error {
	data, err := agent.Encode(map[string]any{"code": "stream_replay_gap", "run_id": r.ID,
		"requested_event_id":          after.String(),
		"earliest_available_event_id": nil, "latest_available_event_id": nil, "recovery": "reload_durable_state"})
	if err != nil {
		return err
	}
	return out.Write(httpx.AppendFrame(nil, "gap", data, httpx.ID{}), true)
}

// unlessLeft returns the error that ended a stream, nil if the client left.
func unlessLeft(c echo.Context, err error) error {
	if c.Request().Context().Err() != nil || errors.Is(err, wire.ErrLeft) {
		return nil
	}
	return err
}

// left ends the run of a client that is gone, if it asked for that.
func (m mount) left(c echo.Context, r *store.Run, leave bool) error {
	if !leave {
		return nil
	}
	err := m.Runs.Cancel(context.WithoutCancel(c.Request().Context()), r.ThreadID, r.ID, false)
	if errors.Is(err, runs.ErrNotCancelable) || errors.Is(err, runs.ErrNotFound) {
		return nil
	}
	return err
}

// pump moves events from the log to the client, one flush for each batch.
func (m mount) pump(ctx context.Context, out *httpx.Stream, reader *eventlog.Reader, e *wire.Encoder) error {
	at, err := e.Resume(ctx, reader)
	if err != nil {
		return err
	}
	shown := e.After().Seq
	for {
		events, err := reader.Next(ctx, at)
		if err != nil {
			return err
		}
		next, lost, err := reader.Lost(ctx, shown, events)
		if err != nil {
			return err
		}
		if lost { // it continues like a returning reader
			if err := m.gap(out, reader.Run(), httpx.ID{Seq: shown}); err != nil {
				return err
			}
			shown, e = next-1, e.Anew(httpx.ID{Seq: next - 1, Part: httpx.LastPart})
			if at, err = e.Resume(ctx, reader); err != nil {
				return err
			}
			continue
		}
		if len(events) == 0 {
			// a run whose end couldn't be stored ends after the seen events
			e.End(max(at, reader.Run().LastSeq))
			return e.Send(out, true)
		}
		for _, ev := range events {
			if err := e.Add(ctx, ev); err != nil {
				return err
			}
			if e.Len() > writeAt {
				if err := e.Send(out, false); err != nil {
					return err
				}
			}
		}
		at = events[len(events)-1].To
		shown = max(shown, at)
		if err := e.Send(out, true); err != nil {
			return err
		}
		if e.Done() {
			return nil
		}
	}
}
