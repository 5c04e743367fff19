package egress

import (
	"errors"
	"sync"
	"time"
)

// Limits are limits of one thread. Zero values mean defaults.
type Limits struct {
	Conns     int           // connections at a time, 64; further ones wait
	In        int64         // bytes from the network per UTC day, 200 MB
	Out       int64         // bytes to the network per UTC day, 20 MB
	Idle      time.Duration // silence after which a connection ends, 60 s
	Questions int           // hosts asked about per UTC day, 32
	HTTPPorts []int         // ports for plain HTTP, 80
	TLSPorts  []int         // ports for TLS only, 443
}

func (l Limits) withDefaults() Limits {
	if l.Conns <= 0 {
		l.Conns = 64
	}
	if l.In <= 0 {
		l.In = 200 << 20
	}
	if l.Out <= 0 {
		l.Out = 20 << 20
	}
	if l.Idle <= 0 {
		l.Idle = 60 * time.Second
	}
	if l.Questions <= 0 {
		l.Questions = 32
	}
	if l.HTTPPorts == nil {
		l.HTTPPorts = []int{80}
	}
	if l.TLSPorts == nil {
		l.TLSPorts = []int{443}
	}
	return l
}

// errBudget ends a connection whose thread used up its bytes.
var errBudget = errors.New("budget used up")

// askAgain is the minimum interval of a thread's questions about the same host.
const askAgain = time.Minute

// account is one thread's usage today.
type account struct {
	limits  Limits
	now     func() time.Time
	slots   chan struct{} // one element per open connection
	serving int           // listeners; guarded by the ledger's lock

	mu      sync.Mutex
	day     int64 // days since 1970 that the numbers below are for
	in, out int64
	asked   map[string]time.Time
}

func newAccount(l Limits, now func() time.Time) *account {
	return &account{limits: l, now: now, slots: make(chan struct{}, l.Conns)}
}

// today starts a new day when there is one. The caller holds mu.
func (a *account) today() time.Time {
	now := a.now()
	if day := now.Unix() / (24 * 60 * 60); day != a.day {
		a.day, a.in, a.out, a.asked = day, 0, 0, nil
	}
	return now
}

// used returns today's bytes.
func (a *account) used() (in, out int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.today()
	return a.in, a.out
}

// spent reports whether nothing more may be sent or received today.
func (a *account) spent() bool {
	in, out := a.used()
	return in >= a.limits.In || out >= a.limits.Out
}

// received books bytes that have arrived and reports whether they may be passed on.
func (a *account) received(n int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.today()
	a.in += int64(n)
	return a.in <= a.limits.In
}

// send books bytes before they leave, unless they would exceed the limit.
func (a *account) send(n int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.today()
	if a.out+int64(n) > a.limits.Out {
		// Filling the rest byte by byte would be possible anyway.
		a.out = a.limits.Out
		return false
	}
	a.out += int64(n)
	return true
}

// mayAsk reports whether the owner should be asked about host now, and books it.
func (a *account) mayAsk(host string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.today()
	last, known := a.asked[host]
	if known && now.Sub(last) < askAgain || !known && len(a.asked) >= a.limits.Questions {
		return false
	}
	if a.asked == nil {
		a.asked = make(map[string]time.Time)
	}
	a.asked[host] = now
	return true
}
