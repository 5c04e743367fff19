package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fawn/agent/mcp/process"
)

// States of a server.
const (
	StateOff         = "off"         // switched off
	StateUnavailable = "unavailable" // it can't be started as configured
	StateConnecting  = "connecting"
	StateReady       = "ready"
	StateFailed      = "failed" // it is tried again
	StateLogin       = "login"  // its owner must log in
)

// Times of servers.
const (
	idleTime   = 10 * time.Minute       // idle sessions are closed after it
	settle     = 200 * time.Millisecond // list changes come in bursts
	relistTime = 2 * time.Second        // least time between two listings
	stableTime = time.Minute            // a server that has lived this long starts its retries afresh
	firstDelay = time.Second
	lastDelay  = 5 * time.Minute
)

// server is one server of the pool.
type server struct {
	name   string
	pool   *Pool
	ctx    context.Context
	stop   context.CancelFunc
	wake   chan struct{} // signals that something changed
	first  chan struct{} // closed after the first try
	began  time.Time
	veil   *veil
	log    *tail
	tokens *tokens
	login  *grant // login the tokens came from; nil for none

	unknown atomic.Bool // the server requires authentication
	extras  atomic.Pointer[extras]

	mu       sync.Mutex
	conf     Server
	state    string
	err      string
	next     time.Time // time of the next try
	failures int
	stale    bool // the list has changed
	again    bool // retry at the owner's request
	listed   []listed
	have     bool // listed was received, now or earlier
	late     bool // runs no longer wait for it
	skipped  []string
	withheld []string // tools that have changed since they were approved
	sessions map[string]*entry
	barred   time.Time // no session is started before
	why      string    // the reason
}

// entry is an existing or starting session.
type entry struct {
	ready chan struct{}
	s     *session
	err   error
}

func (p *Pool) newServer(conf Server) *server {
	v := newVeil(conf)
	s := &server{name: conf.Name, pool: p, conf: conf, wake: make(chan struct{}, 1), first: make(chan struct{}),
		began: time.Now(), veil: v, log: &tail{veil: v}, state: StateConnecting, sessions: map[string]*entry{}}
	s.ctx, s.stop = context.WithCancel(p.ctx)
	k := p.memory.get(conf.Name)
	if k.Signature == conf.signature() {
		s.take(k.Tools, k.Approved, false)
		s.have = true
	}
	s.late = k.Late == conf.signature()
	if o := conf.OAuth; o != nil {
		refresh := ""
		if from := tokenHash(o.RefreshToken); k.From == from && o.RefreshToken != "" {
			refresh = k.Refresh
		}
		s.tokens = newTokens(*o, v, refresh, func(rotated string) {
			s.remember(func(k *known) { k.Refresh, k.From = rotated, tokenHash(o.RefreshToken) })
		})
		if s.tokens.clock = p.logins.Now; conf.PublicOnly {
			if w, err := newWeb(Server{URL: o.TokenURL, PublicOnly: true}, nil, &p.o, tokenBytes); err == nil {
				s.tokens.client.Transport = w
			}
		}
	}
	s.useLogin(k.Login)
	if s.tokens != nil && p.memory.rows != nil {
		s.tokens.among = s.turn
	}
	return s
}

// changed records that the tools have changed.
func (s *server) changed() {
	s.mu.Lock()
	s.stale = true
	s.mu.Unlock()
	s.wakeUp()
}

// run keeps the list of tools fresh until the server is removed.
func (s *server) run() {
	var last time.Time // when the list was requested
	first := sync.OnceFunc(func() { close(s.first) })
	defer first()
	for s.ctx.Err() == nil {
		err := s.learn()
		last = time.Now()
		first()
		if s.ctx.Err() != nil {
			return
		}
		if s.note(err); err != nil {
			s.tooLate()
		} else {
			s.learnExtras()
		}
		if !s.rest(last) {
			return
		}
	}
}

// note records the result of an attempt.
func (s *server) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.again = false
	if err == nil {
		s.state, s.err, s.next = StateReady, "", time.Time{}
		return
	}
	s.fail(err.Error())
	if errors.As(err, &process.NotFoundError{}) {
		s.state = StateUnavailable // until it is installed
	}
}

// rest waits for work: the list has changed, the server has died, or a retry is due. It returns false
// when the server is removed.
func (s *server) rest(last time.Time) bool {
	for {
		s.mu.Lock()
		var wait time.Duration
		due := true
		scout := s.sessions[""]
		switch now := time.Now(); {
		case s.again:
			s.mu.Unlock()
			return true
		case !s.next.IsZero():
			wait = max(s.next.Sub(now), 0)
		case s.stale:
			wait = max(last.Add(relistTime).Sub(now), settle)
		case scout != nil && scout.s != nil && !scout.s.alive():
			delete(s.sessions, "")
			if e := scout.s; e.exitReason() != nil {
				if time.Since(e.began) > stableTime {
					s.failures = 0
				}
				s.fail(s.explain(fmt.Errorf("the server stopped: %w", e.exitReason()), e.began).Error())
			}
			s.mu.Unlock()
			continue
		default:
			wait, due = time.Hour, false
		}
		s.mu.Unlock()
		timer := time.NewTimer(wait)
		select {
		case <-s.ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
			if due {
				return true
			}
		case <-s.wake:
			timer.Stop()
		}
	}
}

