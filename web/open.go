package web

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"sync"
	"time"

	"fawn/agent/community"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/web/systemd"
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
	Out       io.Writer // gets the one line that says Fawn is ready
	// HashMemory is the memory of a new password's hash in KiB, and with it the cost; 0 is 46 MiB.
	HashMemory uint32
	Skills     fs.FS            // skills that come with the program; nil has none
	World      *community.World // in place of the web, where searches and pages come from; nil has the web
	// Doctor looks at the installation and tells Out what it found, for bundles for support; nil leaves that out.
	Doctor func(context.Context, Options) (ok bool, err error)

	anew   bool // the caller of Serve restarts after [ErrReplaced]
	served bool // Listeners are those of a life before this one
	// patience is how long requests, runs and traces may continue after a stop, and how long a sandbox at another
	// server may take to end; 0 is the default.
	patience time.Duration
	// committed is called at the end of each commit, which waits for it; it may be nil.
	committed func()
}

// App is the running program: groups of parts, each of which opens and closes its own. [App.Close] has the order.
type App struct {
	opts       Options
	config     *config.Store
	network    network
	insight    insight
	front      front
	data       data
	people     people
	library    library
	tools      tools
	engine     engine
	background background

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
	a := &App{opts: o, front: front{leaving: newEnding(), draining: newEnding()}}
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
	a.network = network{&a.front, a.config, o.Log}
	snap := a.config.Current()
	if err := a.data.place(snap); err != nil {
		return nil, err
	}
	a.insight.openLog(o.Log, snap)
	logWarnings(o.Log, snap)
	if err := a.front.open(o, snap, &a.data); err != nil {
		return nil, err
	}
	a.insight.open(o, snap)
	addrErr := a.front.listen(ctx, o)
	if err := a.data.open(ctx, o, snap, &a.insight, a.front.bound(o.Addr)); err != nil {
		return nil, err
	}
	if addrErr != nil {
		return nil, addrErr
	}
	if err := a.data.share(ctx, a.config, o.Log); err != nil {
		return nil, err
	}
	snap = a.config.Current()
	if err := a.people.open(ctx, o, a.config, &a.data, &a.front, &a.engine); err != nil {
		return nil, err
	}
	a.people.accounts.RemoveOwned = func(ctx context.Context, user string) error { return a.userData().remove(ctx, user) }
	a.people.accounts.StopOwned = a.stopOwned
	if err := a.library.open(ctx, o, a.config, &a.data); err != nil {
		return nil, err
	}
	a.insight.openRecords(a.config, &a.data, o.Log)
	if err := a.openTools(ctx, snap); err != nil {
		return nil, err
	}
	if err := a.openEngine(ctx, snap); err != nil {
		return nil, err
	}
	a.openBackground(snap)
	if err := a.routes(); err != nil {
		return nil, err
	}
	a.insight.gauge(&a.data, &a.front, &a.tools, &a.engine)
	if !a.data.db.Clustered() {
		if err := a.front.api.DeleteStateless(ctx); err != nil {
			return nil, err
		}
	}
	a.engine.takeMemory(ctx, o.Log)
	a.startBackground(snap)
	return a, nil
}
