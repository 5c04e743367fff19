package community

import (
	"context"
	"net/http"
)

// tavily returns a search for agents, which also reads pages.
func tavily() *provider {
	return &provider{name: "tavily", base: "https://api.tavily.com", env: []string{"TAVILY_API_KEY"},
		search: func(ctx context.Context, c *call, query string, most int) ([]Hit, error) {
			var out struct {
				Results []struct{ Title, URL, Content string }
			}
			err := c.post(ctx, "/search", map[string]any{"query": query, "max_results": most, "search_depth": "basic"},
				c.bearer(), &out)
			return hits(out.Results, func(r struct{ Title, URL, Content string }) Hit {
				return Hit{Title: r.Title, URL: r.URL, Text: r.Content}
			}), err
		},
		read: func(ctx context.Context, c *call, address string) (reading, error) {
			var out struct {
				Results []struct {
					URL string
					Raw string `json:"raw_content"`
				}
			}
			err := c.post(ctx, "/extract", map[string]any{"urls": []string{address}, "format": "markdown"},
				c.bearer(), &out)
			if err != nil || len(out.Results) == 0 {
				return reading{}, err
			}
			return reading{address: out.Results[0].URL, text: out.Results[0].Raw}, nil
		},
		classify: func(status int, _ []byte) Class {
			if status == 432 || status == 433 { // limits of the plan, and of pay-as-you-go
				return Quota
			}
			if status == http.StatusForbidden {
				return Rejected
			}
			return ""
		},
	}
}
