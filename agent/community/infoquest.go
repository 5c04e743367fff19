package community

import (
	"bytes"
	"context"
	"encoding/json"
)

// infoquest returns BytePlus's search. Its reader is on another host, so it is used only without a custom address for
// the search.
func infoquest() *provider {
	type result struct{ Title, URL, Desc, Original string }
	type answer struct {
		Search *struct {
			Results []struct {
				Content struct {
					Results struct {
						Organic []result
						Images  []result                 `json:"images_results"`
						Stories struct{ Items []result } `json:"top_stories"`
					}
				}
			}
		} `json:"search_result"`
	}
	return &provider{name: "infoquest", base: "https://search.infoquest.bytepluses.com",
		env: []string{"INFOQUEST_API_KEY"},
		search: func(ctx context.Context, c *call, query string, _ int) ([]Hit, error) {
			var out answer
			err := c.post(ctx, "", map[string]any{"format": "JSON", "query": query}, c.bearer(), &out)
			if err == nil && out.Search == nil {
				err = c.problem(Malformed, 0, "")
			}
			if err != nil {
				return nil, err
			}
			var all []result
			for _, r := range out.Search.Results {
				all = append(append(all, r.Content.Results.Organic...), r.Content.Results.Stories.Items...)
			}
			return hits(all, func(r result) Hit { return Hit{Title: r.Title, URL: r.URL, Text: r.Desc} }), nil
		},
		images: func(ctx context.Context, c *call, q imageQuery) ([]Image, error) {
			var out answer
			err := c.post(ctx, "", map[string]any{"format": "JSON", "query": q.text, "search_type": "Images"},
				c.bearer(), &out)
			if err == nil && out.Search == nil {
				err = c.problem(Malformed, 0, "")
			}
			if err != nil {
				return nil, err
			}
			var all []result
			for _, r := range out.Search.Results {
				all = append(all, r.Content.Results.Images...)
			}
			return pictures(all, func(r result) Image {
				return Image{Title: r.Title, URL: r.Original, Page: r.URL}
			}), nil
		},
		read: func(ctx context.Context, c *call, address string) (reading, error) {
			if c.choice.Base == "" {
				reader := *c.base
				reader.Host = "reader.infoquest.bytepluses.com"
				c.base = &reader
			}
			b, err := json.Marshal(map[string]any{"url": address, "format": "HTML"})
			if err != nil {
				return reading{}, c.problem(Rejected, 0, "")
			}
			header := c.bearer()
			header["Content-Type"] = "application/json"
			data, _, err := c.send(ctx, "POST", c.at("", nil), b, header)
			if err != nil {
				return reading{}, err
			}
			var out struct {
				Result  string `json:"reader_result"`
				Content string
			}
			if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) && json.Unmarshal(data, &out) == nil {
				if out.Result == "" {
					out.Result = out.Content
				}
				data = []byte(out.Result)
			}
			return reading{address: address, html: data}, nil
		},
	}
}
