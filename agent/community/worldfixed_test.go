package community_test

import (
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"fawn/agent/community"
	"fawn/sandbox/netguard"
)

// roundTrips answers requests by a func.
type roundTrips func(*http.Request) *http.Response

func (f roundTrips) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// TestAFixedWorldIsAllThereIs: searches and reads go to it, over its redirects and dead links, and nothing is connected to.
func TestAFixedWorldIsAllThereIs(t *testing.T) {
	t.Parallel()
	world := &community.World{
		Search: func(query string, most int) []community.Hit {
			if query != "tides" || most != 5 {
				return nil
			}
			return []community.Hit{{Title: "Tides", URL: "https://a.example/old", Text: "High and low"},
				{Title: "Bad", URL: "file:///etc/passwd"}}
		},
		Pages: roundTrips(func(r *http.Request) *http.Response {
			res := &http.Response{StatusCode: 404, Header: http.Header{"Content-Type": {"text/plain"}}, Request: r}
			body := "gone"
			switch r.URL.String() {
			case "https://a.example/old":
				res.StatusCode, res.Header = 301, http.Header{"Location": {"https://b.example/new"}}
			case "https://b.example/new":
				res.StatusCode, body = 200, "The tide is 3.2 metres."
			case "https://a.example/round":
				res.StatusCode, res.Header = 301, http.Header{"Location": {"https://a.example/round"}}
			}
			res.Body = io.NopCloser(strings.NewReader(body))
			return res
		}),
	}
	w := newWorld(t, func(c *community.Config) {
		c.World = world
		c.Guard = func([]netip.Prefix) *netguard.Guard {
			return &netguard.Guard{Resolve: nil, Local: func() ([]netip.Addr, error) {
				t.Error("an address was judged as if it were connected to")
				return nil, nil
			}}
		}
	})
	w.set.Search.Provider = "tavily"
	w.env["BRAVE_API_KEY"] = canary
	if got := found(t, w.call("web_search", `{"query": "tides"}`)); got != "1 Tides https://a.example/old High and low" {
		t.Error(got)
	}
	if r := w.call("web_search", `{"query": "nothing"}`); !strings.Contains(r.Content.String(), "No results found") {
		t.Error(r.Content)
	}
	if r := w.call("image_search", `{"query": "tides"}`); !strings.Contains(r.Content.String(), "No images found") {
		t.Error(r.Content)
	}
	r := w.call("web_fetch", `{"url": "https://a.example/old", "render": true}`)
	if !strings.Contains(r.Content.String(), "https://b.example/new") || !strings.Contains(r.Content.String(), "3.2 metres") {
		t.Error(r.Content)
	}
	for _, at := range []string{"https://a.example/none", "https://a.example/round", "http://127.0.0.1/"} {
		if r := w.call("web_fetch", `{"url": "`+at+`"}`); !strings.HasPrefix(r.Content.String(), "Error: ") {
			t.Error(at, r.Content)
		}
	}
}
