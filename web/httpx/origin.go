package httpx

import (
	"net/http"
	"net/url"
)

// Origin is the address of this server as the client knows it: in front of it may be a server
// that speaks TLS, and that server or the browser's own page tells.
func Origin(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	for _, name := range []string{"Origin", "Referer"} {
		if from, err := url.Parse(r.Header.Get(name)); err == nil && from.Host == r.Host && from.Scheme == "https" {
			scheme = from.Scheme
		}
	}
	return scheme + "://" + r.Host
}
