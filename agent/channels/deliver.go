package channels

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"fawn/agent/channels/chat"
	"fawn/store"
)

// Times of a delivery.
const (
	giveUp    = 24 * time.Hour // time after the first of consecutive failures
	mostWait  = 5 * time.Minute
	slowest   = 10 * time.Second // interval between edits, however often the platform complains
	calmAfter = time.Minute
	unhurried = 20 // after a minute, edits come every 3 seconds; after 200 seconds, every 10
)

// delivery writes the answer of one run to its chat. One goroutine owns it, except for the fields guarded by mu.
type delivery struct {
	b      *bot
	run    string
	to     target
	at     place
	before <-chan struct{} // closed when the answers before this one are delivered

	begun chan struct{} // one token: the run exists
	read  chan struct{} // closed when there is nothing more to read

	ctx     context.Context
	stop    context.CancelFunc
	over    chan struct{} // closed when it has stopped
	revoked atomic.Bool

	mu      sync.Mutex
	ans     answer
	done    error // why the log ended; errEnded for its end
	endedAt time.Time
	news    chan struct{} // one token: ans or done changed

	note   string                     // before the text
	stays  bool                       // the rest is sent once it is complete
	rows   map[string]*store.Outbound // nil before they are known
	text   split
	slow   time.Duration // interval between edits, 0 uses the platform's own
	rated  time.Time     // time of the platform's last complaint
	edited time.Time
	grows  time.Time // time its text was first shown
	failed time.Time // first of the failures in a row
	tries  int
}

var (
	errEnded    = errors.New("the run has ended")
	errRemoved  = errors.New("the run was deleted")
	errNotBegun = errors.New("the run has not begun")
)

// deliver starts writing an answer unless a delivery is already in progress. A new answer has no other rows and no run
// yet.
func (b *bot) deliver(first store.Outbound, fresh bool) {
	lang := b.h.current().Lang // taken before the bot's lock
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.answers[first.Run] != nil {
		return
	}
	d := &delivery{b: b, run: first.Run, at: place{first.Chat, first.Topic}, news: make(chan struct{}, 1),
		begun: make(chan struct{}, 1), read: make(chan struct{}), over: make(chan struct{})}
	if fresh {
		d.rows = map[string]*store.Outbound{first.Piece: &first}
	}
	if err := json.Unmarshal(first.Place, &d.to); err != nil {
		b.h.cfg.Log.Error("couldn't deliver an answer", "channel", b.provider, "run", first.Run, "err", err)
		return
	}
	d.ans.lang = cmp.Or(d.to.Lang, lang)
	d.ctx, d.stop = context.WithCancel(b.ctx)
	if !d.to.Whole {
		d.before = b.tails[d.at]
	}
	if !b.goes(func() {
		defer close(d.over)
		d.work()
		d.refuse()
		b.over(d, d.over)
	}) {
		d.stop()
		return
	}
	b.answers[d.run] = d
	if !d.to.Whole {
		b.tails[d.at] = d.over
	}
}

// words selects texts by the recipient's language.
func (d *delivery) words() words { return wordsOf(d.ans.lang) }

// over removes a delivery.
func (b *bot) over(d *delivery, tail chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.answers, d.run)
	if b.tails[d.at] == tail {
		delete(b.tails, d.at)
	}
}

// renew sends an answer again as new messages. An answer being written continues in them.
func (b *bot) renew(ctx context.Context, run string) error {
	b.mu.Lock()
	d := b.answers[run]
	b.mu.Unlock()
	if d != nil {
		return nil // it is being sent
	}
	if err := b.h.cfg.DB.RenewAnswer(ctx, run); err != nil {
		return err
	}
	rows, err := b.h.cfg.DB.Outbound(ctx, run)
	if err != nil {
		return err
	}
	b.deliver(rows[0], false)
	return nil
}

func (d *delivery) work() {
	ctx := d.ctx
	var reading sync.WaitGroup
	defer reading.Wait()
	defer d.stop()
	fresh := d.rows != nil
	if err := d.load(ctx); err != nil {
		if ctx.Err() == nil {
			d.b.h.cfg.Log.Error("couldn't deliver an answer", "channel", d.b.provider, "run", d.run, "err", err)
		}
		return
	}
	reading.Go(func() { d.reads(ctx, fresh) })
	if d.line(ctx, d.over) != nil {
		return
	}
	ok, err := d.permitted(ctx)
	if err == nil && ok {
		err = d.recall(ctx)
	}
	if err != nil && ctx.Err() == nil {
		d.b.h.cfg.Log.Error("couldn't deliver an answer", "channel", d.b.provider, "run", d.run, "err", err)
	}
	if err != nil || !ok {
		return
	}
	d.typing(ctx)
	for ctx.Err() == nil {
		wait, over := d.sync(ctx)
		if over {
			return
		}
		var late <-chan time.Time
		if wait > 0 {
			late = time.After(wait)
		}
		for waiting := true; waiting; {
			select {
			case <-d.news: // new text meanwhile is merged, but the end waits for the platform only
				waiting = late != nil && !d.finished()
			case <-late:
				waiting = false
			case <-ctx.Done():
				waiting = false
			}
		}
	}
}

// load reads the rows of the answer, unless they are known.
func (d *delivery) load(ctx context.Context) error {
	if d.rows != nil {
		return nil
	}
	rows, err := d.b.h.cfg.DB.Outbound(ctx, d.run)
	d.rows = map[string]*store.Outbound{}
	for _, r := range rows {
		d.rows[r.Piece] = &r
	}
	return err
}

