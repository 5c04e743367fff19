package ui

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/views/i18n"
	"fawn/web/httpx"
)

// tick is how often a page gets what is new. The first of it goes out at once, so a page
// which reads slowly gets fewer and larger ticks.
const tick = 50 * time.Millisecond

// A cursor is "run.event". With a mark behind it it stands for a page that has seen only a
// part of what belongs together, and is not honoured.
const insideTick = ".x"

func cursorOf(run store.Run, seq int64) string { return run.ID + "." + strconv.FormatInt(seq, 10) }

// parseCursor reads a cursor; ok is false for one that cannot be honoured.
func parseCursor(s string) (run string, seq int64, ok bool) {
	run, number, found := strings.Cut(s, ".")
	seq, err := strconv.ParseInt(number, 10, 64)
	return run, seq, found && run != "" && err == nil && seq >= 0
}

// unknownTitle is no title a thread can have: what a page shows is not known.
const unknownTitle = "\x00"

// unknownAsks are no questions a thread can have.
func unknownAsks() []views.NetworkQuestion { return []views.NetworkQuestion{{}} }

// errGone ends a stream because the server stops.
var errGone = errors.New("the server stops")

// stream is GET /ui/threads/:id/stream: what a run does, as changes of the page that was
// rendered at ?v= or got as far as Last-Event-ID.
func (u *UI) stream(c echo.Context, t store.Thread) error {
	r, id := c.Request(), t.ID
	release, err := u.streams.Acquire(maxStreams)
	if err != nil {
		return err
	}
	defer release()
	from := c.QueryParam("v")
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		from = last
	}
	ctx, done := httpx.Until(r.Context(), u.Draining, errGone)
	defer done()
	out, err := httpx.NewStream(c.Response(), httpx.Heartbeat)
	if err != nil {
		return err
	}
	defer out.Close()
	l := &live{ui: u, thread: id, out: out, lang: readPrefs(r).Lang}
	err = l.run(i18n.With(ctx, l.lang), from)
	if err != nil && ctx.Err() == nil {
		u.Log.Error("a page's stream was cut off", "thread", id, "err", err)
	}
	return nil // the headers are out, there is nobody to tell
}

// live is one page that follows a thread.
type live struct {
	ui     *UI
	thread string
	lang   string
	out    *httpx.Stream
	buf    []byte
	v      *conversation
	screen *screen
	sent   time.Time // of the last tick
}

func (l *live) run(ctx context.Context, from string) error {
	ok, err := l.resume(ctx, from)
	if err != nil {
		return err
	}
	if !ok {
		if err := l.reset(ctx); err != nil {
			return err
		}
	}
	for l.v.run.ID != "" {
		if err := l.follow(ctx); err != nil {
			return err
		}
		// Only when the run has left its place is it known whether another one follows.
		if _, err := l.ui.Runs.Wait(ctx, l.v.run.ID); err != nil {
			return err
		}
		next, err := l.ui.load(ctx, l.thread, "", everything, "")
		if err != nil {
			return err
		}
		if next.run.ID == "" {
			return l.done(ctx, next)
		}
		if err := l.resetTo(ctx, next); err != nil {
			return err
		}
	}
	l.ui.see(ctx, l.thread)
	return l.send("done", views.Frame{}, "")
}

// resume goes on from a cursor; false when that is not possible.
func (l *live) resume(ctx context.Context, from string) (bool, error) {
	run, seq, ok := parseCursor(from)
	if !ok {
		return false, nil
	}
	v, err := l.ui.load(ctx, l.thread, run, seq, "")
	if err != nil || v.run.ID == "" || v.seq != seq {
		return false, err
	}
	l.v, l.screen = v, newScreen(ctx, v.scene(true))
	l.screen.now.queue = []views.Queued{{}}
	l.screen.now.asks = unknownAsks()   // they change without an event of the run, too
	if v.stateTitle != v.thread.Title { // the page may not know the newer one
		l.screen.now.title = unknownTitle
	}
	return true, nil
}

// reset shows the whole thread anew, as a page would.
func (l *live) reset(ctx context.Context) error {
	v, err := l.ui.load(ctx, l.thread, "", everything, "")
	if err != nil {
		return err
	}
	return l.resetTo(ctx, v)
}

func (l *live) resetTo(ctx context.Context, v *conversation) error {
	s := v.scene(false)
	var f views.Frame
	if err := f.Put(ctx, views.SwapInner, "turns", chat.TurnList(v.view(s))); err != nil {
		return err
	}
	// What stands around the turns is brought up to date from a scene that differs in all.
	around := &screen{ctx: ctx, lang: l.lang}
	if err := around.around(scene{thread: s.thread, title: unknownTitle, files: -1, running: !s.running, queue: []views.Queued{{}}, asks: unknownAsks(), todos: []views.Todo{{}}, gauge: views.Gauge{Tokens: -1}, cut: s.cut}, s); err != nil {
		return err
	}
	f.Swap, f.Title, f.File = append(f.Swap, around.frame.Swap...), around.frame.Title, around.frame.File
	if err := l.ui.putLater(ctx, &f, l.thread); err != nil {
		return err
	}
	l.v, l.screen = v, newScreen(ctx, v.scene(true))
	l.sent = time.Now()
	return l.send("reset", f, v.cursor())
}

