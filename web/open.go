package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent/channels"
	"fawn/agent/community"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/schedule"
	"fawn/web/api"
	"fawn/web/gateway"
	"fawn/web/httpx"
	"fawn/web/leader"
	"fawn/web/proxy"
	"fawn/web/restart"
	"fawn/web/systemd"
	"fawn/web/ui"
)

// DefaultAddr is where Fawn listens unless told otherwise.
const DefaultAddr = "127.0.0.1:2026"

// Options come from the command line.
type Options struct {
	Addr     string // host:port; empty is DefaultAddr
	Data     string // data folder; empty is found by the environment
	Config   string // config file; empty is found by the environment
	Pprof    string // loopback address of Go's profiles; empty has none
	Insecure bool   // allow an address other people can reach
	// Listeners are TCP sockets that the service manager has opened; without any, Addr is opened.
	Listeners []net.Listener
	Manager   systemd.Manager // is told when the server is ready and when it stops
	Base      string          // path below which a proxy shows this server; empty is server.base_path
	Version   string
	Log       *slog.Logger
	Out       io.Writer        // gets the one line that says Fawn is ready
	Skills    fs.FS            // skills that come with the program; nil has none
	World     *community.World // in place of the web, where searches and pages come from; nil has the web
	// Doctor looks at the installation and tells Out what it found, for bundles for support; nil leaves that out.
	Doctor func(context.Context, Options) (ok bool, err error)

	anew   bool // whoever serves begins anew after [ErrReplaced]
	served bool // Listeners are those of a life before this one
	// patience is how long requests, runs and traces may go on at a stop, and how long a sandbox at another server may
	// take to end; 0 is as long as usual.
	patience time.Duration
	// committed is called at the end of each commit, which waits for it; nil = nobody.
	committed func()
}

// App is the running program: groups of parts, each of which opens and closes its own. [App.Close] has the order.
type App struct {
	opts    Options
	config  *config.Store
	insight insight
	data    data
	people  people
	library library
	tools   tools
	engine  engine

	trust     proxy.Trust
	base      string // "" or such as /fawn
	vouches   string // header with whom a trusted proxy has signed in
	api       *api.API
	gateway   *gateway.Gateway
	pages     *ui.UI
	readers   httpx.Limiter // of event streams of the API
	schedule  *schedule.Scheduler
	channels  *channels.Hub
	leader    *leader.Runner
	caring    atomic.Bool // this server has the bots
	listeners []net.Listener
	tls       *tls.Config // nil speaks plain HTTP
	server    *http.Server
	echo      *echo.Echo
	handover  *restart.Handover // what is kept when the right to write to the database is lost, nil for nothing
	leaving   ending            // when the server begins to stop: pages come back by themselves
	draining  ending            // when the runs have stopped and whoever still reads should go

	stop      context.CancelFunc // ends background work
	work      sync.WaitGroup
	closeOnce sync.Once
	closeErr  error
}

