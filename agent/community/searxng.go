package community

import (
	"context"
	"errors"
	"net/http"
	"net/url"
)

// searxng returns a search engine that people run themselves. Its settings must allow JSON.
func searxng() *provider {
	type result struct {
		Title, URL, Content string
		Image               string `json:"img_src"`
		Thumbnail           string `json:"thumbnail_src"`
	}
	ask := func(ctx context.Context, c *call, query, category string) ([]result, error) {
		q := url.Values{"q": {query}, "format": {"json"}, "categories": {category}}
		if c.choice.Region != "" {
			q.Set("language", c.choice.Region)
		}
		if level, ok := map[string]string{"off": "0", "moderate": "1", "strict": "2"}[c.choice.SafeSearch]; ok {
			q.Set("safesearch", level)
		}
		var out struct{ Results []result }
		err := c.get(ctx, "/search", q, nil, &out)
		if p := (*Problem)(nil); errors.As(err, &p) && p.Status == http.StatusForbidden {
			p.Detail = "add json to search.formats in its settings.yml"
		}
		return out.Results, err
	}
	return &provider{name: "searxng", keyless: true,
		search: func(ctx context.Context, c *call, query string, _ int) ([]Hit, error) {
			list, err := ask(ctx, c, query, "general")
			return hits(list, func(r result) Hit { return Hit{Title: r.Title, URL: r.URL, Text: r.Content} }), err
		},
		images: func(ctx context.Context, c *call, q imageQuery) ([]Image, error) {
			list, err := ask(ctx, c, q.text, "images")
			return pictures(list, func(r result) Image {
				return Image{Title: r.Title, URL: r.Image, Thumbnail: r.Thumbnail, Page: r.URL}
			}), err
		},
		classify: func(status int, _ []byte) Class {
			if status == http.StatusForbidden {
				return Rejected
			}
			return ""
		},
	}
}
