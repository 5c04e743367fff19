package community

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// wikipedia uses MediaWiki's API. It comes last because it only finds its own pages.
func wikipedia() *provider {
	type result struct {
		Title, Snippet string
	}
	return &provider{name: "wikipedia", base: "https://en.wikipedia.org", keyless: true,
		search: func(ctx context.Context, c *call, query string, most int) ([]Hit, error) {
			if c.choice.Base == "" {
				top := *c.base
				top.Host = wikipediaIn(c.choice.Region, query) + ".wikipedia.org"
				c.base = &top
			}
			var out struct {
				Query *struct{ Search []result }
			}
			err := c.get(ctx, "/w/api.php", url.Values{"action": {"query"}, "list": {"search"}, "format": {"json"},
				"srprop": {"snippet"}, "srlimit": {strconv.Itoa(most)}, "srsearch": {query}}, nil, &out)
			if err != nil {
				return nil, err
			}
			if out.Query == nil { // an error is an answer, too
				return nil, c.problem(Rejected, 0, "")
			}
			return hits(out.Query.Search, func(r result) Hit {
				at := *c.base
				at.Path, at.RawQuery = "/wiki/"+strings.ReplaceAll(r.Title, " ", "_"), ""
				return Hit{Title: r.Title, URL: at.String(), Text: r.Snippet}
			}), nil
		},
	}
}

// wikipediaIn returns the language edition for a query: by its script, else by the region.
func wikipediaIn(region, query string) string {
	switch {
	case strings.IndexFunc(query, func(r rune) bool { return unicode.In(r, unicode.Hiragana, unicode.Katakana) }) >= 0:
		return "ja"
	case strings.IndexFunc(query, func(r rune) bool { return unicode.Is(unicode.Han, r) }) >= 0:
		return "zh"
	case strings.IndexFunc(query, func(r rune) bool { return unicode.Is(unicode.Hangul, r) }) >= 0:
		return "ko"
	}
	if _, language := regionOf(region); language != "" {
		return language
	}
	return "en"
}

// regionOf splits a region such as de-de or jp-jp into its country and its language.
func regionOf(region string) (country, language string) {
	country, language, ok := strings.Cut(strings.ToLower(region), "-")
	if !ok || country == "wt" {
		return "", ""
	}
	if own, ok := map[string]string{"jp": "ja", "kr": "ko", "tzh": "zh", "tw": "zh", "cn": "zh"}[language]; ok {
		language = own
	}
	if len(language) != 2 || strings.Trim(language, "abcdefghijklmnopqrstuvwxyz") != "" {
		language = ""
	}
	return country, language
}
