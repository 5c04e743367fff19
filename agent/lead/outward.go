package lead

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"fawn/agent/config"
	"fawn/agent/llm"
	"fawn/sandbox/netguard"
)

// Outward gives what judges addresses of models and MCP servers that the user of a request names.
type Outward func(ctx context.Context) *netguard.Guard

// Guard is the guard for a request; a nil Outward has none.
func (o Outward) Guard(ctx context.Context) *netguard.Guard {
	if o == nil {
		return nil
	}
	return o(ctx)
}

// ProbeVia is [Probe] of an address that a guard judges; a nil guard judges none.
func ProbeVia(ctx context.Context, m config.Model, g *netguard.Guard) llm.Probed {
	c := ModelConfig(m)
	if g != nil {
		t := &judged{guard: g, direct: &http.Transport{DialContext: g.DialContext, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: 10 * time.Second, MaxIdleConnsPerHost: 2}}
		defer t.direct.CloseIdleConnections()
		c.Client = &http.Client{Transport: t}
	}
	return llm.Probe(ctx, c)
}

// judged makes requests to addresses that its guard allows. Through a proxy of the environment only names can be judged
// here.
type judged struct {
	guard  *netguard.Guard
	direct *http.Transport
}

// RoundTrip implements [http.RoundTripper].
func (t *judged) RoundTrip(req *http.Request) (*http.Response, error) {
	if proxy, err := http.ProxyFromEnvironment(req); err != nil || proxy != nil {
		if err == nil {
			err = t.guard.CheckName(req.URL.Hostname())
		}
		if err != nil {
			if req.Body != nil {
				_ = req.Body.Close() // nothing was sent
			}
			return nil, allowable(err)
		}
		return http.DefaultTransport.RoundTrip(req)
	}
	resp, err := t.direct.RoundTrip(req)
	return resp, allowable(err)
}

// allowable tells with the refusal of a private address how its owner opens it.
func allowable(err error) error {
	if refused := (*netguard.Refused)(nil); errors.As(err, &refused) && refused.Reason != netguard.Metadata {
		return fmt.Errorf("%w; the owner can add it to auth.allow_private", refused)
	}
	return err
}

// Judged is a change of the MCP servers that may not name addresses which a guard refuses; a nil guard refuses none.
// Addresses that stay as they were are not judged.
func Judged(ctx context.Context, g *netguard.Guard,
	change func(config.Servers) (config.Servers, error)) func(config.Servers) (config.Servers, error) {
	if g == nil {
		return change
	}
	return func(stored config.Servers) (config.Servers, error) {
		was := map[string]bool{}
		for _, e := range stored {
			for _, at := range addressesOf(e) {
				was[at] = true
			}
		}
		next, err := change(stored)
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(next)) {
			for _, at := range addressesOf(next[name]) {
				if was[at] {
					continue
				}
				if err := allowable(judge(ctx, g, at)); err != nil {
					return nil, &config.BadServers{Why: name + ": " + err.Error()}
				}
			}
		}
		return next, nil
	}
}

// addressesOf are the addresses in what is written of a server, also of where it gets its tokens.
func addressesOf(v any) (list []string) {
	switch v := v.(type) {
	case string:
		if low := strings.ToLower(v); strings.HasPrefix(low, "http://") || strings.HasPrefix(low, "https://") {
			list = append(list, v)
		}
	case map[string]any:
		for key, one := range v {
			if key != "headers" && key != "env" && key != "args" {
				list = append(list, addressesOf(one)...)
			}
		}
	}
	return list
}

// judge judges the machine of an address. One that is no address is for others to refuse.
func judge(ctx context.Context, g *netguard.Guard, at string) error {
	u, err := url.Parse(at)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	port := u.Port()
	if port == "" {
		port = "443"
		if u.Scheme == "http" {
			port = "80"
		}
	}
	return g.Judge(ctx, net.JoinHostPort(u.Hostname(), port))
}