// learn asks the server for its tools.
func (s *server) learn() error {
	e, err := s.session(s.ctx, "")
	if err != nil {
		return err
	}
	defer e.end()
	s.mu.Lock()
	s.stale = false
	conf := s.conf
	s.mu.Unlock()
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	watch := s.watch(conf, func(time.Duration) { cancel(errors.New("it did not list its tools in time")) })
	defer watch.end()
	watch.follow(e.proc)
	list, skipped, err := e.list(ctx)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		err = s.explain(err, e.began)
		e.close()
		s.mu.Lock()
		if s.sessions[""] != nil && s.sessions[""].s == e {
			delete(s.sessions, "")
		}
		s.mu.Unlock()
		return err
	}
	if time.Since(e.began) > stableTime {
		s.mu.Lock()
		s.failures = 0
		s.mu.Unlock()
	}
	s.mu.Lock()
	s.skipped = skipped
	s.mu.Unlock()
	s.accept(list, conf)
	return nil
}

// accept processes a listing. New tools are approved, since the owner added their server. Changed ones await the owner.
func (s *server) accept(list []listed, conf Server) {
	var approved map[string]string
	kept := s.remember(func(k *known) {
		if k.Signature != conf.signature() {
			k.Approved = nil
		}
		k.Signature, k.Tools = conf.signature(), list
		if k.Approved = maps.Clone(k.Approved); k.Approved == nil {
			k.Approved = map[string]string{}
		}
		for _, l := range list {
			if _, ok := k.Approved[l.Name]; !ok && len(k.Approved) < maxApproved {
				k.Approved[l.Name] = l.hash()
			}
		}
		approved = k.Approved
	})
	s.take(list, approved, kept)
	s.pool.offer()
}

// take applies a listing, or the stored one as changed meanwhile by other servers.
func (s *server) take(list []listed, approved map[string]string, kept bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.pool.memory.get(s.name); kept && k.Signature == s.conf.signature() {
		list, approved = k.Tools, k.Approved
	}
	s.sort(list, approved)
}

// sort computes the offered tools of a listing; the lock is held.
func (s *server) sort(list []listed, approved map[string]string) {
	var offered []listed
	var withheld []string
	for _, l := range list {
		if approved[l.Name] == l.hash() {
			offered = append(offered, l)
		} else {
			withheld = append(withheld, l.Name)
		}
	}
	if len(withheld) > 0 && !slices.Equal(withheld, s.withheld) {
		s.pool.o.Log.Warn("MCP tools changed since approval; withheld",
			"server", s.name, "tools", len(withheld))
	}
	s.listed, s.withheld, s.have = offered, withheld, true
}

// remember changes the stored state of the server. It returns false if that failed.
func (s *server) remember(change func(k *known)) bool {
	err := s.pool.memory.put(s.name, func(k *known) bool { change(k); return true })
	if err != nil {
		s.pool.o.Log.Warn("couldn't store an MCP server's tools", "server", s.name, "err", err)
	}
	return err == nil
}

// session returns a thread's session and starts it if necessary. The caller calls its end.
func (s *server) session(ctx context.Context, thread string) (*session, error) {
	for range 3 {
		s.mu.Lock()
		e := s.sessions[thread]
		if e == nil {
			if wait := time.Until(s.barred); wait > 0 && thread != "" {
				why := s.why
				s.mu.Unlock()
				return nil, fmt.Errorf("%s; retrying in %v", why, wait.Round(time.Second))
			}
			if !s.room() {
				s.mu.Unlock()
				return nil, fmt.Errorf("more than %d threads use it at the same time", maxSessions)
			}
			e = &entry{ready: make(chan struct{})}
			s.sessions[thread] = e
			conf := s.conf
			s.pool.work.Go(func() { s.fill(e, conf, thread) })
		}
		s.mu.Unlock()
		select {
		case <-e.ready:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if e.err != nil {
			return nil, e.err
		}
		if e.s.begin() {
			return e.s, nil
		}
		s.mu.Lock()
		if s.sessions[thread] == e {
			delete(s.sessions, thread) // it died; another one replaces it
		}
		s.mu.Unlock()
	}
	return nil, errors.New("the server keeps stopping")
}

// fill starts the session of an entry.
func (s *server) fill(e *entry, conf Server, thread string) {
	started, err := s.open(s.ctx, conf, thread)
	s.mu.Lock()
	if e.s, e.err = started, err; err != nil {
		if s.sessions[thread] == e {
			delete(s.sessions, thread)
		}
		if thread != "" {
			s.barred, s.why = time.Now().Add(firstDelay), e.err.Error()
		}
	}
	s.mu.Unlock()
	close(e.ready)
}

// maxSessions limits the connections to one server.
const maxSessions = 32

// room reports whether another session may start, closing an idle one if necessary. The lock is held.
func (s *server) room() bool {
	if len(s.sessions) <= maxSessions {
		return true
	}
	var oldest string
	var since time.Time
	for thread, e := range s.sessions {
		if e.s == nil || thread == "" {
			continue
		}
		if at, idle := e.s.idle(); idle && (oldest == "" || at.Before(since)) {
			oldest, since = thread, at
		}
	}
	if oldest == "" {
		return false
	}
	s.sessions[oldest].s.close()
	delete(s.sessions, oldest)
	return true
}

// sweep removes idle sessions and returns them.
func (s *server) sweep(gone func(thread string, idleSince time.Time) bool) (closed []*session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for thread, e := range s.sessions {
		select {
		case <-e.ready:
		default:
			continue
		}
		if e.s == nil {
			continue
		}
		if at, idle := e.s.idle(); idle && gone(thread, at) {
			e.s.close()
			delete(s.sessions, thread)
			closed = append(closed, e.s)
		}
	}
	return closed
}
