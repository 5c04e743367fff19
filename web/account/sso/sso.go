// Package sso signs people in through other services that speak OpenID Connect: the authorization
// code flow with PKCE and a nonce, bound to the browser that began it.
package sso

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"fawn/sandbox/netguard"
)

var (
	// ErrState means that a response doesn't belong to the sign-in that the browser began.
	ErrState = errors.New("this sign-in was not started in this browser, or too long ago")
	// ErrDenied means that the service refused a person.
	ErrDenied = errors.New("the service refused")
	// ErrEmail means that a person's address is unknown, unverified or not allowed here.
	ErrEmail = errors.New("the e-mail address is not accepted")
	// ErrToken means that a token isn't for this server, or has no subject.
	ErrToken = errors.New("the token is not accepted")
)

// Provider is one such service.
type Provider struct {
	Name                   string // in addresses
	Issuer                 string
	ClientID, ClientSecret string
	Scopes                 []string
	SecretInHeader         bool // the secret is sent as HTTP basic authentication
	PKCE, Nonce            bool
	VerifiedEmail          bool     // only verified addresses are accepted
	Domains                []string // domains of addresses; empty accepts all
}

// Pending is the state kept by the browser during a sign-in at a service. It must be sealed.
type Pending struct {
	Provider string `json:"p"`
	State    string `json:"s"`
	Nonce    string `json:"n,omitempty"`
	Verifier string `json:"v,omitempty"`
	Redirect string `json:"r"`           // redirect address
	Next     string `json:"x,omitempty"` // originally requested page
	User     string `json:"u,omitempty"` // the account that the identity is added to; empty signs in
}

// Identity is a person's identity at a service. Subject is stable, the address may change.
type Identity struct {
	Issuer, Subject string
	Email           string
	Verified        bool // the service has verified the address
	Name            string
}

// Client caches metadata of services. It is safe for concurrent use.
type Client struct {
	guard *netguard.Guard

	mu    sync.Mutex
	known map[string]*known // by issuer
}

// known is a service's description with the time to read it again.
type known struct {
	provider    *oidc.Provider
	client      *http.Client
	issuer      string
	namesItself bool // each answer names the issuer, see answered
	until       time.Time
}

// fresh is the lifetime of a service's metadata.
const fresh = time.Hour

// maxKnown limits the cached services. The configuration names them, so only repeated changes by its owner reach it.
const maxKnown = 64

// New returns a client. The owner chose the addresses of issuers, which may be private ones; the guard checks the
// addresses that issuers name.
func New(guard *netguard.Guard) *Client {
	return &Client{guard: guard, known: map[string]*known{}}
}

// Begin returns the address at the service that the browser goes to. Of pending, Redirect, Next and User are given; the
// rest is set.
func (c *Client) Begin(ctx context.Context, p Provider, pending *Pending) (string, error) {
	k, err := c.discover(ctx, p.Issuer)
	if err != nil {
		return "", err
	}
	pending.Provider, pending.State = p.Name, rand.Text()
	var more []oauth2.AuthCodeOption
	if p.Nonce {
		pending.Nonce = rand.Text()
		more = append(more, oidc.Nonce(pending.Nonce))
	}
	if p.PKCE {
		pending.Verifier = oauth2.GenerateVerifier()
		more = append(more, oauth2.S256ChallengeOption(pending.Verifier))
	}
	return oauthConfig(p, k, pending.Redirect).AuthCodeURL(pending.State, more...), nil
}

