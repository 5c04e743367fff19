package httpx

import (
	"net/http"
	"net/url"

	"fawn/web/proxy"
)

// Origin returns this server's address as seen by the client: a TLS proxy in front of it is detected by a trusted
// proxy's headers or the browser's own page.
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
