package route

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"time"

	"github.com/labstack/echo/v4"

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
	"fawn/web/api/wire"
	"fawn/web/bots"
	"fawn/web/hostrules"
	"fawn/web/httpx"
	"fawn/web/imports"
	"fawn/web/principal"
)

// Deps are a server's dependencies for its routes. Readers, Snapshot, Uploads, Documents, Pictures and Draining may be
// nil.
type Deps struct {
	DB      *store.DB
	Runs    *runs.Manager
	Copier  *threads.Copier      // nil uses one that copies no files
	Network *hostrules.Decisions // nil uses one that announces nothing
	Dirs    files.Dirs
	Uploads func() uploads.Config
	// Documents converts uploads; nil converts nothing.
	Documents uploads.Documents
	// Pictures creates thumbnails; nil creates none.
	Pictures uploads.Pictures
	Snapshot func() *config.Snapshot
	Settings *config.Store                     // edited by the settings routes; nil refuses changes
	Outward  lead.Outward                      // judges addresses that people have tried; nil judges none
	Discover func(context.Context) []llm.Found // model servers on this machine; nil asks their usual ports
	Log      *slog.Logger
	Version  string
	Post     Post                // calls webhooks; nil refuses them
	Draining context.Context     // cancelled when event streams should end
	Inspect  *tracestore.Service // records of runs' calls; nil means none
	Readers  *httpx.Limiter      // shared by all open streams

	// Window returns the context window in tokens of the model that wrote an answer; nil = as configured.
	Window func(name, provider string) int
	// Compact shortens a conversation for the model; nil cannot.
	Compact func(ctx context.Context, s *agent.State, w lead.Wish) (agent.State, error)

	// Accounts manages the server's users; nil for a server without accounts.
	Accounts *account.Service
	// Providers returns the services to sign in with; nil means none.
	Providers func() []account.Provider

	// Access checks permissions; nil enforces no limits.
	Access *access.Service

	// Agents are the custom agents; nil means none.
	Agents *profile.Library
	// Skills are the agents' skills; nil for none.
	Skills *skills.Library
	// MCP are the servers of tools; nil means none.
	MCP *mcp.Pool
	// ClientTools holds the calls that clients of runs execute; nil means none.
	ClientTools *clienttool.Board
	// Switches are which of their tools are off in which threads; nil switches nothing.
	Switches *switches.Service

	// Browsers are the agents' browsers; nil for none.
	Browsers *browser.Browsers

	// Knowledge manages collections of documents; nil uses one that reads no web pages and converts nothing.
	Knowledge *knowledge.Service
	// Projects changes projects; nil creates one.
	Projects *projects.Service

	// Channels are the bots of chat apps; nil means none.
	Channels *bots.Service

	// Memory stores facts about people; nil learns nothing.
	Memory *memory.Service

	// Export writes chats as files; nil cannot.
	Export Exporter

	// Imports creates chats from exports of other apps; nil can't.
	Imports *imports.Service

	// Aside answers suggestions and polished drafts; nil cannot.
	Aside Aside

	// Tasks creates, changes and starts crons; nil uses one that starts none.
	Tasks *schedule.Tasks
}

// Post calls a webhook and returns the status it answered with.
type Post func(ctx context.Context, url, run string, body []byte) (status int, err error)

// Aside makes side calls of models, invisible to readers of runs.
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

// Parts are the dependencies of all routes, with the lookup of requested objects.
type Parts struct{ Deps }

// NewParts fills in defaults.
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

// Config returns the current configuration; empty without one.
func (p *Parts) Config() *config.Snapshot {
	if p.Snapshot != nil {
		if s := p.Snapshot(); s != nil {
			return s
		}
	}
	return &config.Snapshot{File: config.Default()}
}

// UntilDrained returns a context that also ends when the server stops serving streams.
func (p *Parts) UntilDrained(ctx context.Context) (context.Context, func()) {
	return httpx.Until(ctx, p.Draining, runs.ErrClosed)
}

// Checkpoint reads a checkpoint of a thread, its head by default. A thread without one has an empty snapshot.
func (p *Parts) Checkpoint(ctx context.Context, t store.Thread, checkpoint string) (store.Snapshot, error) {
	if checkpoint == "" && t.Head == "" {
		return store.Snapshot{}, nil
	}
	return p.DB.Snapshot(ctx, t.ID, checkpoint)
}

// Owner returns the account for which a request acts.
func (p *Parts) Owner(c echo.Context) string { return principal.Owner(c.Request().Context()) }

// Rights returns the caller's permissions for lists; the manager of runs enforces them for runs.
func (p *Parts) Rights(ctx context.Context) (access.Rights, error) {
	return p.Access.Of(ctx, principal.Owner(ctx))
}

// Foreign reports whether an object belongs to another user; it is invisible to the caller.
func (p *Parts) Foreign(c echo.Context, owner string) bool { return owner != p.Owner(c) }

// Members decodes an object of a request, nil if it is absent.
func Members(field string, raw json.RawMessage) (map[string]json.RawMessage, error) {
	if raw = Given(raw); raw == nil {
		return nil, nil
	}
	var obj map[string]json.RawMessage
	if json.Unmarshal(raw, &obj) != nil {
		return nil, httpx.Invalid("body", field, "want an object")
	}
	return obj, nil
}

// BindStrict reads the body of a route of DeerFlow's own, where unknown fields are a 422.
func (p *Parts) BindStrict(c echo.Context, into any) error {
	body, err := httpx.Body(c.Request(), p.BodyLimit())
	if err != nil {
		return err
	}
	return httpx.DecodeStrict(body, into)
}

// TextOrNull returns nil for an empty text.
func TextOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// StampOrNull returns a time on the wire, nil for none.
func StampOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := wire.Stamp(t)
	return &s
}

// ParseTime reads an ISO time; one without a zone is in loc.
func ParseTime(field, text string, loc *time.Location) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999",
		"2006-01-02T15:04"} {
		if t, err := time.ParseInLocation(layout, text, loc); err == nil && t.Year() >= 1971 && t.Year() < 9999 {
			return t.UTC(), nil
		}
	}
	return time.Time{}, httpx.Invalid("body", field, "want a time such as 2026-12-31T23:59:00Z, got %q", Cut(text, 60))
}

// Object returns a JSON object that may be absent or null, which is an empty one.
func Object(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	return raw
}
