package conversation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"fawn/store"
	"fawn/views"
)

// feedMemory limits the bytes of ticks that a feed buffers for slow pages. A page further behind is re-rendered.
const feedMemory = 64 << 10

// feeds are the threads that pages follow. Each page's changes are worked out once, however
// many pages show the same thread in the same language.
type feeds struct {
	mu   sync.Mutex // guards the data shared by feeds and pages
	open map[feedKey]*feed
}

type feedKey struct{ thread, lang, base string }

// feed computes the changes for all pages of one thread. It has no goroutine: the page that holds turn waits for the
// run and does the work for all.
type feed struct {
	all  *feeds
	key  feedKey
	turn chan struct{} // holds one token

	progress           // owned by the holder of turn
	sent     time.Time // time of the last tick, too

	// Guarded by all.mu.
	pages   int // joined pages
	ticks   []sentTick
	first   int // number of ticks[0]
	bytes   int // size of ticks
	now     Scene
	run     store.Run
	seq     int64
	differs bool // a page that joined knew more than the feed
	ending  bool // the final changes are being computed
	over    bool
	err     error
	moves   int           // number of times the feed has moved
	wake    chan struct{} // closed when it does
}

// sentTick holds the bytes of one tick and the number of pages still to receive them.
type sentTick struct {
	data  []byte
	pages int
}

// errBroken means that the changes of a tick could not be computed.
var errBroken = errors.New("couldn't compute the changes of a page")

// errBehind means that a page's next change, or its current state, is gone.
var errBehind = errors.New("the page is too far behind")

// join adds a page to the feed of its thread. Without one the page's own progress becomes
// the feed's, and first is true.
func (a *feeds) join(l *live) (f *feed, first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := feedKey{l.thread, l.lang, l.base}
	f = a.open[key]
	if f == nil {
		first = true
		f = &feed{all: a, key: key, turn: make(chan struct{}, 1), progress: l.progress,
			now: l.v.Scene(true), run: l.v.run, seq: l.v.seq, wake: make(chan struct{})}
		f.turn <- struct{}{}
		a.open[key] = f
	}
	f.pages++
	l.at, l.seen = f.next(), f.moves
	return f, first
}

// leave takes a page away, the last one with the feed.
func (f *feed) leave(l *live) {
	f.all.mu.Lock()
	defer f.all.mu.Unlock()
	f.taken(l)
	if f.pages--; f.pages == 0 {
		f.close()
	}
}

// close keeps new pages away. It is called with all.mu held, like next, taken and drop.
func (f *feed) close() {
	if f.all.open[f.key] == f {
		delete(f.all.open, f.key)
	}
}

// next returns the number of the next tick.
func (f *feed) next() int { return f.first + len(f.ticks) }

// taken records that a page has all ticks, and drops ticks that every page has.
func (f *feed) taken(l *live) {
	for i := max(0, l.at-f.first); i < len(f.ticks); i++ {
		f.ticks[i].pages--
	}
	l.at, l.seen = f.next(), f.moves
	n := 0
	for n < len(f.ticks) && f.ticks[n].pages == 0 {
		n++
	}
	f.drop(n)
}

func (f *feed) drop(n int) {
	for _, t := range f.ticks[:n] {
		f.bytes -= len(t.data)
	}
	f.ticks, f.first = slices.Delete(f.ticks, 0, n), f.first+n
}

// wait returns the ticks a page has not got yet. over means that nothing follows them.
// Errors: errBehind.
func (f *feed) wait(ctx context.Context, l *live) (ticks [][]byte, over bool, err error) {
	for {
		ticks, over, wake, err := f.ready(l)
		if len(ticks) > 0 || over || err != nil {
			return ticks, over, err
		}
		if err := f.moved(ctx, l, wake); err != nil {
			return nil, false, err
		}
	}
}

// ready is wait without waiting: if there is nothing, wake is closed as soon as there is.
func (f *feed) ready(l *live) (ticks [][]byte, over bool, wake <-chan struct{}, err error) {
	f.all.mu.Lock()
	defer f.all.mu.Unlock()
	if l.at < f.first {
		return nil, false, nil, errBehind
	}
	for _, t := range f.ticks[l.at-f.first:] {
		ticks = append(ticks, t.data)
	}
	f.taken(l)
	if len(ticks) == 0 && !f.over && f.err != nil {
		return nil, false, nil, f.err
	}
	return ticks, f.over, f.wake, nil
}

// moved waits until the feed has advanced since the page looked at it, or advances it.
func (f *feed) moved(ctx context.Context, l *live, wake <-chan struct{}) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-wake:
		return nil
	case <-f.turn:
		return f.work(ctx, l)
	}
}

// work does a tick's work for all pages and passes turn on. Another page may have done it in the
// meantime.
func (f *feed) work(ctx context.Context, l *live) (err error) {
	f.all.mu.Lock()
	late := l.seen != f.moves
	f.all.mu.Unlock()
	if late {
		f.turn <- struct{}{}
		return nil
	}
	err = errBroken // until it came to its end
	defer func() {
		if err != nil && (errors.Is(err, errBroken) || ctx.Err() == nil) {
			f.fail(err)
		}
		f.turn <- struct{}{}
	}()
	err = f.advance(ctx)
	return err
}

