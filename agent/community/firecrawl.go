package community

import (
	"context"
	"encoding/json"
)

// firecrawl searches and reads pages with its own browser; it can be self-hosted.
func firecrawl() *provider {
	type result struct{ Title, URL, Description string }
	return &provider{name: "firecrawl", base: "https://api.firecrawl.dev", env: []string{"FIRECRAWL_API_KEY"},
		search: func(ctx context.Context, c *call, query string, most int) ([]Hit, error) {
			var out struct {
				Data json.RawMessage // a list in the first version, lists by kind in the second
			}
			err := c.post(ctx, "/v1/search", map[string]any{"query": query, "limit": most}, c.bearer(), &out)
			if err != nil {
				return nil, err
			}
			var list []result
			if json.Unmarshal(out.Data, &list) != nil {
				var kinds struct{ Web []result }
				if json.Unmarshal(out.Data, &kinds) != nil {
					return nil, c.problem(Malformed, 0, "")
				}
				list = kinds.Web
			}
			return hits(list, func(r result) Hit { return Hit{Title: r.Title, URL: r.URL, Text: r.Description} }), nil
		},
		read: func(ctx context.Context, c *call, address string) (reading, error) {
			var out struct {
				Data struct {
					Markdown string
					Metadata struct {
						Title     string
						SourceURL string `json:"sourceURL"`
						Status    int    `json:"statusCode"`
					}
				}
			}
			err := c.post(ctx, "/v1/scrape", map[string]any{"url": address, "formats": []string{"markdown"},
				"onlyMainContent": true}, c.bearer(), &out)
			if m := out.Data.Metadata; err == nil && m.Status >= 400 {
				err = c.problem(Rejected, m.Status, "the page")
			}
			return reading{title: out.Data.Metadata.Title, address: out.Data.Metadata.SourceURL,
				text: out.Data.Markdown}, err
		},
	}
}
