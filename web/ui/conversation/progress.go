package conversation

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"

	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/views/i18n"
	"fawn/web/httpx"
)

// A cursor is "run.event". A mark after it identifies a page with incomplete updates; such a cursor is rejected.
const insideTick = ".x"

func cursorOf(run store.Run, seq int64) string { return run.ID + "." + strconv.FormatInt(seq, 10) }

// ParseCursor parses a cursor; ok is false for a rejected one.
func ParseCursor(s string) (run string, seq int64, ok bool) {
	run, number, found := strings.Cut(s, ".")
	seq, err := strconv.ParseInt(number, 10, 64)
	return run, seq, found && run != "" && err == nil && seq >= 0
}

// unknownTitle is an impossible title: the page's title is unknown.
const unknownTitle = "\x00"

// unknownQueue returns a queue that differs from every real one.
func unknownQueue() []views.Queued { return []views.Queued{{}} }

// unknownAsks returns questions that differ from all real ones.
func unknownAsks() []views.NetworkQuestion { return []views.NetworkQuestion{{}} }

// progress is a page's position in a thread: the conversation up to an event, and the rendered state. Its methods
// return the bytes that update the page.
type progress struct {
	h      *Handlers
	thread string
	lang   string
	base   string // base path of the page
	v      *View
	screen *screen
}

// speak returns the context to render in. It outlives the request that happens to do the work.
func (p *progress) speak(ctx context.Context) context.Context {
	return p.h.KnowingUploads(i18n.With(context.WithoutCancel(ctx), p.lang))
}

// resume continues from a cursor; false if impossible.
func (p *progress) resume(ctx context.Context, from string) (bool, error) {
	run, seq, ok := ParseCursor(from)
	if !ok {
		return false, nil
	}
	v, err := p.h.Load(ctx, p.thread, run, seq, "")
	if err != nil || v.run.ID == "" || v.seq != seq {
		return false, err
	}
	p.v, p.screen = v, NewScreen(p.speak(ctx), v.Scene(true))
	p.forget()
	if v.stateTitle == v.Thread.Title { // otherwise the page may lack the newer one
		p.screen.now.Title = v.Heading()
	}
	return true, nil
}

// forget marks the parts of a page as unknown that change without an event of the run.
func (p *progress) forget() {
	p.screen.now.Title, p.screen.now.queue, p.screen.now.asks = unknownTitle, unknownQueue(), unknownAsks()
}

// refresh reads those again. The next change shows them.
func (p *progress) refresh(ctx context.Context) error {
	p.forget()
	t, err := p.h.OwnThread(ctx, p.thread)
	if isGone(err) { // the run's end reports it
		return nil
	}
	if err != nil {
		return err
	}
	p.v.Thread, p.v.title = t, cmp.Or(t.Title, p.v.title)
	p.v.queue, p.v.later = p.h.Queue(p.thread)
	p.v.asks, err = p.h.Asks(ctx, p.thread)
	return err
}

// reset re-renders the whole thread like a new page.
func (p *progress) reset(ctx context.Context) ([]byte, error) {
	v, err := p.h.Load(ctx, p.thread, "", Everything, "")
	if err != nil {
		return nil, err
	}
	return p.resetTo(ctx, v)
}

func (p *progress) resetTo(ctx context.Context, v *View) ([]byte, error) {
	ctx = p.speak(ctx)
	s := v.Scene(false)
	var f views.Frame
	if err := f.Put(ctx, views.SwapInner, "turns", chat.TurnList(v.Page(s))); err != nil {
		return nil, err
	}
	// The frame around the turns is updated from an empty scene.
	around := &screen{ctx: ctx, lang: p.lang}
	none := Scene{Thread: s.Thread, Title: unknownTitle, files: -1, Running: !s.Running, queue: unknownQueue(),
		asks: unknownAsks(), todos: []views.Todo{{}}, gauge: views.Gauge{Tokens: -1}, cut: s.cut}
	if err := around.around(none, s); err != nil {
		return nil, err
	}
	f.Swap, f.Title, f.File = append(f.Swap, around.frame.Swap...), around.frame.Title, around.frame.File
	if err := p.h.PutLater(ctx, &f, p.thread); err != nil {
		return nil, err
	}
	p.h.drawn.Add(1)
	p.v, p.screen = v, NewScreen(ctx, v.Scene(true))
	return appendFrame(nil, "reset", f, v.Cursor())
}

