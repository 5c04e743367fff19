package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/mcp"
	"fawn/sandbox"
	"fawn/sandbox/egress"
	"fawn/store"
)

// confinedTime limits how long an MCP server runs in a sandbox. Unused sessions end sooner.
const confinedTime = 365 * 24 * time.Hour

// confine runs an MCP server in its own sandbox, with the files of its thread, until it ends. Without namespaces it
// doesn't run.
func (a *App) confine(ctx context.Context, j mcp.Job) (err error) {
	defer func() {
		_, _ = j.In.Close(), j.Out.Close() // the sandbox may have closed them
	}()
	if r := a.tools.report(); !r.OK {
		return fmt.Errorf("it requires a sandbox, which isn't available here: %s", r)
	}
	if name := a.tools.sandbox.Name(); name != sandbox.ProviderNamespace {
		return fmt.Errorf("it requires a sandbox with namespaces, but commands here run in a sandbox of the kind %q",
			name)
	}
	snap := a.config.Current()
	apart, err := a.confinement(snap, j.Server)
	if err != nil {
		return err
	}
	ref := sandbox.ThreadRef{ID: j.Thread}
	if ref.ID != "" { // its place counts as one of the thread's owner
		t, err := a.data.db.Thread(ctx, ref.ID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		ref.Owner = t.Owner
	}
	if ref.ID == "" {
		ref.ID = "job-" + rand.Text()
		defer func() {
			gone := a.tools.sandbox.Destroy(context.WithoutCancel(ctx), ref, "the server has ended")
			err = errors.Join(err, gone, a.data.dirs.Remove(ref.ID))
		}()
	}
	box, err := a.tools.sandbox.Acquire(ctx, ref, lead.SandboxPolicy(snap.File.Sandbox))
	if err != nil {
		return err
	}
	res, err := box.Exec(ctx, sandbox.ExecReq{Command: `exec "$@"`,
		Args: append([]string{j.Server.Command}, j.Server.Args...), Env: j.Server.Env, In: j.In, Out: j.Out,
		All: j.Complain, Apart: &apart})
	switch {
	case err != nil:
		return err
	case res.ExitCode == 126, res.ExitCode == 127:
		return fmt.Errorf("%q can't be started in the sandbox, which only has the system's programs and its own folders",
			j.Server.Command)
	case len(res.Notes) > 0:
		return errors.New(strings.Join(res.Notes, " "))
	}
	return nil
}

// confinement returns the policy of an MCP server's sandbox: that of commands, with its own folders and hosts.
func (a *App) confinement(snap *config.Snapshot, s mcp.Server) (sandbox.Policy, error) {
	p := lead.SandboxPolicy(snap.File.Sandbox)
	p.Lifetime, p.Timeout, p.Limits.CPUTime = sandbox.LifetimeCall, confinedTime, 0
	p.Network, p.Binds, p.Env = sandbox.NetworkNone, nil, nil
	for _, f := range s.Folders {
		p.Binds = append(p.Binds, sandbox.Bind{Dir: f.Dir, Path: f.Path, ReadOnly: !f.Write})
	}
	if len(s.Hosts) == 0 {
		return p, nil
	}
	proxy, err := egress.New(egress.Policy{Allow: s.Hosts, Deny: snap.File.Sandbox.Network.Deny}, a.network.commands(snap))
	if err != nil {
		return p, fmt.Errorf("hosts: %w", err)
	}
	proxy.Audit = a.tools.egress.Audit
	p.Network, p.Proxy = sandbox.NetworkProxy, func(thread string, l net.Listener) {
		if err := proxy.Serve(context.Background(), l, thread); err != nil { // the sandbox closes the listener
			a.opts.Log.Warn("couldn't serve an MCP server's network", "server", s.Name, "err", err)
		}
	}
	return p, nil
}
