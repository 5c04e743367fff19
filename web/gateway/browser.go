package gateway

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/sandbox/browser"
	"fawn/store"
	"fawn/web/httpx"
	o "fawn/web/openapi"
	"fawn/web/route"
)

// browses reports whether agents have a browser here.
func (g *Gateway) browses() bool {
	return g.Browsers != nil && g.Config().File.Browser.Enabled && g.Browsers.Ready()
}

// navigateBody is the body of navigateBrowser.
type navigateBody struct {
	URL string `json:"url"`
}

// navigateBrowser opens an address in the browser of a thread.
func (g *Gateway) navigateBrowser(c echo.Context, t store.Thread) error {
	if !g.browses() {
		return httpx.Errorf(http.StatusNotFound, "Browser automation is not enabled")
	}
	var in navigateBody
	body, err := httpx.Body(c.Request(), g.BodyLimit())
	if err == nil {
		err = httpx.Decode(body, &in)
	}
	if err != nil {
		return err
	}
	v, err := g.Browsers.Act(c.Request().Context(), t.ID, browser.Action{Kind: browser.Navigate, URL: in.URL, Quiet: true})
	if err := v.Discard(); err != nil {
		g.Log.Warn("couldn't remove a download", "thread", t.ID, "err", err)
	}
	var refused *browser.Refusal
	switch {
	case errors.As(err, &refused):
		return httpx.Errorf(http.StatusUnprocessableEntity, "%s", refused.Text)
	case errors.Is(err, browser.ErrFull), errors.Is(err, browser.ErrHeld):
		return httpx.Errorf(http.StatusConflict, "%s", err.Error())
	case err != nil:
		return err
	}
	return httpx.JSON(c, http.StatusOK, openedPage{true, v.Title, v.Address})
}

type openedPage struct {
	Success bool   `json:"success"`
	Title   string `json:"title"`
	URL     string `json:"url"`
}

// describeBrowser returns the operation of that route.
func describeBrowser() []o.Op {
	return []o.Op{{ID: "navigateBrowser", Tag: "Threads", Text: "Open an address in a thread's browser",
		More: "The browser is the one that the agent of the thread uses.", Fail: []int{404, 409, 422},
		Body: o.Reads[navigateBody](o.Req("url", o.String())),
		Out:  route.Answered("The page", o.Of[openedPage]())}}
}
