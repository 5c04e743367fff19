package account

import (
	"container/list"
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"fawn/store"
)

// How many wrong passwords are taken.
const (
	freeTries    = 5             // attempts of an address before it must wait
	firstWait    = time.Minute   // wait after that, doubled after each further attempt
	longestWait  = time.Hour     // limit of the wait
	accountTries = 100           // attempts of all addresses per account; beyond it only known addresses may try
	forgetAfter  = 2 * time.Hour // time without another attempt
	maxEntries   = 20000         // limit of counters; the oldest are removed
)

// ErrLocked means that an address has to wait before its next attempt.
type ErrLocked struct{ Wait time.Duration }

// Error reports the waiting time.
func (e *ErrLocked) Error() string {
	return fmt.Sprintf("too many failed sign-ins; try again in %d seconds", e.Seconds())
}

// Seconds returns the wait, rounded up, as for a Retry-After header.
func (e *ErrLocked) Seconds() int { return int((e.Wait + time.Second - 1) / time.Second) }

// limits count wrong passwords by address, by account, and by both.
type limits struct {
	now func() time.Time

	mu      sync.Mutex
	entries map[string]*list.Element
	order   *list.List // of *tries, last failed first
}

type tries struct {
	key   string
	n     int
	last  time.Time
	until time.Time
}

func newLimits(now func() time.Time) *limits {
	return &limits{now: now, entries: map[string]*list.Element{}, order: list.New()}
}

func (l *limits) find(key string) *tries {
	e := l.entries[key]
	if e == nil {
		return nil
	}
	t := e.Value.(*tries)
	if l.now().Sub(t.last) > forgetAfter {
		l.drop(e)
		return nil
	}
	return t
}

func (l *limits) drop(e *list.Element) {
	delete(l.entries, e.Value.(*tries).key)
	l.order.Remove(e)
}

// begin counts an attempt, or returns an *ErrLocked if the address has to wait. After attempts from too many addresses,
// an account only accepts those it was signed in from, as known reports.
func (l *limits) begin(ip, email string, known func() bool) error {
	l.mu.Lock()
	all := l.find("to " + email)
	crowded := all != nil && all.n >= accountTries
	l.mu.Unlock()
	if crowded && !known() {
		return &ErrLocked{firstWait}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.find("ip " + ip); t != nil {
		if wait := t.until.Sub(l.now()); wait > 0 {
			return &ErrLocked{wait}
		}
	}
	l.count(ip, email)
	return nil
}

// failed counts a failure that begin has not counted.
func (l *limits) failed(ip, email string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count(ip, email)
}

func (l *limits) count(ip, email string) {
	now := l.now()
	for _, key := range keys(ip, email) {
		t := l.find(key)
		if t == nil {
			t = &tries{key: key}
			l.entries[key] = l.order.PushFront(t)
		} else {
			l.order.MoveToFront(l.entries[key])
		}
		t.n, t.last = t.n+1, now
		if t.n >= freeTries {
			t.until = now.Add(min(firstWait<<min(t.n-freeTries, 10), longestWait))
		}
	}
	for l.order.Len() > maxEntries {
		l.drop(l.order.Back())
	}
}

// undo reverts an attempt that was no failure.
func (l *limits) undo(ip, email string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgive(ip, email, 1)
}

// passed clears an address's failures with one account, but not those with others.
func (l *limits) passed(ip, email string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if by := l.find("by " + ip + " " + email); by != nil {
		l.forgive(ip, email, by.n)
	}
}

func (l *limits) forgive(ip, email string, n int) {
	for _, key := range keys(ip, email) {
		t := l.find(key)
		if t == nil {
			continue
		}
		if t.n -= n; t.n < freeTries {
			t.until = time.Time{}
		}
		if t.n <= 0 {
			l.drop(l.entries[key])
		}
	}
}

// keys returns the counters of an attempt: of the address, of the account, and of the two.
func keys(ip, email string) [3]string {
	return [3]string{"ip " + ip, "to " + email, "by " + ip + " " + email}
}

// network returns the unit that counts as one address: an IPv4 address, or the first 64 bits of an IPv6 one, a
// household's network.
func network(ip string) string {
	a, err := netip.ParseAddr(ip)
	if err != nil {
		return ip
	}
	a = a.Unmap().WithZone("")
	if a.Is4() {
		return a.String()
	}
	p, err := a.Prefix(64)
	if err != nil {
		return ip
	}
	return p.String()
}

// MinPassword is the minimum length of a password in characters.
const MinPassword = minPassword

// Try lets a client address prove an identity by something other than a password, within the same limits: an
// *ErrLocked means that it has to wait, and an error of prove counts as a failure.
func (s *Service) Try(ctx context.Context, ip string, u store.User, prove func() error) error {
	net := network(ip)
	if err := s.limits.begin(net, u.Email, func() bool { return s.knows(ctx, u, net) }); err != nil {
		return err
	}
	if err := prove(); err != nil {
		s.Log.Warn("second factor rejected", "email", u.Email, "from", ip)
		return err
	}
	s.limits.undo(net, u.Email)
	return nil
}
