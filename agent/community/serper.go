package community

import (
	"bytes"
	"context"
)

// serper returns Google's results.
func serper() *provider {
	header := func(c *call) map[string]string { return map[string]string{"X-API-KEY": c.key} }
	return &provider{name: "serper", base: "https://google.serper.dev", env: []string{"SERPER_API_KEY"},
		search: func(ctx context.Context, c *call, query string, most int) ([]Hit, error) {
			var out struct {
				Organic []struct{ Title, Link, Snippet string }
			}
			err := c.post(ctx, "/search", map[string]any{"q": query, "num": most}, header(c), &out)
			return hits(out.Organic, func(r struct{ Title, Link, Snippet string }) Hit {
				return Hit{Title: r.Title, URL: r.Link, Text: r.Snippet}
			}), err
		},
		images: func(ctx context.Context, c *call, q imageQuery) ([]Image, error) {
			type result struct {
				Title, Link string
				ImageURL    string `json:"imageUrl"`
				Thumbnail   string `json:"thumbnailUrl"`
			}
			var out struct{ Images []result }
			err := c.post(ctx, "/images", map[string]any{"q": q.text, "num": q.most}, header(c), &out)
			return pictures(out.Images, func(r result) Image {
				return Image{Title: r.Title, URL: r.ImageURL, Thumbnail: r.Thumbnail, Page: r.Link}
			}), err
		},
		classify: func(_ int, body []byte) Class {
			if bytes.Contains(bytes.ToLower(body), []byte("not enough credits")) {
				return Quota
			}
			return ""
		},
	}
}
