package sso_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/netguard"
	"fawn/web/account/sso"
	"fawn/web/account/sso/ssotest"
)

const redirect = "https://fawn.example/api/v1/auth/callback/corp"

func serve(t *testing.T, claims map[string]any) *ssotest.Service {
	t.Helper()
	s, err := ssotest.New(claims)
	must.Do(t, err)
	t.Cleanup(s.Close)
	return s
}

func provider(s *ssotest.Service) sso.Provider {
	return sso.Provider{Name: "corp", Issuer: s.URL, ClientID: "fawn", ClientSecret: ssotest.Secret,
		Scopes: []string{"openid", "email"}, PKCE: true, Nonce: true, VerifiedEmail: true}
}

func ann() map[string]any {
	return map[string]any{"sub": "42", "email": "Ann@Example.org", "email_verified": true, "name": "Ann"}
}

// visit goes to the service as a browser does and returns what it sends back.
func visit(t *testing.T, address string) url.Values {
	t.Helper()
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := c.Get(address)
	must.Do(t, err)
	defer resp.Body.Close()
	back, err := resp.Location()
	must.Do(t, err, fmt.Sprintf("%d", resp.StatusCode))
	if got := back.Scheme + "://" + back.Host + back.Path; got != redirect {
		t.Fatalf("sent back to %s", got)
	}
	return back.Query()
}

// pass goes the whole way.
func pass(t *testing.T, c *sso.Client, p sso.Provider) (sso.Identity, error) {
	t.Helper()
	pending := sso.Pending{Redirect: redirect}
	address, err := c.Begin(t.Context(), p, &pending)
	must.Do(t, err)
	return c.Finish(t.Context(), p, pending, visit(t, address))
}

func TestAPersonIsSignedIn(t *testing.T) {
	s := serve(t, ann())
	c := sso.New(&netguard.Guard{})
	for name, change := range map[string]func(*sso.Provider){
		"as usual":              func(*sso.Provider) {},
		"without PKCE":          func(p *sso.Provider) { p.PKCE = false },
		"without a nonce":       func(p *sso.Provider) { p.Nonce = false },
		"with basic":            func(p *sso.Provider) { p.SecretInHeader = true },
		"of an allowed domain":  func(p *sso.Provider) { p.Domains = []string{"other.example", "example.ORG"} },
		"without scope openid":  func(p *sso.Provider) { p.Scopes = []string{"email"} },
		"unverified is allowed": func(p *sso.Provider) { p.VerifiedEmail = false },
	} {
		p := provider(s)
		change(&p)
		id, err := pass(t, c, p)
		if err != nil ||
			id != (sso.Identity{Issuer: s.URL, Subject: "42", Email: "ann@example.org", Verified: true, Name: "Ann"}) {
			t.Errorf("%s: %+v, %v", name, id, err)
		}
	}
}

func TestWhoIsNotLetIn(t *testing.T) {
	s := serve(t, ann())
	c := sso.New(&netguard.Guard{})
	for name, one := range map[string]struct {
		change func(*sso.Provider)
		claims map[string]any
		want   error
	}{
		"unverified":     {claims: map[string]any{"sub": "42", "email": "ann@example.org", "email_verified": false}, want: sso.ErrEmail},
		"verified by no": {claims: map[string]any{"sub": "42", "email": "ann@example.org", "email_verified": "false"}, want: sso.ErrEmail},
		"no address":     {claims: map[string]any{"sub": "42"}, want: sso.ErrEmail},
		"another domain": {change: func(p *sso.Provider) { p.Domains = []string{"ample.org"} }, want: sso.ErrEmail},
		"a wrong secret": {change: func(p *sso.Provider) { p.ClientSecret = "guess" }},
		"another audience": {claims: map[string]any{"sub": "42", "aud": "somebody", "email": "ann@example.org",
			"email_verified": true}},
		"an old token": {claims: map[string]any{"sub": "42", "exp": 1, "email": "ann@example.org", "email_verified": true}},
		"another nonce": {claims: map[string]any{"sub": "42", "nonce": "x", "email": "ann@example.org",
			"email_verified": true}, want: sso.ErrState},
		"nobody": {claims: map[string]any{"email": "ann@example.org", "email_verified": true}, want: sso.ErrToken},
		"an empty name": {claims: map[string]any{"sub": "", "email": "ann@example.org", "email_verified": true},
			want: sso.ErrToken},
		"another client's token": {claims: map[string]any{"sub": "42", "aud": []string{"fawn", "other"}, "azp": "other",
			"email": "ann@example.org", "email_verified": true}, want: sso.ErrToken},
		"a token of nobody knows which client": {claims: map[string]any{"sub": "42", "aud": []string{"fawn", "other"},
			"email": "ann@example.org", "email_verified": true}, want: sso.ErrToken},
		"another issuer": {claims: map[string]any{"sub": "42", "iss": "https://else.example",
			"email": "ann@example.org", "email_verified": true}},
	} {
		p := provider(s)
		if one.change != nil {
			one.change(&p)
		}
		s.Person(ann())
		if one.claims != nil {
			s.Person(one.claims)
		}
		if id, err := pass(t, c, p); err == nil || one.want != nil && !errors.Is(err, one.want) {
			t.Errorf("%s: %+v, %v", name, id, err)
		}
	}
	s.Person(ann())
	s.OtherKey(true)
	if id, err := pass(t, c, provider(s)); err == nil {
		t.Errorf("a token of another key counts: %+v", id)
	}
	s.OtherKey(false)
	s.Refuse("access_denied")
	if _, err := pass(t, c, provider(s)); !errors.Is(err, sso.ErrDenied) {
		t.Errorf("a refusal is %v", err)
	}
}

