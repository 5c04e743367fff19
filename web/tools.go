package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"

	"fawn/agent/browsing"
	"fawn/agent/clienttool"
	"fawn/agent/clusterstate"
	"fawn/agent/community"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/mcp"
	"fawn/agent/mcp/switches"
	"fawn/sandbox"
	"fawn/sandbox/affinity"
	"fawn/sandbox/browser"
	"fawn/sandbox/egress"
	"fawn/sandbox/render"
	"fawn/uploads/documents"
	"fawn/uploads/pictures"
	"fawn/uploads/worker"
	"fawn/web/hostrules"
)

// tools groups the parts that agents work with: sandboxes and their network, converters of files, browsers and the web,
// MCP servers, and the tools of clients.
type tools struct {
	network   *hostrules.Decisions
	sandbox   sandbox.Provider
	places    *affinity.Places      // where sandboxes are; nil for a server that has its database alone
	report    func() sandbox.Report // of the provider that was chosen; waits until one is
	egress    *egress.Proxy
	stopProxy context.CancelFunc

	converter *worker.Converter
	documents *documents.Service
	pictures  *pictures.Service

	web      *community.Service
	browser  render.Browser
	browsers *browser.Browsers
	browsing *browsing.Service

	mcp         *mcp.Pool
	switches    *switches.Service
	clientTools *clienttool.Board
}

// openTools opens them in the order in which they use each other.
func (a *App) openTools(ctx context.Context, snap *config.Snapshot) error {
	t, d := &a.tools, &a.data
	t.network = hostrules.New(d.db, func(thread string, event json.RawMessage) { a.engine.runs.Announce(thread, event) },
		a.opts.Log)
	if err := a.openSandbox(ctx, snap); err != nil {
		return err
	}
	t.openDocuments(a.config, d, a.opts.Log)
	t.openWeb(a.opts, a.config, a.network)
	t.openBrowsers(a.config, d, a.network, a.opts.Log)
	a.openMCP(snap)
	t.switches = switches.New(d.db)
	t.clientTools = clienttool.New(clusterstate.NotesIn(d.shared),
		func(thread string, event json.RawMessage) bool { return a.engine.runs.Announce(thread, event) }, a.opts.Log)
	return nil
}

// close ends MCP servers, then browsers, then the processes of sandboxes and converters.
func (t *tools) close() (err error) {
	if t.mcp != nil {
		err = t.mcp.Close()
	}
	if t.browsers != nil {
		t.browsers.Close()
	}
	return errors.Join(err, t.closeSandbox())
}

// openWeb opens the web search and reader of agents.
func (t *tools) openWeb(o Options, conf *config.Store, n network) {
	t.browser.Where = func() string { return conf.Current().File.Web.Browser }
	t.browser.Log = o.Log
	n.guard("web.allow_private", conf.Current().File.Web.AllowPrivate) // it reports wrong entries
	t.web = community.New(community.Config{
		Settings: func() community.Settings { return lead.WebSettings(conf.Current()) },
		Guard:    n.web,
		Convert:  t.converter.Read,
		Render: func(ctx context.Context, address string, private []netip.Prefix, ports []int) (community.Rendered, error) {
			return rendered(ctx, &t.browser, render.Request{URL: address, Guard: n.web(private), Ports: ports})
		},
		World: o.World,
		Log:   o.Log,
	})
}

// rendered shows a page in a browser.
func rendered(ctx context.Context, b *render.Browser, r render.Request) (community.Rendered, error) {
	p, err := b.Render(ctx, r)
	switch {
	case errors.Is(err, render.ErrNone):
		return community.Rendered{None: true}, nil
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return community.Rendered{Why: "the browser took too long"}, nil
	case errors.Is(err, render.ErrPage), errors.Is(err, render.ErrLarge), errors.Is(err, render.ErrMemory):
		return community.Rendered{Why: err.Error()}, nil
	}
	return community.Rendered{Address: p.Address, HTML: p.HTML, Status: p.Status}, err
}
