package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/config"
	"fawn/agent/inspect"
	"fawn/agent/lead"
	"fawn/agent/llm"
	"fawn/agent/mcp"
	"fawn/agent/mcp/switches"
	"fawn/agent/profile"
	"fawn/agent/runs"
	"fawn/agent/schedule"
	"fawn/agent/skills"
	"fawn/memory"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/uploads"
	"fawn/web/account"
	"fawn/web/httpx"
	"fawn/web/network"
)

// Deps are the parts the API works on. Readers, Snapshot, Uploads, Documents, Pictures and Draining may be nil.
type Deps struct {
	DB      *store.DB
	Runs    *runs.Manager
	Network *network.Decisions // nil makes one that announces nothing
	Dirs    files.Dirs
	Uploads func() uploads.Config
	// Documents converts uploads; nil converts nothing.
	Documents uploads.Documents
	// Pictures makes thumbnails; nil makes none.
	Pictures uploads.Pictures
	Snapshot func() *config.Snapshot
	Settings *config.Store                     // what the settings routes edit; nil refuses them
	Discover func(context.Context) []llm.Found // model servers on this machine; nil asks their usual ports
	Log      *slog.Logger
	Version  string
	Post     Post             // calls webhooks; nil refuses them
	Draining context.Context  // over when event streams should end
	Inspect  *inspect.Service // what calls of runs took; nil has nothing
	Readers  *httpx.Limiter   // shared by everybody who holds a stream open

	// Window is how many tokens the model reads that made an answer; nil = as configured.
	Window func(name, provider string) int
	// Compact shortens a conversation for the model; nil cannot.
	Compact func(ctx context.Context, s *agent.State, w lead.Wish) (agent.State, error)

	// Accounts knows who may use the server; nil is of a server that has none.
	Accounts *account.Service
	// Providers are the services to sign in with; nil has none.
	Providers func() []account.Provider

	// Agents are the custom agents; nil has none.
	Agents *profile.Library
	// Skills are what agents can do beside their tools; nil has none.
	Skills *skills.Library
	// MCP are the servers of tools; nil has none.
	MCP *mcp.Pool
	// Switches are which of their tools are off in which threads; nil switches nothing.
	Switches *switches.Service

	// Memory is what is known about people; nil learns nothing.
	Memory *memory.Service

	// Export writes chats as files; nil cannot.
	Export Exporter

	// Aside answers suggestions and polished drafts; nil cannot.
	Aside Aside

	// Schedule starts crons; nil keeps them and starts none.
	Schedule *schedule.Scheduler
}

// API serves the routes of all mounts.
type API struct {
	Deps
	started time.Time
	beat    time.Duration   // of streams and of answers that wait
	waits   []time.Duration // between attempts to call a webhook
	hooks   sync.Mutex      // guards stored webhooks against being told and kept at once
	work    sync.WaitGroup

	stateless readers       // of runs whose threads may go with them
	probes    chan struct{} // one for each model that is being called to see whether it answers
}

// New makes the API.
func New(d Deps) *API {
	if d.Log == nil {
		d.Log = slog.Default()
	}
	if d.Readers == nil {
		d.Readers = &httpx.Limiter{}
	}
	if d.Network == nil {
		d.Network = network.New(d.DB, func(string, json.RawMessage) {}, d.Log)
	}
	if d.Accounts == nil {
		d.Accounts = account.New(account.Options{DB: d.DB, Log: d.Log})
	}
	if d.Discover == nil {
		d.Discover = llm.Discover
	}
	if d.Uploads == nil {
		d.Uploads = uploads.Default
	}
	if d.Documents == nil {
		d.Documents = uploads.NoDocuments{}
	}
	if d.Pictures == nil {
		d.Pictures = uploads.NoPictures{}
	}
	if d.Memory == nil {
		d.Memory = memory.New(memory.Config{DB: d.DB, Rules: func() memory.Rules { return memory.Rules{} },
			Escape: agent.Escape, Log: d.Log})
	}
	return &API{Deps: d, started: time.Now().UTC(), beat: httpx.Heartbeat, waits: webhookWaits(),
		probes: make(chan struct{}, maxProbes)}
}

// mount is the API under one prefix. native chooses the manners of DeerFlow's gateway where
// they differ from those of LangGraph.
type mount struct {
	*API
	native bool
}

func (m mount) ok(c echo.Context) error {
	return httpx.JSON(c, http.StatusOK, map[string]bool{"ok": true})
}

func (m mount) info(c echo.Context) error {
	return httpx.JSON(c, http.StatusOK, map[string]any{"version": m.Version,
		"flags": map[string]bool{"assistants": true, "crons": true, "langsmith": false}})
}

// draining is ctx which also ends when the server stops serving streams.
func (a *API) draining(ctx context.Context) (context.Context, func()) {
	return httpx.Until(ctx, a.Draining, runs.ErrClosed)
}