// recall checks whether the previous answer may be missing, which is mentioned on platforms where messages can't be
// sent again.
func (d *delivery) recall(ctx context.Context) error {
	l, first := d.b.channel().Limits(), d.rows["0"]
	if (l.CanEdit || l.Keyed) && !l.MayStay || first == nil {
		return nil
	}
	lost, err := d.b.h.cfg.DB.LostBefore(ctx, *first)
	if lost {
		d.note = d.words().mayMiss
	}
	return err
}

// finished reports whether the run has ended and its whole log is read.
func (d *delivery) finished() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.done != nil
}

func (d *delivery) tell() {
	select {
	case d.news <- struct{}{}:
	default:
	}
}

func (d *delivery) typing(ctx context.Context) {
	if row := d.rows["0"]; row == nil || row.Message != "" || d.to.Whole {
		return
	}
	if d.b.pace.Wait(ctx, d.to.To) == nil {
		_ = d.b.channel().Typing(d.b.calls, d.to.To) // a courtesy
	}
}

// sync updates the chat. It returns the delay until the next update, 0 to wait for news, and whether everything is
// done.
func (d *delivery) sync(ctx context.Context) (wait time.Duration, over bool) {
	d.mu.Lock()
	view := view{solid: d.ans.solid(), doing: d.ans.doing, ending: "", cut: d.ans.cut, cursor: d.ans.cursor,
		files: d.ans.files, final: d.done != nil}
	done := d.done
	if view.final {
		view.ending = d.ans.ending()
	}
	d.mu.Unlock()
	switch {
	case done == nil || errors.Is(done, errEnded):
	case errors.Is(done, errRemoved):
		return 0, d.settle(ctx, store.OutboundFailed,
			chat.Trouble{Cause: chat.Deleted, Text: errRemoved.Error()}.String()) == nil
	default:
		return 0, true // another server continues
	}
	wait, err := d.write(ctx, view)
	switch {
	case ctx.Err() != nil:
		return 0, true
	case err != nil:
		return d.failure(ctx, err)
	case wait > 0 || !view.final:
		d.tries, d.failed = 0, time.Time{}
		return wait, false
	}
	if err := d.settle(ctx, store.OutboundDone, ""); err != nil {
		return d.failure(ctx, err)
	}
	return 0, true
}

// failure handles a failed call: retry, drop, or give up.
func (d *delivery) failure(ctx context.Context, err error) (wait time.Duration, over bool) {
	now, told := time.Now(), chat.TroubleOf(err).String()
	var rate *chat.Rate
	var gone *chat.Gone
	var never *chat.Refused
	switch {
	case errors.As(err, &rate):
		d.rated = now
		d.b.h.cfg.Observer.Retry(d.b.provider)
		d.slow = min(max(2*d.slow, 2*d.every()), slowest)
		return max(time.Until(d.b.pace.Hold(d.to.To, rate)), time.Millisecond), false
	case errors.As(err, &never):
		d.b.h.cfg.Log.Warn("answer refused by the platform", "channel", d.b.provider, "run", d.run, "reason", never.Reason)
		return time.Second, d.settle(ctx, store.OutboundFailed, told) == nil
	case errors.As(err, &gone) && !gone.Message:
		d.b.h.cfg.Log.Info("chat no longer exists", "channel", d.b.provider, "reason", gone.Reason)
		return time.Second, d.settle(ctx, store.OutboundFailed, told) == nil
	}
	if d.tries++; d.tries == 1 {
		d.failed = now
		d.b.h.cfg.Log.Warn("delivery failed; retrying", "channel", d.b.provider, "run", d.run, "err", err)
	}
	wait = min(time.Second<<min(d.tries-1, 9), mostWait)
	if now.Sub(d.failed) > giveUp {
		return wait, d.settle(ctx, store.OutboundFailed, told) == nil
	}
	d.b.h.cfg.Observer.Retry(d.b.provider)
	if row := d.rows["0"]; row != nil {
		row.Tries, row.NextAt, row.Error = d.tries, d.b.h.cfg.DB.Now().Add(wait), told
		if err := d.put(ctx, row); err != nil && ctx.Err() == nil {
			d.b.h.cfg.Log.Error("couldn't store a failed delivery", "run", d.run, "err", err)
		}
	}
	return wait, false
}

// settle closes all open rows of the answer.
func (d *delivery) settle(ctx context.Context, state, reason string) error {
	var list []store.Outbound
	for _, row := range d.rows {
		switch row.State {
		case store.OutboundPlanned, store.OutboundSending, store.OutboundOpen:
			closed := *row
			closed.State, closed.Error, closed.Tries, closed.NextAt = state, reason, 0, time.Time{}
			list = append(list, closed)
		}
	}
	if err := d.b.h.cfg.DB.PutOutbound(ctx, list); err != nil {
		return err
	}
	for _, closed := range list {
		*d.rows[closed.Piece] = closed
	}
	d.countAnswer(state)
	return nil
}

func (d *delivery) put(ctx context.Context, row *store.Outbound, names ...store.ChannelChat) error {
	return d.b.h.cfg.DB.PutOutbound(ctx, []store.Outbound{*row}, names...)
}

// every returns the time between edits.
func (d *delivery) every() time.Duration {
	l := d.b.channel().Limits()
	if d.to.To.Group {
		return l.GroupEditEvery
	}
	return l.EditEvery
}
