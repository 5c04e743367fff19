package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fawn/agent"
	"fawn/agent/clusterstate"
	"fawn/agent/mcp/ask"
	"fawn/agent/mcp/consent"
	"fawn/sandbox/netguard"
)

// ErrUnknown means that a server isn't configured.
var ErrUnknown = errors.New("there is no MCP server of that name")

// Options configure a Pool.
type Options struct {
	// Dir is the folder for the pool's stored state and for servers that only list their tools.
	Dir string
	// Folder returns the folder of this machine with a thread's workspace, uploads and outputs, creating it if
	// necessary.
	Folder func(thread string) (string, error)
	// Save writes a file into a thread's outputs, and returns its virtual path.
	Save func(ctx context.Context, thread, name string, data []byte) (string, error)
	// Confine runs a server in a sandbox until it ends, or ctx does. An error is the reason why it can't run there. Nil
	// means that there are no sandboxes.
	Confine func(ctx context.Context, j Job) error
	// Guard checks addresses that servers redirect to.
	Guard *netguard.Guard
	// Public checks addresses of PublicOnly servers; nil permits public ones.
	Public func() *netguard.Guard
	// Patience returns how long a thread's call may wait for a user's answer; with 0, or a nil function, the user
	// isn't asked.
	Patience func(ctx context.Context, thread string) time.Duration
	// Announce shows an event to the readers of a thread's run.
	Announce func(thread string, event json.RawMessage)
	// Following configures the tasks of servers. Nil disables tasks: servers answer calls directly.
	Following *Following
	// MaxMessage limits a server's message in bytes; 0 means 32 MiB.
	MaxMessage int
	// Rows holds the state shared by several servers: logins with their tokens, tools and their approvals. Nil keeps it
	// in Dir. Changes of others arrive once Run is called.
	Rows *clusterstate.Rows
	Log  *slog.Logger
}

// Pool manages the configured servers. Close ends them.
type Pool struct {
	o      Options
	memory *memory
	ctx    context.Context
	stop   context.CancelFunc
	work   sync.WaitGroup
	now    atomic.Pointer[offer]

	follows *follows // nil follows no tasks

	mu      sync.Mutex // also serializes changes of the offer
	servers map[string]*server
	resting map[string]Server // disabled or unusable ones
	refused map[string]string // tools that providers of models refuse, by server and hash, with the reason
	logins  *consent.Waiting
	asks    *ask.Board     // open questions of servers
	asking  sync.WaitGroup // calls waiting for an answer here
	closed  bool
}

// offer is the set of tools given to runs.
type offer struct {
	tools   []*agent.Tool
	version uint64
	dropped map[string][]string // tools that are not offered, by server, with the reason
}

// New returns a pool without servers.
func New(o Options) *Pool {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Guard == nil {
		o.Guard = &netguard.Guard{}
	}
	if o.Public == nil {
		o.Public = func() *netguard.Guard { return &netguard.Guard{} }
	}
	if o.MaxMessage == 0 {
		o.MaxMessage = maxMessage
	}
	path := ""
	if o.Dir != "" && o.Rows == nil {
		path = filepath.Join(o.Dir, "known.json")
	}
	m, err := remember(path)
	if err != nil {
		o.Log.Warn("couldn't read known tools of MCP servers", "err", err)
	}
	p := &Pool{o: o, memory: m, servers: map[string]*server{}, resting: map[string]Server{}, refused: map[string]string{},
		logins: consent.NewWaiting(o.Rows), asks: ask.NewBoard(clusterstate.NotesIn(o.Rows), o.Log)}
	if m.rows = o.Rows; m.rows != nil {
		m.rows.Hear(p.heard)
	}
	p.follows = newFollows(o.Following)
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.now.Store(&offer{})
	p.work.Go(p.sweep)
	if p.follows != nil && p.follows.Ended != nil {
		p.work.Go(p.tidy)
	}
	return p
}

