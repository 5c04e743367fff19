package ui

import (
	"encoding/json"
	"errors"
	"html"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/mcp"
	"fawn/store"
	"fawn/views/i18n"
	"fawn/web/httpx"
	"fawn/web/ui/page"
)

// appPolicy isolates an app's frame in a sandbox without an origin: it runs its page's scripts, and reaches only its
// server's declared hosts, but not this server.
func appPolicy(p mcp.AppPage) string {
	with := func(name, own string, more []string) string {
		if own == "" && len(more) == 0 {
			own = "'none'"
		}
		return "; " + strings.Join(append(strings.Fields(name+" "+own), more...), " ")
	}
	return "sandbox allow-scripts allow-forms; default-src 'none'" +
		with("script-src", "'unsafe-inline' blob:", p.Load) + with("style-src", "'unsafe-inline'", p.Load) +
		with("img-src", "data: blob:", p.Load) + with("media-src", "data: blob:", p.Load) + with("font-src", "data:", p.Load) +
		with("worker-src", "blob:", nil) + with("connect-src", "", p.Connect) + with("frame-src", "", p.Frame) +
		with("base-uri", "", p.Base) + "; form-action 'none'; object-src 'none'; frame-ancestors 'self'"
}

// ownHosts returns the names and addresses under which this server may be found.
func (u *UI) ownHosts(r *http.Request) []string {
	conf := u.Config.Current().File.Server
	hosts := slices.Concat(conf.Hosts, conf.TLS.Domains)
	for _, at := range []string{r.Host, u.Addr} {
		if host, _, err := net.SplitHostPort(at); err == nil {
			at = host
		}
		hosts = append(hosts, at)
	}
	list, _ := net.InterfaceAddrs() // if unreadable, only names remain
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok {
			hosts = append(hosts, n.IP.String())
		}
	}
	return hosts
}

// onApp finds the app of a step.
func (u *UI) onApp(do func(c echo.Context, t store.Thread, a *mcp.App) error) func(echo.Context, store.Thread) error {
	return func(c echo.Context, t store.Thread) error {
		messages, err := u.messages(c, t.ID)
		if err != nil {
			return err
		}
		_, id, ok := callOf(page.Param(c, "step"), messages)
		for i := len(messages) - 1; ok && i >= 0; i-- {
			m := messages[i]
			if m.Type != agent.TypeTool || m.ToolCallID != id {
				continue
			}
			if a := mcp.ReadApp(m.Artifact); a != nil && u.MCP != nil {
				if may, err := u.AppServer(c.Request().Context(), t.Owner, t.ID, a.Server); err != nil {
					return err
				} else if !may {
					return store.ErrNotFound
				}
				return do(c, t, a)
			}
			break
		}
		return store.ErrNotFound
	}
}

// app handles GET /ui/threads/:id/apps/:step: the page of an app, for a frame. Opened on its own it is not shown: it
// could lead anywhere there.
func (u *UI) app(c echo.Context, t store.Thread, a *mcp.App) error {
	if c.Request().Header.Get("Sec-Fetch-Dest") == "document" {
		return store.ErrNotFound
	}
	p, err := u.MCP.AppPage(c.Request().Context(), t.ID, a.Server, a.URI)
	status := http.StatusOK
	var refused *mcp.RefusedError
	switch {
	case errors.As(err, &refused), errors.Is(err, mcp.ErrUnknown), errors.Is(err, mcp.ErrGone):
		why := err.Error()
		if refused == nil {
			why = i18n.C(page.Localized(c), "app.gone")
		}
		status = http.StatusBadGateway
		p.HTML = []byte(`<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark">` +
			`<style>body{font:0.9rem/1.5 system-ui,sans-serif;margin:1rem}</style><p>` +
			html.EscapeString(i18n.C(page.Localized(c), "app.failed", why)) + `</p>`)
	case err != nil:
		return err
	}
	p.Without(u.ownHosts(c.Request())...)
	h := c.Response().Header()
	h.Set("Content-Security-Policy", appPolicy(p))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-DNS-Prefetch-Control", "off")
	h.Set("Cache-Control", "private, no-store")
	h.Add("Vary", "Sec-Fetch-Dest")
	return httpx.Compressed(c, status, echo.MIMETextHTMLCharsetUTF8, p.HTML)
}

// appData handles GET /ui/threads/:id/apps/:step/data: the data for the app.
func (u *UI) appData(c echo.Context, _ store.Thread, a *mcp.App) error {
	c.Response().Header().Set("Cache-Control", "private, no-store")
	return httpx.JSON(c, http.StatusOK, a)
}

// maxAppCall limits the size of an app's call, in bytes.
const maxAppCall = 1 << 20

// appCall handles POST /ui/threads/:id/apps/:step/call: a call that the app asks for.
func (u *UI) appCall(c echo.Context, t store.Thread, a *mcp.App) error {
	var b struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	r := c.Request()
	if err := json.NewDecoder(http.MaxBytesReader(c.Response(), r.Body, maxAppCall)).Decode(&b); err != nil {
		return httpx.Errorf(http.StatusUnprocessableEntity, "The call is not a JSON object, or too large")
	}
	if len(b.Arguments) == 0 || string(b.Arguments) == "null" {
		b.Arguments = json.RawMessage("{}")
	}
	tool, err := u.MCP.AppTool(a.Server, b.Name)
	if errors.Is(err, mcp.ErrUnknown) || errors.Is(err, mcp.ErrGone) {
		return httpx.Errorf(http.StatusNotFound, "The app's server has no such tool")
	}
	if err != nil {
		return err
	}
	turn := &agent.Turn{Owner: t.Owner, ThreadID: t.ID, Log: u.Log}
	call := agent.ToolCall{ID: "app-" + uuid.NewString(), Name: tool.Name, Args: b.Arguments}
	got, err := u.Apps(mcp.ForApp(r.Context()), turn, tool, call)
	if err == nil {
		err = u.Dirs.Save(r.Context(), t.ID) // it may have written files
	}
	if err != nil {
		return err
	}
	if handed := mcp.Handed(got.Artifact); handed != nil {
		return httpx.JSON(c, http.StatusOK, handed)
	}
	return httpx.JSON(c, http.StatusOK, map[string]any{"isError": got.IsError,
		"content": []any{map[string]string{"type": "text", "text": got.Content.String()}}})
}
