// Package ui answers browsers: pages, the forms on them, and the live stream of a page.
//
// A handler reads the store and the runs, maps what it read to view models (turn.go and
// runinfo.go hold that mapping) and hands them to the components of package views. Every
// action is a plain form that ends in a redirect; the page's script asks for the same
// action with "X-Fawn: 1" and gets a views.Frame as JSON.
package ui

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent/config"
	"fawn/agent/llm"
	"fawn/agent/runs"
	"fawn/agent/schedule"
	"fawn/assets"
	"fawn/sandbox"
	"fawn/store"
	"fawn/uploads"
	"fawn/web/httpx"
	"fawn/web/network"
	"fawn/web/openapi"
)

// maxStreams is how many pages may follow runs at once.
const maxStreams = 512

// Deps are the parts the pages show and change. All are required but Documents and Draining.
type Deps struct {
	DB      *store.DB
	Runs    *runs.Manager
	Dirs    sandbox.Dirs
	Config  *config.Store
	Uploads func() uploads.Config // the limits of this moment
	// Documents converts uploads; nil converts nothing.
	Documents uploads.Documents
	Log       *slog.Logger
	Version   string
	Addr      string                          // where the server listens, for the about page
	Sandbox   func() sandbox.Report           // what runs commands; may be nil
	Network   *network.Book                   // hosts that agents want to reach; may be nil
	Spec      func() openapi.Spec             // what the API page shows; nil means no such page
	Schedule  *schedule.Scheduler             // starts scheduled tasks; nil means no such page
	Aside     Aside                           // suggests what to say next; may be nil
	Window    func(name, provider string) int // tokens a model reads; nil = as configured
	Compact   Compactor                       // shortens conversations; may be nil
	// Restart ends every process of a thread's commands and says whether there were any;
	// nil where no commands run.
	Restart  func(ctx context.Context, thread string) (bool, error)
	Draining <-chan struct{} // closed when live streams should end; nil never is
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

	suggesting turnstile // threads whose follow-ups are being made
}

// New checks that everything the pages load is embedded.
func New(d Deps) (*UI, error) {
	if err := assets.Check(); err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	if d.Documents == nil {
		d.Documents = uploads.NoDocuments{}
	}
	return &UI{Deps: d, servers: discovery{find: llm.Discover}, trash: newTrash(), probes: make(chan struct{}, maxProbes), zips: make(chan struct{}, maxZips), tick: tick,
		feeds: feeds{open: map[feedKey]*feed{}, memory: feedMemory}}, nil
}

