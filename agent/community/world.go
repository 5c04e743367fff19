package community

import (
	"errors"
	"net/http"
	"time"
)

// fixed is the name of a [World] where services are named.
const fixed = "fixed web"

// World is a fixed set of pages in place of the web, such as an evaluation has. No service is asked, nothing is
// connected to, and no page is shown in a browser.
type World struct {
	// Search finds pages, the best first.
	Search func(query string, most int) []Hit
	// Pages answers requests for pages. Redirects are followed by the caller.
	Pages http.RoundTripper
}

// maxRedirects limits the redirects of a page.
const maxRedirects = 5

// find searches the world.
func (w *World) find(query string, most int) (out outcome[[]Hit], err error) {
	out.found, out.provider = tidy(w.Search(query, most), most), fixed
	if len(out.found) == 0 {
		p := &Problem{Provider: fixed, Class: Empty}
		return outcome[[]Hit]{notes: []string{p.Error()}}, p
	}
	return out, nil
}

// client reads pages of the world.
func (w *World) client(limit time.Duration) *http.Client {
	return &http.Client{Transport: w.Pages, Timeout: limit, CheckRedirect: func(_ *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return errors.New("too many redirects")
		}
		return nil
	}}
}

// pictures returns a search for pictures: a world has none.
func (w *World) pictures() (outcome[[]Image], error) {
	p := &Problem{Provider: fixed, Class: Empty}
	return outcome[[]Image]{notes: []string{p.Error()}}, p
}
