package web

import (
	"context"
	"errors"
	"net/netip"

	"fawn/agent/community"
	"fawn/agent/lead"
	"fawn/sandbox/netguard"
	"fawn/sandbox/render"
)

// openWeb opens the web search and reader of agents.
func (a *App) openWeb() *community.Service {
	a.tools.browser.Where = func() string { return a.config.Current().File.Web.Browser }
	a.tools.browser.Log = a.opts.Log
	a.guardFor("web.allow_private", a.config.Current().File.Web.AllowPrivate) // it reports wrong entries
	return community.New(community.Config{
		Settings: func() community.Settings { return lead.WebSettings(a.config.Current()) },
		Guard: func(private []netip.Prefix) *netguard.Guard {
			g := a.guardFor("web.allow_private", nil)
			g.AllowPrivate = private
			return g
		},
		Convert: a.tools.converter.Read,
		Render:  a.render,
		World:   a.opts.World,
		Log:     a.opts.Log,
	})
}

// render shows a page in a browser.
func (a *App) render(ctx context.Context, address string, private []netip.Prefix, ports []int) (r community.Rendered,
	err error) {
	g := a.guardFor("web.allow_private", nil)
	g.AllowPrivate = private
	p, err := a.tools.browser.Render(ctx, render.Request{URL: address, Guard: g, Ports: ports})
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
