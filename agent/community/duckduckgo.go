package community

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// duckduckgo reads the results as its page for browsers without script shows them.
func duckduckgo() *provider {
	return &provider{name: "duckduckgo", module: []string{"ddg_search", "duckduckgo"},
		base: "https://html.duckduckgo.com", keyless: true, search: duckSearch, images: duckImages,
		classify: func(status int, body []byte) Class {
			if status == http.StatusForbidden || duckAsks(body) {
				return Captcha
			}
			return ""
		},
	}
}

// duckAsks reports whether a page is a challenge for humans.
func duckAsks(page []byte) bool { return bytes.Contains(page, []byte("anomaly-modal")) }

func duckForm(c *call, query string) url.Values {
	q := url.Values{"q": {query}}
	if c.choice.Region != "" {
		q.Set("kl", c.choice.Region)
	}
	if level, ok := map[string]string{"off": "-2", "moderate": "-1", "strict": "1"}[c.choice.SafeSearch]; ok {
		q.Set("kp", level)
	}
	return q
}

func duckSearch(ctx context.Context, c *call, query string, _ int) ([]Hit, error) {
	page, status, err := c.send(ctx, http.MethodPost, c.at("/html/", nil), []byte(duckForm(c, query).Encode()),
		map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Accept": "text/html"})
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
		if n.DataAtom != atom.Div {
			continue
		}
		switch {
		case has(n, "no-results"), has(n, "result--no-result"):
			known = true
		case has(n, "result") && !has(n, "result--ad"):
			known = true
			if h := duckHit(n); h.URL != "" {
				list = append(list, h)
			}
		}
	}
	switch {
	case len(list) > 0 || known:
		return list, nil
	case duckAsks(page) || status == http.StatusAccepted:
		return nil, c.problem(Captcha, status, "")
	}
	return nil, c.problem(Malformed, 0, "")
}

// duckHit reads one result.
func duckHit(result *html.Node) (h Hit) {
	for n := range result.Descendants() {
		switch {
		case n.DataAtom == atom.A && has(n, "result__a"):
			h.Title, h.URL = elementText(n), duckTarget(attr(n, "href"))
		case has(n, "result__snippet"):
			h.Text = elementText(n)
		}
	}
	return h
}

// duckTarget returns the target of a link: some pass through DuckDuckGo's click counter; advertisements have no target.
func duckTarget(href string) string {
	u, err := url.Parse(href)
	if err != nil {
		return ""
	}
	if to := u.Query().Get("uddg"); to != "" {
		href = to
		if u, err = url.Parse(to); err != nil {
			return ""
		}
	}
	if strings.HasSuffix(u.Hostname(), "duckduckgo.com") && u.Path == "/y.js" {
		return ""
	}
	return href
}

// duckToken is required for image searches and taken from the page.
var duckToken = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`vqd=["']?([0-9-]{10,80})`) })

func duckImages(ctx context.Context, c *call, q imageQuery) ([]Image, error) {
	if c.choice.Base == "" {
		top := *c.base
		top.Host = "duckduckgo.com"
		c.base = &top
	}
	form := duckForm(c, q.text)
	form.Set("iax", "images")
	form.Set("ia", "images")
	page, _, err := c.send(ctx, http.MethodGet, c.at("/", form), nil, map[string]string{"Accept": "text/html"})
	if err != nil {
		return nil, err
	}
	token := duckToken().FindSubmatch(page)
	if token == nil {
		return nil, c.problem(Captcha, 0, "")
	}
	form = duckForm(c, q.text)
	form.Set("o", "json")
	form.Set("vqd", string(token[1]))
	// Six filters by their places: time, size, colour, type, layout and licence.
	form.Set("f", strings.Join([]string{"", under("size:", q.size), "", under("type:", q.kind),
		under("layout:", q.layout), ""}, ","))
	if form.Get("kl") == "" {
		form.Set("l", "wt-wt")
	}
	data, _, err := c.send(ctx, http.MethodGet, c.at("/i.js", form), nil,
		map[string]string{"Accept": "application/json", "Referer": c.at("/", nil)})
	if err != nil {
		return nil, err
	}
	type result struct{ Title, Image, Thumbnail, URL string }
	var out struct{ Results []result }
	if json.Unmarshal(data, &out) != nil {
		return nil, c.problem(Malformed, 0, "")
	}
	return pictures(out.Results, func(r result) Image {
		return Image{Title: r.Title, URL: r.Image, Thumbnail: r.Thumbnail, Page: r.URL}
	}), nil
}

// under returns a filter, or none without a value.
func under(name, value string) string {
	if value == "" {
		return ""
	}
	return name + value
}

// has reports whether an element has a class.
func has(n *html.Node, class string) bool {
	return n.Type == html.ElementNode && strings.Contains(" "+strings.Join(strings.Fields(attr(n, "class")), " ")+" ",
		" "+class+" ")
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// elementText returns the text of an element on one line.
func elementText(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
