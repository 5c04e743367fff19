package community

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"golang.org/x/net/html"

	"fawn/agent"
)

// Limits of results, in characters but for the first two.
const (
	usualHits = 5
	mostHits  = 10
	maxTitle  = 300
	maxText   = 1000
	maxURL    = 1000
	maxAll    = 9000 // limit of a whole answer: a longer one would become a file
)

// Hit is a page that a search found.
type Hit struct {
	Number int    `json:"n"` // number of the page in its thread
	Title  string `json:"title"`
	URL    string `json:"url"`
	Text   string `json:"content"`
}

// Image is a picture that a search found.
type Image struct {
	Title     string `json:"title"`
	URL       string `json:"image_url"`
	Thumbnail string `json:"thumbnail_url"`
	Page      string `json:"source_url,omitempty"`
}

// imageQuery is an image search.
type imageQuery struct {
	text               string
	most               int
	size, kind, layout string
}

func hits[R any](list []R, of func(R) Hit) []Hit {
	out := make([]Hit, 0, len(list))
	for _, r := range list {
		out = append(out, of(r))
	}
	return out
}

func pictures[R any](list []R, of func(R) Image) []Image {
	out := make([]Image, 0, len(list))
	for _, r := range list {
		out = append(out, of(r))
	}
	return out
}

// outcome is the result of trying services in order.
type outcome[T any] struct {
	found    T
	provider string
	notes    []string // reasons why earlier services returned nothing
}

// firstOf tries services until one has a result.
func firstOf[T any](ctx context.Context, s *Service, tool string, c Choice, set Settings,
	ask func(*call) (T, bool, error)) (out outcome[T], err error) {
	var last error
	line := s.line(tool, c, set)
	for _, cand := range line {
		way, err := s.to(cand.provider, cand.choice, set)
		if err == nil {
			var found T
			var some bool
			found, some, err = ask(way)
			if err == nil && some {
				out.found, out.provider = found, cand.provider.name
				return out, nil
			}
			if err == nil {
				err = way.problem(Empty, 0, "")
			}
		}
		var p *Problem
		if !errors.As(err, &p) {
			return out, err // the run was stopped
		}
		s.cfg.Log.Debug("web service returned nothing", "tool", tool, "service", p.Provider, "class", p.Class, "status",
			p.Status)
		out.notes, last = append(out.notes, p.Error()), p
	}
	if last == nil {
		last = &Problem{Provider: tool, Class: Rejected, Detail: "no service is configured"}
	}
	return out, last
}

// search searches for pages.
func (s *Service) search(ctx context.Context, query string, most int) (outcome[[]Hit], error) {
	set := s.cfg.Settings()
	most = bounded(most, set.Search.Most)
	if s.cfg.World != nil {
		return s.cfg.World.find(query, most)
	}
	return firstOf(ctx, s, WebSearch, set.Search, set, func(c *call) ([]Hit, bool, error) {
		list, err := c.provider.search(ctx, c, query, most)
		list = tidy(list, most)
		return list, len(list) > 0, err
	})
}

// searchImages searches for images.
func (s *Service) searchImages(ctx context.Context, q imageQuery) (outcome[[]Image], error) {
	if s.cfg.World != nil {
		return s.cfg.World.pictures()
	}
	set := s.cfg.Settings()
	q.most = bounded(q.most, set.Images.Most)
	return firstOf(ctx, s, ImageSearch, set.Images, set, func(c *call) ([]Image, bool, error) {
		list, err := c.provider.images(ctx, c, q)
		list = tidyImages(list, q.most)
		return list, len(list) > 0, err
	})
}

// bounded returns the number of results: the owner's limit overrides the model's wish.
func bounded(asked, configured int) int {
	if configured > 0 {
		asked = configured
	}
	if asked <= 0 {
		asked = usualHits
	}
	return min(asked, mostHits)
}

// tidy cleans results for display: only web addresses, without duplicates, as plain text, limited.
func tidy(list []Hit, most int) (out []Hit) {
	seen, left := map[string]bool{}, maxAll
	for _, h := range list {
		h.URL = address(h.URL)
		if h.URL == "" || seen[pageKey(h.URL)] {
			continue
		}
		h.Title, h.Text = line(h.Title, maxTitle), line(h.Text, maxText)
		if h.Title == "" {
			h.Title = h.URL
		}
		if left -= len(h.URL) + len(h.Title); left < 0 {
			break
		}
		h.Text = agent.Head(h.Text, max(0, left))
		left -= len(h.Text)
		seen[pageKey(h.URL)] = true
		if out = append(out, h); len(out) == most {
			break
		}
	}
	return out
}

func tidyImages(list []Image, most int) (out []Image) {
	seen, left := map[string]bool{}, maxAll
	for _, i := range list {
		i.URL, i.Thumbnail, i.Page = address(i.URL), address(i.Thumbnail), address(i.Page)
		i.Title = line(i.Title, maxTitle)
		if i.URL == "" || seen[i.URL] {
			continue
		}
		if left -= len(i.URL) + len(i.Thumbnail) + len(i.Page) + len(i.Title); left < 0 {
			break
		}
		seen[i.URL] = true
		if out = append(out, i); len(out) == most {
			break
		}
	}
	return out
}

// address returns a web address, or empty. One with a user name in it could be taken for another site.
func address(s string) string {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || len(s) > maxURL || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return ""
	}
	return u.String()
}

// pageKey normalizes addresses of the same page.
func pageKey(s string) string {
	s, _, _ = strings.Cut(s, "#")
	return strings.TrimSuffix(s, "/")
}

// line returns text on one line without markup, limited to n characters.
func line(s string, n int) string {
	s = strings.ToValidUTF8(agent.Head(s, 20*n), "")
	if strings.ContainsAny(s, "<&") {
		s = stripped(s)
	}
	s = strings.Join(strings.Fields(agent.Visible(s)), " ")
	if short := agent.Head(s, n); len(short) < len(s) {
		return short + "…"
	}
	return s
}

// stripped returns the text of a piece of HTML, such as services mark words with.
func stripped(s string) string {
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(s))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return b.String()
		case html.TextToken:
			b.Write(z.Text())
		}
	}
}
