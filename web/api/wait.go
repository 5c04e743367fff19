package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/principal"
)

// waitRun creates a run and answers with its last state.
func (m mount) waitRun(c echo.Context, thread string) error {
	req, err := m.bindRun(c, thread)
	if err != nil {
		return err
	}
	defer m.stateless.read(req.Thread)()
	r, err := m.start(c, req)
	if err != nil {
		return err
	}
	m.contentLocation(c, r)
	resumable(c, r, "join")
	return m.await(c, r, req.OnDisconnect == "cancel")
}

// joinRun responds with the last state of an existing run, or streams it to clients that ask for
// events.
func (m mount) joinRun(c echo.Context, r store.Run) error {
	if strings.Contains(c.Request().Header.Get("Accept"), "text/event-stream") {
		return m.joinStream(c, r)
	}
	leave, err := cancelsOnLeave(c)
	if err != nil {
		return err
	}
	defer m.stateless.read(r.ThreadID)()
	m.contentLocation(c, r)
	return m.await(c, r, leave)
}

// await sends line feeds, which JSON allows in front, until the run has ended; they keep proxies and
// clients from giving up. The status is sent before the outcome is known, so the body reports a failed
// run.
func (m mount) await(c echo.Context, r store.Run, leave bool) error {
	ended, err := m.ended(c, r, leave)
	if err != nil || ended.ID == "" {
		return err
	}
	return m.outcome(c, ended)
}

// ended returns the run once it has ended, nothing when the client left before.
func (m mount) ended(c echo.Context, r store.Run, leave bool) (none store.Run, err error) {
	ctx, done := m.UntilDrained(c.Request().Context())
	defer done()
	res := c.Response()
	ctl := http.NewResponseController(res)
	if err := ctl.SetWriteDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return none, err
	}
	for {
		one, cancel := context.WithTimeout(ctx, m.beat/2)
		ended, err := m.Runs.Wait(one, r.ID)
		late := one.Err() != nil
		cancel()
		switch {
		case err == nil && runs.Done(ended.Status):
			return ended, nil
		case err == nil: // the server stops; another one continues the run
			return none, runs.ErrClosed
		case errors.Is(err, runs.ErrNotFound): // rolled back: the thread is unchanged
			return r, nil
		case ctx.Err() != nil:
			if c.Request().Context().Err() != nil {
				return none, m.left(c, &r, leave)
			}
			return none, context.Cause(ctx)
		case !late:
			return none, err
		}
		res.Header().Set(echo.HeaderContentType, echo.MIMEApplicationJSON)
		if _, err := res.Write([]byte("\n")); err != nil {
			return none, err
		}
		if err := ctl.Flush(); err != nil {
			return none, err
		}
	}
}

// outcome sends the result of a run.
func (m mount) outcome(c echo.Context, r store.Run) error {
	ctx := context.WithoutCancel(c.Request().Context())
	body, err := m.lastValues(ctx, r)
	if err != nil {
		return err
	}
	if r.Status == runs.Failed || r.Status == runs.Timeout {
		f, err := m.runFailure(ctx, r)
		if err != nil {
			return err
		}
		failed := map[string]any{"__error__": map[string]string{"error": f.Error, "message": f.Message}}
		if m.native {
			failed["status"], failed["error"] = r.Status, f.Message
		}
		if body, err = agent.Encode(failed); err != nil {
			return err
		}
	}
	return finish(c, body)
}

// finish ends an answer that may have begun with line feeds.
func finish(c echo.Context, body []byte) error {
	res := c.Response()
	if !res.Committed {
		return c.JSONBlob(http.StatusOK, body)
	}
	_, err := res.Write(body)
	return err
}

// lastSnapshot returns the state after a run's last step, the thread's when it made none, and empty when that is
// deleted.
func (a *API) lastSnapshot(ctx context.Context, r store.Run) (snap store.Snapshot, err error) {
	list, err := a.DB.Checkpoints(ctx, r.ThreadID, "", "", 1, func(cp store.Checkpoint) bool { return cp.Run == r.ID })
	if err != nil {
		return snap, err
	}
	if len(list) > 0 {
		snap, err = a.DB.SnapshotOf(ctx, list[0])
	} else {
		var t store.Thread
		if t, err = a.DB.ThreadOf(ctx, principal.Owner(ctx), r.ThreadID); err == nil {
			snap, err = a.Checkpoint(ctx, t, r.BaseCheckpoint)
		}
	}
	if errors.Is(err, store.ErrNotFound) {
		return store.Snapshot{}, nil
	}
	return snap, err
}

// lastValues returns the values of lastSnapshot with the run's open questions.
func (a *API) lastValues(ctx context.Context, r store.Run) (json.RawMessage, error) {
	snap, err := a.lastSnapshot(ctx, r)
	if err != nil {
		return nil, err
	}
	values := runs.Values(snap, true)
	if r.StopReason == agent.StopBreakpoint || slices.Contains(snap.Checkpoint.Next, agent.NodeInterrupt) {
		values, _, err = wire.Interrupted(values, snap)
	}
	return values, err
}

// Close waits for background work of completed requests. Draining must be closed before.
func (a *API) Close() { a.work.Wait() }
