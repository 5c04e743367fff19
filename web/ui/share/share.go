// Package share creates links to chats and serves the read-only pages behind them.
package share

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/ui/conversation"
	"fawn/web/ui/files"
	"fawn/web/ui/page"
)

// Handlers serve the share links.
type Handlers struct {
	*conversation.Handlers
	Files *files.Handlers
}

// Routes returns the routes of share links and of their readers.
func (h *Handlers) Routes() []page.Route {
	return []page.Route{
		page.Get("/share/:token", page.Anyone, h.shared),
		page.Get("/share/:token/files/*", page.Anyone, h.sharedFile),
		page.Get("/share/:token/view/*", page.Anyone, h.sharedView),
		page.Get("/ui/threads/:id/share", page.User, h.OnThread(h.sharing)),
		page.Post("/ui/threads/:id/share", page.User, h.OnThread(h.share)),
		page.Post("/ui/threads/:id/share/remove", page.User, h.OnThread(h.unshare)),
	}
}

// sharing handles GET /ui/threads/:id/share: the link of a thread, or a button to create one.
func (h *Handlers) sharing(c echo.Context, t store.Thread) error {
	var err error
	p := views.SharePage{Modal: page.WantsFragment(c.Request()), ThreadID: t.ID, Empty: t.Head == ""}
	if p.Shell, err = h.Shell(c, views.NavNone, t.ID); err != nil {
		return err
	}
	row, err := h.Rows(c.Request().Context(), []store.Thread{t})
	if err != nil {
		return err
	}
	p.Title, p.Local = row[0].Title, loopbackOf(c.Request().Host)
	s, err := h.DB.ShareOf(c.Request().Context(), principal.Owner(c.Request().Context()), t.ID)
	if err == nil {
		p.Share = &views.Share{Path: views.SharedURL(s.Token), URL: httpx.Root(c.Request()) + views.SharedURL(s.Token),
			At: s.CreatedAt, Stale: s.Checkpoint != t.Head}
	} else if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return page.HTML(c, http.StatusOK, chat.SharePage(p))
}

// loopbackOf returns a host that only the computer itself can reach, or "".
func loopbackOf(hostport string) string {
	u, err := url.Parse("//" + hostport)
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
		return u.Hostname()
	}
	return ""
}

// share handles POST /ui/threads/:id/share: it creates the link, or updates it to the thread's current state.
func (h *Handlers) share(c echo.Context, t store.Thread) error {
	ctx := c.Request().Context()
	if t.Head != "" { // otherwise the page shows that there is nothing to share
		if _, err := h.DB.PutShare(ctx,
			store.Share{Thread: t.ID, Owner: principal.Owner(ctx), Token: rand.Text(),
				Checkpoint: t.Head}); err != nil {
			return err
		}
	}
	return c.Redirect(http.StatusSeeOther, views.ActionURL(t.ID, "share"))
}

// unshare handles POST /ui/threads/:id/share/remove.
func (h *Handlers) unshare(c echo.Context, t store.Thread) error {
	if err := h.DB.DeleteShare(c.Request().Context(), principal.Owner(c.Request().Context()), t.ID); err != nil &&
		!errors.Is(err, store.ErrNotFound) {
		return err
	}
	return c.Redirect(http.StatusSeeOther, views.ActionURL(t.ID, "share"))
}

// IsShared reports whether others can read a thread.
func (h *Handlers) IsShared(ctx context.Context, thread string) (bool, error) {
	_, err := h.DB.ShareOf(ctx, principal.Owner(ctx), thread)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
