package mcp

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"fawn/agent"
)

// Bounds of logins.
const (
	loginTime = 10 * time.Minute // for the person at the browser
	askTime   = 30 * time.Second // for each step that nobody is needed for
	maxLogins = 32               // under way at a time
)

// errLogin is why a server cannot be used that wants its owner to log in.
var errLogin = errors.New("it wants you to log in: Settings → Tools")

var (
	// ErrNoLogin is the error about a server that nobody can log in to.
	ErrNoLogin = errors.New("this MCP server has no login")
	// ErrLoginGone is the error about an answer to a login which is not under way, or not any more.
	ErrLoginGone = errors.New("this login has expired or was never begun; begin it again")
)

// Client is how Fawn is registered with a server's authorization server. Without an ID it
// registers itself.
type Client struct {
	ID     string
	Secret string
	Scope  string // instead of what the server proposes
}

// Consent is where a person allows Fawn to use a server.
type Consent struct {
	URL   string
	State string // belongs to the browser that goes there
}

// LoginAnswer is what a browser brings back.
type LoginAnswer struct {
	State, Code, Issuer string
	Error, Description  string // why there is no code
}

// login is one that is under way.
type login struct {
	server   string
	veil     *veil
	resource string
	answer   chan LoginAnswer // has room for one
	ready    chan Consent     // has room for one
	done     chan struct{}
	err      error // once done is closed
}

// grant is what a login has brought. It is for one address of a server.
type grant struct {
	For          string    `json:"for"`
	TokenURL     string    `json:"token_url"`
	ClientID     string    `json:"client_id"`
	ClientSecret string    `json:"client_secret,omitempty"`
	Basic        bool      `json:"basic,omitempty"` // the secret goes into a header
	Resource     string    `json:"resource,omitempty"`
	Type         string    `json:"type"`
	Access       string    `json:"access"`
	Refresh      string    `json:"refresh,omitempty"`
	Until        time.Time `json:"until"` // zero where nobody knows
}

// mayLogIn tells whether a server is one that people can log in to: nothing else has been
// configured to identify Fawn there.
func (s Server) mayLogIn() bool {
	if s.Type == Stdio || s.OAuth != nil {
		return false
	}
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			return false
		}
	}
	return true
}

// Login begins a login and tells where its person has to go, who is sent back to the callback. It
// ends by itself when nobody comes back within ten minutes.
func (p *Pool) Login(ctx context.Context, name, callback string) (Consent, error) {
	p.mu.Lock()
	s, ok := p.servers[name]
	closed := p.closed
	p.mu.Unlock()
	if !ok || closed {
		return Consent{}, ErrUnknown
	}
	s.mu.Lock()
	conf := s.conf
	s.mu.Unlock()
	if !conf.mayLogIn() {
		return Consent{}, ErrNoLogin
	}
	l := &login{server: name, veil: s.veil, answer: make(chan LoginAnswer, 1), ready: make(chan Consent, 1),
		done: make(chan struct{})}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return Consent{}, ErrUnknown
	}
	p.work.Go(func() {
		defer close(l.done)
		l.err = p.logIn(s, conf, l, callback)
	})
	p.mu.Unlock()
	select {
	case to := <-l.ready:
		return to, nil
	case <-l.done:
		return Consent{}, l.err
	case <-ctx.Done():
		return Consent{}, context.Cause(ctx)
	}
}

// FinishLogin takes what a browser brings back, and waits for the login's end. The name is that of
// the server.
func (p *Pool) FinishLogin(ctx context.Context, a LoginAnswer) (name string, err error) {
	p.mu.Lock()
	l := p.logins[a.State]
	delete(p.logins, a.State) // an answer counts once
	p.mu.Unlock()
	if l == nil {
		return "", ErrLoginGone
	}
	l.answer <- a
	select {
	case <-l.done:
		return l.server, l.err
	case <-ctx.Done():
		return l.server, context.Cause(ctx)
	}
}

