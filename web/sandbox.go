package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/runs"
	"fawn/sandbox"
	"fawn/sandbox/affinity"
	"fawn/sandbox/egress"
	"fawn/sandbox/providers"
)

// sandboxCloseTime limits the shutdown of all sandboxes.
const sandboxCloseTime = 5 * time.Second

// sandboxStopTime is the same for a stopping server, which may be about to probe this machine's sandboxes.
const sandboxStopTime = 20 * time.Second

// openSandbox selects the provider that runs commands and opens the proxy. A host without a working one gets one that
// refuses commands with the reason.
func (a *App) openSandbox(ctx context.Context, snap *config.Snapshot) error {
	proxy, err := egress.New(egressPolicy(ctx, snap), a.network.commands(snap))
	if err != nil {
		return fmt.Errorf("sandbox.network: %w", err)
	}
	proxy.Decisions, proxy.Ask = a.tools.network, a.tools.network.Ask
	proxy.Await, a.tools.network.Patience = a.tools.network.Await, a.patience
	proxy.Audit = func(r egress.Record) {
		a.insight.trail.Connected(r, a.engine.runs.Active(r.Thread))
	}
	c := lead.SandboxConfig(snap.File.Sandbox, a.data.dirs, a.opts.Log)
	c.Provider, c.Shared = lead.SandboxProvider(snap), a.people.accounts.Required()
	c.Secrets = []string{snap.SettingsPath(), snap.SecretsPath()}
	if snap.ConfigPath != "" {
		c.Secrets = append(c.Secrets, snap.ConfigPath, filepath.Join(filepath.Dir(snap.ConfigPath), ".env"))
	}
	c.Audit = a.insight.trail.Ran
	if a.insight.metrics != nil {
		c.Started = a.insight.metrics.Sandbox
	}
	a.tools.places = affinity.New(affinity.Config{DB: a.data.db, Dirs: a.data.dirs, Patience: a.opts.patience,
		Log: a.opts.Log})
	if a.tools.places != nil {
		c.Kept = a.tools.places.Kept
	}
	serving, stop := context.WithCancel(context.Background())
	a.tools.stopProxy = stop
	c.Proxy = func(thread string, l net.Listener) {
		if err := proxy.Serve(serving, l, thread); err != nil {
			a.opts.Log.Warn("couldn't serve a sandbox's network", "thread", thread, "err", err)
		}
	}
	a.tools.egress = proxy
	if a.tools.sandbox, err = providers.NewLate(c); err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	a.tools.sandbox = a.tools.places.Around(a.tools.sandbox)
	a.tools.report = sync.OnceValue(func() sandbox.Report { return a.tools.sandbox.Probe(serving) })
	return nil
}

// patience returns how long a connection waits for a decision about its host. Only runs started on a page have someone
// to ask.
func (a *App) patience(ctx context.Context, thread string) (run string, d time.Duration) {
	if d = a.config.Current().File.Sandbox.Network.AskTimeout; d <= 0 {
		return "", 0
	}
	if run = a.watched(ctx, thread); run == "" {
		return "", 0
	}
	return run, d
}

// watched returns a thread's run if someone can be asked: on a page, or at a client that declares it.
func (a *App) watched(ctx context.Context, thread string) (run string) {
	if run = a.engine.runs.Active(thread); run == "" {
		return ""
	}
	row, err := a.data.db.Run(ctx, run)
	var req runs.Request
	if err != nil || json.Unmarshal(row.Kwargs, &req) != nil {
		return ""
	}
	if req.Origin != "ui" {
		if c, err := req.Choices(); err != nil || !c.Interactive {
			return ""
		}
	}
	return run
}

func egressPolicy(ctx context.Context, snap *config.Snapshot) egress.Policy {
	n := snap.File.Sandbox.Network
	p := egress.Policy{Packages: n.Packages, Allow: n.Allow, Deny: n.Deny}
	if n.Packages {
		p.PackageHosts = egress.PackageHosts(ctx)
	}
	return p
}

// followConfig applies a changed configuration: network rules to running sandboxes, storage limits to threads, and the
// log level.
func (a *App) followConfig(ctx context.Context, seen *config.Snapshot) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now := a.config.Current(); now != seen {
			seen = now
			a.insight.followLog(a.opts.Log, now)
			a.tools.mcp.Set(lead.MCPServers(now))
			a.background.channels.Apply(a.channelSettings(now))
			a.data.dirs.Quota.SetLimit(now.File.Sandbox.Limits.Disk)
			if err := a.tools.egress.Configure(egressPolicy(ctx, now), a.network.commands(now)); err != nil {
				a.opts.Log.Warn("keeping the previous network rules", "err", err)
			}
		}
	}
}

// removeThread stops a thread's processes, then deletes its files.
func (t *tools) removeThread(d *data, thread string) error {
	ctx, cancel := context.WithTimeout(context.Background(), sandboxCloseTime)
	defer cancel()
	t.web.Forget(thread)
	t.browsers.End(thread)
	t.mcp.Forget(thread)
	err := t.sandbox.Destroy(ctx, sandbox.ThreadRef{ID: thread}, "the thread was deleted")
	if errors.Is(err, sandbox.ErrGone) {
		err = nil
	}
	return errors.Join(err, t.forgetThread(d, thread))
}

// forgetThread deletes a thread's files and everything derived from them.
func (t *tools) forgetThread(d *data, thread string) error {
	ctx, cancel := context.WithTimeout(context.Background(), sandboxCloseTime)
	defer cancel()
	return errors.Join(t.network.Drop(ctx, thread), d.dirs.Remove(thread), t.documents.Forget(thread),
		t.pictures.Forget(thread))
}

// restartSandbox stops the commands of a thread at its user's request.
func (t *tools) restartSandbox(ctx context.Context, thread string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, sandboxCloseTime)
	defer cancel()
	return t.sandbox.Restart(ctx, sandbox.ThreadRef{ID: thread}, "by the user")
}

// closeSandbox ends every process of every sandbox, and the converters.
func (t *tools) closeSandbox() error {
	if t.sandbox == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), sandboxStopTime)
	defer cancel()
	t.stopProxy()
	err := t.sandbox.Close(ctx)
	if t.converter != nil {
		err = errors.Join(err, t.converter.Close(ctx))
	}
	return err
}

// publicReport returns the part of a provider's report for monitors, without paths of this machine.
func (t *tools) publicReport() sandbox.Report {
	r := t.report()
	r.Detail, r.Tried = "", slices.Clone(r.Tried)
	for i := range r.Tried {
		r.Tried[i].Detail = ""
	}
	return r
}
