package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"fawn/sandbox/netguard"
)

// Record describes one connection through a [Proxy].
type Record struct {
	Thread  string
	Host    string     // as Host returns it; empty when malformed
	Port    int        // 0 if malformed
	IP      netip.Addr // connected address; invalid without a connection
	In, Out int64      // bytes from and to the network
	Verdict Verdict
	Rule    string // the deciding rule: "allow *.example.com", "answer once", "port"
	At      time.Time
	Took    time.Duration
}

// Proxy lets sandboxes reach the hosts that a policy opens. It speaks HTTP, CONNECT and SOCKS5 on the same listener.
// The exported fields are set before the first Serve; the methods are safe for concurrent use.
type Proxy struct {
	// Decisions holds the owner's answers; nil if there are none.
	Decisions Decisions
	// Ask is called for an undecided host, at most once a minute per thread and host. It must return
	// soon; then the connection is refused, unless Await holds it. Nil refuses without asking.
	Ask func(Question)
	// Await holds a connection to an undecided host and reports whether Decisions has an answer now. Its context ends
	// with the client. Nil refuses at once.
	Await func(context.Context, Question) bool
	// Audit is called for each ended connection, and must return soon.
	Audit func(Record)
	// Limits holds for each thread on its own.
	Limits Limits
	// Ledger counts together with other proxies; nil counts for this one alone.
	Ledger *Ledger
	// Now is the clock of days, answers and records; time.Now when nil.
	Now func() time.Time

	setup atomic.Pointer[setup]

	own Ledger
}

// Ledger tracks the threads' usage today. Its zero value is ready; the proxies share it.
type Ledger struct {
	mu       sync.Mutex
	accounts map[string]*account
}

func (p *Proxy) ledger() *Ledger {
	if p.Ledger != nil {
		return p.Ledger
	}
	return &p.own
}

// acceptTries limits consecutive failures to accept, which takes about two minutes.
const acceptTries = 150

// setup holds the settings that a connection reads once at its start.
type setup struct {
	rules *rules
	guard *netguard.Guard
}

// New returns a proxy. The error names a pattern of the policy that cannot
// match, see [Policy.Validate].
func New(policy Policy, guard *netguard.Guard) (*Proxy, error) {
	p := &Proxy{}
	if err := p.Configure(policy, guard); err != nil {
		return nil, err
	}
	return p, nil
}

// Configure replaces policy and guard for the connections that begin
// afterwards. After an error, which is as for [New], nothing has changed.
func (p *Proxy) Configure(policy Policy, guard *netguard.Guard) error {
	if guard == nil {
		return errors.New("the proxy has no address guard")
	}
	rules, err := policy.compile()
	if err != nil {
		return err
	}
	p.setup.Store(&setup{rules, guard})
	return nil
}

// Usage returns the bytes that a thread has received and sent today (UTC).
// They are counted in memory and start at zero with the process.
func (p *Proxy) Usage(thread string) (in, out int64) {
	b := p.ledger()
	b.mu.Lock()
	a := b.accounts[thread]
	b.mu.Unlock()
	if a == nil {
		return 0, 0
	}
	return a.used()
}

// Serve accepts connections of a thread until ctx ends or l is closed, which both count as success. It closes l and its
// connections, and returns when all of them have ended. A thread may be served on several listeners; its limits hold
// for them together.
func (p *Proxy) Serve(ctx context.Context, l net.Listener, thread string) error {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { _ = l.Close() }) // Accept reports the error
	book := p.ledger()
	acct := book.open(thread, p.Limits.withDefaults(), p.clock)
	var open sync.WaitGroup
	defer func() {
		cancel()
		stop()
		_ = l.Close() // closing twice is harmless
		open.Wait()
		book.release(acct)
	}()
	failures := 0
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			if err == nil {
				_ = conn.Close() // the server stopped
			}
			return nil
		}
		if err != nil {
			// For instance out of descriptors: others may be freed soon, so retry for a while.
			if failures++; failures > acceptTries {
				return fmt.Errorf("accept for thread %s: %w", thread, err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(min(time.Duration(failures)*10*time.Millisecond, time.Second)):
			}
			continue
		}
		failures = 0
		select {
		case acct.slots <- struct{}{}:
		case <-ctx.Done():
			_ = conn.Close() // the server stopped
			return nil
		}
		open.Go(func() {
			defer func() { <-acct.slots }()
			p.converse(ctx, conn, acct, thread)
		})
	}
}

// open returns a thread's account and drops unused accounts of earlier days.
func (b *Ledger) open(thread string, l Limits, now func() time.Time) *account {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, a := range b.accounts {
		if in, out := a.used(); a.serving == 0 && in == 0 && out == 0 {
			delete(b.accounts, name)
		}
	}
	a := b.accounts[thread]
	if a == nil {
		if b.accounts == nil {
			b.accounts = map[string]*account{}
		}
		a = newAccount(l, now)
		b.accounts[thread] = a
	} else if a.serving == 0 { // another proxy had it, maybe with other limits
		a.limits, a.slots = l, make(chan struct{}, l.Conns)
	}
	a.serving++
	return a
}

func (b *Ledger) release(a *account) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a.serving--
}

func (p *Proxy) clock() time.Time {
	if p.Now != nil {
		return p.Now()
	}
	return time.Now()
}
