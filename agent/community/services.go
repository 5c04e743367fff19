package community

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"
)

// ServiceInfo describes a service to people.
type ServiceInfo struct {
	Name, Label          string
	Search, Read, Images bool
	Env                  []string // variables with its key, the one to write first
	Keyless              bool     // works without a key
	Own                  bool     // self-hosted at an address given by its owner
	KeyPage              string   // where people get a key
}

// Services describes all services, in the usual order.
func Services() []ServiceInfo {
	words := map[string][2]string{
		"tavily": {"Tavily", "https://app.tavily.com"}, "brave": {"Brave Search", "https://api-dashboard.search.brave.com"},
		"serper": {"Serper", "https://serper.dev"}, "exa": {"Exa", "https://dashboard.exa.ai"},
		"firecrawl": {"Firecrawl", "https://www.firecrawl.dev"}, "infoquest": {"InfoQuest", ""},
		"jina": {"Jina", "https://jina.ai"}, "searxng": {"SearXNG", ""}, "duckduckgo": {"DuckDuckGo", ""},
		"mojeek": {"Mojeek", ""}, "wikipedia": {"Wikipedia", ""},
	}
	var out []ServiceInfo
	for _, p := range providers() {
		out = append(out, ServiceInfo{Name: p.name, Label: words[p.name][0], Search: p.search != nil, Read: p.read != nil,
			Images: p.images != nil, Env: p.env, Keyless: p.keyless, Own: p.base == "", KeyPage: words[p.name][1]})
	}
	return out
}

// Asked names the services that a search asks at the moment, in this order.
func (s *Service) Asked() []string {
	set := s.cfg.Settings()
	var names []string
	for _, c := range s.line(WebSearch, set.Search, set) {
		names = append(names, c.provider.name)
	}
	return names
}

// Trial is the result of a test call to one service.
type Trial struct {
	Titles []string // titles of pages that it found or read
	Took   time.Duration
}

// triedPage is read to try a service that cannot search.
const triedPage = "https://example.com/"

// Try tests one service, whether or not searches use it. A non-empty key and address override the stored ones; with
// public such an address must be permitted for administrators. Errors are of type *[Problem], except when ctx ended.
func (s *Service) Try(ctx context.Context, name, key, base, query string, public bool) (Trial, error) {
	all := providers()
	i := slices.IndexFunc(all, func(p *provider) bool { return p.name == name })
	if i < 0 {
		return Trial{}, &Problem{Provider: name, Class: Rejected, Detail: "there is no such service"}
	}
	p, set := all[i], s.cfg.Settings()
	c := Choice{Key: key, Base: base, Public: public && base != ""}
	for _, chosen := range []Choice{set.Search, set.Fetch, set.Images} {
		if chosen.Provider == name {
			c.Key, c.Base, c.Region = cmp.Or(key, chosen.Key), cmp.Or(base, chosen.Base), chosen.Region
			break
		}
	}
	if p.base == "" && (c.Base == "" || c.Base == set.SearXNG) {
		c.Base, c.Public = set.SearXNG, set.SearXNGPublic
	}
	begin := s.cfg.Now()
	way, err := s.to(p, c, set)
	if err != nil {
		return Trial{}, err
	}
	var titles []string
	if p.search != nil {
		list, err := p.search(ctx, way, query, usualHits)
		if err != nil {
			return Trial{}, err
		}
		for _, h := range tidy(list, usualHits) {
			titles = append(titles, h.Title)
		}
	} else {
		got, err := p.read(ctx, way, triedPage)
		if err != nil {
			return Trial{}, err
		}
		titles = []string{line(got.title, maxTitle)}
	}
	if len(titles) == 0 {
		return Trial{}, way.problem(Empty, http.StatusOK, "")
	}
	return Trial{Titles: titles, Took: s.cfg.Now().Sub(begin)}, nil
}