// Logout forgets what a login has brought.
func (p *Pool) Logout(name string) error {
	p.mu.Lock()
	_, here := p.servers[name]
	_, resting := p.resting[name]
	p.mu.Unlock()
	switch {
	case p.memory.get(name).Login == nil && !here && !resting:
		return ErrUnknown
	case p.memory.get(name).Login == nil:
		return nil
	}
	err := p.memory.put(name, func(k *known) bool { k.Login = nil; return true })
	if err == nil && here {
		err = p.Reconnect(name)
	}
	if errors.Is(err, ErrUnknown) {
		return nil // it has been removed
	}
	return err
}

// logIn goes through the whole of a login.
func (p *Pool) logIn(s *server, conf Server, l *login, callback string) error {
	ctx, cancel := context.WithTimeoutCause(s.ctx, loginTime, errors.New("nobody has logged in in time"))
	defer cancel()
	got, err := p.obtain(ctx, s, conf, l, callback)
	if err != nil {
		err = s.explainLogin(ctx, err)
		s.log.add("login: " + err.Error())
		return err
	}
	if err := p.memory.put(s.name, func(k *known) bool { k.Login = got; return true }); err != nil {
		return err
	}
	return p.Reconnect(s.name)
}

// obtain asks the server who gives tokens for it, sends a person there and exchanges the code for a token.
func (p *Pool) obtain(ctx context.Context, s *server, conf Server, l *login, callback string) (*grant, error) {
	way := conf
	way.Headers = nil // they are not for those who give tokens
	w, err := newWeb(way, nil, p.o.Guard, tokenBytes)
	if err != nil {
		return nil, err
	}
	defer w.close()
	client := w.client()
	client.Timeout = askTime
	refused, err := ask401(ctx, client, conf)
	if err != nil {
		return nil, err
	}
	got := &grant{For: conf.URL}
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: callback, RequestRefreshToken: true, AcceptUnadvertisedIss: true, Client: client,
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{
				RedirectURIs: []string{callback}, ClientName: "Fawn", TokenEndpointAuthMethod: "none",
				GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"}}},
		AuthorizationCodeFetcher: func(
			ctx context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			return p.await(ctx, l, a.URL)
		},
		NewTokenSource: func(_ context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			s.veil.hide(t.AccessToken, t.RefreshToken, c.ClientSecret)
			got.TokenURL, got.ClientID, got.ClientSecret = c.Endpoint.TokenURL, c.ClientID, c.ClientSecret
			got.Basic = c.ClientSecret != "" && c.Endpoint.AuthStyle != oauth2.AuthStyleInParams
			got.Type, got.Access, got.Refresh, got.Until = t.Type(), t.AccessToken, t.RefreshToken, t.Expiry
			return oauth2.StaticTokenSource(t), nil
		},
	}
	if c := conf.Client; c != nil {
		if c.ID != "" {
			config.PreregisteredClient = &oauthex.ClientCredentials{ClientID: c.ID}
			if c.Secret != "" {
				config.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: c.Secret}
			}
		}
		if c.Scope != "" {
			config.ScopeFilter = func([]string) []string { return strings.Fields(c.Scope) }
		}
	}
	handler, err := auth.NewAuthorizationCodeHandler(config)
	if err != nil {
		_ = refused.Body.Close() // it has been read
		return nil, err
	}
	if err := handler.Authorize(ctx, refused.Request, refused); err != nil {
		return nil, err
	}
	if got.Access == "" {
		return nil, errors.New("there is no token in the answer")
	}
	got.Resource = l.resource
	return got, nil
}

