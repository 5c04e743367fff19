package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"fawn/web/memlimit"
	"fawn/web/restart"
	"fawn/web/systemd"
)

// drainTime limits requests after the stop signal.
const drainTime = 5 * time.Second

// idleTime limits how long an idle connection is kept.
const idleTime = 2 * time.Minute

// anewTime limits how long connections wait for a restarting server before they are told to retry.
const anewTime = time.Second

// Serve opens the program, serves until ctx ends, and closes it. If its database evicted it, it restarts as the same
// process, so that no part of its old life continues with the new rights, and fails with [ErrReplaced] if it can't.
func Serve(ctx context.Context, o Options) error {
	before, err := restart.Inherited()
	if err != nil {
		return err
	}
	if o.Listeners, err = systemd.Listeners(); err != nil {
		return err
	}
	env := os.Environ() // without the sockets, which are kept otherwise
	o.Manager, o.anew = systemd.Find(), true
	answered := func() {}
	if before != nil {
		o.Addr, o.Listeners, o.served = before.Addr, before.Listeners, true
		answered = before.Answer(anewTime)
	}
	var opened atomic.Pointer[App]
	defer memlimit.Keep(ctx, func() {
		if a := opened.Load(); a != nil {
			a.engine.runs.Rest()
			a.data.db.Rest()
		}
	})()
	a, err := Open(ctx, o)
	answered()
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()): // told to stop while it waited for something
		return nil
	case err != nil && before != nil && ctx.Err() == nil:
		return fmt.Errorf("%w, and it can't restart: %w", ErrReplaced, err)
	case err != nil:
		return err
	}
	opened.Store(a)
	err = errors.Join(a.Run(ctx), a.Close())
	if a.front.handover == nil {
		return err
	}
	if ctx.Err() == nil {
		a.opts.Log.Warn("restarting in place", "err", err)
		err = errors.Join(err, a.front.handover.Execute(env))
	}
	return errors.Join(err, a.front.handover.Drop())
}

// Run answers requests until ctx ends or a listener breaks.
func (a *App) Run(ctx context.Context) error {
	server := a.config.Current().File.Server
	a.front.server = &http.Server{Handler: a.handler(), ReadHeaderTimeout: server.HeaderTimeout,
		MaxHeaderBytes: int(server.MaxHeaderBytes),
		IdleTimeout:    idleTime, ErrorLog: slog.NewLogLogger(a.opts.Log.Handler(), slog.LevelWarn), TLSConfig: a.front.tls}
	g, gctx := errgroup.WithContext(ctx)
	if a.opts.Pprof != "" {
		server, l, err := profiles(a.opts.Pprof)
		if err != nil {
			return err
		}
		g.Go(func() error { return serveProfiles(gctx, server, l) })
		a.opts.Log.Info("serving profiles", "url", "http://"+l.Addr().String()+"/debug/pprof/")
	}
	for _, l := range a.front.listeners {
		g.Go(func() error {
			if err := a.front.server.Serve(a.front.secured(l, server)); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve on %s: %w", l.Addr(), err)
			}
			return nil
		})
	}
	fmt.Fprintf(a.opts.Out, "Fawn is ready at %s\n", a.URL())
	a.manage(a.opts.Manager.Ready())
	g.Go(func() error {
		a.opts.Manager.Watch(gctx, a.data.db.Healthy)
		return nil
	})
	g.Go(func() error {
		if err := a.announceSetup(gctx); gctx.Err() == nil { // otherwise it has been told to stop
			return err
		}
		return nil
	})
	g.Go(func() error { return a.data.lost.wait(gctx) })
	g.Go(func() error {
		<-gctx.Done()
		most := anewTime
		if !a.keepSockets(context.Cause(gctx)) {
			most = a.drainTime()
			a.manage(a.opts.Manager.Stopping())
		}
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), most)
		defer cancel()
		a.front.leaving.end()
		a.stopRuns(drain)
		a.front.draining.end()
		if err := a.front.server.Shutdown(drain); err != nil {
			return errors.Join(a.front.server.Close(), ignoreDeadline(err))
		}
		return nil
	})
	err := g.Wait()
	if node, ok := a.data.db.Node(); err == nil && ok {
		err = node.Ended // it may have been told to stop at the same moment
	}
	return err
}

// drainTime returns the time limit for requests at a stop.
func (a *App) drainTime() time.Duration { return cmp.Or(a.opts.patience, drainTime) }

// keepSockets keeps the sockets if this server can restart after the loss of its lease.
func (a *App) keepSockets(err error) bool {
	if !a.opts.anew || !errors.Is(err, ErrReplaced) {
		return false
	}
	if a.front.handover, err = restart.Prepare(a.opts.Addr, a.front.listeners); err != nil {
		a.opts.Log.Warn("couldn't restart in place", "err", err)
		return false
	}
	return true
}

// leaseLoss reports that another server has taken over, or may have, so this one must stop.
type leaseLoss chan error

// tell never blocks; the first value counts.
func (l leaseLoss) tell(err error) {
	select {
	case l <- err:
	default:
	}
}

// wait returns the loss that ends the server, or nil when ctx ends.
func (l leaseLoss) wait(ctx context.Context) error {
	select {
	case err := <-l:
		return err
	case <-ctx.Done():
		return nil
	}
}

// ending is the moment at which an operation ends.
type ending struct {
	ctx context.Context
	end context.CancelFunc
}

func newEnding() ending {
	ctx, end := context.WithCancel(context.Background())
	return ending{ctx, end}
}

// manage logs that notifying the service manager failed.
func (a *App) manage(err error) {
	if err != nil {
		a.opts.Log.Warn("couldn't notify the service manager", "err", err)
	}
}

// stopRuns ends the runs, or leaves them to the next server, while their readers are still connected.
// It waits no longer than ctx.
func (a *App) stopRuns(ctx context.Context) {
	done := make(chan struct{})
	a.background.work.Go(func() {
		defer close(done)
		a.background.channels.Close()
		if a.data.db.Clustered() { // otherwise no other server does it
			a.background.leader.Stop()
		}
		handing, cancel := context.WithTimeout(ctx, a.drainTime()/2)
		a.engine.runs.Drain(handing)
		cancel()
		a.engine.runs.Close()
	})
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// ignoreDeadline drops deadline errors: a slow client isn't our failure.
func ignoreDeadline(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// Close ends runs, keeps their output, and closes all groups below. It can be called again.
//
// Sources of new runs close before the runs, the runs before the tools that they use, and the database last. Groups that
// others need until late close in two steps.
func (a *App) Close() error {
	a.closeOnce.Do(func() {
		a.closeErr = a.front.closeAddress()
		a.background.closeChannels()
		a.engine.close()
		a.front.close()
		a.background.close()
		a.closeErr = errors.Join(a.closeErr, a.tools.close())
		a.insight.closeRecords()
		a.data.closeTrees()
		a.insight.closeTracing(cmp.Or(a.opts.patience, traceTime), a.opts.Log)
		a.closeErr = errors.Join(a.closeErr, a.library.close(), a.data.close())
	})
	return a.closeErr
}
