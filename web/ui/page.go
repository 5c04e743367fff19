package ui

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/views"
	"fawn/views/i18n"
	"fawn/web/httpx"
	"fawn/web/principal"
)

// policy is the Content-Security-Policy of every page: scripts, styles and requests of
// this server only, nothing inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data: blob:; " +
	"media-src 'self' blob:; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// sidebarRows is how many chats the side bar lists.
const sidebarRows = 30

// html answers with a page or fragment. It is rendered whole before the first byte goes
// out, so a failure is still an error page.
func html(c echo.Context, status int, view templ.Component) error {
	b, err := views.Render(c.Request().Context(), view)
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
	if forLink(c.Request()) {
		private(h)
	}
	return httpx.Compressed(c, status, echo.MIMETextHTMLCharsetUTF8, b)
}

// private keeps what a link shows out of search engines and caches, and its address from
// the pages it links to.
func private(h http.Header) {
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Robots-Tag", "noindex, nofollow")
	h.Set("Cache-Control", "private, no-store")
}

// scripted tells whether the page's own script asks, which wants a frame in place of a page.
func scripted(r *http.Request) bool { return r.Header.Get("X-Fawn") != "" }

// fragment tells whether a part of a page is wanted.
func fragment(r *http.Request) bool { return scripted(r) || r.Header.Get("HX-Request") != "" }

// wantsFrame tells whether the answer is applied by the script as a frame.
func wantsFrame(r *http.Request) bool {
	return scripted(r) && strings.Contains(r.Header.Get("Accept"), "application/json")
}

// frame answers an action: the script gets f, a plain form goes to the page where.
func frame(c echo.Context, f views.Frame, where string) error {
	if scripted(c.Request()) {
		return sendFrame(c, http.StatusOK, f)
	}
	return c.Redirect(http.StatusSeeOther, where)
}

// sendFrame answers the script, whatever it asked for.
func sendFrame(c echo.Context, status int, f views.Frame) error {
	if f.Location != "" {
		f.Location = views.Base(c.Request().Context()) + f.Location
	}
	return httpx.JSON(c, status, f)
}

// localPath is next when it is a path of this server, else other.
func localPath(next, other string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") ||
		strings.ContainsAny(next, "\\\r\n\t") {
		return other
	}
	return next
}

// param is a parameter of the path without escapes.
func param(c echo.Context, name string) string {
	v := c.Param(name)
	if c.Request().URL.RawPath == "" {
		return v
	}
	if plain, err := url.PathUnescape(v); err == nil {
		return plain
	}
	return v
}

// shell is what every page has around its content.
func (u *UI) shell(c echo.Context, nav views.Nav, current string) (views.Shell, error) {
	p := readPrefs(c.Request())
	s := views.Shell{Lang: p.Lang, Theme: p.Theme, Now: time.Now(), Current: current, Nav: nav,
		Path: c.Request().URL.RequestURI(),
		Size: p.Size, Columns: p.Widths, NoSide: p.Side == "off", NoKeys: p.Keys == "off"}
	rows, total, err := u.DB.Threads(c.Request().Context(),
		store.ThreadQuery{Owner: principal.Owner(c.Request().Context()), Limit: sidebarRows})
	if err != nil {
		return s, err
	}
	s.Who = u.who(c)
	s.Total, s.More = total, total > len(rows)
	if token := c.QueryParam("undo"); token != "" {
		n, err := u.restorable(c.Request().Context(), token)
		if err != nil {
			return s, err
		}
		s.Undo = views.Undo{Token: token, Count: n}
	}
	s.Threads, err = u.rows(c.Request().Context(), rows)
	atHand(s.Threads, current)
	return s, err
}

// localized is a context in which components speak the reader's language.
func localized(c echo.Context) context.Context {
	return i18n.With(c.Request().Context(), readPrefs(c.Request()).Lang)
}

// say is a sentence of the catalogue in the reader's language.
func say(c echo.Context, key string, args ...any) string {
	return i18n.T(readPrefs(c.Request()).Lang, key, args...)
}
