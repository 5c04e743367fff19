package channels

import (
	"context"
	"time"

	"fawn/agent/channels/chat"
	"fawn/store"
)

// Limits of a line.
const (
	maxText   = 32 << 10 // bytes of one message
	together  = 20       // messages that become one turn
	turnText  = 64 << 10 // size limit of a turn's text
	lookAhead = 200      // waiting messages held in memory per line
	albumTime = 800 * time.Millisecond
)

// line works through the messages of one chat and topic, in order of arrival. It has a goroutine only while there is
// something to do.
type line struct {
	b     *bot
	at    place
	wakes chan struct{} // one token: check again

	resumes []string // runs of the last server to resume; guarded by b.mu

	// The fields below belong to the goroutine.
	rows []store.Inbound     // the oldest waiting messages at the last check
	let  map[int64]*admitted // admitted messages that wait
	busy map[string]bool     // ids in the current turn, whose storing isn't confirmed yet
	turn chan struct{}       // closed at the end of the current turn
}

// admitted is an admitted message.
type admitted struct {
	row store.Inbound
	u   chat.Update
	who who
	cmd command // commands waiting for their turn
	// thread is the thread whose result the message replies to and which it continues.
	thread string
}

// wake makes a line check its messages, or resume a run.
func (b *bot) wake(at place, run string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.lines[at]
	if l == nil {
		l = &line{b: b, at: at, wakes: make(chan struct{}, 1), let: map[int64]*admitted{}}
		if !b.goes(l.loop) {
			return
		}
		b.lines[at] = l
	}
	if run != "" {
		l.resumes = append(l.resumes, run)
	}
	select {
	case l.wakes <- struct{}{}:
	default:
	}
}

// goes starts a goroutine of the bot unless it stops. mu is held.
func (b *bot) goes(f func()) bool {
	if b.ctx.Err() != nil {
		return false
	}
	b.wg.Go(f)
	return true
}

// retire removes an idle line.
func (b *bot) retire(l *line) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(l.wakes) > 0 || len(l.resumes) > 0 {
		return false
	}
	delete(b.lines, l.at)
	return true
}

func (l *line) loop() {
	ctx := l.b.ctx
	look := true
	for failures := 0; ; {
		wait, err := l.step(ctx, look)
		look = true
		if err != nil && ctx.Err() == nil {
			failures++
			wait = min(time.Second<<min(failures, 6), time.Minute)
			l.b.h.cfg.Log.Error("couldn't process messages of a chat; retrying", "channel", l.b.provider, "err", err)
		} else {
			failures = 0
		}
		if ctx.Err() != nil {
			break
		}
		if wait == 0 && l.turn == nil && l.b.retire(l) {
			return
		}
		var late <-chan time.Time
		if wait > 0 {
			late = time.After(wait)
		}
		select {
		case <-l.wakes:
		case <-l.turn:
			l.turn = nil
			look = len(l.rows) == lookAhead
		case <-late:
		case <-ctx.Done():
		}
	}
	if l.turn != nil {
		<-l.turn
	}
}

// step admits or refuses new messages, if there are any, and starts the next turn if none is active. It returns how long
// the next turn waits for more.
func (l *line) step(ctx context.Context, look bool) (time.Duration, error) {
	if look {
		if err := l.admitNew(ctx); err != nil {
			return 0, err
		}
	}
	for l.turn == nil {
		if run := l.resumed(); run != "" {
			l.begin(func() { l.goOn(ctx, run) })
			break
		}
		batch, wait := l.next(l.rows, l.b.h.cfg.DB.Now())
		if wait > 0 || len(batch) == 0 {
			return wait, nil
		}
		first := batch[0]
		delete(l.let, first.row.N)
		if first.cmd.name != "" && !first.cmd.turn {
			if err := l.obey(ctx, first); err != nil {
				return 0, err
			}
			continue
		}
		l.busy = map[string]bool{}
		for _, a := range batch {
			delete(l.let, a.row.N)
			l.busy[a.row.ID] = true
		}
		l.begin(func() { l.answer(ctx, batch) })
	}
	return 0, nil
}

// admitNew admits or refuses new messages.
func (l *line) admitNew(ctx context.Context) (err error) {
	select {
	case <-l.wakes: // for messages found now
	default:
	}
	l.rows, err = l.b.h.cfg.DB.WaitingInbound(ctx, l.b.provider, l.at.chat, l.at.topic, lookAhead)
	if err != nil {
		return err
	}
	for _, row := range l.rows {
		if l.let[row.N] == nil && !l.busy[row.ID] {
			if err := l.admit(ctx, row); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin starts the turn of a line in a goroutine of the bot.
func (l *line) begin(turn func()) {
	over := make(chan struct{})
	l.turn = over
	l.b.wg.Go(func() { // the line's own goroutine holds the group open
		defer close(over)
		turn()
	})
}

// resumed returns a run to continue, if any.
func (l *line) resumed() string {
	l.b.mu.Lock()
	defer l.b.mu.Unlock()
	if len(l.resumes) == 0 {
		return ""
	}
	run := l.resumes[0]
	l.resumes = l.resumes[1:]
	return run
}

// next selects the next turn: messages of people of one owner, up to a command, or a command alone. A file without
// words waits a moment for them.
func (l *line) next(rows []store.Inbound, now time.Time) (batch []*admitted, wait time.Duration) {
	size := 0
	for _, row := range rows {
		a := l.let[row.N]
		if a == nil {
			continue // refused, or handled
		}
		if len(batch) > 0 && (a.cmd.name != "" || a.who.owner != batch[0].who.owner ||
			a.who.limited() != batch[0].who.limited() || len(batch) == together ||
			a.thread != "" && a.thread != batch[0].thread ||
			size+len(a.u.Text) > turnText) {
			return batch, 0
		}
		batch = append(batch, a)
		size += len(a.u.Text)
		if a.cmd.name != "" {
			return batch, 0
		}
	}
	if len(batch) == 0 {
		return nil, 0
	}
	if last := batch[len(batch)-1]; len(last.u.Files) > 0 && (last.u.Text == "" || last.u.Album != "") {
		return batch, max(0, albumTime-now.Sub(last.row.At))
	}
	return batch, 0
}

// settle marks a message as handled.
func (l *line) settle(ctx context.Context, row store.Inbound, state, reason string) error {
	if err := l.b.h.cfg.DB.SettleInbound(ctx, state, reason, row.N); err != nil {
		return err
	}
	l.b.taken(1)
	if state == store.InboundRefused {
		l.b.h.cfg.Observer.Refusal(l.b.provider, reason)
	}
	return nil
}
