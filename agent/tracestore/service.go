package tracestore

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fawn/agent"
	"fawn/agent/runs/trace"
	"fawn/store"
)

// Limits of the queue, and of the stored records of one run.
const (
	maxWaiting = 1024
	maxSpans   = 2000
	together   = 64 // records in one commit
)

// Rules configure retention.
type Rules struct {
	Prompts bool          // also keep prompts
	Keep    time.Duration // 0 is unlimited
}

// Service is a trace.Observer. Close must be called.
type Service struct {
	db    *store.DB
	rules func() Rules
	log   *slog.Logger
	last  atomic.Int64 // number of the last span

	mu      sync.Mutex // guards all below
	roots   map[string]*root
	queue   []record
	dropped int
	closed  bool
	wake    chan struct{}
	hurry   chan struct{} // one token: store the queue now
	done    chan struct{}
	flushed []chan struct{} // closed when the queue is stored

	known  threads // of the storing goroutine
	common common  // the same
}

// root returns the run that a run's spans belong to: itself, or the run that started the helper.
type root struct {
	run    string
	helper string // name of the helper
	spans  *atomic.Int64
}

// record is a queued record.
type record struct {
	thread, run string
	span        Span
	request     *agent.Request // request of a model call with a kept prompt
}

// New starts to store.
func New(db *store.DB, rules func() Rules, log *slog.Logger) *Service {
	s := &Service{db: db, rules: rules, log: log, roots: map[string]*root{}, wake: make(chan struct{}, 1),
		hurry: make(chan struct{}, 1), done: make(chan struct{})}
	go s.store()
	return s
}

// Close stores the queued records.
func (s *Service) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	nudge(s.hurry)
	nudge(s.wake)
	<-s.done
}

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// number returns a moment in microseconds that no other span has.
func (s *Service) number(at time.Time) int64 {
	for {
		last := s.last.Load()
		n := max(at.UnixMicro(), last+1)
		if s.last.CompareAndSwap(last, n) {
			return n
		}
	}
}

// put queues a record, or drops it if the queue is full.
func (s *Service) put(r record) {
	s.mu.Lock()
	if s.closed || len(s.queue) >= maxWaiting {
		s.dropped++
	} else {
		s.queue = append(s.queue, r)
	}
	many := len(s.queue) >= together
	s.mu.Unlock()
	if many {
		nudge(s.hurry)
	}
	nudge(s.wake)
}

// root finds the run that a run's spans belong to, and counts one more of them; nil if it has
// enough.
func (s *Service) root(run string) *root {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.roots[run]
	if r == nil || r.spans.Add(1) > maxSpans {
		return nil
	}
	return r
}

// Run implements trace.Observer.
func (s *Service) Run(ctx context.Context, run store.Run) (context.Context, func(store.Run)) {
	began := time.Now()
	own := &root{run: run.ID, spans: &atomic.Int64{}}
	s.mu.Lock()
	if parent := s.roots[run.Parent]; parent != nil {
		own = &root{run: parent.run, helper: agentOf(run), spans: parent.spans}
	}
	s.roots[run.ID] = own
	s.mu.Unlock()
	n := s.number(began)
	return ctx, func(run store.Run) {
		s.mu.Lock()
		delete(s.roots, run.ID)
		s.mu.Unlock()
		s.put(record{run.ThreadID, own.run, Span{N: n, Kind: KindRun, Name: agentOf(run), Helper: own.helper, Began: n,
			Took: time.Since(began).Microseconds(), Status: run.Status, Error: agent.Head(run.Error, maxNote),
			Finish: run.StopReason}, nil})
	}
}

// Model implements agent.Observer.
func (s *Service) Model(ctx context.Context, t *agent.Turn, c *agent.ModelCall) {
	root := s.root(t.RunID)
	if root == nil {
		return
	}
	n := s.number(c.Began)
	span := Span{N: n, Kind: KindModel, Name: c.Model, Helper: root.helper, Began: n, First: c.First.Microseconds(),
		Took: c.Took.Microseconds(), Status: status(ctx, c.Err), Messages: len(c.Request.Messages),
		Tools: len(c.Request.Tools)}
	if c.Err != nil {
		span.Error = agent.Head(c.Err.Error(), maxNote)
	}
	if m := c.Message; m != nil {
		span.Message, span.Usage = m.ID, m.Usage
		span.Provider, _ = m.Meta["model_name"].(string)
		span.Finish, _ = m.Meta["finish_reason"].(string)
		span.Answer = agent.Head(m.Content.String(), maxText)
		for _, call := range m.ToolCalls {
			span.Answer += "\n→ " + call.Name + " " + agent.Head(string(call.Args), maxNote)
		}
	}
	r := record{thread: t.ThreadID, run: root.run, span: span}
	if s.rules().Prompts {
		r.request = &agent.Request{System: c.Request.System, Messages: slices.Clone(c.Request.Messages),
			Tools: slices.Clone(c.Request.Tools), Options: c.Request.Options}
	}
	s.put(r)
}

// Tool implements agent.Observer.
func (s *Service) Tool(ctx context.Context, t *agent.Turn, c agent.ToolCall,
	_ bool) (context.Context, func(agent.Result, error)) {
	began := time.Now()
	n := s.number(began)
	return ctx, func(r agent.Result, err error) {
		root := s.root(t.RunID)
		if root == nil {
			return
		}
		span := Span{N: n, Kind: KindTool, Name: agent.Head(c.Name, 100), Helper: root.helper, Call: c.ID, Began: n,
			Took: time.Since(began).Microseconds(), Status: status(ctx, err), Args: agent.Head(string(c.Args), maxText),
			Result: agent.Head(r.Content.String(), maxText)}
		if r.IsError && span.Status == "ok" {
			span.Status = "error"
		}
		if err != nil {
			span.Error = agent.Head(err.Error(), maxNote)
		}
		s.put(record{t.ThreadID, root.run, span, nil})
	}
}

// Side records a side call.
func (s *Service) Side(thread, run, purpose string, took time.Duration, u agent.Usage) {
	if run == "" {
		return
	}
	s.mu.Lock()
	r := s.roots[run]
	s.mu.Unlock()
	if r != nil {
		run = r.run
	}
	n := s.number(time.Now().Add(-took))
	s.put(record{thread, run, Span{N: n, Kind: KindSide, Name: purpose, Provider: u.Model, Began: n,
		Took: took.Microseconds(), Status: "ok", Usage: &u}, nil})
}

func status(ctx context.Context, err error) string {
	switch {
	case err == nil && ctx.Err() == nil:
		return "ok"
	case ctx.Err() != nil || errors.Is(err, context.Canceled):
		return "cancelled"
	}
	return "error"
}

var _ trace.Observer = (*Service)(nil)
