// Package chattest contains servers that simulate chat platforms: they use the real formats, keep each chat as people
// would see it, enforce the platform's limits, and misbehave on demand. Suite contains the cases that every adapter
// must pass. The platforms are independent of each other.
package chattest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/agent/channels/chat"
)

// patience limits the time that something may take on a busy machine.
const patience = time.Minute

// A Said is a message that someone writes where the bot can read it.
type Said struct {
	Chat    string // in the platform's own form; empty for the private chat of From
	Group   bool
	Topic   string // the platform's thread, if it has them
	From    string // id
	Name    string
	Text    string
	Mention bool   // the text begins with the bot's name
	Bot     bool   // From is a bot
	Self    bool   // From is the bot
	ReplyTo string // id of a message
	File    *Sent
	Broken  bool // no adapter can read it
	// Over replaces fields of the message, in the platform's own form. A nil takes one away.
	Over map[string]any
}

// over lays the fields of Over over a message.
func (m Said) over(msg map[string]any) {
	for k, v := range m.Over {
		if v == nil {
			delete(msg, k)
		} else {
			msg[k] = v
		}
	}
}

// Sent is a file posted by the bot.
type Sent struct {
	Name string
	Data []byte
}

// Shown is a message of the bot as people see it.
type Shown struct {
	ID      string
	Text    string // text sent to the platform
	File    *Sent
	ReplyTo string
	Topic   string
	Edits   int
	Rich    bool     // with formatting
	HTML    string   // HTML of a rich message; Text is its readable form
	Blocks  []string // kinds of its blocks, which people see instead of Text
	Gone    bool
}

// A Kind names a way in which a server misbehaves.
type Kind string

// The kinds.
const (
	Rate        Kind = "rate"         // too many calls: wait for After
	Broken      Kind = "broken"       // status 500
	Slow        Kind = "slow"         // answers after After
	Lost        Kind = "lost"         // does it, but the answer never arrives
	Unformatted Kind = "unformatted"  // refuses formatting
	ChatGone    Kind = "chat gone"    // the bot was removed
	MessageGone Kind = "message gone" // the message was deleted
	Unknown     Kind = "unknown"      // the token is unknown
	Elsewhere   Kind = "elsewhere"    // another program uses the bot
	Forbidden   Kind = "forbidden"    // the app lacks a permission
)

// A Fault makes one call fail. Op is "check", "connect", "poll", "send", "edit", "upload", "typing" or "file".
type Fault struct {
	Op    string
	Kind  Kind
	After time.Duration
}

// A Fake is a server of one platform.
type Fake interface {
	State() *State
	// Say puts a message where the bot finds it, now or when it connects.
	Say(m Said)
	// Repeat delivers everything again, as platforms do when they are in doubt.
	Repeat()
	// Cut breaks off all connections.
	Cut()
	// Chat is the id of the private chat with a person.
	Chat(person string) string
}

// State holds the parts that the servers of all platforms have.
type State struct {
	T      testing.TB
	URL    string
	Secret string // must never be visible

	mu        sync.Mutex
	open      func() int    // counts sockets, under the lock; nil without sockets
	conns     int           // other connections
	changed   chan struct{} // closed and replaced at each change
	shown     map[string][]*Shown
	faults    []Fault
	confirmed map[string]bool
	acks      []time.Duration

	last  int
	calls map[string]int
	made  map[string]bool // recorded calls and frames made by the bot

	rules  *rules                                                     // nil where no SDK was recorded
	path   func(r *http.Request) (path string, call bool)             // of a call in the rules
	refuse func(w http.ResponseWriter, r *http.Request, wrong string) // responds like the platform
}

// serve starts a server. It is closed at the end of the test.
func (s *State) serve(t testing.TB, secret string, h http.Handler) {
	s.T, s.Secret = t, secret
	s.changed, s.shown, s.confirmed = make(chan struct{}), map[string][]*Shown{}, map[string]bool{}
	s.calls, s.made, s.last = map[string]int{}, map[string]bool{}, 1000
	server := httptest.NewUnstartedServer(s.strict(h))
	server.Config.ConnState = s.count
	s.URL = "http://" + server.Listener.Addr().String()
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
}