// Routes adds the pages and their actions to g, which is mounted at the root.
func (u *UI) Routes(g *echo.Group) {
	g.GET("/", u.root)
	g.GET("/workspace", u.root)
	g.GET("/workspace/chats", u.chats)
	g.GET("/workspace/chats/new", u.welcome)
	g.GET("/workspace/chats/:id", u.onThread(u.thread))
	g.GET("/workspace/chats/:id/files", u.onThread(u.filePage))
	g.GET("/workspace/chats/:id/files/*", u.onThread(u.filePage))
	g.GET("/share/:token", u.shared)
	g.GET("/share/:token/files/*", u.sharedFile)
	g.GET("/share/:token/view/*", u.sharedView)
	g.GET("/workspace/agents", u.agents)
	g.GET("/workspace/agents/new", u.newAgent)
	g.GET("/workspace/agents/:name", u.missing(false))
	g.GET("/workspace/agents/:name/*", u.missing(false))
	g.GET("/workspace/skills", u.skills)
	g.GET("/workspace/skills/:name", u.missing(true))
	g.GET("/workspace/scheduled-tasks", u.tasks)
	g.POST("/ui/tasks", u.addTask)
	g.POST("/ui/tasks/:id/:action", u.changeTask)
	g.GET("/workspace/settings", u.settings)
	g.GET("/workspace/settings/:section", u.settings)

	if u.Spec != nil {
		g.GET("/docs", u.reference)
		g.GET("/redoc", func(c echo.Context) error { return c.Redirect(http.StatusFound, "/docs") })
	}
	g.GET("/ui/diagram", u.diagram)
	g.GET("/ui/palette", u.palette)
	g.GET("/ui/commands", u.commands)
	g.POST("/ui/prefs", u.savePrefs)
	g.GET("/ui/notifications", u.notifyOffer)
	g.POST("/ui/models", u.addModel)
	g.POST("/ui/models/change", u.changeModel)
	g.POST("/ui/models/found", u.useFound)
	g.POST("/ui/models/probe", u.probeModel)
	g.POST("/ui/models/remove", u.removeModel)
	g.POST("/ui/models/default", u.makeDefault)
	g.GET("/ui/threads", u.threadList)
	g.POST("/ui/threads", u.create)
	g.POST("/ui/sample", u.sample)
	g.POST("/ui/threads/delete", u.removeMany)
	g.POST("/ui/threads/restore", u.undo)
	g.POST("/ui/threads/:id/messages", u.onThread(u.send))
	g.GET("/ui/threads/:id/messages/:message/raw", u.onThread(u.source))
	g.GET("/ui/threads/:id/turns", u.onThread(u.earlier))
	g.GET("/ui/threads/:id/messages/:message", u.own(false))
	g.GET("/ui/threads/:id/messages/:message/edit", u.own(true))
	g.POST("/ui/threads/:id/regenerate", u.onThread(u.regenerate))
	g.POST("/ui/threads/:id/edit", u.onThread(u.edit))
	g.POST("/ui/threads/:id/version", u.onThread(u.version))
	g.POST("/ui/threads/:id/choice", u.onThreadID(u.choose))
	g.POST("/ui/threads/:id/branch", u.onThread(u.branch))
	g.GET("/ui/threads/:id/export.md", u.onThread(u.exportMarkdown))
	g.GET("/ui/threads/:id/export.json", u.onThread(u.exportJSON))
	g.POST("/ui/threads/:id/queue/:run/remove", u.unqueue(false))
	g.POST("/ui/threads/:id/queue/:run/edit", u.unqueue(true))
	g.POST("/ui/threads/:id/queue/:run/send", u.onThread(u.sendNow))
	g.POST("/ui/threads/:id/stop", u.onThread(u.stop))
	g.POST("/ui/threads/:id/followups", u.onThread(u.followUp))
	g.POST("/ui/threads/:id/feedback", u.onThread(u.rate))
	g.POST("/ui/threads/:id/network", u.onThread(u.answerHost))
	g.POST("/ui/hosts", u.closeHost)
	g.GET("/ui/threads/:id/menu", u.onThread(u.menu))
	g.POST("/ui/threads/:id/rename", u.onThread(u.rename))
	g.POST("/ui/threads/:id/pin", u.onThread(u.pin))
	g.GET("/ui/threads/:id/usage", u.onThread(u.usage))
	g.POST("/ui/threads/:id/compact", u.onThread(u.compact))
	g.POST("/ui/threads/:id/sandbox", u.onThread(u.restart))
	g.GET("/ui/threads/:id/share", u.onThread(u.sharing))
	g.POST("/ui/threads/:id/share", u.onThread(u.share))
	g.POST("/ui/threads/:id/share/remove", u.onThread(u.unshare))
	g.GET("/ui/threads/:id/delete", u.onThread(u.confirm))
	g.POST("/ui/threads/:id/delete", u.onThread(u.remove))
	g.GET("/ui/threads/:id/status", u.onThread(u.status))
	g.GET("/ui/threads/:id/stream", u.onThread(u.stream))
	g.GET("/ui/threads/:id/steps/:step", u.onThread(u.step))
	g.POST("/ui/threads/:id/uploads", u.onThreadID(u.upload))
	g.POST("/ui/threads/:id/uploads/:name/delete", u.onThreadID(u.removeUpload))
	g.GET("/ui/threads/:id/panel", u.onThread(u.panel))
	g.GET("/ui/threads/:id/panel/*", u.onThread(u.panel))
	g.GET("/ui/threads/:id/view/*", u.onThreadID(u.view))
	g.GET("/ui/threads/:id/files.zip", u.onThread(u.filesZip))
}
