package ui_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/web/account"
	"fawn/web/account/sso/ssotest"
)

// corp is a service that signs one person in, and a configuration with it.
func corp(t *testing.T, change func(*config.OIDCProvider)) (*ssotest.Service, config.File) {
	t.Helper()
	s, err := ssotest.New(map[string]any{"sub": "42", "email": "ann@example.org", "email_verified": true,
		"name": "Ann"})
	must.Do(t, err)
	t.Cleanup(s.Close)
	p := config.OIDCProvider{DisplayName: "Corp", Issuer: s.URL, ClientID: "fawn", ClientSecret: ssotest.Secret,
		Scopes: []string{"openid", "email"}, PKCEEnabled: true, NonceEnabled: true, RequireVerifiedEmail: true,
		AutoCreateUsers: true}
	if change != nil {
		change(&p)
	}
	f := config.Default()
	f.Auth.OIDC = config.OIDC{Enabled: true, Providers: map[string]config.OIDCProvider{"corp": p}}
	return s, f
}

// through goes to the service and back, as a browser does, and returns what the server answers.
func (g *guest) through(from string) answer {
	g.Helper()
	a := g.get(from)
	g.want(a, http.StatusFound, "/authorize?")
	back := g.get(a.Header.Get("Location"))
	g.want(back, http.StatusFound, "/api/v1/auth/callback/corp?")
	return g.get(back.Header.Get("Location"))
}

func TestAServiceSignsPeopleIn(t *testing.T) {
	s, f := corp(t, nil)
	h := openGuarded(t, f)
	h.user("owner@example.org", account.RoleOwner)
	g := h.guest()
	g.want(g.get("/login?next=/workspace/skills"), http.StatusOK,
		`href="/api/v1/auth/oauth/corp?next=%2Fworkspace%2Fskills"`)
	g.want(g.through("/api/v1/auth/oauth/corp?next=%2Fworkspace%2Fskills"), http.StatusSeeOther, "-> /workspace/skills")
	g.want(g.get("/workspace/settings/account"), http.StatusOK, `value="ann@example.org"`)
	u, err := h.accounts.ByEmail(t.Context(), "ann@example.org")
	if err != nil || u.Role != account.RoleUser || u.Name != "Ann" {
		t.Fatalf("%+v, %v", u, err)
	}
	// The same person under another address is the same account.
	s.Person(map[string]any{"sub": "42", "email": "other@example.org", "email_verified": true})
	again := h.guest()
	again.want(again.through("/api/v1/auth/oauth/corp"), http.StatusSeeOther, "-> /workspace/chats/new")
	again.want(again.get("/workspace/settings/account"), http.StatusOK, `value="ann@example.org"`)
	again.want(again.post("/ui/account", url.Values{"do": {"unlink"}, "id": {s.URL + " 42"}}), http.StatusConflict,
		"only way to sign in")
	must.Do(t, h.accounts.SetDisabled(t.Context(), u.ID, true))
	again.want(again.through("/api/v1/auth/oauth/corp"), http.StatusForbidden, "disabled")
	again.want(again.get("/api/v1/auth/oauth/none"), http.StatusNotFound, "")
}

func TestAServiceDoesNotTakeAccountsOver(t *testing.T) {
	s, f := corp(t, nil)
	h := openGuarded(t, f)
	h.user("ann@example.org", account.RoleOwner) // with a password
	g := h.guest()
	g.want(g.through("/api/v1/auth/oauth/corp"), http.StatusForbidden,
		"already exists. Sign in to it, then connect Corp")
	g.signIn("ann@example.org")
	g.want(g.get("/workspace/settings/account"), http.StatusOK, "Connect Corp")
	g.want(g.through("/api/v1/auth/oauth/corp?link=1"), http.StatusSeeOther, "saved=linked")
	other := h.guest()
	other.want(other.through("/api/v1/auth/oauth/corp"), http.StatusSeeOther, "-> /workspace/chats/new")
	g.want(g.post("/ui/account", url.Values{"do": {"unlink"}, "id": {s.URL + " 42"}}), http.StatusSeeOther,
		"saved=linked")
	other = h.guest()
	other.want(other.through("/api/v1/auth/oauth/corp"), http.StatusForbidden, "already exists")
}

