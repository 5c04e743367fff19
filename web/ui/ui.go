// Package ui answers browsers: pages, the forms on them, and the live stream of a page.
//
// A handler reads the store and the runs, maps what it read to view models (turn.go and
// runinfo.go hold that mapping) and hands them to the components of package views. Every
// action is a plain form that ends in a redirect; the page's script asks for the same
// action with "X-Fawn: 1" and gets a views.Frame as JSON.
//
// HTML belongs to the packages below views, and what a program may ask for to package api.
package ui

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"fawn/agent/config"
	"fawn/agent/inspect"
	"fawn/agent/llm"
	"fawn/agent/mcp"
	"fawn/agent/mcp/switches"
	"fawn/agent/profile"
	"fawn/agent/runs"
	"fawn/agent/schedule"
	"fawn/agent/skills"
	"fawn/agent/skills/fetch"
	"fawn/assets"
	"fawn/memory"
	"fawn/sandbox"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/uploads"
	"fawn/views"
	"fawn/web/account"
	"fawn/web/account/sso"
	"fawn/web/httpx"
	"fawn/web/network"
	"fawn/web/openapi"
)

// maxStreams is how many pages may follow runs at once.
const maxStreams = 512

// Deps are the parts the pages show and change. All are required but Documents, Pictures and Draining.
type Deps struct {
	DB      *store.DB
	Runs    *runs.Manager
	Dirs    files.Dirs
	Config  *config.Store
	Uploads func() uploads.Config // the limits of this moment
	// Accounts knows who may use the server; nil is of a server that has none.
	Accounts *account.Service
	// Documents converts uploads; nil converts nothing.
	Documents uploads.Documents
	// Pictures makes thumbnails; nil makes none.
	Pictures uploads.Pictures
	Log      *slog.Logger
	Version  string
	Addr     string                          // where the server listens, for the about page
	Sandbox  func() sandbox.Report           // what runs commands; may be nil
	Memory   *memory.Service                 // what is known about people; may be nil
	Network  *network.Decisions              // hosts that agents want to reach; may be nil
	Spec     func() openapi.Spec             // what the API page shows; nil means no such page
	Schedule *schedule.Scheduler             // starts scheduled tasks; nil means no such page
	Agents   *profile.Library                // the custom agents; nil has none
	Skills   *skills.Library                 // nil has no skills
	Fetch    *http.Client                    // for skills at an address; nil reaches the public internet only
	MCP      *mcp.Pool                       // nil has no MCP servers
	Switches *switches.Service               // which of their tools are off in which threads; nil with MCP
	Aside    Aside                           // suggests what to say next; may be nil
	Window   func(name, provider string) int // tokens a model reads; nil = as configured
	Compact  Compactor                       // shortens conversations; may be nil
	Inspect  *inspect.Service                // what calls of runs took; nil has no such pages
	// Backups says how the server backs itself up; nil says nothing.
	Backups func() views.Backups
	// Restart ends every process of a thread's commands and says whether there were any;
	// nil where no commands run.
	Restart  func(ctx context.Context, thread string) (bool, error)
	SSO      *sso.Client     // signs in through other services; nil has none
	Draining context.Context // over when live streams should end; nil never is
}

// UI is the set of page handlers. It holds no state of its own but counters, what was last
// found on this machine, what can still be had back after a deletion, and what pages that
// follow a run share.
type UI struct {
	Deps
	streams httpx.Limiter
	servers discovery
	trash   *trash
	probes  chan struct{} // holds one for each model that is being tried
	zips    chan struct{} // holds one for each archive of files that is being made
	tick    time.Duration

	feeds feeds
	drawn atomic.Int64 // changes of pages that were worked out

	sealed *sealer // what browsers keep between the steps of signing in

	suggesting turnstile // threads whose follow-ups are being made
}

// Streams counts the pages that follow something now.
func (u *UI) Streams() int64 { return u.streams.Open() }

// New checks that everything the pages load is embedded.
func New(d Deps) (*UI, error) {
	if err := assets.Check(); err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	if d.Documents == nil {
		d.Documents = uploads.NoDocuments{}
	}
	if d.Pictures == nil {
		d.Pictures = uploads.NoPictures{}
	}
	if d.Fetch == nil {
		d.Fetch = fetch.Client()
	}
	sealed, err := newSealer()
	if err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	return &UI{Deps: d, sealed: sealed, servers: discovery{find: llm.Discover}, trash: newTrash(), probes: make(chan struct{}, maxProbes),
		zips: make(chan struct{}, maxZips), tick: tick,
		feeds: feeds{open: map[feedKey]*feed{}, memory: feedMemory}}, nil
}
