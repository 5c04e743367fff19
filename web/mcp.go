package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/mcp"
	"fawn/agent/mcp/switches"
	"fawn/agent/mcp/tasks"
	"fawn/agent/runs"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/web/completions"
	"fawn/web/httpx"
	"fawn/web/inproc"
	"fawn/web/mcpserver"
	"fawn/web/once"
	"fawn/web/openapi"
	"fawn/web/route"
)

// openMCP starts the MCP servers of the configuration, in the background.
func (a *App) openMCP(snap *config.Snapshot) {
	threads, err := filepath.Abs(filepath.Join(a.data.dirs.Above(), "threads"))
	if err == nil {
		err = mcp.RemoveLinks(threads, a.data.db.Clustered())
	}
	if err != nil {
		a.opts.Log.Warn("couldn't remove links to temporary folders of MCP servers", "err", err)
	}
	a.tools.mcp = mcp.New(mcp.Options{
		Dir: filepath.Join(a.data.dirs.Root, "mcp"), Log: a.opts.Log, Guard: a.network.commands(snap),
		Public: a.network.public, Rows: a.data.shared,
		Folder: func(thread string) (string, error) {
			if err := a.data.dirs.Create(thread); err != nil {
				return "", err
			}
			return filepath.Abs(filepath.Join(a.data.dirs.Above(), "threads", thread, "user-data"))
		},
		Save: a.saveOutput, Patience: a.formPatience,
		Confine: a.confine, Following: a.followTasks(snap),
		Announce: func(thread string, event json.RawMessage) { a.engine.runs.Announce(thread, event) },
	})
	a.tools.mcp.Set(lead.MCPServers(snap))
}

// followTasks returns the settings for following tasks of MCP servers; nil follows none.
func (a *App) followTasks(snap *config.Snapshot) *mcp.Following {
	conf, mark := snap.File.MCPTasks, snap.File.Runs.Resume == "mark"
	if !conf.Enabled {
		return nil
	}
	return &mcp.Following{Book: tasks.Book{DB: a.data.db, Bad: a.badTask()}, Every: conf.PollInterval,
		Most: conf.MaxConcurrentPolls,
		Leaves: func(cause error) bool {
			return (errors.Is(cause, runs.ErrShutdown) || errors.Is(cause, store.ErrFenced)) && !mark
		},
		Ended: func(ctx context.Context, id string) (bool, error) {
			run, err := a.data.db.Run(ctx, id)
			if errors.Is(err, store.ErrNotFound) {
				return true, nil
			}
			return err == nil && run.Status != runs.Pending && run.Status != runs.Running, err
		}, Now: a.data.db.Now}
}

// badTask reports a task of an MCP server that can't be read, each of them once.
func (a *App) badTask() func(thread, id string, err error) {
	var told sync.Map
	return func(thread, id string, err error) {
		if _, again := told.LoadOrStore(thread+" "+id, true); !again {
			a.opts.Log.Error("skipped an unreadable task of an MCP server", "thread", thread, "task", id, "err", err)
		}
	}
}

// switchedOff returns the tools disabled in a thread: those of servers switched off in it and, if a guest began
// it, all but the harmless ones.
func (a *App) switchedOff(ctx context.Context, thread string, metadata json.RawMessage) (func(*agent.Tool) bool, error) {
	var off switches.Off
	var err error
	if metadata != nil {
		off, err = a.tools.switches.Off(ctx, thread)
	} else {
		off, metadata, err = a.tools.switches.OffIn(ctx, thread)
	}
	if err != nil {
		return nil, err
	}
	open := byStranger(metadata)
	return func(t *agent.Tool) bool {
		return t.MCP && off.Has(t.Server, t.Native) || open && !harmless(t)
	}, nil
}

// formTime is how long a call waits for a person to fill in its server's form.
const formTime = 10 * time.Minute

// formPatience returns how long a call waits for a person. Only runs started on a page have one.
func (a *App) formPatience(ctx context.Context, thread string) time.Duration {
	if a.watched(ctx, thread) == "" {
		return 0
	}
	return formTime
}

// saveOutput writes a file into the outputs of a thread.
func (a *App) saveOutput(ctx context.Context, thread, name string, data []byte) (_ string, err error) {
	tree, err := a.data.dirs.Open(thread)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, tree.Close()) }()
	at := files.Outputs + "/" + name
	return at, tree.WriteFile(ctx, at, data, false)
}

// toolServer serves Fawn as an MCP server. It calls the API as the principal of its own requests.
func (a *App) toolServer(inner http.Handler) http.Handler {
	return mcpserver.New(mcpserver.Options{API: inner, Runs: a.engine.runs, URL: a.URL, Version: a.opts.Version,
		Draining: a.front.draining.ctx, Readers: func() int { return a.config.Current().File.Server.MaxReaders }})
}

// inner returns the API without access checks, for parts of the program whose own requests have passed
// them.
func (a *App) inner() http.Handler {
	inner := echo.New()
	inner.HTTPErrorHandler = httpx.ErrorHandler(a.opts.Log)
	a.front.api.Routes(inner.Group("/api/langgraph"), false)
	a.front.api.Routes(inner.Group("/api"), true)
	a.front.gateway.Routes(inner.Group("/api"))
	return inner
}

// completions serves Fawn to programs that use OpenAI's API.
func (a *App) completions(parts *route.Parts, inner http.Handler) *completions.Server {
	return completions.New(completions.Options{API: inproc.Client{API: inner}, Runs: a.engine.runs,
		Config: parts.Config, Access: a.people.access, Draining: a.front.draining.ctx,
		Keys: once.New(a.data.db, a.opts.Log), Readers: &a.front.readers})
}

// describeMCP returns the route of the MCP server.
func describeMCP() []openapi.Op {
	message := openapi.Map(nil)
	return []openapi.Op{{ID: "callMCP", Method: http.MethodPost, Path: "/mcp", Tag: "Model Context Protocol",
		RPC: true, Text: "Use Fawn as an MCP server, over streamable HTTP",
		More: "One message of JSON-RPC 2.0. There are no sessions: GET and DELETE answer with 405. The Accept header must include application/json and text/event-stream.",
		Need: true,
		Body: openapi.Body(openapi.Req("jsonrpc", openapi.Enum("2.0")), openapi.Req("method", openapi.String()),
			openapi.Opt("id", openapi.AnyOf(openapi.String(), openapi.Number())), openapi.Opt("params", message)),
		Out: []openapi.Answer{{Status: 200, Text: "Events named message: progress, and the answer", Schema: message},
			{Status: 202, Text: "A notification was taken"},
			{Status: 400, Text: "No message, or one that isn't known", Type: "text/plain", Schema: openapi.String()},
			{Status: 415, Text: "The body isn't application/json", Type: "text/plain", Schema: openapi.String()}}}}
}