func TestOnlyTheBrowserThatBeganCanFinish(t *testing.T) {
	s := serve(t, ann())
	c, p := sso.New(&netguard.Guard{}), provider(s)
	mine, theirs := sso.Pending{Redirect: redirect}, sso.Pending{Redirect: redirect}
	address, err := c.Begin(t.Context(), p, &mine)
	must.Do(t, err)
	if _, err := c.Begin(t.Context(), p, &theirs); err != nil {
		t.Fatal(err)
	}
	query := visit(t, address)
	for name, pending := range map[string]sso.Pending{"another": theirs, "none": {},
		"of another service": {Provider: "else", State: mine.State, Redirect: redirect}} {
		if _, err := c.Finish(t.Context(), p, pending, query); !errors.Is(err, sso.ErrState) {
			t.Errorf("%s: %v", name, err)
		}
	}
	stolen := mine
	stolen.Verifier = theirs.Verifier
	if _, err := c.Finish(t.Context(), p, stolen, query); err == nil {
		t.Error("a code counts without its verifier")
	}
	if _, err := c.Finish(t.Context(), p, mine, query); err == nil {
		t.Error("a code counts twice")
	}
}

// TestServicesLeadNowhereElse: the owner chose the issuer; where it points to, the guard judges.
func TestServicesLeadNowhereElse(t *testing.T) {
	var asked bool
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	t.Cleanup(inside.Close)
	var issuer *httptest.Server
	issuer = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"issuer": "` + issuer.URL + `", "authorization_endpoint": "` + issuer.URL +
			`/a", "token_endpoint": "` + inside.URL + `", "jwks_uri": "` + inside.URL +
			`", "id_token_signing_alg_values_supported": ["RS256"]}`))
	}))
	t.Cleanup(issuer.Close)
	p := sso.Provider{Name: "corp", Issuer: issuer.URL, ClientID: "fawn"}
	c, pending := sso.New(&netguard.Guard{}), sso.Pending{Redirect: redirect}
	if _, err := c.Begin(t.Context(), p, &pending); err != nil {
		t.Fatal(err)
	}
	_, err := c.Finish(t.Context(), p, pending, url.Values{"state": {pending.State}, "code": {"x"}})
	if refused := (*netguard.Refused)(nil); !errors.As(err, &refused) || asked {
		t.Errorf("the token was asked for inside: %v", err)
	}
	open := sso.New(&netguard.Guard{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	pending = sso.Pending{Redirect: redirect}
	if _, err := open.Begin(t.Context(), p, &pending); err != nil {
		t.Fatal(err)
	}
	_, err = open.Finish(t.Context(), p, pending, url.Values{"state": {pending.State}, "code": {"x"}})
	if err == nil || !asked {
		t.Errorf("an opened network is not reached: %v", err)
	}
}

func TestABrokenIssuerIsNamed(t *testing.T) {
	c := sso.New(&netguard.Guard{})
	for _, issuer := range []string{"", "ftp://x.example", "login.example.org", "http://127.0.0.1:1"} {
		if _, err := c.Begin(t.Context(), sso.Provider{Name: "corp", Issuer: issuer}, &sso.Pending{}); err == nil {
			t.Errorf("issuer %q works", issuer)
		}
	}
}

// TestAnswersAreOfTheServiceThatWasAsked, where services say whose they are (RFC 9207).
func TestAnswersAreOfTheServiceThatWasAsked(t *testing.T) {
	s := serve(t, ann())
	if _, err := pass(t, sso.New(&netguard.Guard{}), provider(s)); err != nil {
		t.Fatalf("a service that doesn't say: %v", err)
	}
	for named, want := range map[string]error{s.URL: nil, "": sso.ErrState, "https://else.example": sso.ErrState} {
		s.Named(named)
		if _, err := pass(t, sso.New(&netguard.Guard{}), provider(s)); !errors.Is(err, want) {
			t.Errorf("an answer of %q: %v", named, err)
		}
	}
	s.Person(map[string]any{"sub": "42", "aud": []string{"fawn", "other"}, "azp": "fawn", "email": "ann@example.org",
		"email_verified": true})
	s.Named(s.URL)
	if _, err := pass(t, sso.New(&netguard.Guard{}), provider(s)); err != nil {
		t.Errorf("a token for several clients that this one asked for: %v", err)
	}
}
