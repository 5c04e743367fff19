// Package page is shared by all pages: frame and headers, forms and answers to the page's script, the reader's
// preferences, the threads of an address, and error pages.
//
// A package of pages embeds a [Site] in its handlers and gives its routes to package ui.
package page

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"fawn/agent/access"
	"fawn/agent/config"
	"fawn/agent/runs"
	"fawn/sandbox"
	"fawn/sandbox/browser"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/views"
	"fawn/views/i18n"
	"fawn/web/account"
	"fawn/web/hostrules"
	"fawn/web/httpx"
	"fawn/web/principal"
)

// Site holds the parts that every page needs. Accounts, Network and Sandbox may be nil.
type Site struct {
	DB       *store.DB
	Runs     *runs.Manager
	Dirs     files.Dirs
	Config   *config.Store
	Accounts *account.Service      // the server's accounts; nil without accounts
	Access   *access.Service       // checks permissions; nil enforces no limits
	Network  *hostrules.Decisions  // hosts that agents want to reach
	Sandbox  func() sandbox.Report // reports the command sandbox
	// Known reports whether a person may read the collection's document for a path in a thread; nil has no
	// collections.
	Known    func(ctx context.Context, person, thread, path string) bool
	Browsers *browser.Browsers // the agents' browsers; nil without browsers
	Addr     string            // address of the server
	Log      *slog.Logger
}

// Roles that may request a page or an action.
const (
	Anyone   = principal.Anyone
	User     = principal.User
	Operator = principal.Operator
	Person   = principal.Person
)

// Route is a line of a table of routes.
type Route struct {
	method, path string
	who          principal.Policy
	do           echo.HandlerFunc
}

// Get returns the route of a page, or of a part of one.
func Get(path string, who principal.Policy, do echo.HandlerFunc) Route {
	return Route{http.MethodGet, path, who, do}
}

// Post returns the route of an action.
func Post(path string, who principal.Policy, do echo.HandlerFunc) Route {
	return Route{http.MethodPost, path, who, do}
}

// Add puts routes into g, which is mounted at the root.
func Add(g *echo.Group, table []Route) {
	for _, r := range table {
		g.Add(r.method, r.path, principal.Allow(r.who, r.do))
	}
}

// Policy is the Content-Security-Policy of every page: scripts, styles and requests of
// this server only, nothing inline.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; " +
	"img-src 'self' data: blob:; media-src 'self' blob:; connect-src 'self'; frame-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// sidebarRows limits the chats in the side bar.
const sidebarRows = 30

// HTML answers with a page or fragment. It is rendered whole before the first byte goes
// out, so a failure is still an error page.
func HTML(c echo.Context, status int, view templ.Component) error {
	b, err := views.Render(c.Request().Context(), view)
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
	if ForLink(c.Request()) {
		Private(h)
	}
	return httpx.Compressed(c, status, echo.MIMETextHTMLCharsetUTF8, b)
}

// Private keeps the pages of links out of search engines and caches, and their address from linked sites.
func Private(h http.Header) {
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Robots-Tag", "noindex, nofollow")
	h.Set("Cache-Control", "private, no-store")
}

// Scripted reports whether the page's script made the request, which expects a frame instead of a page.
func Scripted(r *http.Request) bool { return r.Header.Get("X-Fawn") != "" }

// WantsFragment reports whether only a part of a page is requested.
func WantsFragment(r *http.Request) bool { return Scripted(r) || r.Header.Get("HX-Request") != "" }

// WantsFrame reports whether the answer is applied by the script as a frame.
func WantsFrame(r *http.Request) bool {
	return Scripted(r) && strings.Contains(r.Header.Get("Accept"), "application/json")
}

// Frame answers an action: the script gets f, a plain form goes to the page where.
func Frame(c echo.Context, f views.Frame, where string) error {
	if Scripted(c.Request()) {
		return SendFrame(c, http.StatusOK, f)
	}
	return c.Redirect(http.StatusSeeOther, where)
}

// SendFrame answers the page's script.
func SendFrame(c echo.Context, status int, f views.Frame) error {
	if f.Location != "" {
		f.Location = views.Base(c.Request().Context()) + f.Location
	}
	return httpx.JSON(c, status, f)
}