// Open loads the configuration, takes the data folder and the address, and closes what a
// crash left open. The caller calls Run, and then Close.
func Open(ctx context.Context, o Options) (_ *App, err error) {
	if o.Addr == "" {
		o.Addr = DefaultAddr
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Out == nil {
		o.Out = io.Discard
	}
	if len(o.Listeners) > 0 && !o.served {
		o.Addr = o.Listeners[0].Addr().String()
	}
	if err := checkAddr(o); err != nil {
		return nil, err
	}
	dir, err := config.DataDir(o.Data)
	if err != nil {
		return nil, err
	}
	a := &App{opts: o, leaving: newEnding(), draining: newEnding()}
	if err := a.data.enter(dir, o.Log); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if a.config, err = config.Open(config.Options{Config: o.Config, DataDir: dir, Classes: lead.Classes()},
		o.Log); err != nil {
		return nil, err
	}
	snap := a.config.Current()
	if err := a.data.place(snap); err != nil {
		return nil, err
	}
	a.openLog(snap)
	logWarnings(o.Log, snap)
	if err := a.openProxy(snap.File.Server, snap.File.Auth.ProxyHeader); err != nil {
		return nil, err
	}
	if err := a.openTLS(snap.File.Server); err != nil {
		return nil, err
	}
	a.openInsight(snap)
	addrErr := a.listen(ctx)
	if err := a.openStore(ctx, snap, a.bound()); err != nil {
		return nil, err
	}
	if addrErr != nil {
		return nil, addrErr
	}
	if err := a.data.share(ctx, a.config, o.Log); err != nil {
		return nil, err
	}
	snap = a.config.Current()
	if err := a.openPeople(ctx, snap); err != nil {
		return nil, err
	}
	if err := a.openLibrary(ctx); err != nil {
		return nil, err
	}
	a.openRecords(snap)
	if err := a.openTools(ctx, snap); err != nil {
		return nil, err
	}
	if err := a.openEngine(ctx, snap); err != nil {
		return nil, err
	}
	plan := snap.File.Scheduler
	a.schedule = schedule.New(schedule.Config{DB: a.data.db, Runs: a.engine.runs, Log: o.Log, MaxRuns: plan.MaxConcurrentRuns,
		Look: plan.PollInterval, Shared: a.data.db.Clustered(), Plan: a.planResult,
		Deliver: func(ctx context.Context, run string) error { return a.channels.Deliver(ctx, run) }})
	a.channels = a.openChannels()
	if err := a.routes(); err != nil {
		return nil, err
	}
	a.gauge()
	if !a.data.db.Clustered() {
		if err := a.api.DeleteStateless(ctx); err != nil {
			return nil, err
		}
	}
	a.takeMemory(ctx)
	background, stop := context.WithCancel(context.Background())
	a.stop = stop
	a.work.Go(func() {
		if err := a.config.Watch(background); err != nil && background.Err() == nil {
			o.Log.Error("stopped watching the configuration", "err", err)
		}
	})
	if a.data.shared != nil {
		a.work.Go(func() { a.data.shared.Run(background) })
	}
	a.openConsole(background)
	if a.data.trees != nil {
		a.work.Go(func() { a.data.trees.Run(background) })
	}
	a.work.Go(func() { a.tools.places.Run(background) })
	a.work.Go(func() { a.tools.documents.Run(background) })
	a.work.Go(func() { a.followConfig(background, snap) })
	a.work.Go(func() { a.backUp(background) })
	a.openDuties(snap)
	return a, nil
}

// checkAddr refuses an invalid address.
func checkAddr(o Options) error {
	if _, _, err := net.SplitHostPort(o.Addr); err != nil {
		return fmt.Errorf("--addr %q isn't a valid address: use host:port, for example %s", o.Addr, DefaultAddr)
	}
	return nil
}

// IsLoopback tells whether a host is this machine itself.
func IsLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// listen opens the address, and for the IPv4 loopback also ::1 where there is one.
func (a *App) listen(ctx context.Context) error {
	if len(a.opts.Listeners) > 0 {
		a.listeners = a.opts.Listeners
		return nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", a.opts.Addr)
	if err != nil {
		if portTaken(err) {
			return fmt.Errorf("%s is already in use by another program. Stop it, or choose another address with --addr",
				a.opts.Addr)
		}
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err // what is around it repeats the address
		}
		return fmt.Errorf("can't listen on --addr %s: %w", a.opts.Addr, err)
	}
	a.listeners = append(a.listeners, l)
	if at, ok := l.Addr().(*net.TCPAddr); ok && at.IP.Equal(net.IPv4(127, 0, 0, 1)) {
		six, err := lc.Listen(ctx, "tcp6", net.JoinHostPort("::1", fmt.Sprint(at.Port)))
		if err == nil {
			a.listeners = append(a.listeners, six)
		} else if portTaken(err) {
			a.opts.Log.Warn("port in use on ::1; listening on 127.0.0.1 only", "port", at.Port)
		}
	}
	return nil
}

// bound is the address that was opened, or the one that was asked for if none could be.
func (a *App) bound() string {
	if len(a.listeners) == 0 {
		return a.opts.Addr
	}
	return a.Addr()
}

// Addr is the address Fawn listens on.
func (a *App) Addr() string { return a.listeners[0].Addr().String() }

// URL is the address to open in a browser.
func (a *App) URL() string {
	return a.url() + a.base
}
