package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/web/account"
	"fawn/web/account/totp"
	"fawn/web/webtest"
)

const formKind = "application/x-www-form-urlencoded"

// form posts a form of a page.
func (b *browser) form(t *testing.T, path string, values url.Values) answer {
	t.Helper()
	return b.do(t, "POST", path, values.Encode(), "Content-Type", formKind, "Accept", "text/html")
}

// twoStep turns the second step on for a browser's user, and returns the secret of the app.
func (b *browser) twoStep(t *testing.T) string {
	t.Helper()
	a := b.form(t, "/ui/account", url.Values{"do": {"totp-begin"}, "current": {correct}})
	found := regexp.MustCompile(`<code class="secret">([A-Z2-7]{32})</code>`).FindStringSubmatch(a.body)
	if found == nil {
		t.Fatalf("no secret is shown: %d", a.status)
	}
	code, err := totp.Code(found[1], time.Now())
	must.Do(t, err)
	b.form(t, "/ui/account", url.Values{"do": {"totp"}, "code": {code}}).must(t, "confirm", http.StatusOK)
	return found[1]
}

// TestAResetLinkSignsNobodyIn, over the API and on the page: whoever has the link sets a new password with it, and
// signs in with all that the account asks for.
func TestAResetLinkSignsNobodyIn(t *testing.T) {
	t.Parallel()
	owner := guarded(t, "").owner(t)
	bob := owner.member(t, "bob@x.org", account.RoleUser)
	secret := bob.twoStep(t)
	id := webtest.Decode[struct{ ID string }](t, bob.do(t, "GET", "/api/v1/auth/me", "").body).ID
	for way, use := range map[string]func(b *browser, token string) answer{
		"API": func(b *browser, token string) answer {
			return b.do(t, "POST", "/api/v1/auth/link", `{"token":"`+token+`","password":"battery staple"}`)
		},
		"page": func(b *browser, token string) answer {
			return b.form(t, "/reset", url.Values{"token": {token}, "password": {"battery staple"}})
		},
	} {
		a := owner.do(t, "POST", "/api/v1/auth/users/"+id+"/reset", "")
		link := webtest.Decode[struct{ Token string }](t, a.body)
		thief := &browser{owner.server, map[string]string{}}
		if a := use(thief, link.Token); a.status >= 400 {
			t.Errorf("%s: the link sets no password: %d %s", way, a.status, a.body)
		}
		if thief.cookies[account.CookieSession] != "" {
			t.Errorf("%s: the link signs its user in", way)
		}
		thief.do(t, "GET", "/api/v1/auth/me", "").want(t, fmt.Sprintf("%s: the link lets in without the second step", way), http.StatusUnauthorized)
	}
	login := url.Values{"username": {"bob@x.org"}, "password": {"battery staple"}}
	bob.form(t, "/api/v1/auth/login/local", login).want(t, "without a code", http.StatusUnauthorized)
	code, err := totp.Code(secret, time.Now().Add(30*time.Second))
	must.Do(t, err)
	login.Set("totp", code)
	bob.form(t, "/api/v1/auth/login/local", login).want(t, "with a code", http.StatusOK)
}