// LocalPath returns next if it is a path of this server, otherwise other.
func LocalPath(next, other string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") ||
		strings.ContainsAny(next, "\\\r\n\t") {
		return other
	}
	return next
}

// Param returns a parameter of the path without escapes.
func Param(c echo.Context, name string) string {
	v := c.Param(name)
	if c.Request().URL.RawPath == "" {
		return v
	}
	if plain, err := url.PathUnescape(v); err == nil {
		return plain
	}
	return v
}

// Shell returns the frame around a page's content.
func (s *Site) Shell(c echo.Context, nav views.Nav, current string) (views.Shell, error) {
	p := ReadPrefs(c.Request())
	out := views.Shell{Lang: p.Lang, Theme: p.Theme, Now: s.DB.Now(), Current: current, Nav: nav,
		Path: c.Request().URL.RequestURI(),
		Size: p.Size, Columns: p.Widths, NoSide: p.Side == "off", NoKeys: p.Keys == "off"}
	rows, total, err := s.DB.Threads(c.Request().Context(),
		store.ThreadQuery{Owner: principal.Owner(c.Request().Context()), Shelf: store.OpenShelf, Limit: sidebarRows})
	if err != nil {
		return out, err
	}
	out.Who = s.Who(c)
	if out.Banners, err = s.banners(c.Request().Context()); err != nil {
		return out, err
	}
	if id, ok := c.Get(temporaryThread).(string); ok {
		out.Stay = views.ActionURL(id, "here")
	}
	out.Total, out.More = total, total > len(rows)
	if token := c.QueryParam("undo"); token != "" {
		n, err := s.restorable(c.Request().Context(), token)
		if err != nil {
			return out, err
		}
		out.Undo = views.Undo{Token: token, Count: n}
	}
	projects, err := s.DB.Projects(c.Request().Context(), principal.Owner(c.Request().Context()))
	if err != nil {
		return out, err
	}
	for _, p := range projects {
		out.Projects = append(out.Projects, ProjectLink(p))
	}
	out.Threads, err = s.Rows(c.Request().Context(), rows)
	AtHand(out.Threads, current)
	return out, err
}

// ProjectLink returns a project without its details.
func ProjectLink(p store.Project) views.ProjectLink {
	return views.ProjectLink{ID: p.ID, Name: p.Name, Icon: p.Settings.Icon, Color: p.Settings.Color}
}

// ProjectIn returns the one of a shell's projects that has an id, nil for none.
func ProjectIn(s views.Shell, id string) *views.ProjectLink {
	for i := range s.Projects {
		if id != "" && s.Projects[i].ID == id {
			return &s.Projects[i]
		}
	}
	return nil
}

// Localized returns a context in which components speak the reader's language.
func Localized(c echo.Context) context.Context {
	return i18n.With(c.Request().Context(), ReadPrefs(c.Request()).Lang)
}

// Say returns a sentence of the catalogue in the reader's language.
func Say(c echo.Context, key string, args ...any) string {
	return i18n.T(ReadPrefs(c.Request()).Lang, key, args...)
}

// ForLink reports whether a request is made by a reader of a link.
func ForLink(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/share/") }

// SharedShell returns the frame of shared pages, without anything of the owner's. Nothing of the owner's.
func SharedShell(c echo.Context) views.Shell {
	p := ReadPrefs(c.Request())
	return views.Shell{Lang: p.Lang, Theme: p.Theme, Size: p.Size}
}

// StrangerShell returns the frame of a page without a session.
func StrangerShell(c echo.Context) views.Shell {
	p := ReadPrefs(c.Request())
	return views.Shell{Lang: p.Lang, Theme: p.Theme, Size: p.Size, NoKeys: p.Keys == "off", Now: time.Now()}
}

// Who returns the account of a page's request; nil without one.
func (s *Site) Who(c echo.Context) *views.Who {
	p := principal.Of(c.Request().Context())
	if !s.Guarded() || !p.Known() {
		return nil
	}
	return &views.Who{Name: p.Name, Email: p.Email, Operator: p.Operator()}
}

// Guarded reports whether people have to sign in.
func (s *Site) Guarded() bool { return s.Accounts != nil && s.Accounts.Required() }