// strict refuses requests that differ from those of official SDKs or from the platform's reference.
func (s *State) strict(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.rules == nil {
			h.ServeHTTP(w, r)
			return
		}
		if path, call := s.path(r); call {
			if wrong := s.rules.check(r, path); len(wrong) > 0 {
				s.errorf("%s %s: %s", r.Method, path, strings.Join(wrong, "; "))
				s.refuse(w, r, wrong[0])
				return
			}
			s.note(s.rules.nameOf(r.Method, path))
		}
		h.ServeHTTP(w, r)
	})
}

func (s *State) note(name string) {
	s.do(func() { s.made[name] = true })
}

// Unmade lists the recorded calls and frames that the bot didn't make.
func (s *State) Unmade() (left []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range s.rules.recorded() {
		if !s.made[name] {
			left = append(left, name)
		}
	}
	return left
}

// WaitMade waits until the bot has made all recorded calls, some of which are delayed, and lists the missing ones.
func (s *State) WaitMade(t testing.TB) []string {
	ctx, cancel := context.WithTimeout(t.Context(), patience/4)
	defer cancel()
	s.wait(ctx, func() bool {
		for _, name := range s.rules.recorded() {
			if !s.made[name] {
				return false
			}
		}
		return true
	})
	return s.Unmade()
}

// frame checks the frames that the bot writes to a socket.
func (s *State) frame(name string, data []byte) {
	if s.rules == nil {
		return
	}
	if wrong := s.rules.checkFrame(name, data); len(wrong) > 0 {
		s.errorf("the frame %s: %s", name, strings.Join(wrong, "; "))
		return
	}
	s.note("FRAME " + name)
}

// query checks the query of a socket's address.
func (s *State) query(r *http.Request) {
	if wrong := s.rules.checkValue("query", fromForm(r.URL.Query())); len(wrong) > 0 {
		s.errorf("the socket %s: %s", r.URL.Path, strings.Join(wrong, "; "))
		return
	}
	s.note("FRAME query")
}

// own validates the simulator's own responses and events.
func (s *State) own(method, path string, v any) {
	if s.rules == nil {
		return
	}
	for _, wrong := range s.rules.checkOwn(method, path, v) {
		s.T.Errorf("the stand-in is not as the platform: %s", wrong)
	}
}

// event validates an event of the simulator, under its name alone and with its kind. Fields that no SDK reads are
// errors, unless a test added them to the message.
func (s *State) event(name, kind string, v any, m Said) {
	if m.Broken {
		return
	}
	for _, path := range []string{name, name + " " + kind} {
		for _, wrong := range s.rules.checkSaid("EVENT", path, v, m.Over != nil) {
			s.T.Errorf("the stand-in is not as the platform: %s", wrong)
		}
	}
}

// Do runs f under the lock and wakes all waiters.
func (s *State) do(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// wait waits until ok, which runs under the lock. It is false if ctx ended first.
func (s *State) wait(ctx context.Context, ok func() bool) bool {
	for {
		s.mu.Lock()
		done, changed := ok(), s.changed
		s.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// id returns a new id. The lock must be held.
func (s *State) id() int {
	s.last++
	return s.last
}

// Fail makes calls fail, each fault once and in this order.
func (s *State) Fail(faults ...Fault) {
	s.do(func() { s.faults = append(s.faults, faults...) })
}

// fault takes the next fault of a call.
func (s *State) fault(op string) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[op]++
	for i, f := range s.faults {
		if f.Op == op {
			s.faults = slices.Delete(s.faults, i, i+1)
			return f
		}
	}
	return Fault{Op: op}
}

// Calls counts the calls of an operation.
func (s *State) Calls(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[op]
}

// Shown returns a chat as people see it.
func (s *State) Shown(where string) []Shown {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Shown
	for _, m := range s.shown[where] {
		if !m.Gone {
			all = append(all, *m)
		}
	}
	return all
}

// find returns a message of a chat, or nil. It needs the lock.
func (s *State) find(where, id string) *Shown {
	for _, m := range s.shown[where] {
		if m.ID == id && !m.Gone {
			return m
		}
	}
	return nil
}

// Confirmed reports whether the bot confirmed the update of a message with that text.
func (s *State) Confirmed(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.confirmed[text]
}

// Acks lists the times that the bot took to acknowledge events of a socket.
func (s *State) Acks() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.acks)
}

// WaitConfirmed waits for it.
func (s *State) WaitConfirmed(text string) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), patience)
	defer cancel()
	if !s.wait(ctx, func() bool { return s.confirmed[text] }) {
		s.T.Errorf("the bot did not confirm %q", text)
	}
}

