package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/config"
	"fawn/views"
	"fawn/web/proxy"
)

// openProxy applies the proxy settings of the configuration and the command line.
func (f *front) openProxy(s config.Server, userHeader, flag string) (err error) {
	if f.trust, err = proxy.Parse(s.TrustedProxies); err != nil {
		return fmt.Errorf("server.trusted_proxies in the config: %w", err)
	}
	if f.vouches = userHeader; userHeader != "" && len(s.TrustedProxies) == 0 {
		return fmt.Errorf("auth.proxy_header in the config needs server.trusted_proxies: the addresses of the proxies that may name the user")
	}
	base, ok := cmp.Or(flag, s.BasePath), false
	if f.base, ok = proxy.CleanBase(base); !ok {
		return fmt.Errorf("the base path %q (--base-path, or server.base_path in the config) isn't a path such as /fawn, "+
			"made of letters, digits and -._~", base)
	}
	return nil
}

// resolved returns a request as if there were no proxy in front: from the client itself, and for a path from the root.
// Proxies may pass the base path on or take it away.
func (f *front) resolved(r *http.Request) *http.Request {
	if f.vouches != "" && !f.trust.Contains(proxy.Of(r).Addr) {
		r.Header.Del(f.vouches) // only trusted proxies may set it
	}
	r = f.trust.Resolve(r)
	client := proxy.Of(r)
	client.Base = cmp.Or(client.Base, f.base)
	if client.Base == "" {
		return r
	}
	r = r.WithContext(views.WithBase(proxy.With(r.Context(), client), client.Base))
	if path, ok := withoutBase(r.URL.Path, f.base); ok {
		if raw, ok := withoutBase(r.URL.RawPath, f.base); ok || r.URL.RawPath == "" {
			r.URL.Path, r.URL.RawPath = path, raw
		}
	}
	for _, name := range [...]string{"Referer", "Hx-Current-Url"} {
		if from, err := url.Parse(r.Header.Get(name)); err == nil && from.Host == r.Host {
			if path, ok := withoutBase(from.Path, client.Base); ok {
				from.Path, from.RawPath = path, ""
				r.Header.Set(name, from.String())
			}
		}
	}
	return r
}

// withoutBase returns a path seen from the base.
func withoutBase(path, base string) (string, bool) {
	rest, ok := strings.CutPrefix(path, base)
	if base == "" || !ok || rest != "" && rest[0] != '/' {
		return path, false
	}
	return cmp.Or(rest, "/"), true
}

// addresses are the headers of answers that name an address of this server. Location is one
// only in a redirect: that of a run is read by SDKs, which put their own base in front.
var addresses = [...]string{"Content-Location", "Hx-Redirect", "Hx-Location", "Hx-Push-Url", "Hx-Replace-Url"}

// based adds the base path to the addresses and cookies in the headers of a response.
func based(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		base := views.Base(c.Request().Context())
		if base == "" {
			return next(c)
		}
		res := c.Response()
		res.Before(func() {
			h := res.Header()
			for _, name := range addresses {
				below(h, name, base)
			}
			if res.Status >= 300 && res.Status < 400 {
				below(h, "Location", base)
			}
			for i, cookie := range h["Set-Cookie"] {
				h["Set-Cookie"][i] = cookieBelow(cookie, base)
			}
		})
		return next(c)
	}
}

// below changes a header with an address that begins at the root.
func below(h http.Header, name, base string) {
	if v := h.Get(name); strings.HasPrefix(v, "/") && !strings.HasPrefix(v, "//") {
		h.Set(name, base+v)
	}
}

// cookieBelow restricts the server's cookies to paths below the base. Those with the prefix __Host- must be for the
// root.
func cookieBelow(cookie, base string) string {
	if strings.HasPrefix(cookie, "__Host-") {
		return cookie
	}
	parts := strings.Split(cookie, "; ")
	for i, p := range parts[1:] {
		if name, path, _ := strings.Cut(p, "="); strings.EqualFold(name, "Path") && strings.HasPrefix(path, "/") {
			parts[i+1] = "Path=" + base + strings.TrimSuffix(path, "/")
		}
	}
	return strings.Join(parts, "; ")
}
