// Package consent lets a person authorize the program for an MCP server: OAuth's authorization code with PKCE, in two
// steps. The result of the first is all that the second needs, on whichever server it runs.
package consent

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// Server is the server to be authorized.
type Server struct {
	URL    string
	Events bool // probe it by GET, like a stream of events

	Callback string // redirect address
	Client   string // client id of the program; empty registers it
	Secret   string
	Scope    string // overrides the server's proposal
}

// Request is a pending authorization. It holds secrets.
type Request struct {
	Address      string           `json:"address"` // where the person goes
	State        string           `json:"state"`
	Verifier     string           `json:"verifier"`
	Resource     string           `json:"resource"`
	Issuer       string           `json:"issuer"`
	NamesIssuer  bool             `json:"names_issuer,omitempty"` // in each response
	TokenURL     string           `json:"token_url"`
	ClientID     string           `json:"client_id"`
	ClientSecret string           `json:"client_secret,omitempty"`
	Style        oauth2.AuthStyle `json:"style"`
	Callback     string           `json:"callback"`
}

// Answer holds the parameters of the browser's redirect.
type Answer struct{ State, Code, Issuer string }

// Ask finds a server's authorization server, registers the program there if necessary, and returns the address for the
// person.
func Ask(ctx context.Context, client *http.Client, s Server) (*Request, error) {
	challenges, err := refused(ctx, client, s)
	if err != nil {
		return nil, err
	}
	about, err := resource(ctx, client, challenges, s.URL)
	if err != nil {
		return nil, err
	}
	meta, err := auth.GetAuthServerMetadata(ctx, about.AuthorizationServers[0], client)
	if err != nil {
		return nil, fmt.Errorf("read the authorization server's metadata: %w", err)
	}
	if meta == nil { // use the default addresses, as in MCP of 2025-03-26
		at := about.AuthorizationServers[0]
		meta = &oauthex.AuthServerMeta{Issuer: at, AuthorizationEndpoint: at + "/authorize",
			TokenEndpoint: at + "/token", RegistrationEndpoint: at + "/register"}
	}
	r := &Request{State: rand.Text(), Verifier: oauth2.GenerateVerifier(), Resource: about.Resource,
		Issuer: meta.Issuer, NamesIssuer: meta.AuthorizationResponseIssParameterSupported,
		TokenURL: meta.TokenEndpoint, Callback: s.Callback}
	if err := r.register(ctx, client, s, meta); err != nil {
		return nil, err
	}
	conf := r.config(scopes(s, challenges, about, meta))
	conf.Endpoint.AuthURL = meta.AuthorizationEndpoint
	r.Address = conf.AuthCodeURL(r.State, oauth2.S256ChallengeOption(r.Verifier),
		oauth2.SetAuthURLParam("resource", r.Resource))
	u, err := url.Parse(r.Address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("the authorization server has no valid address")
	}
	return r, nil
}

// Finish exchanges a person's code for a token.
func (r *Request) Finish(ctx context.Context, client *http.Client, a Answer) (*oauth2.Token, error) {
	switch {
	case a.Code == "" || subtle.ConstantTimeCompare([]byte(a.State), []byte(r.State)) != 1:
		return nil, errors.New("the answer has no code")
	case a.Issuer == "" && r.NamesIssuer:
		return nil, errors.New("the response has no issuer, which this authorization server always sends")
	case a.Issuer != "" && a.Issuer != r.Issuer: // RFC 9207: the answer of another authorization server
		return nil, fmt.Errorf("the issuer of the answer is %q, not %q", a.Issuer, r.Issuer)
	}
	t, err := r.config(nil).Exchange(context.WithValue(ctx, oauth2.HTTPClient, client), a.Code,
		oauth2.VerifierOption(r.Verifier), oauth2.SetAuthURLParam("resource", r.Resource))
	if err == nil && t.AccessToken == "" {
		err = errors.New("the response has no token")
	}
	return t, err
}

func (r *Request) config(scopes []string) *oauth2.Config {
	return &oauth2.Config{ClientID: r.ClientID, ClientSecret: r.ClientSecret, RedirectURL: r.Callback, Scopes: scopes,
		Endpoint: oauth2.Endpoint{TokenURL: r.TokenURL, AuthStyle: r.Style}}
}

