package web

import (
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/assets"
	"fawn/sandbox"
	"fawn/uploads"
	"fawn/web/account/sso"
	"fawn/web/api"
	"fawn/web/gateway"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/route"
	"fawn/web/ui"
	"fawn/web/ui/page"
)

// routes builds the one route table: the pages, and the API under /, /api and
// /api/langgraph.
func (a *App) routes() error {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	if a.config.Current().File.Logging.Enhance.Enabled {
		e.Use(a.traced)
	}
	if a.insight.metrics != nil {
		e.Use(a.insight.metrics.HTTP)
	}
	e.Use(based, a.recovered, a.guard, a.people.accounts.Middleware)

	spec, document := a.describe()
	tools, engine, library := &a.tools, &a.engine, &a.library
	site := &page.Site{DB: a.data.db, Runs: engine.runs, Dirs: a.data.dirs, Config: a.config, Accounts: a.people.accounts,
		Access: a.people.access, Network: tools.network, Sandbox: tools.report, Browsers: tools.browsers,
		Known: engine.knowledge.Has, Addr: a.Addr(), Log: a.opts.Log}
	chatApps := a.chatApps()
	steps, err := a.people.steps(&a.data)
	if err != nil {
		return err
	}
	tasks := route.NewTasks(route.TaskParts{DB: a.data.db, Scheduler: a.background.schedule, Config: a.config.Current,
		Agents: library.agents, Bots: chatApps})
	pages, err := ui.New(ui.Deps{Site: site, Projects: engine.projects, Knowledge: engine.knowledge, Steps: steps,
		Copier: engine.copier, Bots: chatApps, Restart: tools.restartSandbox, Backups: a.backupState, Web: tools.web,
		Apps: engine.builder.CallForApp, AppServer: engine.builder.AppServer, Print: tools.browser.Print,
		Uploads: a.uploadLimits, Documents: tools.documents, Pictures: tools.pictures, Version: a.opts.Version, Spec: spec,
		Tasks: tasks, Agents: library.agents, Skills: library.skills, MCP: tools.mcp, Switches: tools.switches,
		Memory: engine.memory, Aside: engine.builder, Media: engine.builder.Media(), Window: engine.builder.WindowOf,
		Compact: engine.builder.Compact, Inspect: a.insight.inspect, Outward: a.network.outward(a.people.accounts), Draining: a.front.leaving.ctx,
		SSO: sso.New(a.network.guard("auth.oidc", nil))})
	if err != nil {
		return err
	}
	e.HTTPErrorHandler = pages.ErrorHandler(httpx.ErrorHandler(a.opts.Log))
	e.GET("/assets/*", principal.Allow(principal.Anyone, echo.WrapHandler(assets.Handler())))
	pages.Routes(e.Group(""))
	a.front.pages = pages

	for _, path := range healthPaths() {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions} {
			e.Add(method, path, principal.Allow(principal.Anyone, a.health))
		}
	}
	e.GET("/api/support-bundle", principal.Allow(principal.Operator, a.supportBundle))
	if a.insight.metrics != nil {
		e.GET("/metrics", principal.Allow(principal.Anyone, a.serveMetrics))
	}
	if document != nil {
		e.GET("/openapi.json", principal.Allow(principal.User, document))
	}
	parts := route.NewParts(route.Deps{DB: a.data.db, Runs: engine.runs, Copier: engine.copier, Network: tools.network,
		Dirs: a.data.dirs, Uploads: a.uploadLimits, Documents: tools.documents, Pictures: tools.pictures,
		Snapshot: a.config.Current, Settings: a.config, Log: a.opts.Log, Version: a.opts.Version, Post: a.postWebhook,
		Tasks: tasks, Window: engine.builder.WindowOf, Compact: engine.builder.Compact, Aside: engine.builder,
		Agents: library.agents, Skills: library.skills, MCP: tools.mcp, Access: a.people.access,
		ClientTools: tools.clientTools, Switches: tools.switches, Memory: engine.memory, Inspect: a.insight.inspect,
		Export: pages.Export(), Imports: pages.Imports(), Draining: a.front.draining.ctx, Readers: &a.front.readers,
		Accounts: a.people.accounts, Providers: pages.Providers, Projects: engine.projects, Knowledge: engine.knowledge,
		Channels: chatApps, Browsers: tools.browsers, Outward: a.network.outward(a.people.accounts)})
	a.front.api = api.New(parts)
	a.front.gateway = gateway.New(parts, a.front.api)
	a.front.api.Routes(e.Group(""), false)
	a.front.api.Routes(e.Group("/api/langgraph"), false)
	a.front.api.Routes(e.Group("/api"), true)
	a.front.gateway.Routes(e.Group("/api"))
	inner := a.inner()
	a.completions(parts, inner).Routes(e.Group("/v1"))
	callTool := echo.WrapHandler(a.toolServer(inner)) // the API checks the permissions of each tool call
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		e.Add(method, "/mcp", principal.Allow(principal.Reader, callTool))
	}
	a.front.echo = e
	return principal.Check(e.Routes())
}

