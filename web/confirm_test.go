package web_test

import (
	"crypto/sha256"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
	"fawn/web/account"
	"fawn/web/webtest"
)

// since is a browser whose session began a while ago.
func (b *browser) since(t *testing.T, user string, ago time.Duration) *browser {
	t.Helper()
	secret, now := "session-of-"+user+"-for-"+ago.String(), time.Now()
	hash := sha256.Sum256([]byte(secret))
	err := b.app.DB().PutSession(t.Context(), store.Session{ID: secret, Hash: hash[:], User: user, Device: "a browser",
		CreatedAt: now.Add(-ago), UsedAt: now, ExpiresAt: now.Add(time.Hour)}, 10)
	must.Do(t, err)
	old := &browser{b.server, map[string]string{account.CookieSession: secret}}
	old.do(t, "GET", "/api/v1/auth/me", "").must(t, "the old session", http.StatusOK)
	return old
}

// TestWaysInNeedAProofFirst: a session of a while ago adds no token, passkey or app until its user has proved
// who they are.
func TestWaysInNeedAProofFirst(t *testing.T) {
	t.Parallel()
	ann := guarded(t, "").owner(t)
	bob := ann.member(t, "bob@x.org", account.RoleUser)
	id := webtest.Decode[struct{ ID string }](t, bob.do(t, "GET", "/api/v1/auth/me", "").body).ID
	bob.token(t, "read") // the session is new
	old := bob.since(t, id, time.Hour)
	const token = `{"name":"mine","scopes":["write"],"expires_in_days":7`
	for body, want := range map[string]int{token + "}": http.StatusForbidden,
		token + `,"current_password":"wrong"}`:           http.StatusUnauthorized,
		token + `,"current_password":"` + correct + `"}`: http.StatusCreated} {
		if a := old.do(t, "POST", "/api/v1/auth/pats", body); a.status != want ||
			want == http.StatusForbidden && !strings.Contains(a.body, "reauthentication_required") {
			t.Errorf("%s: %d %s, want %d", body, a.status, a.body, want)
		}
	}
	add := url.Values{"do": {"add"}, "name": {"mine"}, "scope": {"write"}, "days": {"7"}}
	for path, form := range map[string]url.Values{"/ui/account/tokens": add, "/ui/account": {"do": {"totp-begin"}}} {
		a := old.form(t, path, form)
		if a.status != http.StatusSeeOther || !strings.HasSuffix(a.header.Get("Location"), "#confirm") {
			t.Errorf("%s: %d, to %s", path, a.status, a.header.Get("Location"))
		}
	}
	old.do(t, "POST", "/ui/account/passkey/options", "").want(t, "a passkey", http.StatusForbidden)
	old.do(t, "GET", "/workspace/settings/tokens", "", "Accept", "text/html").holds(t, "the section asks for no proof", `id="confirm"`, `!id="token-name"`)
	wrong := old.form(t, "/ui/account", url.Values{"do": {"confirm"}, "current": {"wrong"}, "back": {"tokens"}})
	wrong.want(t, "a wrong password", http.StatusUnprocessableEntity, `id="confirm"`)
	before := old.cookies[account.CookieSession]
	a := old.form(t, "/ui/account", url.Values{"do": {"confirm"}, "current": {correct}, "back": {"tokens"}})
	if a.status != http.StatusSeeOther || old.cookies[account.CookieSession] == before {
		t.Fatalf("the right one: %d", a.status)
	}
	old.form(t, "/ui/account/tokens", add).want(t, "after the proof", http.StatusOK, "fawn_")
	stale := &browser{bob.server, map[string]string{account.CookieSession: before}}
	stale.do(t, "GET", "/api/v1/auth/me", "").want(t, "the session before goes on", http.StatusUnauthorized)
}