// WaitAgain waits until the bot has signed in this many times and only one socket is left.
func (s *State) WaitAgain(times int) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), patience)
	defer cancel()
	if !s.wait(ctx, func() bool { return s.calls["check"] >= times && (s.open == nil || s.open() == 1) }) {
		s.T.Error("the bot did not connect again")
	}
}

// WaitClosed waits until the bot has no socket open.
func (s *State) WaitClosed() {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), patience)
	defer cancel()
	if !s.wait(ctx, func() bool { return s.open == nil || s.open() == 0 }) {
		s.T.Error("the bot did not close its socket")
	}
}

// errorf reports a rule of the platform that the bot broke.
func (s *State) errorf(format string, args ...any) {
	s.T.Helper()
	s.T.Errorf("the bot broke a rule: "+format, args...)
}

// drop ends a connection without an answer.
func drop(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

// slow waits as long as a fault demands.
func slow(ctx context.Context, f Fault) {
	if f.Kind != Slow {
		return
	}
	t := time.NewTimer(f.After)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// An Inbox is a chat.Inbox in memory.
type Inbox struct {
	// Refuse is asked before a batch is taken. It may block.
	Refuse func(batch []chat.Update) error

	mu      sync.Mutex
	changed chan struct{}
	updates []chat.Update
	again   int
	cursor  map[string]string
	status  []error
}

// NewInbox returns an empty one.
func NewInbox() *Inbox {
	return &Inbox{changed: make(chan struct{}), cursor: map[string]string{}}
}

func (b *Inbox) notify() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// Take stores updates.
func (b *Inbox) Take(_ context.Context, batch []chat.Update, cursor map[string]string) error {
	if b.Refuse != nil {
		if err := b.Refuse(batch); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, u := range batch {
		if slices.ContainsFunc(b.updates, func(o chat.Update) bool { return o.ID == u.ID }) {
			b.again++
			continue
		}
		b.updates = append(b.updates, u)
	}
	for k, v := range cursor {
		b.cursor[k] = v
	}
	b.notify()
	return nil
}

// Cursor returns an entry as stored.
func (b *Inbox) Cursor(key string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cursor[key]
}

// Status records the status.
func (b *Inbox) Status(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.status = append(b.status, err)
	b.notify()
}

// Updates lists the received updates without repetitions.
func (b *Inbox) Updates() []chat.Update {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.updates)
}

// await waits until ok, under the lock.
func (b *Inbox) await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	timeout := time.After(patience)
	for {
		b.mu.Lock()
		done, changed := ok(), b.changed
		state := fmt.Sprintf("updates %+v, status %v, cursor %v", b.updates, b.status, b.cursor)
		b.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("waited for %s; %s", what, state)
		}
	}
}

// WaitText waits for the update with that text.
func (b *Inbox) WaitText(t testing.TB, text string) chat.Update {
	t.Helper()
	var found chat.Update
	b.await(t, fmt.Sprintf("%q", text), func() bool {
		for _, u := range b.updates {
			if strings.TrimSpace(u.Text) == text {
				found = u
				return true
			}
		}
		return false
	})
	return found
}

// WaitFiles waits for an update with n files.
func (b *Inbox) WaitFiles(t testing.TB, n int) chat.Update {
	t.Helper()
	var found chat.Update
	b.await(t, fmt.Sprintf("%d files", n), func() bool {
		for _, u := range b.updates {
			if len(u.Files) == n {
				found = u
				return true
			}
		}
		return false
	})
	return found
}

// WaitStatus waits for a status.
func (b *Inbox) WaitStatus(t testing.TB, ok func(err error) bool) error {
	t.Helper()
	var found error
	b.await(t, "a status", func() bool {
		for _, err := range b.status {
			if ok(err) {
				found = err
				return true
			}
		}
		return false
	})
	return found
}

func (s *State) count(_ net.Conn, state http.ConnState) {
	s.do(func() {
		switch state {
		case http.StateNew:
			s.conns++
		case http.StateClosed, http.StateHijacked:
			s.conns--
		}
	})
}

// Conns counts the connections besides sockets.
func (s *State) Conns() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns
}

// WaitLeft waits until a killed bot has no open socket and n other connections exist: everything it sent has been read
// by then and can't arrive after the next bot's messages.
func (s *State) WaitLeft(conns int) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), patience)
	defer cancel()
	if !s.wait(ctx, func() bool { return (s.open == nil || s.open() == 0) && s.conns <= conns }) {
		s.T.Error("a bot that was killed is still connected")
	}
}