// follow sends ticks until the run has ended.
func (l *live) follow(ctx context.Context) error {
	for !l.v.ended {
		if wait := l.ui.tick - time.Since(l.sent); wait > 0 {
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return context.Cause(ctx)
			}
		}
		events, err := l.v.reader.Next(ctx, l.v.seq)
		if err != nil {
			return err
		}
		if len(events) == 0 { // it ended without a word, as a queued run that was taken back does
			return nil
		}
		for _, ev := range events {
			l.v.fold(ev)
		}
		l.v.turns.sync()
		if err := l.ui.reread(ctx, l.v); err != nil {
			return err
		}
		if l.v.stale {
			l.v.stale = false
			if l.v.asks, err = l.ui.asks(ctx, l.thread); err != nil {
				return err
			}
		}
		if l.v.ended { // done shows it
			return nil
		}
		if err := l.show(l.v.scene(true), l.v.cursor()); err != nil {
			return err
		}
	}
	return nil
}

// show sends the changes of one tick. Only the last of its events carries the cursor of the
// whole: a page that was cut off in between shows what no cursor describes, and is reset.
func (l *live) show(s scene, cursor string) error {
	patches, f, err := l.screen.show(s)
	if err != nil {
		return err
	}
	if len(f.Swap) > 0 || f.Title != "" || f.File != nil {
		data, err := f.JSON()
		if err != nil {
			return err
		}
		id := cursor
		if len(patches) > 0 {
			id += insideTick
		}
		l.append("html", data, id)
	}
	if err := l.patches(patches, cursor); err != nil {
		return err
	}
	if len(l.buf) == 0 {
		return nil
	}
	l.sent = time.Now()
	return l.flush()
}

// patches adds patches, the last one with the cursor.
func (l *live) patches(list []views.Patch, cursor string) error {
	for i, p := range list {
		data, err := p.JSON()
		if err != nil {
			return err
		}
		id := cursor
		if i < len(list)-1 {
			id += insideTick
		}
		l.append("md", data, id)
	}
	return nil
}

// done shows the thread as it is stored now and ends the stream.
func (l *live) done(ctx context.Context, stored *conversation) error {
	s := stored.scene(false)
	// The turns of the run and the one before are on the screen; older ones have not changed.
	first := 0
	for i := range s.turns {
		if len(l.screen.now.turns) > 0 && s.turns[i].ID == l.screen.now.turns[0].ID {
			first = i
		}
	}
	s.turns = s.turns[first:]
	patches, f, err := l.screen.show(s)
	if err != nil {
		return err
	}
	cursor := cursorOf(l.v.run, l.v.seq) + insideTick
	if err := l.patches(patches, cursor); err != nil {
		return err
	}
	f.Say = l.outcome(s)
	l.ui.see(ctx, l.thread)
	return l.send("done", f, cursor)
}

// outcome tells people who do not see the page how the run ended.
func (l *live) outcome(s scene) string {
	if len(s.turns) == 0 {
		return ""
	}
	last := s.turns[len(s.turns)-1]
	for _, q := range last.Questions {
		if q.Open {
			return i18n.T(l.lang, "ask.said", q.Text)
		}
	}
	switch last.State {
	case views.TurnFailed:
		return i18n.T(l.lang, "live.failed", chat.FailureTitle(l.screen.ctx, last.Failure))
	case views.TurnStopped:
		return i18n.T(l.lang, "live.stopped")
	}
	if last.Answer == nil {
		return i18n.T(l.lang, "live.answer")
	}
	return i18n.Count(l.lang, "live.words", views.Words(last.Answer.Text))
}

func (l *live) send(event string, f views.Frame, cursor string) error {
	data, err := f.JSON()
	if err != nil {
		return err
	}
	l.append(event, data, cursor)
	return l.flush()
}

// append adds an event whose id is a cursor, which is no number.
func (l *live) append(event string, data []byte, cursor string) {
	l.buf = httpx.AppendFrame(l.buf, event, data, httpx.ID{})
	if cursor != "" {
		l.buf = append(append(append(l.buf[:len(l.buf)-1], "id: "...), cursor...), "\n\n"...)
	}
}

func (l *live) flush() error {
	err := l.out.Write(l.buf, true)
	l.buf = l.buf[:0]
	if cap(l.buf) > 1<<20 { // one large reset is no reason to keep its memory
		l.buf = nil
	}
	return err
}
