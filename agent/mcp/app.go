package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/agent"
	"fawn/sandbox/netguard"
)

// Protocol constants and types for apps.
const (
	appExtension = "io.modelcontextprotocol/ui"
	appType      = "text/html;profile=mcp-app"
	appScheme    = "ui://"
)

// Limits of apps.
const (
	maxAppPage    = 8 << 20   // bytes of the page
	maxAppResult  = 256 << 10 // limit of a result passed to an app
	maxAppDomains = 30        // of each kind
)

// AppKey is the field of a result's artifact that holds the data for its app.
const AppKey = "app"

// App is the app declared by a result.
type App struct {
	Server    string          `json:"server"`
	Tool      string          `json:"tool"` // the server's name
	URI       string          `json:"uri"`
	Arguments json.RawMessage `json:"arguments"`
	Result    json.RawMessage `json:"result"` // in the protocol's format
}

// ReadApp returns the app of a result, nil if it has none.
func ReadApp(artifact json.RawMessage) *App {
	if len(artifact) == 0 {
		return nil
	}
	var a struct {
		App *App `json:"app"`
	}
	if json.Unmarshal(artifact, &a) != nil || a.App == nil || !strings.HasPrefix(a.App.URI, appScheme) {
		return nil
	}
	return a.App
}

// Handed returns the data for an app, nil if there is none.
func Handed(artifact json.RawMessage) json.RawMessage {
	var a struct {
		App struct {
			Result json.RawMessage `json:"result"`
		} `json:"app"`
	}
	if len(artifact) == 0 || json.Unmarshal(artifact, &a) != nil {
		return nil
	}
	return a.App.Result
}

// appFeature makes servers offer their apps.
func appFeature() *sdk.ClientCapabilities {
	c := &sdk.ClientCapabilities{}
	c.AddExtension(appExtension, map[string]any{"mimeTypes": []string{appType}})
	return c
}

// appOf returns a tool's app declaration: the page of its results, and who may call it.
func appOf(t *sdk.Tool) (uri string, forModel, forApp bool) {
	forModel, forApp = true, true
	ui, _ := t.Meta["ui"].(map[string]any)
	uri, _ = ui["resourceUri"].(string)
	if uri == "" {
		uri, _ = t.Meta["ui/resourceUri"].(string)
	}
	if !strings.HasPrefix(uri, appScheme) || len(uri) > maxURI {
		uri = ""
	}
	if who, ok := ui["visibility"].([]any); ok {
		forModel, forApp = slices.Contains(who, any("model")), slices.Contains(who, any("app"))
	}
	return uri, forModel, forApp
}

type appCallKey struct{}

// ForApp returns a context whose calls keep the data for an app, whichever tool they call.
func ForApp(ctx context.Context) context.Context { return context.WithValue(ctx, appCallKey{}, true) }

// withApp adds the app's data to a result.
func (s *server) withApp(ctx context.Context, out *agent.Result, tool string, c agent.ToolCall, got *sdk.CallToolResult, w func(string) string) error {
	s.mu.Lock()
	uri := ""
	for _, l := range s.listed {
		if l.Name == tool {
			uri = l.App
		}
	}
	s.mu.Unlock()
	if uri == "" && ctx.Value(appCallKey{}) == nil {
		return nil
	}
	a := App{Server: s.name, Tool: tool, URI: uri, Arguments: c.Args, Result: handed(got, w)}
	if len(a.Arguments) == 0 || !json.Valid(a.Arguments) {
		a.Arguments = json.RawMessage("{}")
	}
	all := map[string]json.RawMessage{}
	if len(out.Artifact) > 0 {
		if err := json.Unmarshal(out.Artifact, &all); err != nil {
			return fmt.Errorf("decode a structured result: %w", err)
		}
	}
	raw, err := agent.Encode(a)
	if err == nil {
		all[AppKey] = raw
		out.Artifact, err = agent.Encode(all)
	}
	if err != nil {
		return fmt.Errorf("encode the result for an app: %w", err)
	}
	return nil
}

// handed returns a result for an app, without secrets and paths of this machine.
func handed(got *sdk.CallToolResult, clean func(string) string) json.RawMessage {
	raw, err := json.Marshal(got)
	if err == nil {
		raw, err = cleaned(raw, clean)
	}
	if err != nil || len(raw) > maxAppResult {
		raw, err = json.Marshal(&sdk.CallToolResult{IsError: got.IsError,
			Content: []sdk.Content{&sdk.TextContent{Text: "The result is too large to be shown here."}}})
		if err != nil { // a text always encodes
			return json.RawMessage("{}")
		}
	}
	return raw
}

// cleaned cleans the texts and names of JSON one by one: encoded text may look different, and a replacement could break
// the encoding.
func cleaned(raw []byte, clean func(string) string) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("decode a result: %w", err)
	}
	return agent.Encode(cleanedValue(v, clean))
}

