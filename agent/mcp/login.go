package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"fawn/agent"
	"fawn/agent/mcp/consent"
)

// Limits of logins.
const (
	loginTime = 10 * time.Minute // limit for the person at the browser
	askTime   = 30 * time.Second // for each step without a person
)

// errLogin means that the server requires its owner to log in.
var errLogin = errors.New("it wants you to log in: Settings → MCP servers")

var (
	// ErrNoLogin means that the server has no login.
	ErrNoLogin = errors.New("this MCP server has no login")
	// ErrLoginGone means that a login isn't pending, or no longer pending.
	ErrLoginGone = errors.New("this login has expired or was never started; start it again")
)

// Client is Fawn's registration with a server's authorization server. Without an ID it registers itself.
type Client struct {
	ID     string
	Secret string
	Scope  string // overrides the server's proposal
}

// Consent is the page where a person authorizes Fawn for a server.
type Consent struct {
	URL   string
	State string // bound to the browser that goes there
}

// LoginAnswer holds the parameters of the browser's redirect.
type LoginAnswer struct {
	State, Code, Issuer string
	Error, Description  string // reason for the missing code
}

// grant is the result of a login. It is bound to one address of a server.
type grant struct {
	For          string    `json:"for"`
	TokenURL     string    `json:"token_url"`
	ClientID     string    `json:"client_id"`
	ClientSecret string    `json:"client_secret,omitempty"`
	Basic        bool      `json:"basic,omitempty"` // send the secret in a header
	Resource     string    `json:"resource,omitempty"`
	Type         string    `json:"type"`
	Access       string    `json:"access"`
	Refresh      string    `json:"refresh,omitempty"`
	Until        time.Time `json:"until"` // zero if unknown
}

// mayLogIn reports whether a person can log in to a server: no other authentication is configured.
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

// Login begins a login and returns the address for the person, who is redirected to the callback. It is valid for ten
// minutes and can be completed on any server.
func (p *Pool) Login(ctx context.Context, name, callback string) (Consent, error) {
	s, conf, err := p.loginAt(name)
	if err != nil {
		return Consent{}, err
	}
	if err := p.logins.Room(ctx); err != nil {
		return Consent{}, err
	}
	ask := consent.Server{URL: conf.URL, Events: conf.Type == SSE, Callback: callback}
	if c := conf.Client; c != nil {
		ask.Client, ask.Secret, ask.Scope = c.ID, c.Secret, c.Scope
	}
	l := consent.Login{Server: name, For: conf.URL, Until: p.logins.Now().Add(loginTime)}
	err = p.outside(ctx, s, conf, func(ctx context.Context, client *http.Client) (err error) {
		l.Request, err = consent.Ask(ctx, client, ask)
		return err
	})
	if err == nil {
		err = p.logins.Put(ctx, l)
	}
	if err != nil {
		return Consent{}, err
	}
	return Consent{URL: l.Request.Address, State: l.Request.State}, nil
}

// FinishLogin exchanges the redirect's code for a token. It returns the server's name.
func (p *Pool) FinishLogin(ctx context.Context, a LoginAnswer) (name string, err error) {
	l, ok, err := p.logins.Take(ctx, a.State) // an answer counts once
	if err != nil || !ok {
		return "", cmp.Or(err, ErrLoginGone)
	}
	s, conf, err := p.loginAt(l.Server)
	if err == nil && conf.URL != l.For {
		err = ErrLoginGone // the configured server has changed
	}
	if err != nil {
		return l.Server, err
	}
	s.veil.hide(a.Code, l.Request.ClientSecret)
	var got *grant
	ctx = context.WithoutCancel(ctx) // the code is used up with the request, even if the caller leaves
	err = p.outside(ctx, s, conf, func(ctx context.Context, client *http.Client) error {
		if a.Error != "" {
			return refusal(a)
		}
		t, err := l.Request.Finish(ctx, client, consent.Answer{State: a.State, Code: a.Code, Issuer: a.Issuer})
		if err == nil {
			s.veil.hide(t.AccessToken, t.RefreshToken)
			got = granted(l, t, p.logins.Now())
		}
		return err
	})
	if err != nil {
		return l.Server, err
	}
	if err := p.memory.put(s.name, func(k *known) bool { k.Login = got; return true }); err != nil {
		return l.Server, err
	}
	return l.Server, p.Reconnect(s.name)
}

// loginAt returns a server that people can log in to.
func (p *Pool) loginAt(name string) (*server, Server, error) {
	s, err := p.find(name)
	if err != nil {
		return nil, Server{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.conf.mayLogIn() {
		return nil, Server{}, ErrNoLogin
	}
	return s, s.conf, nil
}

// outside calls a server's authorization server and describes its errors.
func (p *Pool) outside(ctx context.Context, s *server, conf Server,
	do func(context.Context, *http.Client) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*askTime, errors.New("they did not answer in time"))
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	conf.Headers = nil // they are not for the authorization server
	w, err := newWeb(conf, nil, &p.o, tokenBytes)
	if err != nil {
		return err
	}
	defer w.close()
	client := w.client()
	client.Timeout = askTime
	if err = do(ctx, client); err != nil {
		err = s.explainLogin(ctx, err)
		s.log.add("login: " + err.Error())
	}
	return err
}

// granted converts a token to a grant.
func granted(l consent.Login, t *oauth2.Token, now time.Time) *grant {
	r, until := l.Request, t.Expiry
	if !until.IsZero() {
		until = now.Add(time.Until(until))
	}
	return &grant{For: l.For, TokenURL: r.TokenURL, ClientID: r.ClientID, ClientSecret: r.ClientSecret,
		Basic:    r.ClientSecret != "" && r.Style != oauth2.AuthStyleInParams,
		Resource: r.Resource, Type: t.Type(), Access: t.AccessToken, Refresh: t.RefreshToken, Until: until}
}

// Logout deletes the login.
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

// refusal explains why the user or an authorization server denied access.
func refusal(a LoginAnswer) error {
	text := agent.Head(strings.TrimSpace(a.Error+" "+a.Description), 300)
	if a.Error == "access_denied" {
		return fmt.Errorf("access was denied: %s", text)
	}
	return fmt.Errorf("the authorization server refused: %s", text)
}

// explainLogin explains why a login failed, without response data.
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
		err = address.Err // its wrapper repeats the address
	}
	return errors.New(agent.Visible(agent.Clip(s.veil.over(err.Error()), 400)))
}