// Set applies a list of servers. Unchanged ones aren't interrupted.
func (p *Pool) Set(list []Server) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	wanted := map[string]Server{}
	clear(p.resting)
	for _, conf := range list {
		if conf.Off || conf.Missing != "" {
			p.resting[conf.Name] = conf
		} else {
			wanted[conf.Name] = conf
		}
	}
	for name, s := range p.servers {
		conf, ok := wanted[name]
		if ok && s.adopt(conf) {
			continue
		}
		s.stop()
		delete(p.servers, name)
	}
	for name, conf := range wanted {
		if p.servers[name] == nil {
			s := p.newServer(conf)
			p.servers[name] = s
			p.work.Go(s.run)
		}
	}
	p.mu.Unlock()
	p.offer()
}

// adopt takes a configuration which reaches the same server.
func (s *server) adopt(conf Server) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.conf.same(conf) {
		return false
	}
	s.conf = conf
	return true
}

// Close ends all servers and waits for their goroutines and processes.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.stop()
	p.work.Wait()
	p.asking.Wait()
	return nil
}

// Tools returns the tools of all servers, and a number that changes with them. It never waits.
func (p *Pool) Tools() ([]*agent.Tool, uint64) {
	o := p.now.Load()
	return o.tools, o.version
}

// firstWait limits how long a starting server delays early runs.
const firstWait = 2 * time.Second

// Await waits briefly for newly added servers that never listed their tools. Each server delays runs once only, not
// again after a restart.
func (p *Pool) Await(ctx context.Context) {
	p.mu.Lock()
	var young []*server
	for _, s := range p.servers {
		s.mu.Lock()
		if !s.have && !s.late && time.Since(s.began) < firstWait {
			young = append(young, s)
		}
		s.mu.Unlock()
	}
	p.mu.Unlock()
	for _, s := range young {
		timer := time.NewTimer(time.Until(s.began.Add(firstWait)))
		select {
		case <-s.first:
		case <-timer.C:
			s.tooLate()
		case <-ctx.Done():
		case <-s.ctx.Done():
		}
		timer.Stop()
	}
}

// Forget ends the sessions of a thread that is deleted, and waits for their end.
func (p *Pool) Forget(thread string) {
	if thread == "" {
		return
	}
	var closed []*session
	for _, s := range p.all() {
		closed = append(closed, s.sweep(func(of string, _ time.Time) bool { return of == thread })...)
	}
	for _, e := range closed {
		<-e.done
	}
}

// Withdraw stops offering a tool that a model's provider refused, until its server changes its description or is
// restarted.
func (p *Pool) Withdraw(t *agent.Tool, why string) {
	p.mu.Lock()
	s, ok := p.servers[t.Server]
	if ok {
		s.mu.Lock()
		for _, l := range s.listed {
			if l.Name == t.Native {
				p.refused[s.name+"\x00"+l.hash()] = agent.Clip(why, 300)
			}
		}
		s.mu.Unlock()
	}
	p.mu.Unlock()
	p.offer()
}

// Reconnect ends a server's sessions and restarts it.
func (p *Pool) Reconnect(name string) error {
	p.mu.Lock()
	old, ok := p.servers[name]
	if ok && !p.closed {
		old.stop()
		old.mu.Lock()
		conf := old.conf
		old.mu.Unlock()
		s := p.newServer(conf)
		p.servers[name] = s
		maps.DeleteFunc(p.refused, func(key, _ string) bool { return strings.HasPrefix(key, name+"\x00") })
		p.work.Go(s.run)
	}
	p.mu.Unlock()
	if !ok {
		return ErrUnknown
	}
	p.offer()
	return nil
}

// Reset restarts all servers.
func (p *Pool) Reset() {
	for _, s := range p.all() {
		_ = p.Reconnect(s.name) // a server removed meanwhile needs no start
	}
}

// Approve offers the tools of a server as they are now.
func (p *Pool) Approve(name string) error {
	p.mu.Lock()
	s, ok := p.servers[name]
	p.mu.Unlock()
	if !ok {
		return ErrUnknown
	}
	k := p.memory.get(name)
	approved := map[string]string{}
	for _, l := range k.Tools {
		approved[l.Name] = l.hash()
	}
	kept := s.remember(func(k *known) { k.Approved = approved })
	s.take(k.Tools, approved, kept)
	p.offer()
	return nil
}

