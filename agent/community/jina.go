package community

import "context"

// jina reads pages with its own browser; without a key it is slower.
func jina() *provider {
	return &provider{name: "jina", module: []string{"jina_ai"}, base: "https://r.jina.ai",
		env: []string{"JINA_API_KEY"}, keyless: true,
		read: func(ctx context.Context, c *call, address string) (reading, error) {
			header := map[string]string{"X-Return-Format": "markdown"}
			if c.key != "" {
				header = c.bearer()
				header["X-Return-Format"] = "markdown"
			}
			var out struct {
				Data struct{ Title, URL, Content string }
			}
			err := c.post(ctx, "/", map[string]any{"url": address}, header, &out)
			return reading{title: out.Data.Title, address: out.Data.URL, text: out.Data.Content}, err
		},
	}
}