// ask401 is the answer of a server to somebody whom it does not know. It tells who gives tokens for it.
func ask401(ctx context.Context, client *http.Client, conf Server) (*http.Response, error) {
	method, body := http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	if conf.Type == SSE {
		method, body = http.MethodGet, ""
	}
	req, err := http.NewRequestWithContext(ctx, method, conf.URL, strings.NewReader(body))
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
	if resp.StatusCode != http.StatusUnauthorized {
		return nil, errors.Join(fmt.Errorf("the server does not ask for a login: it answers %s", resp.Status),
			resp.Body.Close())
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if err != nil {
		return nil, errors.Join(err, resp.Body.Close())
	}
	return resp, nil
}

// await sends a person to an address and waits for what the browser brings back.
func (p *Pool) await(ctx context.Context, l *login, address string) (*auth.AuthorizationResult, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("the authorization server has no valid address")
	}
	state := u.Query().Get("state")
	l.resource = u.Query().Get("resource")
	p.mu.Lock()
	full := len(p.logins) >= maxLogins
	if !full {
		p.logins[state] = l
	}
	p.mu.Unlock()
	if full {
		return nil, errors.New("too many logins are under way")
	}
	l.ready <- Consent{URL: address, State: state}
	defer func() {
		p.mu.Lock()
		delete(p.logins, state)
		p.mu.Unlock()
	}()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case a := <-l.answer:
		l.veil.hide(a.Code)
		switch {
		case a.Error != "":
			return nil, refusal(a)
		case a.Code == "" || subtle.ConstantTimeCompare([]byte(a.State), []byte(state)) != 1:
			return nil, errors.New("the answer has no code")
		}
		return &auth.AuthorizationResult{Code: a.Code, State: a.State, Iss: a.Issuer}, nil
	}
}

// refusal words why a person or an authorization server said no.
func refusal(a LoginAnswer) error {
	text := agent.Head(strings.TrimSpace(a.Error+" "+a.Description), 300)
	if a.Error == "access_denied" {
		return fmt.Errorf("access was denied: %s", text)
	}
	return fmt.Errorf("the authorization server refused: %s", text)
}

// explainLogin words why a login has failed, without what answers may hold.
func (s *server) explainLogin(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	var refused *oauth2.RetrieveError
	var address *url.Error
	switch {
	case errors.As(err, &refused):
		status := ""
		if refused.Response != nil {
			status = refused.Response.Status + " "
		}
		err = fmt.Errorf("the code was refused: %s%s", status,
			strings.TrimSpace(refused.ErrorCode+" "+refused.ErrorDescription))
	case errors.As(err, &address):
		err = address.Err // what is around it repeats the address
	}
	return errors.New(agent.Visible(clip(s.veil.over(err.Error()), 400)))
}

// useLogin makes the server use what a login has brought, if that is for it.
func (s *server) useLogin(g *grant) {
	if g == nil || g.For != s.conf.URL || !s.conf.mayLogIn() {
		return
	}
	s.tokens = loginTokens(*g, s.veil, func(next *grant) {
		s.remember(func(k *known) {
			if k.Login != nil { // nobody has logged out meanwhile
				k.Login = next
			}
		})
	})
	way := s.conf
	way.Headers = nil // they are not for those who give tokens
	if w, err := newWeb(way, nil, s.pool.o.Guard, tokenBytes); err == nil {
		s.tokens.client.Transport = w
	}
}

// loginTokens are those of a login.
func loginTokens(g grant, v *veil, keep func(*grant)) *tokens {
	o := OAuth{TokenURL: g.TokenURL, Grant: "refresh_token", ClientID: g.ClientID, ClientSecret: g.ClientSecret,
		Basic: g.Basic, TokenField: "access_token", TypeField: "token_type", ExpiryField: "expires_in",
		DefaultType: cmp.Or(g.Type, "Bearer"), Skew: time.Minute}
	if g.Resource != "" {
		o.Params = map[string]string{"resource": g.Resource}
	}
	v.hide(g.Access, g.Refresh, g.ClientSecret)
	t := newTokens(o, v, g.Refresh, nil)
	t.login = true
	t.value, t.until = g.Type+" "+g.Access, g.Until
	if g.Until.IsZero() {
		t.until = time.Now().AddDate(100, 0, 0) // the server tells when it is over
	}
	t.renewed = func(access, refresh string, until time.Time) {
		g.Access, g.Refresh, g.Until = access, refresh, until
		next := g
		keep(&next)
	}
	return t
}
