package middleware

import (
	"context"

	"fawn/agent"
)

// Reading holds the limits of a model other than the run's own.
type Reading struct {
	Window  int     // see [CompactionRules]
	Smaller Smaller // the front of its requests, if its window is too small for the usual one
	Learned func(t *agent.Turn, window int) Smaller
}

type readingKey struct{}

// reads tells the stages around a model call the limits of the backup model.
func reads(ctx context.Context, r *Reading) context.Context {
	return context.WithValue(ctx, readingKey{}, r)
}

// Smaller is the shortened front of a request for a small window.
type Smaller struct {
	System string
	Tools  []*agent.Tool
	Tokens int
}

// learn applies the window named in a refusal.
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

// turnTo applies the limits of another model; whole is the size of the usual front.
func (r *CompactionRules) turnTo(to *Reading, whole int) {
	r.Window, r.Learned, r.Fixed = to.Window, to.Learned, whole
	if to.Smaller.Tokens > 0 {
		r.Fixed = to.Smaller.Tokens
	}
}
