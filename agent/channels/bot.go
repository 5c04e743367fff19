package channels

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"fawn/agent/channels/chat"
	"fawn/store"
)

// bot runs one platform's bot.
type bot struct {
	h        *Hub
	provider string
	ctx      context.Context // cancelled when the bot should stop
	stop     context.CancelFunc
	calls    context.Context // for calls to the platform; it ends a little later
	cut      context.CancelFunc
	wg       sync.WaitGroup
	pace     *rateLimiter
	people   senderLimits

	mu      sync.Mutex // guards the fields below
	now     Bot
	ch      chat.Channel // nil before it is open
	limits  chat.Limits
	me      chat.Me
	lines   map[place]*line
	answers map[string]*delivery    // by run
	tails   map[place]chan struct{} // closed when the last answer to a place is delivered
	status  Status
	changed chan struct{} // closed when status changes

	waiting atomic.Int64 // stored messages that no run has taken
	room    chan struct{}
}

// place names a line of work.
type place struct{ chat, topic string }

// Status is the state of a bot's connection.
type Status struct {
	Running     bool // it is connected
	Since       time.Time
	Reconnects  int
	Error       string // the last failure, for people
	Remedy      string
	Trouble     chat.Trouble // the same, for translation
	ErrorAt     time.Time
	LastIn      time.Time
	LastOut     time.Time
	Waiting     int
	RateLimited time.Time
	Me          chat.Me
}

func newBot(h *Hub, conf Bot) *bot {
	b := &bot{h: h, provider: conf.Provider, now: conf, pace: newRateLimiter(), lines: map[place]*line{},
		answers: map[string]*delivery{}, tails: map[place]chan struct{}{}, room: make(chan struct{}, 1),
		changed: make(chan struct{})}
	b.ctx, b.stop = context.WithCancel(context.Background())
	b.calls, b.cut = context.WithCancel(context.Background())
	return b
}

func (b *bot) conf() Bot {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *bot) configure(conf Bot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = conf
}

// close ends the bot's goroutines and waits for them.
func (b *bot) close() {
	b.stop()
	late := time.AfterFunc(stopTime, b.cut)
	b.wg.Wait()
	late.Stop()
	b.cut()
}

// run connects to the platform, resumes the last server's work, and reads until the bot stops.
func (b *bot) run() {
	log := b.h.cfg.Log.With("channel", b.provider)
	if w := b.conf().Warning; w != "" {
		log.Warn(w)
	}
	for wait := time.Second; b.ctx.Err() == nil; wait = min(2*wait, time.Minute) {
		err := b.session()
		if b.ctx.Err() != nil {
			return
		}
		b.failed(err)
		log.Warn("channel failed", "err", err)
		var fatal *chat.Fatal
		if errors.As(err, &fatal) {
			if fatal.Retry == 0 {
				return // until it is restarted or reconfigured
			}
			wait = fatal.Retry
		}
		if pause(b.ctx, wait) != nil {
			return
		}
	}
}

func (b *bot) session() error {
	if b.channel() == nil {
		ch, err := b.conf().Open()
		if err != nil {
			return err
		}
		b.mu.Lock()
		b.ch, b.limits = ch, ch.Limits()
		b.mu.Unlock()
		b.pace.Limit(ch.Limits())
		if err := b.resume(); err != nil {
			b.mu.Lock()
			b.ch = nil
			b.mu.Unlock()
			return err
		}
	}
	me, err := self(b.calls, b.channel())
	if err != nil {
		return err
	}
	b.mu.Lock()
	b.me = me
	b.mu.Unlock()
	return b.channel().Run(b.ctx, &inbox{b})
}

// self returns the identity of a bot.
func self(ctx context.Context, ch chat.Channel) (chat.Me, error) {
	if k, ok := ch.(chat.Known); ok {
		return k.Self(), nil
	}
	return ch.Check(ctx)
}

func (b *bot) channel() chat.Channel {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ch
}

// failed records why the bot doesn't work.
func (b *bot) failed(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.status.Running {
		b.status.Reconnects++
		b.h.cfg.Observer.Reconnect(b.provider)
	}
	b.status.Running = false
	if err == nil {
		err = errors.New("the connection ended")
	}
	b.status.Error, b.status.Remedy, b.status.ErrorAt = err.Error(), "", time.Now()
	b.status.Trouble = chat.TroubleOf(err)
	var fatal *chat.Fatal
	if errors.As(err, &fatal) {
		b.status.Error, b.status.Remedy = fatal.Reason, fatal.Remedy
	}
	b.notify()
}

// connected records that the connection is up.
func (b *bot) connected() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.status.Running {
		b.status.Running, b.status.Since = true, time.Now()
		b.status.Error, b.status.Remedy = "", ""
		b.notify()
	}
}

// notify wakes waiters for a status change. mu is held.
func (b *bot) notify() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// resume resumes the open messages and answers in the store.
func (b *bot) resume() error {
	db := b.h.cfg.DB
	if err := db.ForgetInbound(b.ctx, db.Now().Add(-kept)); err != nil {
		return err
	}
	n, err := db.CountWaiting(b.ctx, b.provider)
	if err != nil {
		return err
	}
	b.waiting.Store(int64(n))
	answers, err := db.OpenAnswers(b.ctx, b.provider)
	if err != nil {
		return err
	}
	for _, first := range answers {
		b.deliver(first, false)
	}
	lines, err := db.OpenLines(b.ctx, b.provider)
	if err != nil {
		return err
	}
	for _, l := range lines {
		b.wake(place{l.Chat, l.Topic}, l.Run)
	}
	return nil
}

// kept is the time for which handled messages are remembered.
const kept = 7 * 24 * time.Hour

// sent records that the platform accepted something.
func (b *bot) sent() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.status.LastOut = time.Now()
}

// pause waits, or returns the error of a context that ends meanwhile.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// missing reports whether an error means that a row doesn't exist.
func missing(err error) bool { return errors.Is(err, store.ErrNotFound) }
