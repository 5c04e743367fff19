package conversation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent/runs"
	"fawn/store"
	"fawn/views"
	"fawn/web/httpx"
	"fawn/web/ui/page"
)

// tick is the interval of updates. The first of its updates is sent at once, so slow pages get fewer and larger ticks.
const tick = 50 * time.Millisecond

// stream handles GET /ui/threads/:id/stream: a run's events as changes of the page rendered at ?v= or updated up to
// Last-Event-ID.
func (h *Handlers) stream(c echo.Context, t store.Thread) error {
	r, id := c.Request(), t.ID
	release, err := h.streams.Acquire(maxStreams)
	if err != nil {
		return err
	}
	defer release()
	from := c.QueryParam("v")
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		from = last
	}
	ctx, done := httpx.Until(r.Context(), h.Draining, runs.ErrClosed)
	defer done()
	out, err := httpx.NewPageStream(c.Response(), httpx.Heartbeat)
	if err != nil {
		return err
	}
	defer out.Close()
	defer h.DB.OnWait(func(waiting bool) { // the next writer gets the error
		_ = out.Write(waitEvent(waiting), true)
	})()
	l := &live{out: out, above: strings.TrimPrefix(c.QueryParam("above"), "t-"), told: c.QueryParams().Has("above"),
		progress: progress{h: h, thread: id, lang: page.ReadPrefs(r).Lang, base: views.Base(r.Context())}}
	err = l.follow(ctx, from)
	if isGone(err) || errors.Is(err, runs.ErrNotFound) {
		if _, failed := h.OwnThread(ctx, id); isGone(failed) { // the page is loaded again, and says that it was deleted
			_ = out.Write(appendEvent(nil, "gone", []byte("{}"), ""), true)
		}
		return nil // otherwise the page opens its stream again
	}
	if err != nil && ctx.Err() == nil && !httpx.Left(r, err) && !errors.Is(err, runs.ErrClosed) { // the server is stopping
		h.Log.Error("page stream failed", "thread", id, "err", err)
	}
	return nil // the headers are sent, so errors can't be reported
}

// waitEvent reports that commits are delayed, or no longer. It belongs to no run, so the page stays at its cursor.
func waitEvent(waiting bool) []byte {
	return appendEvent(nil, "wait", fmt.Appendf(nil, `{"waiting":%t}`, waiting), "")
}

// live is one page that follows a thread.
type live struct {
	progress // until the page has joined a feed
	out      *httpx.Stream
	at, seen int // the feed's next tick for the page, and its moves so far; guarded by the feeds

	// The turn above the message that [Handlers.Begun] has put on the page, if the page told it.
	above string
	told  bool
}

// follow brings the page from a cursor to the end of the thread's last run.
func (l *live) follow(ctx context.Context, from string) error {
	var ok bool
	var err error
	if run, begun := begunRun(from); begun {
		ok, err = l.resumeBegun(ctx, run)
	} else {
		ok, err = l.resume(ctx, from)
	}
	if err == nil && ok {
		err = l.catchUp()
	} else if err == nil {
		err = l.anew(ctx)
	}
	if err != nil {
		return err
	}
	for l.v.run.ID != "" {
		over, err := l.join(ctx)
		switch {
		case errors.Is(err, errBehind):
			err = l.anew(ctx)
		case over:
			return err
		}
		if err != nil {
			return err
		}
	}
	data, err := appendFrame(nil, "done", views.Frame{}, "")
	if err != nil {
		return err
	}
	return l.out.Write(data, true)
}

// catchUp shows what has changed without an event of the run since the page was drawn; the run's next event may be far off.
func (l *live) catchUp() error {
	data, err := l.show(l.v.Scene(true), l.v.Cursor())
	if err != nil || len(data) == 0 {
		return err
	}
	return l.out.Write(data, true)
}

// anew renders the thread's current state.
func (l *live) anew(ctx context.Context) error {
	data, err := l.reset(ctx)
	if err != nil {
		return err
	}
	return l.out.Write(data, true)
}

// join follows the thread together with its other pages; over is true when the page has
// seen the end. Errors: errBehind.
func (l *live) join(ctx context.Context) (over bool, err error) {
	f, first := l.h.feeds.join(l)
	defer f.leave(l)
	if !first {
		if met, over, err := l.meet(ctx, f); !met || err != nil {
			return over, err
		}
	}
	l.v, l.screen = nil, nil // the feed's work from here on
	for {
		ticks, over, err := f.wait(ctx, l)
		if err != nil {
			return false, err
		}
		for i, data := range ticks {
			if err := l.out.Write(data, i == len(ticks)-1); err != nil {
				return false, err
			}
		}
		if over {
			return true, nil
		}
	}
}

// meet brings the page to where the feed is. It returns false when that cannot be, and over
// when the page has seen the end.
func (l *live) meet(ctx context.Context, f *feed) (met, over bool, err error) {
	for {
		s, cursor, where, wake := f.meet(l)
		switch where {
		case metHere:
			data, err := l.show(s, cursor)
			if err == nil && len(data) > 0 {
				err = l.out.Write(data, true)
			}
			return true, false, err
		case metAhead:
			if err := f.moved(ctx, l, wake); err != nil {
				return false, false, err
			}
		case metOther, metFailed:
			return false, false, errBehind
		case metOver:
			data, over, err := l.end(ctx)
			if err != nil {
				return false, false, err
			}
			return false, over, l.out.Write(data, true)
		}
	}
}

// maxStreams limits the pages following runs.
const maxStreams = 512