// all returns the servers in order.
func (p *Pool) all() []*server {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]*server, 0, len(p.servers))
	for _, s := range p.servers {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *server) int { return cmp.Compare(a.name, b.name) })
	return out
}

// sweep closes idle sessions.
func (p *Pool) sweep() {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return
		case now := <-tick.C:
			for _, s := range p.all() {
				s.mu.Lock()
				stdio := s.conf.Type == Stdio
				s.mu.Unlock()
				s.sweep(func(thread string, since time.Time) bool {
					return now.Sub(since) > idleTime && (thread != "" || stdio)
				})
			}
		}
	}
}

// folder returns where a server finds the files of a thread; "" is for listing tools.
func (p *Pool) folder(thread string) (string, error) {
	if thread != "" {
		return p.o.Folder(thread)
	}
	base := filepath.Join(p.o.Dir, "listing")
	for _, name := range []string{"workspace", "uploads", "outputs"} {
		if err := os.MkdirAll(filepath.Join(base, name), 0o700); err != nil {
			return "", fmt.Errorf("make a folder for MCP servers: %w", err)
		}
	}
	return base, nil
}

func tokenHash(token string) string {
	sum := sha256.Sum256([]byte("refresh\x00" + token))
	return hex.EncodeToString(sum[:16])
}

// Status is a server's state as shown to the owner.
type Status struct {
	Name     string     `json:"name"`
	State    string     `json:"state"`
	Error    string     `json:"error,omitempty"`
	Next     *time.Time `json:"next,omitempty"` // time of the next attempt
	Tools    []ToolInfo `json:"tools"`
	Withheld []ToolInfo `json:"withheld"` // changed since they were approved
	Skipped  []string   `json:"skipped"`  // tools that cannot be offered, with the reason
	Sessions int        `json:"sessions"` // number of thread sessions
	Login    string     `json:"login"`    // LoginNone, LoginOut or LoginIn
	Log      []Line     `json:"log"`
}

// Whether people log in to a server.
const (
	LoginNone = "none" // the server has no login, or hasn't asked for one yet
	LoginOut  = "out"  // a login is required
	LoginIn   = "in"   // logged in
)

// ToolInfo is a tool in a Status.
type ToolInfo struct {
	Name        string `json:"name"` // the server's name
	Description string `json:"description"`
}

// Status returns the state of all servers, ordered by name.
func (p *Pool) Status() []Status {
	var out []Status
	dropped := p.now.Load().dropped
	for _, s := range p.all() {
		out = append(out, s.status(dropped))
	}
	p.mu.Lock()
	for name, conf := range p.resting {
		st := Status{Name: name, State: StateUnavailable, Error: conf.Missing, Tools: []ToolInfo{},
			Withheld: []ToolInfo{}, Skipped: []string{}, Log: []Line{}, Login: LoginNone}
		if conf.Off {
			st.State, st.Error = StateOff, ""
		}
		out = append(out, st)
	}
	p.mu.Unlock()
	slices.SortFunc(out, func(a, b Status) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func (s *server) status(dropped map[string][]string) Status {
	known := map[string]string{}
	k := s.pool.memory.get(s.name)
	for _, l := range k.Tools {
		known[l.Name] = l.Description
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{Name: s.name, State: s.state, Error: s.err, Tools: []ToolInfo{}, Withheld: []ToolInfo{},
		Skipped: append(slices.Clone(s.skipped), dropped[s.name]...), Log: s.log.all()}
	if st.Skipped == nil {
		st.Skipped = []string{}
	}
	switch st.Login = LoginNone; {
	case s.state == StateLogin:
		st.Login = LoginOut
	case k.Login != nil && k.Login.For == s.conf.URL:
		st.Login = LoginIn
	}
	if !s.next.IsZero() {
		next := s.next
		st.Next = &next
	}
	for _, l := range s.listed {
		st.Tools = append(st.Tools, ToolInfo{l.Name, l.Description})
	}
	for _, name := range s.withheld {
		st.Withheld = append(st.Withheld, ToolInfo{name, known[name]})
	}
	for thread := range s.sessions {
		if thread != "" {
			st.Sessions++
		}
	}
	return st
}
