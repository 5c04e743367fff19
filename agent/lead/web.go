package lead

import (
	"net/netip"
	"slices"
	"time"

	"fawn/agent"
	"fawn/agent/community"
	"fawn/agent/config"
)

// WebSettings returns the configured settings of the web tools.
func WebSettings(snap *config.Snapshot) community.Settings {
	w := snap.File.Web
	s := community.Settings{Fallback: w.Fallback, SearXNG: w.SearXNGURL, SearXNGPublic: w.SearXNGPublic,
		Opened: networks(snap.File.Auth.AllowPrivate), Ports: w.Ports, Order: w.Order, Env: snap.Env,
		Private: networks(w.AllowPrivate)}
	for _, t := range snap.File.Tools {
		if t.Disabled != "" {
			continue
		}
		var c *community.Choice
		switch toolOf(t) {
		case community.WebSearch:
			c = &s.Search
		case community.WebFetch:
			c = &s.Fetch
		case community.ImageSearch:
			c = &s.Images
		default:
			continue
		}
		*c = choice(t)
		if open, _ := t.Extra["allow_private_addresses"].(bool); open && c == &s.Fetch {
			s.Private = append(s.Private, community.PrivateNetworks()...)
		}
	}
	return s
}

// choice converts an entry of tools[].
func choice(t config.Tool) (c community.Choice) {
	if t.Use != "" {
		c.Provider, _ = community.Resolve(toolOf(t), t.Use) // checkTool has reported errors
	}
	text := func(names ...string) string {
		for _, n := range names {
			if s, ok := t.Extra[n].(string); ok && s != "" {
				return s
			}
		}
		return ""
	}
	c.Key, c.Base = text("api_key"), text("base_url", "url", "searxng_url")
	c.Region, c.SafeSearch = text("region"), text("safesearch")
	c.Most, _ = t.Extra["max_results"].(int)
	switch n := t.Extra["timeout"].(type) {
	case int:
		c.Time = time.Duration(n) * time.Second
	case float64:
		c.Time = time.Duration(n * float64(time.Second))
	}
	c.Time = min(max(c.Time, 0), 2*time.Minute)
	return c
}

// networks parses a list of addresses and networks; invalid ones are reported when the configuration is loaded.
func networks(list []string) (out []netip.Prefix) {
	for _, text := range list {
		if p, err := netip.ParsePrefix(text); err == nil {
			out = append(out, p)
		} else if ip, err := netip.ParseAddr(text); err == nil {
			out = append(out, netip.PrefixFrom(ip, ip.BitLen()))
		}
	}
	return out
}

// grouped assigns tools their groups from tools[], and drops disabled web tools.
func grouped(f config.File, list []*agent.Tool) []*agent.Tool {
	if !f.Web.Enabled {
		list = slices.DeleteFunc(list, func(t *agent.Tool) bool { return slices.Contains(community.Names(), t.Name) })
	}
	for _, entry := range f.Tools {
		if entry.Group == "" || entry.Disabled != "" {
			continue
		}
		for i, t := range list {
			if t.Name == toolOf(entry) && t.Group != entry.Group {
				other := *t
				other.Group = entry.Group
				list[i] = &other
			}
		}
	}
	return list
}
