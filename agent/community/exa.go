package community

import (
	"context"
	"strings"
)

// exa searches by meaning, and reads pages.
func exa() *provider {
	header := func(c *call) map[string]string { return map[string]string{"x-api-key": c.key} }
	type result struct {
		Title, URL, Text string
		Highlights       []string
	}
	type answer struct{ Results []result }
	return &provider{name: "exa", base: "https://api.exa.ai", env: []string{"EXA_API_KEY"},
		search: func(ctx context.Context, c *call, query string, most int) ([]Hit, error) {
			var out answer
			err := c.post(ctx, "/search", map[string]any{"query": query, "numResults": most, "type": "auto",
				"contents": map[string]any{"text": map[string]any{"maxCharacters": 1000}}}, header(c), &out)
			return hits(out.Results, func(r result) Hit {
				text := strings.Join(r.Highlights, " … ")
				if text == "" {
					text = r.Text
				}
				return Hit{Title: r.Title, URL: r.URL, Text: text}
			}), err
		},
		read: func(ctx context.Context, c *call, address string) (reading, error) {
			var out answer
			err := c.post(ctx, "/contents", map[string]any{"urls": []string{address}, "text": true}, header(c), &out)
			if err != nil || len(out.Results) == 0 {
				return reading{}, err
			}
			r := out.Results[0]
			return reading{title: r.Title, address: r.URL, text: r.Text}, nil
		},
	}
}
