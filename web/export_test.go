package web

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent/config"
	"fawn/store"
)

// Patient gives what must be done at a stop so much time.
func Patient(d time.Duration) func(*Options) { return func(o *Options) { o.patience = d } }

// Commits lets each commit wait for a function, as one does for a disk.
func Commits(wait func()) func(*Options) { return func(o *Options) { o.committed = wait } }

// Poll makes the program look at its configuration now.
func (a *App) Poll() bool { return a.config.Poll() }

// Config is the configuration that is in force.
func (a *App) Config() *config.Snapshot { return a.config.Current() }

// Handle adds a route.
func (a *App) Handle(path string, h echo.HandlerFunc) { a.front.echo.GET(path, h) }

// Guard is a program that only decides who may call it.
func Guard(addr string, conf *config.Snapshot) *App {
	return &App{opts: Options{Addr: addr}, config: config.Fixed(conf)}
}

// AllowsHost tells whether a request with this Host header is answered.
func (a *App) AllowsHost(host string) bool { return a.hostAllowed(&http.Request{Host: host}) }

// AllowsOrigin tells whether pages of an origin other than the server's may call.
func (a *App) AllowsOrigin(origin string) bool { return a.originAllowed(origin) }

// Tidy is the path without slashes that count for nothing.
func Tidy(path string) string { return tidy(path) }

// Route is a route that is served: echo's method and path with its parameters.
func (a *App) Route() []*echo.Route { return a.front.echo.Routes() }

// DB is the program's database.
func (a *App) DB() *store.DB { return a.data.db }

// DataDir is where everything is kept.
func (a *App) DataDir() string { return a.data.dirs.Root }

// SweepUploads looks for left-over uploads now, as it does behind a start.
func (a *App) SweepUploads(ctx context.Context) { a.sweepUploads(ctx) }