func TestWhomAServiceMayMake(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*config.OIDCProvider)
		owner  bool // there is one
		status int
		said   string
		role   string
	}{
		"nobody without auto_create_users": {change: func(p *config.OIDCProvider) { p.AutoCreateUsers = false },
			owner: true, status: http.StatusForbidden, said: "no account for ann@example.org"},
		"admins by their address": {change: func(p *config.OIDCProvider) {
			p.AutoCreateUsers, p.AdminEmails = false, []string{"Ann@example.org"}
		},
			owner: true, status: http.StatusSeeOther, role: account.RoleAdmin},
		"the owner, who is named": {change: func(p *config.OIDCProvider) {
			p.AdminEmails = []string{"ann@example.org"}
		},
			status: http.StatusSeeOther, role: account.RoleOwner},
		"no owner who is not named": {status: http.StatusForbidden, said: "no account for ann@example.org"},
		"nobody of other domains": {change: func(p *config.OIDCProvider) {
			p.AllowedEmailDomains = []string{"corp.example"}
		}, owner: true,
			status: http.StatusForbidden, said: "an email address this server accepts"},
	} {
		t.Run(name, func(t *testing.T) {
			_, f := corp(t, c.change)
			h := openGuarded(t, f)
			if c.owner {
				h.user("owner@example.org", account.RoleOwner)
			}
			g := h.guest()
			g.want(g.through("/api/v1/auth/oauth/corp"), c.status, c.said)
			if u, err := h.accounts.ByEmail(t.Context(), "ann@example.org"); u.Role != c.role {
				t.Errorf("%+v, %v", u, err)
			}
		})
	}
}

func TestASignInBelongsToItsBrowser(t *testing.T) {
	s, f := corp(t, nil)
	h := openGuarded(t, f)
	h.user("owner@example.org", account.RoleOwner)
	eve, ann := h.guest(), h.guest()
	// Eve stops on the way back and has ann's browser open what the service sent her to.
	back := eve.get(eve.get("/api/v1/auth/oauth/corp").Header.Get("Location")).Header.Get("Location")
	ann.want(ann.get(back), http.StatusBadRequest, "started in another browser")
	begun := ann.get("/api/v1/auth/oauth/corp")
	ann.want(begun, http.StatusFound, "/authorize")
	ann.want(ann.get(back), http.StatusBadRequest, "started in another browser")
	at, err := url.Parse(begun.Header.Get("Location"))
	if err != nil || at.Query().Get("state") == "" {
		t.Fatalf("the sign-in begins at %q: %v", begun.Header.Get("Location"), err)
	}
	for _, ck := range begun.Cookies() { // sealed: what the service gets is not to be read there
		if strings.Contains(ck.Value, at.Query().Get("state")) || !ck.HttpOnly || ck.Name != "fawn_sso" {
			t.Errorf("cookie %v", ck)
		}
	}
	eve.want(eve.get(back), http.StatusSeeOther, "-> /workspace")
	eve.want(eve.get(back), http.StatusBadRequest, "started in another browser")
	s.Refuse("access_denied")
	ann.want(ann.through("/api/v1/auth/oauth/corp"), http.StatusForbidden, "Corp refused the sign-in")
	gone := openGuarded(t, f).guest() // first: it could get the port that is free then
	s.Close()
	gone.want(gone.get("/api/v1/auth/oauth/corp"), http.StatusBadGateway, "can’t be reached")
}

// TestASecondServiceDoesNotEnterAnAccount that another one made, until whoever has it connects the two.
func TestASecondServiceDoesNotEnterAnAccount(t *testing.T) {
	_, f := corp(t, nil)
	second, err := ssotest.New(map[string]any{"sub": "7", "email": "ann@example.org", "email_verified": true})
	must.Do(t, err)
	t.Cleanup(second.Close)
	h := openGuarded(t, f)
	h.user("owner@example.org", account.RoleOwner)
	g := h.guest()
	g.want(g.through("/api/v1/auth/oauth/corp"), http.StatusSeeOther, "-> /workspace/chats/new")
	p := f.Auth.OIDC.Providers["corp"]
	p.Issuer = second.URL
	f.Auth.OIDC.Providers["corp"] = p // another service vouches for the same address
	thief := h.guest()
	thief.want(thief.through("/api/v1/auth/oauth/corp"), http.StatusForbidden, "already exists")
	g.want(g.through("/api/v1/auth/oauth/corp?link=1"), http.StatusSeeOther, "saved=linked")
	again := h.guest()
	again.want(again.through("/api/v1/auth/oauth/corp"), http.StatusSeeOther, "-> /workspace/chats/new")
}
