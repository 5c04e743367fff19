package community

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// provider is one service. A nil func means that it isn't supported.
type provider struct {
	name    string
	module  []string // of DeerFlow's class paths
	base    string
	env     []string // variables with its key
	keyless bool

	search func(ctx context.Context, c *call, query string, most int) ([]Hit, error)
	images func(ctx context.Context, c *call, q imageQuery) ([]Image, error)
	read   func(ctx context.Context, c *call, address string) (reading, error)

	// classify interprets statuses with a special meaning at this service; "" is the default.
	classify func(status int, body []byte) Class
}

// providers returns all services in default order: those with a key first.
func providers() []*provider {
	return []*provider{
		tavily(), brave(), serper(), exa(), firecrawl(), infoquest(), jina(), searxng(), duckduckgo(), mojeek(), wikipedia(),
	}
}

// Direct is the name of the built-in fetcher, which uses no service.
const Direct = "direct"

// InBrowser is the name of the built-in fetcher when it used a browser.
const InBrowser = "browser"

// Providers returns the names of all services.
func Providers() []string {
	var names []string
	for _, p := range providers() {
		names = append(names, p.name)
	}
	return names
}

// can reports whether a service supports a tool.
func (p *provider) can(tool string) bool {
	switch tool {
	case WebSearch:
		return p.search != nil
	case WebFetch:
		return p.read != nil
	case ImageSearch:
		return p.images != nil
	}
	return false
}

// Resolve finds the service for a class path of DeerFlow or a bare name, for one of the tools. The empty path has none.
func Resolve(tool, use string) (name string, err error) {
	module, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(use, "deerflow."), "src."), ":")
	module = strings.TrimSuffix(strings.TrimPrefix(module, "community."), ".tools")
	if module == "" || tool == WebFetch && module == Direct {
		return "", nil
	}
	if tool == ImageSearch && module == ImageSearch { // DeerFlow's own, which asks DuckDuckGo
		module = "ddg_search"
	}
	var good []string
	for _, p := range providers() {
		if !p.can(tool) {
			continue
		}
		if module == p.name || slices.Contains(p.module, module) {
			return p.name, nil
		}
		good = append(good, p.name)
	}
	return "", fmt.Errorf("unknown service %q for %s; supported are %s", module, tool, strings.Join(good, ", "))
}

// line returns the services to try for a tool, the selected one first.
func (s *Service) line(tool string, c Choice, set Settings) []candidate {
	var chosen, rest []candidate
	for _, p := range providers() {
		if !p.can(tool) {
			continue
		}
		own := Choice{Most: c.Most, Time: c.Time, Region: c.Region, SafeSearch: c.SafeSearch}
		switch {
		case c.Provider == p.name:
			own = c
			if own.Base == "" && p.base == "" {
				own.Base, own.Public = set.SearXNG, set.SearXNGPublic
			}
			chosen = append(chosen, candidate{p, own})
			continue
		case p.base == "": // a self-hosted search engine
			if own.Base, own.Public = set.SearXNG, set.SearXNGPublic; own.Base == "" {
				continue
			}
		case !p.keyless || tool == WebFetch:
			if !set.has(p) {
				continue
			}
		case p.search == nil:
			continue
		}
		rest = append(rest, candidate{p, own})
	}
	all := append(chosen, rest...)
	if tool != WebFetch {
		place := func(one candidate) int {
			at := slices.Index(set.Order, one.provider.name)
			if at < 0 && one.provider.name != c.Provider {
				at = len(set.Order)
			}
			return at // a chosen service missing from the order comes first
		}
		slices.SortStableFunc(all, func(a, b candidate) int { return place(a) - place(b) })
	}
	if !set.Fallback && len(all) > 1 {
		all = all[:1]
	}
	return all
}

// candidate is a service with its settings.
type candidate struct {
	provider *provider
	choice   Choice
}

// has reports whether the environment has a key for a service.
func (s Settings) has(p *provider) bool {
	return s.Env != nil && slices.ContainsFunc(p.env, func(name string) bool {
		v, ok := s.Env(name)
		return ok && v != ""
	})
}