func cleanedValue(v any, clean func(string) string) any {
	switch v := v.(type) {
	case string:
		return clean(v)
	case json.Number: // a secret may consist of digits
		if s := clean(v.String()); s != v.String() {
			return s
		}
	case []any:
		for i := range v {
			v[i] = cleanedValue(v[i], clean)
		}
	case map[string]any:
		for _, key := range slices.Collect(maps.Keys(v)) {
			one := cleanedValue(v[key], clean)
			name := clean(key)
			if name != key {
				delete(v, key)
			}
			v[name] = one
		}
	}
	return v
}

// AppPage is an app's page, and the addresses its server declares.
type AppPage struct {
	HTML    []byte
	Connect []string // for requests
	Load    []string // for scripts, styles, pictures, fonts and media
	Frame   []string // for frames
	Base    []string // for relative addresses
}

// AppPage reads the page of an app, in the session of a thread. Errors: ErrUnknown, ErrGone, *RefusedError.
func (p *Pool) AppPage(ctx context.Context, thread, server, uri string) (page AppPage, err error) {
	s, err := p.find(server)
	if err != nil {
		return AppPage{}, err
	}
	if !strings.HasPrefix(uri, appScheme) {
		return AppPage{}, ErrGone
	}
	err = s.visit(ctx, thread, func(ctx context.Context, e *session) error {
		r, err := e.client.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
		if err != nil {
			return err
		}
		for _, c := range r.Contents {
			if c == nil || !isApp(c.MIMEType) {
				continue
			}
			if page.HTML = c.Blob; c.Blob == nil {
				page.HTML = []byte(c.Text)
			}
			if len(page.HTML) > maxAppPage {
				return &RefusedError{fmt.Sprintf("the app is larger than %d MiB", maxAppPage>>20)}
			}
			page.allow(c.Meta)
			return nil
		}
		return &RefusedError{"the resource is not an app"}
	})
	return page, err
}

func isApp(kind string) bool {
	base, params, err := mime.ParseMediaType(kind)
	return err == nil && base == "text/html" && params["profile"] == "mcp-app"
}

// domain is an origin as a policy of a page may name it, with the host and "*." before it.
var domain = regexp.MustCompile(`^(?:https|wss)://(\*\.)?([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)(?::[0-9]{1,5})?$`)

// allow takes the addresses that a server declares.
func (p *AppPage) allow(meta sdk.Meta) {
	ui, _ := meta["ui"].(map[string]any)
	csp, _ := ui["csp"].(map[string]any)
	list := func(key string) (out []string) {
		all, _ := csp[key].([]any)
		for _, one := range all[:min(len(all), maxAppDomains)] {
			if s, ok := one.(string); ok && reachable(strings.TrimSuffix(s, "/")) {
				out = append(out, strings.TrimSuffix(s, "/"))
			}
		}
		return out
	}
	p.Connect, p.Load, p.Frame, p.Base = list("connectDomains"), list("resourceDomains"), list("frameDomains"), list("baseUriDomains")
}

// reachable reports whether an app may name an origin: neither the reader's own machine nor its local network.
func reachable(origin string) bool {
	m := domain.FindStringSubmatch(origin)
	if m == nil {
		return false
	}
	host, err := netguard.Host(m[2])
	if err != nil {
		return false
	}
	for _, zone := range []string{"localhost", "localdomain", "local"} {
		if host == zone || strings.HasSuffix(host, "."+zone) {
			return false
		}
	}
	addr, err := netip.ParseAddr(host)
	return err != nil || m[1] == "" && !addr.IsLoopback() && !addr.IsLinkLocalUnicast() && !addr.IsUnspecified() && !addr.IsMulticast()
}

// Without removes the addresses of hosts, for instance those of this server.
func (p *AppPage) Without(hosts ...string) {
	for _, list := range []*[]string{&p.Connect, &p.Load, &p.Frame, &p.Base} {
		*list = slices.DeleteFunc(*list, func(origin string) bool {
			m := domain.FindStringSubmatch(origin)
			return m == nil || slices.ContainsFunc(hosts, func(host string) bool {
				host = strings.ToLower(strings.TrimSuffix(host, "."))
				own := strings.ToLower(m[2])
				return host == own || m[1] != "" && strings.HasSuffix(host, "."+own)
			})
		})
	}
}

// AppTool returns a tool that an app of a server asks for, which must be one of that server. Errors: ErrUnknown,
// ErrGone.
func (p *Pool) AppTool(server, tool string) (*agent.Tool, error) {
	s, err := p.find(server)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.listed {
		if l.Name != tool || l.NotForApps {
			continue
		}
		t := s.tool(offeredName(s.conf, l.Name), l, Routing{})
		t.Schema, t.Run = l.Schema, p.runner(s.name, l.Name, names{}, false)
		return t, nil
	}
	return nil, ErrGone
}
