// Package conversation shows a thread: read from the store, and kept up to date while a run works. Both ways end in a
// Scene; a screen computes the changes from one scene to the next.
//
// Actions on a chat are in package ui, turns in package turns. Begin with load.go, then scene.go, diff.go and live.go.
package conversation

import (
	"context"
	"sync/atomic"
	"time"

	"fawn/agent/mcp"
	"fawn/web/httpx"
	"fawn/web/ui/page"
)

// Deps are the parts that only conversations need. All may be nil.
type Deps struct {
	Window   func(name, provider string) int // tokens a model reads; nil = as configured
	MCP      *mcp.Pool                       // whose servers may ask questions
	Suggests bool                            // follow-ups can be made
	Draining context.Context                 // cancelled when live streams should end; nil means never
}

// Handlers read conversations, and answer on their streams. Make them with New.
type Handlers struct {
	*page.Site
	Deps
	Tick       time.Duration // interval of updates
	FeedMemory int           // bytes that are kept of a thread for pages that read slowly

	streams httpx.Limiter
	feeds   feeds
	drawn   atomic.Int64 // changes of pages that were worked out
}

// New returns the handlers.
func New(site *page.Site, d Deps) *Handlers {
	return &Handlers{Site: site, Deps: d, Tick: tick, FeedMemory: feedMemory, feeds: feeds{open: map[feedKey]*feed{}}}
}

// Streams counts the pages that follow something now.
func (h *Handlers) Streams() int64 { return h.streams.Open() }

// Drawn returns the number of computed page changes.
func (h *Handlers) Drawn() int64 { return h.drawn.Load() }

// Feeds returns the number of followed threads.
func (h *Handlers) Feeds() int {
	h.feeds.mu.Lock()
	defer h.feeds.mu.Unlock()
	return len(h.feeds.open)
}
