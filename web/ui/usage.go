package ui

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/ui/conversation"
	"fawn/web/ui/page"
)

// usage handles GET /ui/threads/:id/usage: a chat's usage.
func (u *UI) usage(c echo.Context, t store.Thread) error {
	return u.usagePage(c, t, nil, http.StatusOK)
}

// usagePage shows a chat's usage; did is the outcome of a compaction.
func (u *UI) usagePage(c echo.Context, t store.Thread, did *views.Notice, status int) error {
	ctx := c.Request().Context()
	v, err := u.Load(ctx, t.ID, "", conversation.Everything, "")
	if err != nil {
		return err
	}
	p := views.UsagePage{Modal: page.WantsFragment(c.Request()), ThreadID: v.Thread.ID, Title: v.Heading(), Notice: did,
		Running: v.Running(),
		Empty:   len(v.Turns.Turns) == 0, Gauge: v.Turns.Gauge, Hidden: v.Hidden}
	if p.Shell, err = u.Shell(c, views.NavNone, v.Thread.ID); err != nil {
		return err
	}
	if p.Notice == nil {
		p.Notice = u.compacted(c, v)
	}
	if err := u.insight.Spent(ctx, &p); err != nil {
		return err
	}
	return page.HTML(c, status, chat.UsagePage(p))
}