// refused returns the server's response to an unauthenticated request, which names its authorization server.
func refused(ctx context.Context, client *http.Client, s Server) ([]oauthex.Challenge, error) {
	method, body := http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	if s.Events {
		method, body = http.MethodGet, ""
	}
	req, err := http.NewRequestWithContext(ctx, method, s.URL, strings.NewReader(body))
	if err != nil {
		return nil, errors.New("the url is not a valid address")
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		return nil, fmt.Errorf("the server does not ask for a login: it answers %s", resp.Status)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return nil, err
	}
	return oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
}

// resource returns the server's metadata. A server without metadata is its own authorization server.
func resource(ctx context.Context, client *http.Client, challenges []oauthex.Challenge,
	address string) (*oauthex.ProtectedResourceMetadata, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the url is not a valid address")
	}
	root := *u
	root.Path = ""
	at := *u
	at.Path = "/.well-known/oauth-protected-resource/" + strings.TrimLeft(u.Path, "/")
	tries := [][2]string{{at.String(), address}}
	at.Path = "/.well-known/oauth-protected-resource"
	tries = append(tries, [2]string{at.String(), root.String()})
	for _, c := range slices.Backward(challenges) {
		if named := c.Params["resource_metadata"]; named != "" {
			tries = slices.Insert(tries, 0, [2]string{named, address})
		}
	}
	for _, try := range tries[:min(len(tries), 8)] {
		about, err := oauthex.GetProtectedResourceMetadata(ctx, try[0], try[1], client)
		switch {
		case err != nil || about == nil:
			continue
		case len(about.AuthorizationServers) == 0:
			return nil, errors.New("the server names no authorization server")
		}
		return about, nil
	}
	return &oauthex.ProtectedResourceMetadata{AuthorizationServers: []string{root.String()}, Resource: address}, nil
}

// register registers the program at the authorization server.
func (r *Request) register(ctx context.Context, client *http.Client, s Server, meta *oauthex.AuthServerMeta) error {
	if s.Client != "" {
		r.ClientID, r.ClientSecret = s.Client, s.Secret
		for _, method := range []string{"client_secret_post", "client_secret_basic"} {
			if slices.Contains(meta.TokenEndpointAuthMethodsSupported, method) {
				r.Style = style(method)
				break
			}
		}
		return nil
	}
	if meta.RegistrationEndpoint == "" {
		return errors.New("the authorization server doesn't support client registration: configure a client that is registered by hand")
	}
	kind := "web"
	if u, err := url.Parse(s.Callback); err == nil && loopback(u.Hostname()) {
		kind = "native"
	}
	made, err := oauthex.RegisterClient(ctx, meta.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{s.Callback}, ClientName: "Fawn", TokenEndpointAuthMethod: "none", ApplicationType: kind,
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"}}, client)
	if err != nil {
		return fmt.Errorf("register at the authorization server: %w", err)
	}
	r.ClientID, r.ClientSecret, r.Style = made.ClientID, made.ClientSecret, style(made.TokenEndpointAuthMethod)
	return nil
}

// style returns the client authentication method.
func style(method string) oauth2.AuthStyle {
	switch method {
	case "client_secret_post", "none": // the latter sends its id without a secret
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader // RFC 7591's default is client_secret_basic
}

// scopes returns the requested scopes.
func scopes(s Server, challenges []oauthex.Challenge, about *oauthex.ProtectedResourceMetadata,
	meta *oauthex.AuthServerMeta) []string {
	var out []string
	for _, c := range challenges {
		if c.Scheme == "bearer" && c.Params["scope"] != "" {
			out = strings.Fields(c.Params["scope"])
			break
		}
	}
	if len(out) == 0 {
		out = slices.Clone(about.ScopesSupported)
	}
	if s.Scope != "" {
		out = strings.Fields(s.Scope)
	}
	const refresh = "offline_access"
	if slices.Contains(meta.ScopesSupported, refresh) && !slices.Contains(out, refresh) {
		out = append(out, refresh)
	}
	return out
}

func loopback(host string) bool {
	ip := net.ParseIP(cmp.Or(host, "-"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
