package browser

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"fawn/sandbox/egress"
	"fawn/sandbox/netguard"
	"fawn/sandbox/render"
)

// Limits of sessions.
const (
	usualIdle  = 10 * time.Minute
	usualMost  = 4
	startTime  = 30 * time.Second
	actionTime = 90 * time.Second // of one action, with its page's load and downloads
	closeTime  = 5 * time.Second
	// HandTime limits an action's wait for a person to return the browser.
	HandTime = 10 * time.Minute
	// WatchTime limits how long a session lives that is only watched.
	WatchTime = time.Hour
)

var (
	// ErrFull means that all browsers are in use.
	ErrFull = errors.New("all browsers are in use by other chats: try again later")
	// ErrClosed means that the server stops.
	ErrClosed = errors.New("the browser was closed: the server stops")
	// ErrHeld means that a user did not hand the browser back in time.
	ErrHeld = errors.New("a user has taken over the browser and hasn't handed it back")
	// ErrNoSession means that a thread has no browser at the moment.
	ErrNoSession = errors.New("no browser is open in this chat")
	// ErrNotHeld means that a user acts in a browser without having taken it over.
	ErrNotHeld = errors.New("take over the browser first")
	// ErrMemory means that the pages of a session took too much memory.
	ErrMemory = errors.New("the page took too much memory, so the browser was closed")
)

// Refusal is an action that was refused, worded for its requester.
type Refusal struct{ Text string }

func (r *Refusal) Error() string { return r.Text }

func refuse(format string, args ...any) error { return &Refusal{fmt.Sprintf(format, args...)} }

// Rules limit the hosts that a thread's browser may reach.
type Rules struct {
	Guard *netguard.Guard
	// Deny lists forbidden hosts, as in [egress.Policy].
	Deny []string
	// Decisions are the answers of owners: a host that they refused to the thread is refused here too. Nil has none.
	Decisions egress.Decisions
	Ports     []int // besides 80, 443, 8080 and 8443
}

// Config configures Browsers. All functions must be safe for concurrent use.
type Config struct {
	// Browser starts a browser, or connects to a running one.
	Browser *render.Browser
	// Rules are asked for when a session begins.
	Rules func(thread string) Rules
	// Most limits concurrent sessions, and Idle the lifetime of an unused one; nil or 0 mean 4 and ten minutes.
	Most func() int
	Idle func() time.Duration
	// Owner returns the owner of a thread: each may have at most Most-1 sessions, but at least one, to leave room for
	// others. Nil or "" is unlimited.
	Owner func(thread string) string
	// Load and Save store the state that survives a session's browser: cookies and an address. Nil stores nothing. Load
	// returns nil for a thread without state.
	Load func(thread string) ([]byte, error)
	Save func(thread string, state []byte) error
	// Hand limits an action's wait for a person; 0 is [HandTime].
	Hand time.Duration
	// Watched limits how long an inactive session lives while watched; 0 is [WatchTime].
	Watched time.Duration
	// In limits the bytes that a thread's browsers load per day; 0 is 1 GiB.
	In  int64
	Log *slog.Logger
}

// Browsers are the sessions of all threads. It is safe for concurrent use.
type Browsers struct {
	cfg  Config
	quit chan struct{}
	work sync.WaitGroup

	ledger egress.Ledger // traffic of threads, including ended sessions

	mu       sync.Mutex
	closed   bool
	sessions map[string]*session
}

