// Package agenttest contains helpers for tests of agents: a scripted model, a recording sink, and short builders.
package agenttest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"
	"testing/iotest"

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

// RunBody returns the body of a request to path. A run without an assistant gets the lead agent, since LangGraph's
// routes require one.
func RunBody(path, body string) string {
	path, _, _ = strings.Cut(path, "?")
	makes := false
	for _, end := range []string{"/runs", "/runs/wait", "/runs/stream", "/runs/crons"} {
		makes = makes || strings.HasSuffix(path, end)
	}
	if !makes || !strings.HasPrefix(body, "{") || strings.Contains(body, `"assistant_id"`) {
		return body
	}
	if body == "{}" {
		return `{"assistant_id":"lead_agent"}`
	}
	return `{"assistant_id":"lead_agent",` + body[1:]
}

// ReadAhead makes a test's proxy read a whole request before it forwards it. A net/http server closes a request's body
// with the first byte of its response, and a transport that has sent everything may still wait to read the body's end:
// it then drops the connection, and the response breaks off (golang/go#40747).
func ReadAhead(r *httputil.ProxyRequest) {
	if r.Out.Body == nil {
		return
	}
	b, err := io.ReadAll(r.In.Body)
	if err != nil {
		r.Out.Body = io.NopCloser(iotest.ErrReader(err))
		return
	}
	r.Out.Body = io.NopCloser(bytes.NewReader(b))
}

// Log collects written data and can be read concurrently, for instance the log of a running server. The zero value is
// ready.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends p. It never fails.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns all that was written so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
