package files

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/web/ui/page"
)

// An agent's page opened in its own window could navigate to any address, leaking its content. In a frame it can only
// go where the enclosing page's policy allows.
const (
	framePolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-src 'self'; frame-ancestors 'self'; " +
		"base-uri 'none'; form-action 'none'"
	frameParam = "framed"
)

// runs reports whether browsers execute files of that kind.
func runs(kind string) bool {
	base, _, _ := strings.Cut(kind, ";")
	return slices.Contains([]string{"text/html", "application/xhtml+xml", "image/svg+xml", "text/xml", "application/xml"},
		strings.TrimSpace(base))
}

// opensAlone reports whether a request is for a separate window. Browsers report it, but not over plain HTTP; then only
// our frames have this file's mark.
func (h *Handlers) opensAlone(r *http.Request, thread, file string) bool {
	switch r.Header.Get("Sec-Fetch-Dest") {
	case "document":
		return true
	case "":
		return page.WantsPage(r) && !h.marked(r, thread, file)
	}
	return false
}

// marked reports whether a request comes from one of our frames.
func (h *Handlers) marked(r *http.Request, thread, file string) bool {
	given := r.URL.Query().Get(frameParam)
	return given != "" && hmac.Equal([]byte(given), []byte(h.frameMark(thread, file)))
}

// frameMark returns a parameter that agents can't put into a link to a file.
func (h *Handlers) frameMark(thread, file string) string {
	h.marking.Do(func() {
		if h.key = h.Key; h.key == nil {
			h.key = make([]byte, 32)
			rand.Read(h.key) //nolint:errcheck // never fails
		}
	})
	mac := hmac.New(sha256.New, h.key)
	fmt.Fprintf(mac, "frame %q %q", thread, file)
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// frame answers with a page that has the file in a frame and nothing else.
func (h *Handlers) frame(c echo.Context, thread, file string) error {
	name := path.Base(file)
	q := url.Values{frameParam: {h.frameMark(thread, file)}}
	// "./" keeps a colon in the name from being read as a scheme.
	src := "./" + url.PathEscape(name) + "?" + q.Encode()
	header := c.Response().Header()
	header.Set("Content-Security-Policy", framePolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-DNS-Prefetch-Control", "off")
	header.Set("Cache-Control", "private, no-cache")
	header.Add("Vary", "Sec-Fetch-Dest")
	if page.ForLink(c.Request()) {
		page.Private(header)
	}
	return c.HTML(http.StatusOK, `<!doctype html><html><head><meta charset="utf-8"><title>`+html.EscapeString(name)+
		`</title><meta name="viewport" content="width=device-width, initial-scale=1">`+
		`<style>html,body{margin:0;height:100%}iframe{border:0;width:100%;height:100%;display:block}</style></head>`+
		`<body><iframe sandbox="allow-scripts" title="`+html.EscapeString(name)+`" src="`+html.EscapeString(src)+
		`"></iframe></body></html>`)
}
