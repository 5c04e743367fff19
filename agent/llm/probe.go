package llm

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"fawn/agent"
	"fawn/agent/llm/llmerr"
)

// ProbeTime limits a probe with all its tries. A local server may have to load the model first.
const ProbeTime = time.Minute

// maxReply limits the shown part of a probe's answer, in bytes.
const maxReply = 200

// Probed is the result of a real call to a model.
type Probed struct {
	OK      bool   // the model answered
	BaseURL string // the address that answered, or the one with the most telling failure; empty = the provider's default
	Reply   string // how the answer began
	Took    time.Duration
	Tried   []Try   // every call made, in order
	Err     error   // the most telling failure, secrets replaced; *Error if the provider failed
	Offers  []Offer // the server's models, if it lists them
}

// Offer returns the server's details about the model of that name.
func (p Probed) Offer(model string) (Offer, bool) {
	i := slices.IndexFunc(p.Offers, func(o Offer) bool { return o.ID == model })
	if i < 0 {
		return Offer{}, false
	}
	return p.Offers[i], true
}

// Try is one call of a probe.
type Try struct {
	BaseURL string
	Err     error // nil = it answered
	Took    time.Duration
}

// Probe makes a real, tiny call to a model and reports the outcome. If the server finds nothing at an address,
// alternatives are tried; see [Addresses]. The call ends with the first words of the answer.
func Probe(ctx context.Context, cfg Config) Probed {
	ctx, cancel := context.WithTimeout(ctx, ProbeTime)
	defer cancel()
	bases := []string{""}
	if c, err := find(cfg.Use); err == nil && c.native {
		bases = []string{cfg.BaseURL} // all forms of it mean one address
	} else if strings.TrimSpace(cfg.BaseURL) != "" {
		bases = Addresses(cfg.BaseURL)
	}
	var out Probed
	for _, base := range bases {
		one := cfg
		one.BaseURL = base
		start := time.Now()
		reply, err := ask(ctx, one)
		took := time.Since(start)
		err = hidden(err, cfg)
		out.Tried = append(out.Tried, Try{base, err, took})
		if len(out.Tried) == 1 || err == nil || rank(err) > rank(out.Err) {
			out.BaseURL, out.Reply, out.Took, out.Err = base, reply, took, err
		}
		if out.OK = err == nil; out.OK || !elsewhere(err) || ctx.Err() != nil {
			break
		}
	}
	if e := llmerr.Of(out.Err); out.OK || e != nil && e.Status != 0 && e.Class != llmerr.ClassAuth {
		cfg.BaseURL = out.BaseURL
		out.Offers = offers(ctx, cfg)
	}
	return out
}

// offersTime limits the question for a server's models; an answer to it is a help, not a need.
const offersTime = 5 * time.Second

// offers asks a provider for its models, with the key it was called with.
func offers(ctx context.Context, cfg Config) []Offer {
	ctx, cancel := context.WithTimeout(ctx, offersTime)
	defer cancel()
	base, headers, err := reach(cfg)
	if err != nil {
		return nil
	}
	c := catalog{client: &http.Client{CheckRedirect: noRedirect}, headers: headers}
	if cfg.Client != nil {
		c.client.Transport = cfg.Client.Transport
	}
	list, err := c.list(ctx, base)
	if err != nil {
		return nil
	}
	if u, err := url.Parse(base); err == nil && local(u.Hostname()) {
		c.describe(ctx, base, list)
	}
	return list
}

// local reports whether a host is this machine.
func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// ask calls the model and waits for its first words.
func ask(ctx context.Context, cfg Config) (reply string, err error) {
	m, err := New(cfg)
	if err != nil {
		return "", err
	}
	req := &agent.Request{Messages: []*agent.Message{{ID: "probe", Type: agent.TypeHuman,
		Content: agent.Text("Answer with the single word: ready")}}}
	for k, err := range m.Stream(ctx, req) {
		if err != nil {
			return "", err
		}
		if k.Visible() {
			reply = k.Text
			if len(reply) > maxReply {
				reply = strings.ToValidUTF8(reply[:maxReply], "")
			}
			return reply, nil
		}
	}
	return "", nil // an empty answer is an answer
}

// elsewhere reports whether a failure suggests a wrong address.
func elsewhere(err error) bool {
	e := llmerr.Of(err)
	if e == nil {
		return false
	}
	switch e.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone, http.StatusMovedPermanently,
		http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	// an answer, but none of a model: a web page, or words about unknown endpoints
	return e.Status == 0 && (e.Class == llmerr.ClassGeneric || e.Class == llmerr.ClassInvalid)
}

// rank ranks failures by how telling they are: a provider's message about a call ranks above a server's message about
// an address.
func rank(err error) int {
	text, _, _ := Words(err)
	switch {
	case err == nil:
		return 0
	case !elsewhere(err):
		return 3
	case strings.Contains(strings.ToLower(text), "model"):
		return 2 // the address is right, the model unknown
	}
	return 1
}

// hidden removes every secret of cfg from an error's text, in the forms servers repeat them.
func hidden(err error, cfg Config) error {
	if err == nil {
		return nil
	}
	var secrets []string
	add := func(s string) {
		if s = strings.TrimSpace(s); len(s) >= 4 {
			secrets = append(secrets, s, url.QueryEscape(s), url.PathEscape(s))
		}
	}
	add(cfg.APIKey)
	for _, v := range cfg.Headers {
		add(v)
		add(strings.TrimPrefix(v, "Bearer "))
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	if e := llmerr.Of(err); e != nil {
		return e.Redact(secrets)
	}
	text := err.Error()
	for _, s := range secrets {
		text = strings.ReplaceAll(text, s, "***")
	}
	if text == err.Error() {
		return err
	}
	return errors.New(text) // the cause below holds the secret
}

// Words formats a failure for people: the provider's message verbatim, with its class and status. It returns "" for
// nil.
func Words(err error) (text, class string, status int) {
	if err == nil {
		return "", "", 0
	}
	e := llmerr.Of(err)
	if e == nil {
		return err.Error(), llmerr.ClassGeneric, 0
	}
	if text = e.Message; text == "" {
		text = e.Error()
	}
	return text, e.Class, e.Status
}

// endings returns path suffixes that people copy along with a provider's base URL.
func endings() []string {
	return []string{"/chat/completions", "/completions", "/responses", "/messages", "/embeddings", "/models", "/chat",
		"/generate", "/tags"}
}

// versioned reports whether a path ends in a version, as those of most providers do.
func versioned(p string) bool {
	ok, err := regexp.MatchString(`(^|/)v\d+[a-z]*(/openai)?$`, p)
	return ok && err == nil
}

// Addresses returns the base URLs an address may mean, most likely first: people enter a server's root, its base with
// or without /v1, or the full address of a call. An invalid address is returned unchanged.
func Addresses(raw string) []string {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || u.Host == "" {
		return []string{raw}
	}
	p := strings.TrimRight(path.Clean("/"+u.Path), "/")
	for _, end := range endings() {
		if rest, cut := strings.CutSuffix(p, end); cut {
			p = rest
			break
		}
	}
	var paths []string
	switch {
	case p == "":
		paths = []string{"/v1", "/api/v1", "/api"}
	case versioned(p):
		paths = []string{p}
	default:
		paths = []string{p, p + "/v1", "/v1"}
	}
	var out []string
	for _, p := range paths {
		at := *u
		at.Path, at.RawPath, at.Fragment = p, "", ""
		if s := at.String(); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