func (a *App) uploadLimits() uploads.Config {
	u := a.config.Current().File.Uploads
	return uploads.Config{MaxFiles: u.MaxFiles, MaxFileSize: u.MaxFileSize, MaxTotalSize: u.MaxTotalSize}
}

// handler cleans the path the way clients expect: doubled and trailing slashes count for
// nothing.
func (a *App) handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The server's own request takes the paced body, not a copy of it: it then waits for
		// clients that are still sending when the answer is there, instead of resetting them.
		paced(w, r, a.config.Current().File.Server.HeaderTimeout)
		if err := unpacked(r); err != nil {
			_ = refuseCoding(w, err) // a client that is gone hears of nothing
			return
		}
		w, r = headed(w, r)
		r = a.front.resolved(r)
		if a.front.toTLS(w, r) {
			return
		}
		if p := tidy(r.URL.Path); p != r.URL.Path {
			r.URL.Path = p
			r.URL.RawPath = tidy(r.URL.RawPath)
		}
		a.front.echo.ServeHTTP(w, r)
	})
}

func tidy(p string) string {
	for strings.Contains(p, "//") {
		p = strings.ReplaceAll(p, "//", "/")
	}
	if len(p) > 1 {
		p = strings.TrimSuffix(p, "/")
	}
	return p
}

// recovered turns a panic of a handler into a logged 500; the server continues. A started response is aborted, so that
// it isn't mistaken for a complete one.
func (a *App) recovered(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p != http.ErrAbortHandler {
				a.opts.Log.Error("request panicked", "path", c.Request().URL.Path, "panic", p,
					"stack", string(debug.Stack()))
			}
			if p == http.ErrAbortHandler || c.Response().Committed {
				panic(http.ErrAbortHandler)
			}
			err = echo.ErrInternalServerError
		}()
		return next(c)
	}
}

// healthPaths are where load balancers and monitors ask. The check of some, in HTTP/1.0, names no host and may be an
// OPTIONS.
func healthPaths() []string { return []string{"/health", "/healthz", "/api/health"} }

// health tells monitors whether the server can do its work.
//
// Whoever isn't signed in learns no more than that.
func (a *App) health(c echo.Context) error {
	h := a.state(principal.Of(c.Request().Context()).Known())
	if h.Status != healthy {
		httpx.ErrorHeader(c.Response().Header(), http.StatusServiceUnavailable, nil)
		return c.JSON(http.StatusServiceUnavailable, h)
	}
	return c.JSON(http.StatusOK, h)
}

// healthJSON is the state of the server. Unauthenticated clients get its status and service only.
type healthJSON struct {
	Audit         *auditHealth    `json:"audit,omitempty"`
	Claims        string          `json:"claims,omitempty"`
	ConfigProblem string          `json:"config_problem,omitempty"`
	Reason        string          `json:"reason,omitempty"`
	Sandbox       *sandbox.Report `json:"sandbox,omitempty"`
	Service       string          `json:"service"`
	Status        string          `json:"status"` // healthy or unhealthy
	Storage       *storageHealth  `json:"storage,omitempty"`
	Version       *string         `json:"version,omitempty"`
}

type auditHealth struct {
	Dropped int64 `json:"dropped"` // rows that could not be written
}

type storageHealth struct {
	Full  int   `json:"full_threads"`
	Limit int64 `json:"thread_limit"` // bytes
}

const healthy, unhealthy = "healthy", "unhealthy"

// state is the state of the server; unauthenticated clients only learn whether it is healthy.
func (a *App) state(known bool) healthJSON {
	h := healthJSON{Status: healthy, Service: "fawn"}
	err := a.data.db.Healthy()
	if err != nil {
		h.Status = unhealthy
	}
	if !known {
		return h
	}
	if err != nil {
		h.Reason = err.Error()
	}
	h.Version, h.Sandbox = &a.opts.Version, new(a.tools.publicReport())
	h.Audit = &auditHealth{a.insight.trail.Lost()}
	h.Storage = &storageHealth{a.data.dirs.Quota.Full(), a.data.dirs.Quota.Limit()}
	h.ConfigProblem = a.config.Problem()
	if a.data.db.Strained() {
		h.Claims = "paused: commits to the database take more than half a second"
	}
	return h
}
