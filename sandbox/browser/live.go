package browser

import (
	"context"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
)

const (
	frameGap    = 200 * time.Millisecond // least time between two pictures
	frameWidth  = 1280
	maxWatchers = 8
)

// Frame is a screenshot of the page.
type Frame struct {
	JPEG    []byte // nil if only other fields changed
	Address string
	Held    bool // a person controls the browser
	Busy    bool // the agent acts
}

// watcher is a viewer of a session.
type watcher struct {
	frames chan Frame // the newest only
	once   sync.Once
	done   chan struct{}
}

func (w *watcher) close() { w.once.Do(func() { close(w.done) }) }

func (w *watcher) give(f Frame) {
	for {
		select {
		case w.frames <- f:
			return
		default:
		}
		select {
		case <-w.frames: // replace a frame not yet delivered
		default:
		}
	}
}

// Watch calls show with each new frame of a thread's page until show fails, ctx ends, or the session ends, which is no
// error.
func (b *Browsers) Watch(ctx context.Context, thread string, show func(Frame) error) error {
	b.mu.Lock()
	s := b.sessions[thread]
	b.mu.Unlock()
	if s == nil || s.over() {
		return ErrNoSession
	}
	w := &watcher{frames: make(chan Frame, 1), done: make(chan struct{})}
	s.mu.Lock()
	if len(s.watchers) >= maxWatchers || s.over() {
		s.mu.Unlock()
		return ErrFull
	}
	s.watchers[w] = struct{}{}
	if s.cast != nil && len(s.last.JPEG) > 0 {
		w.give(s.last) // resend the last frame until the page changes
	}
	s.spawn(s.recast)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.watchers, w)
		if time.Since(s.acted) < s.b.cfg.Watched { // repeated watching keeps it no longer than watching once
			s.used = time.Now()
		}
		if len(s.watchers) == 0 {
			s.spawn(s.recast)
		}
		s.mu.Unlock()
	}()
	var told Frame
	for first := true; ; first = false {
		s.mu.Lock()
		now, changed := s.state(), s.changed
		s.mu.Unlock()
		if first || now.Address != told.Address || now.Held != told.Held || now.Busy != told.Busy {
			told = now
			if err := show(now); err != nil {
				return err
			}
		}
		select {
		case f := <-w.frames:
			if err := show(f); err != nil {
				return err
			}
			told = Frame{Address: f.Address, Held: f.Held, Busy: f.Busy}
		case <-changed:
		case <-w.done:
			return nil
		case <-s.ended:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// state returns a frame without a picture. The caller holds the mutex.
func (s *session) state() Frame {
	f := Frame{Held: s.held != nil, Busy: len(s.turn) > 0}
	if len(s.tabs) > 0 {
		f.Address = s.tabs[len(s.tabs)-1].address
	}
	return f
}

// recast starts the screencast of the visible page only, or stops it without watchers.
func (s *session) recast() {
	s.mu.Lock()
	var t *tab
	if len(s.tabs) > 0 && len(s.watchers) > 0 {
		t = s.tabs[len(s.tabs)-1]
	}
	old := s.cast
	if t == old && (t == nil || len(s.watchers) > 1) {
		s.mu.Unlock()
		return
	}
	s.cast, s.last = t, Frame{}
	s.mu.Unlock()
	if old != nil {
		ctx, cancel := context.WithTimeout(old.ctx, closeTime)
		_, _ = cdp.Call(ctx, old.t, page.StopScreencast, cdp.Empty{}) // the page may be gone
		cancel()
	}
	if t != nil {
		ctx, cancel := context.WithTimeout(t.ctx, closeTime)
		defer cancel()
		quality := int64(60)
		_, _ = cdp.Call(ctx, t.t, page.StartScreencast, page.StartScreencastParams{
			Format: page.StartScreencastFormatJpeg, Quality: &quality, MaxWidth: frameWidth, MaxHeight: Height})
	}
}

// frame passes one on, and asks for the next a moment later. The caller holds the mutex.
func (s *session) frame(t *tab, e *page.EventScreencastFrame) {
	if s.cast == t {
		f := s.state()
		f.JPEG = e.Data
		s.last = f
		for w := range s.watchers {
			w.give(f)
		}
	}
	s.spawn(func() {
		wait := time.NewTimer(frameGap)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-s.ended:
			return
		}
		ctx, cancel := context.WithTimeout(t.ctx, closeTime)
		defer cancel()
		_, _ = cdp.Call(ctx, t.t, page.ScreencastFrameAck, page.ScreencastFrameAckParams{SessionID: e.SessionID})
	})
}

// Where returns the address that the browser of a thread shows, and whether a person has it.
func (b *Browsers) Where(thread string) (address string, held bool, err error) {
	b.mu.Lock()
	s := b.sessions[thread]
	b.mu.Unlock()
	if s == nil || s.over() {
		return "", false, ErrNoSession
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.state()
	return f.Address, f.Held, nil
}

// TakeOver gives a person control of a thread's browser: the agent's actions wait until [Browsers.HandBack]. It
// first waits for the current action.
func (b *Browsers) TakeOver(ctx context.Context, thread string) error {
	b.mu.Lock()
	s := b.sessions[thread]
	b.mu.Unlock()
	if s == nil || s.over() {
		return ErrNoSession
	}
	s.mu.Lock()
	if s.held == nil {
		s.held = make(chan struct{})
	}
	s.handNote = true
	s.touch()
	s.signal()
	s.mu.Unlock()
	select {
	case s.turn <- struct{}{}:
		<-s.turn
	case <-s.ended:
		return ErrNoSession
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// HandBack lets the agent continue.
func (b *Browsers) HandBack(ctx context.Context, thread string) error {
	b.mu.Lock()
	s := b.sessions[thread]
	b.mu.Unlock()
	if s == nil || s.over() {
		return ErrNoSession
	}
	s.mu.Lock()
	held := s.held
	s.held = nil
	if held != nil {
		s.touch()
	}
	s.signal()
	s.mu.Unlock()
	if held == nil {
		return nil
	}
	select { // save the person's changes before the agent continues
	case s.turn <- struct{}{}:
		ctx, cancel := context.WithTimeout(ctx, closeTime)
		if err := s.rest(ctx); err == nil {
			if address, _, err := b.Where(thread); err == nil {
				s.keep(ctx, address)
			}
		}
		cancel()
		<-s.turn
	default:
	}
	close(held)
	return nil
}

// Gesture is an input of a person.
type Gesture struct {
	Kind   string  // click, wheel, text, key, open, back
	X, Y   float64 // in pixels of the page
	DeltaY float64
	Text   string // of text; the name of a key; an address
}

// Do performs an input of a person in control of the browser.
func (b *Browsers) Do(ctx context.Context, thread string, g Gesture) error {
	b.mu.Lock()
	s := b.sessions[thread]
	b.mu.Unlock()
	if s == nil || s.over() {
		return ErrNoSession
	}
	if s.heldBy() == nil {
		return ErrNotHeld
	}
	t, err := s.current()
	if err != nil {
		return err
	}
	s.use()
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	x, y := min(max(g.X, 0), Width), min(max(g.Y, 0), Height)
	switch g.Kind {
	case "click":
		return s.why(s.press(ctx, t, x, y))
	case "wheel":
		_, err = cdp.Call(ctx, t.t, input.DispatchMouseEvent, input.DispatchMouseEventParams{
			Type: input.DispatchMouseEventTypeMouseWheel, X: x, Y: y, DeltaY: min(max(g.DeltaY, -2000), 2000)})
	case "text":
		if len(g.Text) > maxTyped {
			return refuse("The text is too long.")
		}
		_, err = cdp.Call(ctx, t.t, input.InsertText, input.InsertTextParams{Text: g.Text})
	case "key":
		return s.why(s.key(ctx, t, g.Text))
	case "open":
		return s.why(s.open(ctx, t, g.Text))
	case "back":
		return s.why(s.back(ctx, t))
	default:
		return refuse("There is no such gesture.")
	}
	return s.why(err)
}
