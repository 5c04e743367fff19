package web

import (
	"cmp"
	"fmt"
	"net/http"

	"fawn/agent/config"
	"fawn/web/proxy"
)

// openProxy takes over what the configuration and the command line say about proxies.
func (a *App) openProxy(s config.Server) (err error) {
	if a.trust, err = proxy.Parse(s.TrustedProxies); err != nil {
		return fmt.Errorf("server.trusted_proxies in the config: %w", err)
	}
	base, ok := cmp.Or(a.opts.Base, s.BasePath), false
	if a.base, ok = proxy.CleanBase(base); !ok {
		return fmt.Errorf("the base path %q (--base-path, or server.base_path in the config) isn't a path such as /fawn, "+
			"made of letters, digits and -._~", base)
	}
	return nil
}

// resolved is the request as the client sent it, before proxies.
func (a *App) resolved(r *http.Request) *http.Request { return a.trust.Resolve(r) }