// TestAResetEndsTokens unless they are kept on purpose.
func TestAResetEndsTokens(t *testing.T) {
	t.Parallel()
	ann := guarded(t, "").owner(t)
	bob := ann.member(t, "bob@x.org", account.RoleUser)
	id := webtest.Decode[struct{ ID string }](t, bob.do(t, "GET", "/api/v1/auth/me", "").body).ID
	token := bob.token(t, "write")
	works := func() bool {
		return ann.send(t, "GET", "/threads", "", "X-Api-Key", token).status != http.StatusUnauthorized
	}
	link := func() string {
		return webtest.Decode[struct{ Token string }](t, ann.do(t, "POST", "/api/v1/auth/users/"+id+"/reset", "").body).Token
	}
	one := link()
	stranger := &browser{ann.server, map[string]string{}}
	stranger.do(t, "GET", "/reset?token="+one, "", "Accept", "text/html").holds(t, "the page doesn't ask about tokens", "keep-tokens")
	a := stranger.form(t, "/reset", url.Values{"token": {one}, "password": {"battery staple"}, "keep-tokens": {"1"}})
	if a.status != http.StatusSeeOther || !works() {
		t.Errorf("kept: %d, works: %v", a.status, works())
	}
	a = stranger.do(t, "POST", "/api/v1/auth/link", `{"token":"`+link()+`","password":"battery staple 2","keep_tokens":true}`)
	if a.status != http.StatusCreated || !works() {
		t.Errorf("kept over the API: %d %s, works: %v", a.status, a.body, works())
	}
	a = stranger.do(t, "POST", "/api/v1/auth/link", `{"token":"`+link()+`","password":"battery staple 3"}`)
	if a.status != http.StatusCreated || works() {
		t.Errorf("a token outlives a reset: %d %s", a.status, a.body)
	}
}

// TestTheCSRFTokenBelongsToTheSession: whoever can set a cookie, as another host of the same domain can, knows none.
func TestTheCSRFTokenBelongsToTheSession(t *testing.T) {
	t.Parallel()
	ann := guarded(t, "").owner(t)
	bob := ann.member(t, "bob@x.org", account.RoleUser)
	for name, csrf := range map[string]string{"made up": "abc", "another session's": bob.cookies[account.CookieCSRF]} {
		a := ann.send(t, "POST", "/threads", "{}", "Cookie", account.CookieSession+"="+ann.cookies[account.CookieSession]+
			"; "+account.CookieCSRF+"="+csrf, account.HeaderCSRF, csrf)
		a.want(t, name, http.StatusForbidden)
	}
	// A browser from before gets its token with the next page.
	older := &browser{ann.server, map[string]string{account.CookieSession: ann.cookies[account.CookieSession],
		account.CookieCSRF: "from before"}}
	older.do(t, "GET", "/api/v1/auth/me", "")
	older.do(t, "POST", "/threads", "{}").want(t, "after the next page", http.StatusOK)
}

// TestOldSessionsDontManageAccounts: a session of a while ago neither lets others in nor takes accounts over.
func TestOldSessionsDontManageAccounts(t *testing.T) {
	t.Parallel()
	ann := guarded(t, "").owner(t)
	bob := ann.member(t, "bob@x.org", account.RoleUser)
	id := webtest.Decode[struct{ ID string }](t, bob.do(t, "GET", "/api/v1/auth/me", "").body).ID
	old := ann.since(t, webtest.Decode[struct{ ID string }](t, ann.do(t, "GET", "/api/v1/auth/me", "").body).ID, time.Hour)
	for _, c := range [][3]string{
		{"POST", "/api/v1/auth/users", `{"email":"eve@x.org","role":"admin"}`},
		{"PATCH", "/api/v1/auth/users/" + id, `{"role":"admin"}`},
		{"POST", "/api/v1/auth/users/" + id + "/reset", ""},
		{"DELETE", "/api/v1/auth/users/" + id, ""},
	} {
		if a := old.do(t, c[0], c[1], c[2]); a.status != http.StatusForbidden || !strings.Contains(a.body, "reauthentication_required") {
			t.Errorf("%s %s: %d %s", c[0], c[1], a.status, a.body)
		}
	}
	for path, form := range map[string]url.Values{"/ui/users": {"email": {"eve@x.org"}, "role": {"admin"}},
		"/ui/users/" + id + "/role": {"role": {"admin"}}, "/ui/users/" + id + "/reset": {}} {
		if a := old.form(t, path, form); a.status != http.StatusSeeOther || !strings.HasSuffix(a.header.Get("Location"), "#confirm") {
			t.Errorf("%s: %d, to %s", path, a.status, a.header.Get("Location"))
		}
	}
	bob.do(t, "GET", "/api/v1/auth/me", "").want(t, "the other account", http.StatusOK, `"system_role":"user"`)
}
