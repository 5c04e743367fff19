package ui

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/middleware"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/ui/page"
)

// usage is GET /ui/threads/:id/usage: what a chat took.
func (u *UI) usage(c echo.Context, t store.Thread) error {
	return u.usagePage(c, t, nil, http.StatusOK)
}

// usagePage shows what a chat took; did is what shortening it came to.
func (u *UI) usagePage(c echo.Context, t store.Thread, did *views.Notice, status int) error {
	ctx := c.Request().Context()
	v, err := u.load(ctx, t.ID, "", everything, "")
	if err != nil {
		return err
	}
	p := views.UsagePage{Modal: page.WantsFragment(c.Request()), ThreadID: v.thread.ID, Title: v.heading(), Notice: did,
		Running: v.running(),
		Empty:   len(v.turns.Turns) == 0, Gauge: v.turns.Gauge, Hidden: v.hidden}
	if p.Shell, err = u.Shell(c, views.NavNone, v.thread.ID); err != nil {
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

// relieve brings the gauge up to date when the conversation was shortened by hand after the
// last answer: by about as much as the next request has less.
func (u *UI) relieve(ctx context.Context, v *conversation, snap store.Snapshot) error {
	const steps = 8 // made by hand since the last run
	cp, before := snap.Checkpoint, ""
	for i := 0; i < steps && cp.Run == "" && cp.Parent != ""; i++ {
		parent, err := u.DB.Checkpoint(ctx, v.thread.ID, "", cp.Parent)
		if isGone(err) {
			break
		}
		if err != nil {
			return err
		}
		if parent.Card.Fields["view"] != cp.Card.Fields["view"] {
			before = parent.ID
		}
		cp = parent
	}
	if before == "" || !v.turns.Gauge.Known() {
		return nil
	}
	old, err := u.DB.Snapshot(ctx, v.thread.ID, before)
	if isGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	var s agent.State
	for _, row := range snap.Messages {
		m, err := agent.ParseMessage(row.Body)
		if err != nil {
			return err
		}
		s.Messages = append(s.Messages, m)
	}
	size := func(of store.Snapshot) (int, error) {
		s.View = nil
		err := decodeField(of, "view", &s.View)
		return middleware.Tokens(&s), err
	}
	was, err := size(old)
	if err != nil {
		return err
	}
	now, err := size(snap)
	if err != nil {
		return err
	}
	g := &v.turns.Gauge
	g.Tokens, g.About = max(1, g.Tokens-max(0, was-now)), true
	return nil
}