// Finish processes the service's redirect. Errors wrap [ErrState], [ErrDenied], [ErrEmail] or describe other failures.
func (c *Client) Finish(ctx context.Context, p Provider, pending Pending, query url.Values) (Identity, error) {
	var id Identity
	if pending.Provider != p.Name || pending.State == "" ||
		subtle.ConstantTimeCompare([]byte(pending.State), []byte(query.Get("state"))) != 1 {
		return id, ErrState
	}
	k, err := c.discover(ctx, p.Issuer)
	if err != nil {
		return id, err
	}
	if err := k.answered(query); err != nil {
		return id, fmt.Errorf("check the answer of %s: %w", p.Issuer, err)
	}
	if why := query.Get("error"); why != "" {
		return id, fmt.Errorf("%w: %.100q", ErrDenied, why)
	}
	var more []oauth2.AuthCodeOption
	if pending.Verifier != "" {
		more = append(more, oauth2.VerifierOption(pending.Verifier))
	}
	ctx = oidc.ClientContext(ctx, k.client)
	token, err := oauthConfig(p, k, pending.Redirect).Exchange(ctx, query.Get("code"), more...)
	if err != nil {
		return id, fmt.Errorf("get a token from %s: %w", p.Issuer, err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return id, fmt.Errorf("get a token from %s: the answer has no id_token; is the scope openid asked for?",
			p.Issuer)
	}
	verified, err := k.provider.Verifier(&oidc.Config{ClientID: p.ClientID}).Verify(ctx, raw)
	if err != nil {
		return id, fmt.Errorf("check the token of %s: %w", p.Issuer, err)
	}
	if err := meant(verified, p.ClientID); err != nil {
		return id, fmt.Errorf("check the token of %s: %w", p.Issuer, err)
	}
	if subtle.ConstantTimeCompare([]byte(verified.Nonce), []byte(pending.Nonce)) != 1 && p.Nonce {
		return id, fmt.Errorf("check the token of %s: %w", p.Issuer, ErrState)
	}
	return c.identity(ctx, p, k, token, verified)
}

// answered checks the issuer of a response, see RFC 9207: a service that includes its name must do so in each response,
// and a name must be its own; otherwise another service could inject its response.
func (k *known) answered(query url.Values) error {
	switch given := query["iss"]; {
	case len(given) == 0 && !k.namesItself:
		return nil
	case len(given) == 0:
		return fmt.Errorf("%w: it has no issuer (iss)", ErrState)
	case len(given) > 1 || given[0] != k.issuer:
		return fmt.Errorf("%w: its issuer is %.200q", ErrState, given)
	}
	return nil
}

// meant makes the checks that go-oidc leaves to its callers: a token names a person, and if it names an authorized
// party, or several audiences, the party is this client.
func meant(token *oidc.IDToken, client string) error {
	var got struct {
		Party *string `json:"azp"`
	}
	if err := token.Claims(&got); err != nil {
		return err
	}
	switch {
	case token.Subject == "":
		return fmt.Errorf("%w: it has no subject (sub)", ErrToken)
	case got.Party != nil && *got.Party != client:
		return fmt.Errorf("%w: it was issued to another client (azp %.200q)", ErrToken, *got.Party)
	case got.Party == nil && len(token.Audience) > 1:
		return fmt.Errorf("%w: it is for several clients and has no authorized party (azp)", ErrToken)
	}
	return nil
}

// claims are the used claims about a person. Some services send booleans as text.
type claims struct {
	Email    string `json:"email"`
	Verified any    `json:"email_verified"`
	Name     string `json:"name"`
}

func (c claims) verified() bool { return c.Verified == true || c.Verified == "true" }

// identity returns the person a token is about. Services may leave addresses out of tokens; then they are asked.
func (c *Client) identity(ctx context.Context, p Provider, k *known, token *oauth2.Token,
	id *oidc.IDToken) (Identity, error) {
	out := Identity{Issuer: id.Issuer, Subject: id.Subject}
	var got claims
	if err := id.Claims(&got); err != nil {
		return out, fmt.Errorf("read the token of %s: %w", p.Issuer, err)
	}
	if got.Email == "" && k.provider.UserInfoEndpoint() != "" {
		info, err := k.provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
		if err != nil {
			return out, fmt.Errorf("ask %s for the e-mail address: %w", p.Issuer, err)
		}
		if info.Subject != id.Subject {
			return out, fmt.Errorf("ask %s for the e-mail address: the response is about another user", p.Issuer)
		}
		if err := info.Claims(&got); err != nil {
			return out, fmt.Errorf("ask %s for the e-mail address: %w", p.Issuer, err)
		}
	}
	out.Email, out.Name = strings.ToLower(strings.TrimSpace(got.Email)), strings.TrimSpace(got.Name)
	out.Verified = got.verified()
	_, domain, ok := strings.Cut(out.Email, "@")
	switch {
	case !ok || domain == "":
		return out, fmt.Errorf("%w: %s did not send one", ErrEmail, p.Name)
	case p.VerifiedEmail && !out.Verified:
		return out, fmt.Errorf("%w: %s has not verified it", ErrEmail, p.Name)
	case len(p.Domains) > 0 && !slices.ContainsFunc(p.Domains, func(d string) bool {
		return strings.EqualFold(strings.TrimPrefix(d, "@"), domain)
	}):
		return out, fmt.Errorf("%w: addresses at %s are not allowed", ErrEmail, domain)
	}
	return out, nil
}

func oauthConfig(p Provider, k *known, redirect string) *oauth2.Config {
	at := k.provider.Endpoint()
	at.AuthStyle = oauth2.AuthStyleInParams
	if p.SecretInHeader {
		at.AuthStyle = oauth2.AuthStyleInHeader
	}
	scopes := p.Scopes
	if !slices.Contains(scopes, oidc.ScopeOpenID) {
		scopes = append([]string{oidc.ScopeOpenID}, scopes...)
	}
	return &oauth2.Config{ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: at, RedirectURL: redirect,
		Scopes: scopes}
}

// discover reads the description of a service, or has it.
func (c *Client) discover(ctx context.Context, issuer string) (*known, error) {
	c.mu.Lock()
	k := c.known[issuer]
	c.mu.Unlock()
	if k != nil && time.Now().Before(k.until) {
		return k, nil
	}
	client, err := clientFor(issuer, c.guard)
	if err != nil {
		return nil, err
	}
	// The provider keeps the context for reading keys later, so that must not end with a request.
	provider, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), client), issuer)
	if err != nil {
		return nil, fmt.Errorf("reach %s: %w", issuer, err)
	}
	k = &known{provider: provider, client: client, issuer: issuer, until: time.Now().Add(fresh)}
	var more struct {
		NamesItself bool `json:"authorization_response_iss_parameter_supported"`
	}
	if err := provider.Claims(&more); err != nil {
		return nil, fmt.Errorf("read the description of %s: %w", issuer, err)
	}
	k.namesItself = more.NamesItself
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxKnown {
		clear(c.known)
	}
	c.known[issuer] = k
	return k, nil
}