// fail ends the feed for all of its pages.
func (f *feed) fail(err error) {
	f.all.mu.Lock()
	defer f.all.mu.Unlock()
	f.err = err
	f.close()
	f.wakeAll()
}

func (f *feed) wakeAll() {
	f.moves++
	close(f.wake)
	f.wake = make(chan struct{})
}

// advance waits for something to happen and publishes it. If the page that waits goes away, nothing has happened yet,
// and another one can continue.
func (f *feed) advance(ctx context.Context) error {
	if !f.v.ended {
		if err := f.pause(ctx); err != nil {
			return err
		}
		events, err := f.v.reader.Next(ctx, f.v.seq)
		if err != nil {
			return err
		}
		if _, lost, err := f.v.reader.Lost(ctx, f.v.seq, events); err != nil || lost {
			return cmp.Or(err, errBehind) // what the pages show is no longer stored
		}
		if len(events) > 0 {
			if err := f.take(context.WithoutCancel(ctx), events); err != nil {
				return fmt.Errorf("%w: %w", errBroken, err)
			}
			if !f.v.ended { // the end shows the rest
				return f.tick(context.WithoutCancel(ctx))
			}
		}
	}
	if f.lastCatchUp() {
		f.forget()
	}
	data, over, err := f.end(ctx)
	if err != nil {
		return err
	}
	f.publish(data, f.v.Scene(true), over)
	return nil
}

// pause waits until the next tick is due.
func (f *feed) pause(ctx context.Context) error {
	wait := f.h.Tick - time.Since(f.sent)
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// tick publishes the changes since the last tick.
func (f *feed) tick(ctx context.Context) error {
	if f.catchUp() {
		if err := f.refresh(ctx); err != nil {
			return fmt.Errorf("%w: %w", errBroken, err)
		}
	}
	s := f.v.Scene(true)
	data, err := f.show(s, f.v.Cursor())
	if err != nil {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	f.publish(data, s, false)
	return nil
}

// catchUp reports, once, whether pages are ahead of the feed.
func (f *feed) catchUp() bool {
	f.all.mu.Lock()
	defer f.all.mu.Unlock()
	was := f.differs
	f.differs = false
	return was
}

// lastCatchUp is catchUp before the end. Pages that join later wait for the end: no later tick could bring them up to
// date.
func (f *feed) lastCatchUp() bool {
	f.all.mu.Lock()
	f.ending = true
	f.all.mu.Unlock()
	return f.catchUp()
}

// publish hands out a tick, after which pages show s.
func (f *feed) publish(data []byte, s Scene, over bool) {
	if len(data) > 0 {
		f.sent = time.Now()
	}
	f.all.mu.Lock()
	defer f.all.mu.Unlock()
	f.now, f.run, f.seq, f.ending, f.over = s, f.v.run, f.v.seq, false, over
	if len(data) > 0 {
		f.ticks = append(f.ticks, sentTick{data, f.pages})
		f.bytes += len(data)
	}
	n := 0
	for size := f.bytes; n < len(f.ticks)-1 && size > f.h.FeedMemory; n++ {
		size -= len(f.ticks[n].data)
	}
	f.drop(n)
	if over {
		f.close()
	}
	f.wakeAll()
}

// meeting is the feed's position relative to a joining page.
type meeting int

const (
	metHere   meeting = iota // where the page can be brought
	metAhead                 // ahead of the page, or about to end: the page waits
	metOver                  // at the end
	metFailed                // broken
	metOther                 // at a run unknown to the page
)

// meet returns the feed's position for a joining page, and with metHere the feed's view, updated with the page's fresh
// reads. wake is closed when the feed moves.
func (f *feed) meet(l *live) (s Scene, cursor string, where meeting, wake <-chan struct{}) {
	f.all.mu.Lock()
	defer f.all.mu.Unlock()
	f.taken(l)
	same := f.run.ID == l.v.run.ID
	switch {
	case f.err != nil:
		where = metFailed
	case f.over:
		where = metOver
	case f.ending, same && f.seq < l.v.seq, !same && f.h.Runs.Active(l.thread) == l.v.run.ID:
		where = metAhead
	case !same:
		where = metOther
	default:
		where, s, cursor = metHere, f.with(l.v.Scene(true)), cursorOf(f.run, f.seq)
	}
	return s, cursor, where, f.wake
}

// with returns the feed's view with data that changes without run events as just read by a page. The other pages get it
// with the next tick.
func (f *feed) with(own Scene) Scene {
	s := f.now
	f.differs = f.differs || !slices.Equal(s.queue, own.queue) || !views.SameAsks(s.asks, own.asks) ||
		s.Title != own.Title
	s.queue, s.asks, s.Title = own.queue, own.asks, cmp.Or(own.Title, s.Title)
	s.Row.Title, s.Row.Pinned = s.Title, own.Row.Pinned
	return s
}
