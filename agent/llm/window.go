package llm

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	windowTime   = 5 * time.Second // time for a server to report its window
	ollamaWindow = 4096            // Ollama's default for a model that isn't loaded
)

// Window asks a model's server for the context window in tokens, prompt and answer together; 0 if the server doesn't
// report it. The running configuration counts, not the model's maximum.
func Window(ctx context.Context, cfg Config) int {
	ctx, cancel := context.WithTimeout(ctx, windowTime)
	defer cancel()
	base, headers, err := reach(cfg)
	if err != nil || base == "" {
		return 0
	}
	c := catalog{client: &http.Client{CheckRedirect: noRedirect}, headers: headers}
	if cfg.Client != nil {
		c.client.Transport = cfg.Client.Transport
	}
	for _, at := range Addresses(base) {
		list, err := c.list(ctx, at)
		if err != nil || len(list) == 0 {
			continue
		}
		d, err := DialectOf(cfg)
		ollama := err == nil && d.Name == "ollama"
		if ollama || Near(at) || err == nil && (d.Name == "llamacpp" || d.Name == "lmstudio") {
			c.describe(ctx, at, list)
		}
		return windowOf(list, cmp.Or(cfg.Model, cfg.Name), ollama)
	}
	return 0
}

// windowOf finds a model's window among a server's offers. A server with a single model may name it freely.
func windowOf(list []Offer, model string, ollama bool) int {
	for _, o := range list {
		if o.ID != model && o.ID != model+":latest" && len(list) > 1 {
			continue
		}
		if ollama && o.Context == 0 && o.MaxContext > 0 {
			return min(o.MaxContext, ollamaWindow)
		}
		return cmp.Or(o.Context, o.MaxContext)
	}
	return 0
}

// Near reports whether an address is on this machine or its local network, where servers respond quickly.
func Near(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	named := !strings.Contains(host, ".") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".lan")
	return local(host) || ip.IsPrivate() || ip == nil && named
}
