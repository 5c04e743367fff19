package community

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// brave returns the index of the Brave browser.
func brave() *provider {
	header := func(c *call) map[string]string { return map[string]string{"X-Subscription-Token": c.key} }
	return &provider{name: "brave", base: "https://api.search.brave.com/res/v1",
		env: []string{"BRAVE_SEARCH_API_KEY", "BRAVE_API_KEY"},
		search: func(ctx context.Context, c *call, query string, most int) ([]Hit, error) {
			var out struct {
				Web struct {
					Results []struct{ Title, URL, Description string }
				}
			}
			q := url.Values{"q": {query}, "count": {strconv.Itoa(min(most, 20))}}
			if c.choice.SafeSearch != "" {
				q.Set("safesearch", c.choice.SafeSearch)
			}
			err := c.get(ctx, "/web/search", q, header(c), &out)
			return hits(out.Web.Results, func(r struct{ Title, URL, Description string }) Hit {
				return Hit{Title: r.Title, URL: r.URL, Text: r.Description}
			}), err
		},
		images: func(ctx context.Context, c *call, q imageQuery) ([]Image, error) {
			type result struct {
				Title, URL string
				Thumbnail  struct{ Src string }
				Properties struct{ URL string }
			}
			var out struct{ Results []result }
			err := c.get(ctx, "/images/search", url.Values{"q": {q.text}, "count": {strconv.Itoa(q.most)}},
				header(c), &out)
			return pictures(out.Results, func(r result) Image {
				return Image{Title: r.Title, URL: r.Properties.URL, Thumbnail: r.Thumbnail.Src, Page: r.URL}
			}), err
		},
		classify: func(status int, body []byte) Class {
			switch {
			case bytes.Contains(body, []byte("SUBSCRIPTION_TOKEN_INVALID")):
				return BadKey
			case bytes.Contains(body, []byte("QUOTA_LIMITED")):
				return Quota
			case status == http.StatusUnprocessableEntity:
				return Rejected
			}
			return ""
		},
	}
}
