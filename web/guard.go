package web

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/web/httpx"
)

// exposed are the response headers scripts of other allowed origins may read.
const exposed = "content-location, location, x-pagination-total, x-pagination-next, retry-after, x-trace-id"

// guard admits only requests addressed to this server from an allowed origin. Without accounts this protects against
// other web pages, including those whose host name is rebound to this machine.
func (a *App) guard(next echo.HandlerFunc) echo.HandlerFunc {
	var cross http.CrossOriginProtection
	return func(c echo.Context) error {
		r, h := c.Request(), c.Response().Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		if !a.hostAllowed(r) && !(r.Host == "" && slices.Contains(healthPaths(), c.Path())) {
			return refuse(c, http.StatusMisdirectedRequest,
				"this server doesn't recognise the host %q; to allow it, add it to server.hosts in the config", hostName(r.Host))
		}
		origin := r.Header.Get("Origin")
		allowed := origin != "" && a.originAllowed(origin)
		h.Add("Vary", "Origin") // also without one: a cache must not return this response to another origin
		if allowed {
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Access-Control-Expose-Headers", exposed)
			if a.people.accounts.Required() && slices.Contains(a.config.Current().File.Server.CORSOrigins, origin) {
				h.Set("Access-Control-Allow-Credentials", "true") // the session's cookie
			}
		}
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			if !allowed {
				return refuseOrigin(c, origin)
			}
			h.Set("Access-Control-Allow-Methods", "GET, HEAD, PUT, POST, DELETE, PATCH, OPTIONS")
			h.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
			h.Set("Access-Control-Max-Age", "600")
			return c.NoContent(http.StatusNoContent)
		}
		if !allowed && (origin == "null" && !safe(r.Method) || cross.Check(r) != nil) {
			return refuseOrigin(c, origin)
		}
		return next(c)
	}
}

func refuseOrigin(c echo.Context, origin string) error {
	return refuse(c, http.StatusForbidden,
		"the origin %q may not call this server; add it to server.cors_origins in the config if it should", origin)
}

// refuse responds directly, bypassing the pages' error handler: an error page lists the chats, which a page with a
// rebound host name could read.
func refuse(c echo.Context, status int, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if strings.Contains(c.Request().Header.Get("Accept"), "text/html") {
		return c.String(status, text+"\n")
	}
	return httpx.JSON(c, status, map[string]string{"detail": text})
}

func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// hostAllowed reports whether a host is a loopback name, the connection's local address, or a configured name.
func (a *App) hostAllowed(r *http.Request) bool {
	host := hostName(r.Host)
	if IsLoopback(host) {
		return true
	}
	bound, _, err := net.SplitHostPort(a.opts.Addr)
	if err == nil && strings.EqualFold(host, bound) {
		return true
	}
	if at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok {
		if ip := net.ParseIP(host); ip != nil && ip.Equal(at.IP) {
			return true
		}
	}
	return slices.ContainsFunc(a.names(),
		func(s string) bool { return strings.EqualFold(s, host) })
}

// hostName returns the host of a Host header without port and brackets. Text that only resembles a host with port is
// unchanged and matches no name.
func hostName(s string) string {
	if host, port, err := net.SplitHostPort(s); err == nil {
		if strings.Trim(port, "0123456789") != "" {
			return s
		}
		return host
	}
	return strings.Trim(s, "[]")
}

// originAllowed reports whether an origin is configured, or loopback while only this machine can connect. The server's
// own origin is left to http.CrossOriginProtection.
func (a *App) originAllowed(origin string) bool {
	if slices.Contains(a.config.Current().File.Server.CORSOrigins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || origin != u.Scheme+"://"+u.Host {
		return false
	}
	bound, _, err := net.SplitHostPort(a.opts.Addr)
	return err == nil && IsLoopback(bound) && IsLoopback(u.Hostname())
}
