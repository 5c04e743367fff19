package httpx

import (
	"net/http"
	"net/url"

	"fawn/web/proxy"
)

// Origin returns the address of this server as the client knows it: in front of it may be a server that speaks TLS,
// which a trusted proxy or the browser's own page tells.
func Origin(r *http.Request) string {
	scheme := proxy.Of(r).Scheme
	for _, name := range []string{"Origin", "Referer"} {
		if from, err := url.Parse(r.Header.Get(name)); err == nil && from.Host == r.Host && from.Scheme == "https" {
			scheme = from.Scheme
		}
	}
	return scheme + "://" + r.Host
}

// Root is Origin with the path below which the client sees this server.
func Root(r *http.Request) string { return Origin(r) + proxy.Of(r).Base }
