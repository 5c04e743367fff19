package middleware

import (
	"context"

	"fawn/agent"
)

// Reading is what another model than the run's own reads.
type Reading struct {
	Window  int     // as [CompactionRules] has it
	Smaller Smaller // the front of its requests, if its window is too small for the usual one
	Learned func(t *agent.Turn, window int) Smaller
}

type readingKey struct{}

// reads tells the stages within a model call what the model reads that stands in for the
// run's own.
func reads(ctx context.Context, r *Reading) context.Context {
	return context.WithValue(ctx, readingKey{}, r)
}

// Smaller is what a request has in front of its messages for a small window.
type Smaller struct {
	System string
	Tools  []*agent.Tool
	Tokens int
}

// learn takes over the window that a refusal named.
func (r *CompactionRules) learn(t *agent.Turn, window int, was Smaller) Smaller {
	if window <= 0 {
		return was
	}
	r.Window = window
	if r.Learned == nil {
		return was
	}
	now := r.Learned(t, window)
	if now.Tokens == 0 {
		return was
	}
	r.Fixed, r.Front = now.Tokens, nil
	return now
}

// of returns a request with this front; a last turn stays without tools.
func (f Smaller) of(req *agent.Request) *agent.Request {
	if f.Tokens == 0 {
		return req
	}
	short := *req
	short.System = f.System
	if len(req.Tools) > 0 {
		short.Tools = f.Tools
	}
	return &short
}

// turnTo has the rules follow another model; whole is what the usual front takes.
func (r *CompactionRules) turnTo(to *Reading, whole int) {
	r.Window, r.Learned, r.Fixed = to.Window, to.Learned, whole
	if to.Smaller.Tokens > 0 {
		r.Fixed = to.Smaller.Tokens
	}
}
