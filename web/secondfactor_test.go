package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"testing"
	"time"

	"fawn/web/account"
	"fawn/web/account/totp"
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
	if err != nil {
		t.Fatal(err)
	}
	if a := b.form(t, "/ui/account", url.Values{"do": {"totp"}, "code": {code}}); a.status != http.StatusOK {
		t.Fatalf("confirm: %d", a.status)
	}
	return found[1]
}

// TestAResetLinkSignsNobodyIn, over the API and on the page: whoever has the link sets a new password with it, and
// signs in with all that the account asks for.
func TestAResetLinkSignsNobodyIn(t *testing.T) {
	t.Parallel()
	owner := guarded(t, "").owner(t)
	bob := owner.member(t, "bob@x.org", account.RoleUser)
	secret := bob.twoStep(t)
	id := decodeAs[struct{ ID string }](t, bob.do(t, "GET", "/api/v1/auth/me", "").body).ID
	for way, use := range map[string]func(b *browser, token string) answer{
		"API": func(b *browser, token string) answer {
			return b.do(t, "POST", "/api/v1/auth/link", `{"token":"`+token+`","password":"battery staple"}`)
		},
		"page": func(b *browser, token string) answer {
			return b.form(t, "/reset", url.Values{"token": {token}, "password": {"battery staple"}})
		},
	} {
		a := owner.do(t, "POST", "/api/v1/auth/users/"+id+"/reset", "")
		link := decodeAs[struct{ Token string }](t, a.body)
		thief := &browser{owner.server, map[string]string{}}
		if a := use(thief, link.Token); a.status >= 400 {
			t.Errorf("%s: the link sets no password: %d %s", way, a.status, a.body)
		}
		if thief.cookies[account.CookieSession] != "" {
			t.Errorf("%s: the link signs its user in", way)
		}
		if a := thief.do(t, "GET", "/api/v1/auth/me", ""); a.status != http.StatusUnauthorized {
			t.Errorf("%s: the link lets in without the second step: %d %s", way, a.status, a.body)
		}
	}
	login := url.Values{"username": {"bob@x.org"}, "password": {"battery staple"}}
	if a := bob.form(t, "/api/v1/auth/login/local", login); a.status != http.StatusUnauthorized {
		t.Errorf("without a code: %d %s", a.status, a.body)
	}
	code, err := totp.Code(secret, time.Now().Add(30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	login.Set("totp", code)
	if a := bob.form(t, "/api/v1/auth/login/local", login); a.status != http.StatusOK {
		t.Errorf("with a code: %d %s", a.status, a.body)
	}
}
