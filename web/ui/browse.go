package ui

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"fawn/sandbox/browser"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/httpx"
	"fawn/web/ui/page"
)

// maxGesture limits one user action in the browser, in bytes.
const maxGesture = 128 << 10

// browserPanel handles GET /ui/threads/:id/browser: the agent's browser, as the content of the panel.
func (u *UI) browserPanel(c echo.Context, t store.Thread) error {
	if u.Browsers == nil {
		return store.ErrNotFound
	}
	if !page.WantsFragment(c.Request()) {
		return c.Redirect(http.StatusSeeOther, views.ThreadURL(t.ID))
	}
	p := views.BrowserPanel{ThreadID: t.ID}
	var err error
	p.Address, p.Held, err = u.Browsers.Where(t.ID)
	if p.Open = err == nil; !p.Open && !errors.Is(err, browser.ErrNoSession) {
		return err
	}
	return page.HTML(c, http.StatusOK, page.InLang(page.ReadPrefs(c.Request()).Lang, chat.BrowserPanel(p)))
}

// liveFrame is an update of the browser panel.
type liveFrame struct {
	JPEG    []byte `json:"jpeg,omitempty"`
	Address string `json:"address"`
	Held    bool   `json:"held"`
	Busy    bool   `json:"busy"`
}

// watchBrowser handles GET /ui/threads/:id/browser/live: it streams screenshots of the page.
func (u *UI) watchBrowser(c echo.Context, t store.Thread) error {
	if u.Browsers == nil || !u.Browsers.Open(t.ID) {
		return store.ErrNotFound
	}
	ctx, done := httpx.Until(c.Request().Context(), u.Draining, browser.ErrClosed)
	defer done()
	out, err := httpx.NewPageStream(c.Response(), httpx.Heartbeat)
	if err != nil {
		return err
	}
	defer out.Close()
	_ = u.Browsers.Watch(ctx, t.ID, func(f browser.Frame) error { // the headers are sent, so errors can't be reported
		data, err := json.Marshal(liveFrame(f))
		if err != nil {
			return err
		}
		return out.Write(httpx.AppendFrame(nil, "frame", data, httpx.ID{}), true)
	})
	if ctx.Err() == nil {
		_ = out.Write(httpx.AppendFrame(nil, "over", []byte("{}"), httpx.ID{}), true)
	}
	return nil
}

// handBrowser handles POST /ui/threads/:id/browser/take and /give: a person takes control of the browser, or returns it
// to the agent.
func (u *UI) handBrowser(take bool) func(echo.Context, store.Thread) error {
	return func(c echo.Context, t store.Thread) error {
		if u.Browsers == nil {
			return store.ErrNotFound
		}
		ctx := c.Request().Context()
		do := u.Browsers.HandBack
		if take {
			do = u.Browsers.TakeOver
		}
		if err := do(ctx, t.ID); err != nil && !errors.Is(err, browser.ErrNoSession) {
			return err
		}
		if page.WantsFragment(c.Request()) {
			return c.NoContent(http.StatusNoContent)
		}
		return c.Redirect(http.StatusSeeOther, views.ThreadURL(t.ID))
	}
}

// gesture handles POST /ui/threads/:id/browser/do: a person's input to the page.
func (u *UI) gesture(c echo.Context, t store.Thread) error {
	if u.Browsers == nil {
		return store.ErrNotFound
	}
	form, err := page.ReadForm(c.Request(), maxGesture)
	if err != nil {
		return err
	}
	g := browser.Gesture{Kind: form.Get("kind"), Text: form.Get("text")}
	for name, to := range map[string]*float64{"x": &g.X, "y": &g.Y, "dy": &g.DeltaY} {
		if v := form.Get(name); v != "" {
			if *to, err = strconv.ParseFloat(v, 64); err != nil || *to != *to {
				return echo.NewHTTPError(http.StatusBadRequest, name+" is not a number")
			}
		}
	}
	err = u.Browsers.Do(c.Request().Context(), t.ID, g)
	var refused *browser.Refusal
	switch {
	case errors.Is(err, browser.ErrNoSession), errors.Is(err, browser.ErrNotHeld):
		return echo.NewHTTPError(http.StatusConflict, err.Error())
	case errors.As(err, &refused):
		return echo.NewHTTPError(http.StatusUnprocessableEntity, err.Error())
	case err != nil:
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