// take folds events of the run into the conversation.
func (p *progress) take(ctx context.Context, events []runevent.Event) error {
	for _, ev := range events {
		p.v.fold(ev)
	}
	p.v.Turns.Sync()
	if err := p.h.reread(ctx, p.v); err != nil {
		return err
	}
	if p.v.retitled {
		p.v.retitled = false
		t, err := p.h.OwnThread(ctx, p.thread)
		if err != nil && !isGone(err) {
			return err
		}
		p.v.title = cmp.Or(t.Title, p.v.title)
	}
	if !p.v.stale {
		return nil
	}
	p.v.stale = false
	var err error
	p.v.asks, err = p.h.Asks(ctx, p.thread)
	return err
}

// show updates the page to s. Only the last event carries the final cursor: a page interrupted before it is in no
// describable state and is reset.
func (p *progress) show(s Scene, cursor string) ([]byte, error) {
	p.h.drawn.Add(1)
	patches, f, err := p.screen.Show(s)
	if err != nil {
		return nil, err
	}
	var out []byte
	if len(f.Swap) > 0 || f.Title != "" || f.File != nil {
		id := cursor
		if len(patches) > 0 {
			id += insideTick
		}
		if out, err = appendFrame(out, "html", f, id); err != nil {
			return nil, err
		}
	}
	return appendPatches(out, patches, cursor)
}

// end handles the end of a run: nothing follows, which ends the stream, or another run does.
func (p *progress) end(ctx context.Context) (data []byte, over bool, err error) {
	// Only after the run's end is it known whether another one follows.
	if _, err := p.h.Runs.Wait(ctx, p.v.run.ID); errors.Is(err, runs.ErrNotFound) {
		return nil, false, errBehind // it was rolled back, or deleted with its thread
	} else if err != nil {
		return nil, false, err
	}
	next, err := p.h.Load(ctx, p.thread, "", Everything, "")
	if err != nil {
		return nil, false, err
	}
	if next.run.ID == "" {
		data, err = p.done(ctx, next)
		return data, true, err
	}
	data, err = p.resetTo(ctx, next)
	return data, false, err
}

// done shows the stored thread and ends the stream.
func (p *progress) done(ctx context.Context, stored *View) ([]byte, error) {
	s := stored.Scene(false)
	// The turns of the run and the one before are on the screen; older ones have not changed.
	first := 0
	for i := range s.Turns {
		if len(p.screen.now.Turns) > 0 && s.Turns[i].ID == p.screen.now.Turns[0].ID {
			first = i
		}
	}
	s.Turns = s.Turns[first:]
	p.h.drawn.Add(1)
	patches, f, err := p.screen.Show(s)
	if err != nil {
		return nil, err
	}
	cursor := cursorOf(p.v.run, p.v.seq) + insideTick
	out, err := appendPatches(nil, patches, cursor)
	if err != nil {
		return nil, err
	}
	f.Say = p.outcome(s)
	return appendFrame(out, "done", f, cursor)
}

// outcome returns the screen reader's announcement of the end of a run.
func (p *progress) outcome(s Scene) string {
	if len(s.Turns) == 0 {
		return ""
	}
	last := s.Turns[len(s.Turns)-1]
	for _, q := range last.Questions {
		if q.Open {
			return i18n.T(p.lang, "ask.said", q.Text)
		}
	}
	switch last.State {
	case views.TurnFailed:
		return i18n.T(p.lang, "live.failed", chat.FailureTitle(p.screen.ctx, last.Failure))
	case views.TurnStopped:
		return i18n.T(p.lang, "live.stopped")
	}
	if last.Answer == nil {
		return i18n.T(p.lang, "live.answer")
	}
	return i18n.Count(p.lang, "live.words", views.Words(last.Answer.Text))
}

// appendPatches adds patches, the last one with the cursor.
func appendPatches(dst []byte, list []views.Patch, cursor string) ([]byte, error) {
	for i, p := range list {
		data, err := p.JSON()
		if err != nil {
			return nil, err
		}
		id := cursor
		if i < len(list)-1 {
			id += insideTick
		}
		dst = appendEvent(dst, "md", data, id)
	}
	return dst, nil
}

func appendFrame(dst []byte, event string, f views.Frame, cursor string) ([]byte, error) {
	data, err := f.JSON()
	if err != nil {
		return nil, err
	}
	return appendEvent(dst, event, data, cursor), nil
}

// appendEvent adds an event whose id is a cursor rather than a number.
func appendEvent(dst []byte, event string, data []byte, cursor string) []byte {
	dst = httpx.AppendFrame(dst, event, data, httpx.ID{})
	if cursor != "" {
		dst = append(append(append(dst[:len(dst)-1], "id: "...), cursor...), "\n\n"...)
	}
	return dst
}
