package settings

import (
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/channels"
	"fawn/agent/channels/chat"
	"fawn/agent/channels/qrlogin"
	"fawn/views"
	"fawn/views/settings"
	"fawn/web/bots"
	"fawn/web/principal"
	"fawn/web/ui/account"
	"fawn/web/ui/page"
)

// showScan responds with the progress of a sign-in by QR code. A completed one redirects to the bot.
func (h *Handlers) showScan(c echo.Context, p channels.Provider, s qrlogin.Scan, problem string) error {
	if s.State == chat.ScanDone {
		if !page.WantsFragment(c.Request()) {
			return channelDone(c, p.Name)
		}
		a, err := h.channelApp(c, p)
		if err != nil {
			return err
		}
		a.Open = true
		c.Response().Header().Set("HX-Retarget", "#channel-"+p.Name)
		return page.HTML(c, http.StatusOK, settings.ChannelApp(page.ReadPrefs(c.Request()).Lang, a))
	}
	v := &views.ChannelScan{ID: s.ID, State: string(s.State), Problem: problem, Digits: s.State == chat.ScanDigits,
		Over: s.State != chat.ScanWaits && s.State != chat.ScanSeen && s.State != chat.ScanDigits}
	if !v.Over {
		var err error
		if v.QR, err = account.DrawQR(s.Code); err != nil {
			return err
		}
	}
	if page.WantsFragment(c.Request()) {
		return page.HTML(c, http.StatusOK, settings.ChannelScan(page.ReadPrefs(c.Request()).Lang,
			views.ChannelApp{Name: p.Name, Label: p.Display, Scan: v}))
	}
	return h.showChannel(c, http.StatusOK, p.Name, func(a *views.ChannelApp) { a.Scan = v })
}

// scanned shows a sign-in, or the reason why there is none.
func (h *Handlers) scanned(c echo.Context, p channels.Provider, s qrlogin.Scan, err error) error {
	var no *bots.Refused
	failed := qrlogin.Scan{State: chat.ScanFailed}
	switch {
	case err == nil:
		return h.showScan(c, p, s, s.Problem)
	case errors.Is(err, qrlogin.ErrNoScan):
		return h.showScan(c, p, qrlogin.Scan{State: chat.ScanExpired}, "")
	case errors.Is(err, qrlogin.ErrScanning):
		return h.showScan(c, p, failed, "others")
	case errors.As(err, &no) && no.Cause == bots.Failing:
		return h.showScan(c, p, failed, "fails")
	}
	return h.refusedChannel(c, p, err)
}

// startScan handles POST /ui/channels/by-name/:name/scan.
func (h *Handlers) startScan(c echo.Context, p channels.Provider) error {
	s, err := h.Bots.StartScan(c.Request().Context(), principal.Owner(c.Request().Context()), p)
	return h.scanned(c, p, s, err)
}

// pollScan handles POST /ui/channels/by-name/:name/scanned: waits a moment for news.
func (h *Handlers) pollScan(c echo.Context, p channels.Provider) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	ctx, id, digits := c.Request().Context(), form.Get("id"), strings.TrimSpace(form.Get("digits"))
	if !bots.Digits(digits) {
		digits = "0" // never right
	}
	s, err := h.Bots.PollScan(ctx, principal.Owner(ctx), p, id, digits)
	return h.scanned(c, p, s, err)
}

// cancelScan handles POST /ui/channels/by-name/:name/unscan.
func (h *Handlers) cancelScan(c echo.Context, p channels.Provider) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	err = h.Bots.Hub.Scans().Cancel(ctx, principal.Owner(ctx), form.Get("id"))
	if err != nil && !errors.Is(err, qrlogin.ErrNoScan) {
		return err
	}
	if page.WantsFragment(c.Request()) {
		return page.HTML(c, http.StatusOK, settings.ChannelScan(page.ReadPrefs(c.Request()).Lang,
			views.ChannelApp{Name: p.Name, Label: p.Display}))
	}
	return channelDone(c, p.Name)
}