// New returns Browsers. Nothing is started before the first action.
func New(c Config) *Browsers {
	if c.Most == nil {
		c.Most = func() int { return 0 }
	}
	if c.Idle == nil {
		c.Idle = func() time.Duration { return 0 }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Owner == nil {
		c.Owner = func(string) string { return "" }
	}
	c.Hand = cmp.Or(c.Hand, HandTime)
	c.Watched = cmp.Or(c.Watched, WatchTime)
	c.In = cmp.Or(c.In, maxIn)
	b := &Browsers{cfg: c, quit: make(chan struct{}), sessions: map[string]*session{}}
	b.work.Go(b.tidy)
	return b
}

// Ready reports whether there is a browser to start.
func (b *Browsers) Ready() bool { return b.cfg.Browser.Ready() }

// Open reports whether a thread has a browser at the moment.
func (b *Browsers) Open(thread string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.sessions[thread]
	return s != nil && !s.over()
}

// tidy ends unused sessions.
func (b *Browsers) tidy() {
	for {
		idle := b.idle()
		wait := time.NewTimer(min(max(idle/4, 10*time.Millisecond), 15*time.Second))
		select {
		case <-b.quit:
			wait.Stop()
			return
		case <-wait.C:
		}
		for _, s := range b.all() {
			if s.restingSince(time.Now().Add(-idle), idle) || s.over() {
				b.drop(s, "nobody used it")
			}
		}
	}
}

func (b *Browsers) idle() time.Duration { return cmp.Or(b.cfg.Idle(), usualIdle) }

func (b *Browsers) all() (list []*session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.sessions {
		list = append(list, s)
	}
	return list
}

// drop ends a session unless it is in use.
func (b *Browsers) drop(s *session, why string) {
	select {
	case s.turn <- struct{}{}:
	default:
		return
	}
	if !s.over() {
		b.cfg.Log.Info("browser closed", "thread", s.thread, "reason", why)
	}
	b.remove(s)
	<-s.turn
}

// remove ends a session, even in use.
func (b *Browsers) remove(s *session) {
	b.mu.Lock()
	if b.sessions[s.thread] == s {
		delete(b.sessions, s.thread)
	}
	b.mu.Unlock()
	s.end()
}

// End closes a thread's browser, if it has one. Its stored state stays.
func (b *Browsers) End(thread string) {
	b.mu.Lock()
	s := b.sessions[thread]
	b.mu.Unlock()
	if s != nil {
		b.remove(s)
	}
}

// Close ends all sessions and waits for them.
func (b *Browsers) Close() {
	b.mu.Lock()
	if !b.closed {
		b.closed = true
		close(b.quit)
	}
	b.mu.Unlock()
	for _, s := range b.all() {
		b.remove(s)
	}
	b.work.Wait()
}

// session returns a thread's session, creating it if necessary. fresh means that its browser was started for this call.
func (b *Browsers) session(thread string) (s *session, fresh bool, err error) {
	owner, asked := "", false
	for {
		b.mu.Lock()
		if b.closed {
			b.mu.Unlock()
			return nil, false, ErrClosed
		}
		if s := b.sessions[thread]; s != nil {
			b.mu.Unlock()
			if !s.over() {
				return s, false, nil
			}
			b.remove(s)
			continue
		}
		if !asked { // without the mutex: asking may take long
			b.mu.Unlock()
			owner, asked = b.cfg.Owner(thread), true
			continue
		}
		most, own := cmp.Or(b.cfg.Most(), usualMost), 0
		for _, one := range b.sessions {
			if owner != "" && one.owner == owner {
				own++
			}
		}
		crowded := own >= max(1, most-1)
		if len(b.sessions) < most && !crowded {
			s := newSession(b, thread, owner)
			b.sessions[thread] = s
			b.mu.Unlock()
			return s, true, nil
		}
		b.mu.Unlock()
		if !b.makeRoom(owner, crowded) {
			return nil, false, ErrFull
		}
	}
}

// makeRoom ends the longest idle session; with mine, one of an owner's.
func (b *Browsers) makeRoom(owner string, mine bool) bool {
	var oldest *session
	idle := b.idle()
	for _, s := range b.all() {
		if (!mine || s.owner == owner) && s.restingSince(time.Now(), idle) && (oldest == nil || s.lastUsed().Before(oldest.lastUsed())) {
			oldest = s
		}
	}
	if oldest == nil {
		return false
	}
	b.drop(oldest, "another chat needed it")
	return oldest.over()
}

// take begins an action: it waits for earlier ones and for a person in control, and starts a missing browser. The
// caller calls release.
func (b *Browsers) take(ctx context.Context, thread string, start bool, waiting func()) (*session, error) {
	patience := time.NewTimer(b.cfg.Hand)
	defer patience.Stop()
	told := false
	for {
		if !start && !b.Open(thread) {
			return nil, ErrNoSession
		}
		s, fresh, err := b.session(thread)
		if err != nil {
			return nil, err
		}
		select {
		case s.turn <- struct{}{}:
		case <-s.ended:
			continue
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if held := s.heldBy(); held != nil {
			<-s.turn
			if waiting != nil && !told {
				told = true
				waiting()
			}
			select {
			case <-held:
				continue
			case <-s.ended:
				continue
			case <-patience.C:
				return nil, ErrHeld
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		if s.over() {
			<-s.turn
			continue
		}
		if fresh || !s.started {
			if err := s.start(ctx); err != nil {
				b.remove(s)
				<-s.turn
				return nil, err
			}
		}
		s.use()
		return s, nil
	}
}

func (s *session) release() {
	<-s.turn
	s.use()
}
