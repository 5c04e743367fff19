package route

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"

	"fawn/agent"
	"fawn/agent/access"
	"fawn/agent/clienttool"
	"fawn/agent/config"
	"fawn/agent/knowledge"
	"fawn/agent/lead"
	"fawn/agent/llm"
	"fawn/agent/mcp"
	"fawn/agent/mcp/switches"
	"fawn/agent/profile"
	"fawn/agent/projects"
	"fawn/agent/runs"
	"fawn/agent/schedule"
	"fawn/agent/skills"
	"fawn/agent/threads"
	"fawn/agent/tracestore"
	"fawn/memory"
	"fawn/sandbox/browser"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/uploads"
	"fawn/web/account"
	"fawn/web/bots"
	"fawn/web/hostrules"
	"fawn/web/httpx"
	"fawn/web/imports"
)

// Deps are what a server hands over to its routes. Readers, Snapshot, Uploads, Documents, Pictures and
// Draining may be nil.
type Deps struct {
	DB      *store.DB
	Runs    *runs.Manager
	Copier  *threads.Copier      // nil makes one that copies no files
	Network *hostrules.Decisions // nil makes one that announces nothing
	Dirs    files.Dirs
	Uploads func() uploads.Config
	// Documents converts uploads; nil converts nothing.
	Documents uploads.Documents
	// Pictures makes thumbnails; nil makes none.
	Pictures uploads.Pictures
	Snapshot func() *config.Snapshot
	Settings *config.Store                     // what the settings routes edit; nil refuses them
	Outward  lead.Outward                      // judges addresses that people have tried; nil judges none
	Discover func(context.Context) []llm.Found // model servers on this machine; nil asks their usual ports
	Log      *slog.Logger
	Version  string
	Post     Post                // calls webhooks; nil refuses them
	Draining context.Context     // over when event streams should end
	Inspect  *tracestore.Service // what calls of runs took; nil has nothing
	Readers  *httpx.Limiter      // shared by everybody who holds a stream open

	// Window is how many tokens the model reads that made an answer; nil = as configured.
	Window func(name, provider string) int
	// Compact shortens a conversation for the model; nil cannot.
	Compact func(ctx context.Context, s *agent.State, w lead.Wish) (agent.State, error)

	// Accounts knows who may use the server; nil is of a server that has none.
	Accounts *account.Service
	// Providers are the services to sign in with; nil has none.
	Providers func() []account.Provider

	// Access knows what people may use; nil limits nobody.
	Access *access.Service

	// Agents are the custom agents; nil has none.
	Agents *profile.Library
	// Skills are what agents can do beside their tools; nil has none.
	Skills *skills.Library
	// MCP are the servers of tools; nil has none.
	MCP *mcp.Pool
	// ClientTools has the calls that clients of runs carry out; nil has none.
	ClientTools *clienttool.Board
	// Switches are which of their tools are off in which threads; nil switches nothing.
	Switches *switches.Service

	// Browsers are those that agents use; nil has none.
	Browsers *browser.Browsers

	// Knowledge keeps collections of documents; nil makes one that reads no web pages and converts nothing.
	Knowledge *knowledge.Service
	// Projects changes projects; nil makes one.
	Projects *projects.Service

	// Channels are the bots of chat apps; nil has none.
	Channels *bots.Service

	// Memory is what is known about people; nil learns nothing.
	Memory *memory.Service

	// Export writes chats as files; nil cannot.
	Export Exporter

	// Imports makes chats from exports of other apps; nil cannot.
	Imports *imports.Service

	// Aside answers suggestions and polished drafts; nil cannot.
	Aside Aside

	// Tasks creates, changes and starts crons; nil makes one that starts none.
	Tasks *schedule.Tasks
}

// Post calls a webhook and returns the status it answered with.
type Post func(ctx context.Context, url, run string, body []byte) (status int, err error)

// Aside makes model calls beside the answers of runs, which no reader of a run sees.
type Aside interface {
	Suggest(ctx context.Context, w lead.SuggestWish) ([]string, error)
	Polish(ctx context.Context, w lead.PolishWish) (string, error)
}

// Exporter writes chats as files for people and programs. begin gets the name of an archive before its first
// byte. lang is the language of headings.
type Exporter interface {
	ExportMarkdown(ctx context.Context, t store.Thread, lang string) (title string, body []byte, err error)
	ExportJSON(ctx context.Context, t store.Thread) ([]byte, error)
	ExportThread(ctx context.Context, t store.Thread, lang string, begin func(name string) io.Writer) error
	ExportAll(ctx context.Context, owner, lang string, begin func(name string) io.Writer) error
}

// Parts are what all routes work with, and how they find what a request names.
type Parts struct{ Deps }

// NewParts fills in what was not handed over.
func NewParts(d Deps) *Parts {
	if d.Log == nil {
		d.Log = slog.Default()
	}
	if d.Readers == nil {
		d.Readers = &httpx.Limiter{}
	}
	if d.Network == nil {
		d.Network = hostrules.New(d.DB, func(string, json.RawMessage) {}, d.Log)
	}
	if d.Copier == nil {
		d.Copier = &threads.Copier{DB: d.DB, Log: d.Log}
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
	if d.Knowledge == nil {
		d.Knowledge = knowledge.New(knowledge.Config{DB: d.DB, Runs: d.Runs, Dirs: d.Dirs, Log: d.Log})
	}
	if d.Projects == nil {
		d.Projects = projects.New(projects.Config{DB: d.DB, Runs: d.Runs, Dirs: d.Dirs, Documents: d.Documents, Log: d.Log})
	}
	if d.Tasks == nil {
		d.Tasks = NewTasks(TaskParts{DB: d.DB, Config: d.Snapshot, Agents: d.Agents, Bots: d.Channels})
	}
	return &Parts{d}
}

// Config returns the configuration of this moment; empty without one.
func (p *Parts) Config() *config.Snapshot {
	if p.Snapshot != nil {
		if s := p.Snapshot(); s != nil {
			return s
		}
	}
	return &config.Snapshot{File: config.Default()}
}

// UntilDrained is ctx which also ends when the server stops serving streams.
func (p *Parts) UntilDrained(ctx context.Context) (context.Context, func()) {
	return httpx.Until(ctx, p.Draining, runs.ErrClosed)
}

// Checkpoint reads a checkpoint of a thread, its head by default. A thread without one gives
// an empty snapshot.
func (p *Parts) Checkpoint(ctx context.Context, t store.Thread, checkpoint string) (store.Snapshot, error) {
	if checkpoint == "" && t.Head == "" {
		return store.Snapshot{}, nil
	}
	return p.DB.Snapshot(ctx, t.ID, checkpoint)
}
