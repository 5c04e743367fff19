package community

import (
	"bytes"
	"context"
	"net/http"
	"net/url"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// mojeek parses the results page of a search engine with its own index.
func mojeek() *provider {
	return &provider{name: "mojeek", base: "https://www.mojeek.com", keyless: true, search: mojeekSearch,
		classify: func(status int, _ []byte) Class {
			if status == http.StatusForbidden {
				return Captcha
			}
			return ""
		},
	}
}

func mojeekSearch(ctx context.Context, c *call, query string, _ int) ([]Hit, error) {
	q := url.Values{"q": {query}}
	if _, language := regionOf(c.choice.Region); language != "" {
		q.Set("lb", language)
	}
	if c.choice.SafeSearch == "moderate" || c.choice.SafeSearch == "strict" {
		q.Set("safe", "1")
	}
	page, _, err := c.send(ctx, http.MethodGet, c.at("/search", q), nil, map[string]string{"Accept": "text/html"})
	if err != nil {
		return nil, err
	}
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return nil, c.problem(Malformed, 0, "")
	}
	var list []Hit
	known := false
	for n := range doc.Descendants() {
		switch {
		case n.DataAtom == atom.Form && attr(n, "action") == "/search", has(n, "no-results"):
			known = true // a page of results, even without any
		case n.DataAtom == atom.Ul && has(n, "results-standard"):
			known = true
			for item := range n.ChildNodes() {
				if h := mojeekHit(item); h.URL != "" {
					list = append(list, h)
				}
			}
		}
	}
	switch {
	case len(list) > 0:
		return list, nil
	case bytes.Contains(page, []byte("captcha")):
		return nil, c.problem(Captcha, 0, "")
	case !known:
		return nil, c.problem(Malformed, 0, "")
	}
	return nil, nil
}

// mojeekHit reads one result.
func mojeekHit(item *html.Node) (h Hit) {
	if item.DataAtom != atom.Li {
		return h
	}
	for n := range item.Descendants() {
		switch {
		case n.DataAtom == atom.A && n.Parent.DataAtom == atom.H2:
			h.Title, h.URL = elementText(n), attr(n, "href")
		case n.DataAtom == atom.P && has(n, "s"):
			h.Text = elementText(n)
		}
	}
	return h
}
