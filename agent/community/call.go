package community

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"fawn/sandbox/netguard"
)

const (
	usualTime = 12 * time.Second // limit of a request to a service
	maxAnswer = 4 << 20          // bytes of a service's answer
)

// agentName is the user agent of requests.
const agentName = "Mozilla/5.0 (compatible; Fawn/1.0)"

// call describes the connection to one service.
type call struct {
	provider *provider
	client   *http.Client
	base     *url.URL
	choice   Choice
	key      string
}

// PrivateNetworks returns the private networks allowed for an owner's address.
func PrivateNetworks() []netip.Prefix {
	var out []netip.Prefix
	for _, p := range []string{"127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10",
		"::1/128", "fc00::/7"} {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

// to prepares a call. A base set by the owner may be local, one set by an administrator only if the owner allows it;
// models can't change it. Redirects, which could and would carry keys elsewhere, are not followed.
func (s *Service) to(p *provider, c Choice, set Settings) (*call, error) {
	out := &call{provider: p, choice: c, key: c.Key}
	if out.key == "" && set.Env != nil {
		for _, name := range p.env {
			if v, ok := set.Env(name); ok && v != "" {
				out.key = v
				break
			}
		}
	}
	if out.key == "" && !p.keyless {
		return nil, out.problem(BadKey, 0, "set "+strings.Join(p.env, " or "))
	}
	if out.choice.Base == "" && s.cfg.Base != nil {
		out.choice.Base = s.cfg.Base(p.name)
	}
	base, own := out.choice.Base, out.choice.Base != ""
	if !own {
		base = p.base
	}
	var err error
	if out.base, err = url.Parse(base); err != nil || out.base.Host == "" {
		return nil, out.problem(Rejected, 0, "its address isn't valid")
	}
	var open []netip.Prefix
	if own {
		if open = PrivateNetworks(); c.Public {
			open = set.Opened
		}
	}
	limits := netguard.ClientLimits{Body: maxAnswer, Time: c.Time, Redirects: -1}
	if limits.Time <= 0 {
		limits.Time = usualTime
	}
	if n, err := strconv.Atoi(out.base.Port()); err == nil {
		limits.Ports = []int{n}
	}
	out.client = netguard.Client(s.cfg.Guard(open), limits)
	return out, nil
}

func (c *call) problem(class Class, status int, detail string) *Problem {
	return &Problem{Provider: c.provider.name, Class: class, Status: status, Detail: detail}
}

// at returns an address of the service.
func (c *call) at(path string, query url.Values) string {
	u := *c.base
	if path != "" {
		u.Path = strings.TrimSuffix(u.Path, "/") + path
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// get requests JSON.
func (c *call) get(ctx context.Context, path string, query url.Values, header map[string]string, out any) error {
	return c.json(ctx, http.MethodGet, c.at(path, query), nil, header, out)
}

// post sends JSON and reads some.
func (c *call) post(ctx context.Context, path string, body any, header map[string]string, out any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return c.problem(Rejected, 0, "")
	}
	return c.json(ctx, http.MethodPost, c.at(path, nil), b, header, out)
}

func (c *call) json(ctx context.Context, method, address string, body []byte, header map[string]string, out any) error {
	h := map[string]string{"Accept": "application/json"}
	if body != nil {
		h["Content-Type"] = "application/json"
	}
	for k, v := range header {
		h[k] = v
	}
	data, _, err := c.send(ctx, method, address, body, h)
	if err != nil {
		return err
	}
	if json.Unmarshal(data, out) != nil {
		return c.problem(Malformed, 0, "")
	}
	return nil
}

// send makes a request and returns the body of a successful response.
func (c *call) send(ctx context.Context, method, address string, body []byte, header map[string]string) ([]byte, int,
	error) {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, 0, c.problem(Rejected, 0, "")
	}
	req.Header.Set("User-Agent", agentName)
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, 0, c.failed(ctx, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, 0, c.failed(ctx, err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		class := ofStatus(resp.StatusCode)
		if c.provider.classify != nil {
			if better := c.provider.classify(resp.StatusCode, data); better != "" {
				class = better
			}
		}
		return nil, 0, c.problem(class, resp.StatusCode, "")
	}
	return data, resp.StatusCode, nil
}

// failed returns the error of a request, or the reason why the run ended it.
func (c *call) failed(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	class, detail := ofError(err)
	return c.problem(class, 0, detail)
}

// bearer returns the usual header with a key.
func (c *call) bearer() map[string]string {
	return map[string]string{"Authorization": "Bearer " + c.key}
}
