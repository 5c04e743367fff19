package lead

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"fawn/agent/config"
	"fawn/agent/llm"
	"fawn/agent/llm/llmerr"
	"fawn/sandbox/netguard"
)

// Outward returns the guard for addresses of models and MCP servers named by the user of a request.
type Outward func(ctx context.Context) *netguard.Guard

// Guard returns the guard for a request; a nil Outward has none.
func (o Outward) Guard(ctx context.Context) *netguard.Guard {
	if o == nil {
		return nil
	}
	return o(ctx)
}

// ProbeVia is [Probe] with a guard for the address; a nil guard allows all.
func ProbeVia(ctx context.Context, m config.Model, g *netguard.Guard) llm.Probed {
	c := ModelConfig(m)
	if g != nil {
		t := newJudged(func() *netguard.Guard { return g })
		defer t.close()
		c.Client = &http.Client{Transport: t}
	}
	return llm.Probe(ctx, c)
}

// Edited returns an edit of a model restricted to the permissions of a request's user.
func (o Outward) Edited(ctx context.Context, e config.ModelEdit) config.ModelEdit {
	g := o.Guard(ctx)
	if g == nil {
		return e
	}
	e.PublicOnly = !g.Private
	e.Judge = func(m config.Model) error { return allowable(judge(ctx, g, llm.Address(ModelConfig(m)))) }
	return e
}

// Address explains why the user of a request may not name an address.
func (o Outward) Address(ctx context.Context, at string) error {
	if g := o.Guard(ctx); g != nil && at != "" {
		return allowable(judge(ctx, g, at))
	}
	return nil
}

// newJudged returns a transport to the addresses that a guard allows at the time of the connection.
func newJudged(guard func() *netguard.Guard) *judged {
	return &judged{guard: guard}
}

// way returns the transport with connections made under the current rules; older connections are closed once idle.
func (t *judged) way() *http.Transport {
	allowed := t.guard().AllowPrivate
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.direct == nil || !slices.Equal(allowed, t.allowed) {
		if t.direct != nil {
			t.direct.CloseIdleConnections()
		}
		t.allowed = allowed
		t.direct = &http.Transport{
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				return t.guard().DialContext(ctx, network, address)
			},
			ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second, MaxIdleConnsPerHost: 16,
			DisableCompression: true, IdleConnTimeout: 90 * time.Second}
	}
	return t.direct
}

// close closes idle connections.
func (t *judged) close() { t.way().CloseIdleConnections() }

// publicClient returns the client for public_only models. Refused addresses aren't retried.
func publicClient(guard func() *netguard.Guard) *http.Client {
	return &http.Client{Transport: final{newJudged(guard)}}
}

// final marks a refusal as permanent.
type final struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (f final) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := f.RoundTripper.RoundTrip(req)
	if refused := (*netguard.Refused)(nil); errors.As(err, &refused) {
		err = &llmerr.Error{Class: llmerr.ClassInvalid, Message: err.Error(), Err: err}
	}
	return resp, err
}

// judged makes requests to addresses that its guard allows. Through a proxy from the environment, only names can be
// checked here.
type judged struct {
	guard func() *netguard.Guard

	mu      sync.Mutex
	allowed []netip.Prefix // rules under which the connections of direct were made
	direct  *http.Transport
}

// RoundTrip implements [http.RoundTripper].
func (t *judged) RoundTrip(req *http.Request) (*http.Response, error) {
	if proxy, err := http.ProxyFromEnvironment(req); err != nil || proxy != nil {
		if err == nil {
			err = t.guard().CheckName(req.URL.Hostname())
		}
		if err != nil {
			if req.Body != nil {
				_ = req.Body.Close() // nothing was sent
			}
			return nil, allowable(err)
		}
		return http.DefaultTransport.RoundTrip(req)
	}
	resp, err := t.way().RoundTrip(req)
	return resp, allowable(err)
}

// allowable adds to the refusal of a private address how the owner can allow it.
func allowable(err error) error {
	if refused := (*netguard.Refused)(nil); errors.As(err, &refused) && refused.Reason != netguard.Metadata {
		return fmt.Errorf("%w; the owner can add it to auth.allow_private", refused)
	}
	return err
}

// Judged returns a change of the MCP servers that rejects addresses refused by a guard; a nil guard refuses none.
// Unchanged addresses aren't checked. Servers whose addresses weren't set by an owner are marked as public_only.
func Judged(ctx context.Context, g *netguard.Guard,
	change func(config.Servers) (config.Servers, error)) func(config.Servers) (config.Servers, error) {
	if g == nil {
		return change
	}
	return func(stored config.Servers) (config.Servers, error) {
		was, marked := map[string]bool{}, map[string]bool{} // addresses, and servers by name
		of := map[string][]string{}
		for name, e := range stored {
			marked[name], _ = e[publicOnly].(bool)
			of[name] = addressesOf(e)
			for _, at := range of[name] {
				open, known := was[at]
				was[at] = !marked[name] || known && open
			}
		}
		next, err := change(stored)
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(next)) {
			mark := false
			for _, at := range addressesOf(next[name]) {
				open, known := was[at]
				if mark = mark || !open; known {
					continue
				}
				if err := allowable(judge(ctx, g, at)); err != nil {
					return nil, &config.BadServers{Why: name + ": " + err.Error()}
				}
			}
			if given, _ := next[name][publicOnly].(bool); g.Private {
				mark = given && !(marked[name] && moved(of[name], addressesOf(next[name])))
			}
			next[name] = withMark(next[name], mark)
		}
		return next, nil
	}
}

// publicOnly is the key of MCP servers that are only reached at public addresses.
const publicOnly = "public_only"

// moved reports whether there is a new address.
func moved(before, now []string) bool {
	return slices.ContainsFunc(now, func(at string) bool { return !slices.Contains(before, at) })
}

// withMark returns an entry with or without its mark.
func withMark(e map[string]any, mark bool) map[string]any {
	if is, _ := e[publicOnly].(bool); is == mark {
		return e
	}
	if e = maps.Clone(e); mark {
		e[publicOnly] = true
	} else {
		delete(e, publicOnly)
	}
	return e
}

// addressesOf returns the addresses in a server's entry, including those for tokens. A reference to a variable may
// become any address.
func addressesOf(v any) (list []string) {
	switch v := v.(type) {
	case string:
		low := strings.ToLower(strings.TrimSpace(v))
		if strings.HasPrefix(low, "http://") || strings.HasPrefix(low, "https://") || strings.Contains(v, "$") {
			list = append(list, v)
		}
	case map[string]any:
		for key, one := range v {
			if key != "headers" && key != "env" && key != "args" && key != "command" {
				list = append(list, addressesOf(one)...)
			}
		}
	}
	return list
}

// judge checks the host of an address. Invalid addresses are rejected elsewhere. For owners only literal names and
// addresses are checked, without resolving.
func judge(ctx context.Context, g *netguard.Guard, at string) error {
	u, err := url.Parse(at)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	if g.Private {
		return g.CheckName(strings.ToLower(u.Hostname()))
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
