// Package agenttest contains helpers for tests of agents: a scripted model, a recording sink, and short builders.
package agenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"

	"fawn/agent"
)

// Reply is one scripted answer of a [Script].
type Reply struct {
	Chunks []agent.Chunk
	Err    error         // yielded after the chunks
	Hang   bool          // after the chunks, wait until the call is cancelled
	Before chan struct{} // if set, the answer starts once it is closed
}

// Say returns a plain text answer, one chunk a word.
func Say(words ...string) Reply {
	var r Reply
	for _, w := range words {
		r.Chunks = append(r.Chunks, agent.Chunk{Text: w})
	}
	r.Chunks = append(r.Chunks, agent.Chunk{Finish: "stop", Usage: &agent.Usage{Input: 10, Output: len(words),
		Total: 10 + len(words)}})
	return r
}

// Call returns an answer which calls tools: id, name, arguments (JSON text), id, name, ….
func Call(parts ...string) Reply {
	var r Reply
	for i := 0; i+2 < len(parts); i += 3 {
		r.Chunks = append(r.Chunks, agent.Chunk{Calls: []agent.CallDelta{{Index: i / 3, ID: parts[i], Name: parts[i+1],
			Args: parts[i+2]}}})
	}
	r.Chunks = append(r.Chunks, agent.Chunk{Finish: "tool_calls"})
	return r
}

// Script is a model with scripted answers; after the last one it answers "done.".
type Script struct {
	Replies []Reply

	mu       sync.Mutex
	next     int
	requests []*agent.Request
}

// Requests returns the calls seen so far.
func (s *Script) Requests() []*agent.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*agent.Request(nil), s.requests...)
}

// Stream implements agent.Model.
func (s *Script) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	s.mu.Lock()
	s.requests = append(s.requests, req)
	r := Say("done.")
	if s.next < len(s.Replies) {
		r = s.Replies[s.next]
	}
	s.next++
	s.mu.Unlock()
	return func(yield func(agent.Chunk, error) bool) {
		if r.Before != nil {
			select {
			case <-r.Before:
			case <-ctx.Done():
				yield(agent.Chunk{}, ctx.Err())
				return
			}
		}
		for _, k := range r.Chunks {
			if ctx.Err() != nil {
				yield(agent.Chunk{}, ctx.Err())
				return
			}
			if !yield(k, nil) {
				return
			}
		}
		if r.Hang {
			<-ctx.Done()
			yield(agent.Chunk{}, ctx.Err())
			return
		}
		if r.Err != nil {
			yield(agent.Chunk{}, r.Err)
		}
	}
}

// Step is a copy of a recorded step, safe to keep.
type Step struct {
	Node  string
	Patch agent.State
	State agent.State
	Next  []string
	Last  bool
}

// Sink keeps everything.
type Sink struct {
	mu     sync.Mutex
	events []agent.Event
	steps  []Step
	Fail   error // returned by Step and Record when set
}

// Emit implements agent.Sink.
func (s *Sink) Emit(ev agent.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, ev)
}

// Record implements agent.Sink.
func (s *Sink) Record(_ context.Context, ev agent.Event) error {
	s.Emit(ev)
	return s.Fail
}

// Step implements agent.Sink.
func (s *Sink) Step(_ context.Context, st agent.Step) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, Step{Node: st.Node, Patch: st.Patch, State: st.State.Clone(), Next: st.Next,
		Last: st.Last})
	return s.Fail
}

// Events returns all events so far.
func (s *Sink) Events() []agent.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]agent.Event(nil), s.events...)
}

// Steps returns all steps so far.
func (s *Sink) Steps() []Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Step(nil), s.steps...)
}

// Turn returns a turn with one human message and counting ids.
func Turn(text string, sink agent.Sink) *agent.Turn {
	var n atomic.Int64
	t := &agent.Turn{Owner: "ann", ThreadID: "t1", RunID: "r1", Sink: sink, Log: slog.New(slog.DiscardHandler),
		NewID: func() string { return fmt.Sprintf("m%d", n.Add(1)) }}
	t.State.Messages = []*agent.Message{{ID: "h1", Type: agent.TypeHuman, Content: agent.Text(text)}}
	return t
}

// Echo returns a tool that returns its arguments.
func Echo(name string) *agent.Tool {
	return &agent.Tool{Name: name, Description: "returns its arguments", Schema: json.RawMessage(`{"type":"object"}`),
		Run: func(_ context.Context, _ *agent.Turn, c agent.ToolCall) (agent.Result, error) {
			return agent.TextResult(string(c.Args)), nil
		}}
}
