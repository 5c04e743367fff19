package ui_test

import (
	"context"
	"errors"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/runs"
	"fawn/sandbox/files"
	"fawn/sandbox/netguard"
	"fawn/store"
	"fawn/web/account"
	"fawn/web/account/sso"
	"fawn/web/account/totp"
	"fawn/web/httpx"
	"fawn/web/ui"
	"fawn/web/ui/page"
	"fawn/web/webtest"
)

// guarded is the pages of a server that people have to sign in to.
type guarded struct {
	*testing.T
	db       *store.DB
	accounts *account.Service
	dirs     files.Dirs
	url      string
}

const goodPassword = "correct horse"

func openGuarded(t *testing.T, f config.File) *guarded {
	t.Helper()
	log, dir := slog.New(slog.DiscardHandler), t.TempDir()
	db, err := store.Open(t.Context(), store.Config{Dir: dir, Log: log})
	must.Do(t, err)
	h := &guarded{T: t, db: db, accounts: account.New(account.Options{DB: db, Log: log, Required: true, HashMemory: 64})}
	h.dirs = files.Dirs{Root: dir}
	manager := runs.New(runs.Config{DB: db, Log: log, Remove: h.dirs.Remove,
		Build: func(context.Context, runs.Spec) (*agent.Agent, error) { return nil, errors.New("nobody runs here") }})
	must.Do(t, manager.Recover(t.Context()))
	u, err := ui.New(ui.Deps{Site: &page.Site{DB: db, Runs: manager, Dirs: h.dirs, Accounts: h.accounts, Log: log,
		Config: config.Fixed(&config.Snapshot{File: f, DataDir: dir}), Addr: "127.0.0.1:0"},
		Version: "test", SSO: sso.New(&netguard.Guard{})})
	must.Do(t, err)
	e := echo.New()
	e.Use(h.accounts.Middleware)
	e.HTTPErrorHandler = u.ErrorHandler(httpx.ErrorHandler(log))
	u.Routes(e.Group(""))
	server := httptest.NewServer(e)
	h.url = server.URL
	t.Cleanup(func() {
		server.Close()
		manager.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// user makes an account; the first must be an owner's.
func (h *guarded) user(email, role string) store.User {
	h.Helper()
	u, err := h.accounts.Create(h.Context(), account.NewUser{Email: email, Role: role, Password: goodPassword})
	must.Do(h, err)
	return u
}

// guest is a browser.
type guest struct {
	*testing.T
	c    *http.Client
	base string
}

func (h *guarded) guest() *guest {
	jar, err := cookiejar.New(nil)
	must.Do(h, err)
	return &guest{h.T, &http.Client{Jar: jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, h.url}
}

func (g *guest) do(method, where string, body io.Reader, header ...string) answer {
	g.Helper()
	if !strings.HasPrefix(where, "http") {
		where = g.base + where
	}
	req, err := http.NewRequestWithContext(g.Context(), method, where, body)
	must.Do(g, err)
	req.Header.Set("Accept", "text/html")
	req.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := g.c.Do(req)
	must.Do(g, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	must.Do(g, err)
	return answer{resp, html.UnescapeString(string(b))}
}

func (g *guest) get(where string, header ...string) answer {
	g.Helper()
	return g.do(http.MethodGet, where, nil, header...)
}

func (g *guest) post(where string, form url.Values, header ...string) answer {
	g.Helper()
	return g.do(http.MethodPost, where, strings.NewReader(form.Encode()),
		append([]string{"Content-Type", "application/x-www-form-urlencoded"}, header...)...)
}

// want checks where an answer leads, or what it says.
func (g *guest) want(a answer, status int, said string) {
	g.Helper()
	if a.StatusCode != status || !strings.Contains(a.body+" -> "+a.Header.Get("Location"), said) {
		g.Fatalf("%s %s = %d %s, want %d with %q\n%s", a.Request.Method, a.Request.URL, a.StatusCode,
			a.Header.Get("Location"), status, said,
			regexp.MustCompile(`(?s)<head>.*</head>|<nav.*?</nav>`).ReplaceAllString(a.body, ""))
	}
}

// signIn signs somebody in with a password.
func (g *guest) signIn(email string) {
	g.Helper()
	g.want(g.post("/login", url.Values{"email": {email}, "password": {goodPassword}}), http.StatusSeeOther,
		"-> /workspace")
}

func code(t *testing.T, secret string, off time.Duration) string {
	t.Helper()
	c, err := totp.Code(secret, time.Now().Add(off))
	must.Do(t, err)
	return c
}

func TestTheFirstOwnerIsMadeByALinkOnce(t *testing.T) {
	h := openGuarded(t, config.Default())
	g := h.guest()
	g.want(g.get("/workspace/chats"), http.StatusSeeOther, "-> /login?next=%2Fworkspace%2Fchats")
	g.want(g.get("/login"), http.StatusFound, "-> /setup")
	g.want(g.get("/setup"), http.StatusOK, "Open the one-time link")
	g.want(g.get("/setup?token=guess"), http.StatusGone, "already been used or has expired")
	link, err := h.accounts.SetupLink(t.Context())
	must.Do(t, err)
	g.want(g.get("/setup?token="+link), http.StatusOK, "Create your account")
	form := url.Values{"token": {link}, "email": {"Ann@Example.org"}, "name": {"Ann"}, "password": {"short"}}
	g.want(g.post("/setup", form), http.StatusUnprocessableEntity, "too short")
	form.Set("password", goodPassword)
	form.Set("email", "nobody")
	g.want(g.post("/setup", form), http.StatusUnprocessableEntity, "valid email address")
	form.Set("email", "Ann@Example.org")
	g.want(g.post("/setup", form), http.StatusSeeOther, "-> /workspace/chats/new")
	page := g.get("/workspace/settings/account")
	g.want(page, http.StatusOK, `value="ann@example.org"`)
	g.want(page, http.StatusOK, "Sign out")
	other := h.guest()
	other.want(other.post("/setup", form), http.StatusGone, "already been used")
	other.want(other.get("/setup"), http.StatusOK, "already been set up")
	u, err := h.db.User(t.Context(), store.DefaultOwner)
	if err != nil || u.Role != account.RoleOwner {
		t.Errorf("the first account is %+v, %v", u, err)
	}
}

func TestSigningInAndOut(t *testing.T) {
	h := openGuarded(t, config.Default())
	h.user("ann@example.org", account.RoleOwner)
	g := h.guest()
	g.want(g.get("/login?next=/workspace/skills"), http.StatusOK, `name="next" value="/workspace/skills"`)
	for _, next := range []string{"https://evil.example", "//evil.example", `/\evil.example`, "/login", "/logout"} {
		a := h.guest()
		a.want(a.post("/login", url.Values{"email": {"ann@example.org"}, "password": {goodPassword}, "next": {next}}),
			http.StatusSeeOther, "-> /workspace/chats/new")
	}
	a := g.post("/login", url.Values{"email": {"ANN@example.org "}, "password": {goodPassword},
		"next": {"/workspace/settings/sessions"}})
	g.want(a, http.StatusSeeOther, "-> /workspace/settings/sessions")
	for _, ck := range a.Cookies() {
		if ck.Name == account.CookieSession && (ck.MaxAge != 0 || !ck.HttpOnly || ck.SameSite != http.SameSiteLaxMode) {
			t.Errorf("without “keep me signed in” the cookie is %v", ck)
		}
	}
	g.want(g.get("/workspace/settings/sessions"), http.StatusOK, "Firefox · Linux")
	g.want(g.get("/login"), http.StatusFound, "-> /workspace/chats/new")
	g.want(g.post("/logout", nil), http.StatusSeeOther, "-> /login")
	g.want(g.get("/workspace/settings/sessions"), http.StatusSeeOther, "-> /login?next=")
	g.want(g.post("/ui/account", url.Values{"do": {"profile"}}), http.StatusSeeOther, "-> /login")
	g.want(g.get("/ui/threads/x/stream", "Accept", "text/event-stream"), http.StatusOK, "event: gone")
	if a := g.get("/ui/palette", "HX-Request", "true"); a.Header.Get("HX-Redirect") != "/login" {
		t.Errorf("a part of a page: %d %v", a.StatusCode, a.Header)
	}
	g.want(g.post("/ui/threads", nil, script()...), http.StatusUnauthorized, `"location":"/login"`)
}

func TestWrongPasswordsHaveToWait(t *testing.T) {
	h := openGuarded(t, config.Default())
	h.user("ann@example.org", account.RoleOwner)
	g := h.guest()
	form := url.Values{"email": {"ann@example.org"}, "password": {"wrong horse"}}
	for range 5 {
		g.want(g.post("/login", form), http.StatusUnauthorized, "Wrong email or password")
	}
	form.Set("password", goodPassword)
	a := g.post("/login", form)
	g.want(a, http.StatusTooManyRequests, "Too many attempts. Try again in 1 minute.")
	if wait, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || wait < 1 || wait > 60 {
		t.Errorf("Retry-After: %q", a.Header.Get("Retry-After"))
	}
	g.want(a, http.StatusTooManyRequests, `value="ann@example.org"`)
}

var (
	shownSecret   = regexp.MustCompile(`<code class="secret">([A-Z2-7]{32})</code>`)
	shownRecovery = regexp.MustCompile(`<li><code>([0-9a-z]{5}-[0-9a-z]{5})</code></li>`)
)

func TestTheSecondStep(t *testing.T) {
	h := openGuarded(t, config.Default())
	h.user("ann@example.org", account.RoleOwner)
	g := h.guest()
	g.signIn("ann@example.org")
	page := g.post("/ui/account", url.Values{"do": {"totp-begin"}})
	g.want(page, http.StatusOK, `<svg class="qr"`)
	if found := shownSecret.FindStringSubmatch(page.body); found == nil {
		t.Fatal("no secret is shown")
	}
	secret := shownSecret.FindStringSubmatch(page.body)[1]
	g.want(g.post("/ui/account", url.Values{"do": {"totp"}, "code": {"12345"}}), http.StatusUnprocessableEntity,
		"isn’t right")
	h.guest().signIn("ann@example.org") // nothing is asked for yet
	// An app shows its code for half a minute, and it is good for as long again: that of a period ago may be over.
	page = g.post("/ui/account", url.Values{"do": {"totp"}, "code": {code(t, secret, 0)}})
	g.want(page, http.StatusOK, "Save your recovery codes now")
	recovery := shownRecovery.FindAllStringSubmatch(page.body, -1)
	if len(recovery) != totp.Recoveries || strings.Contains(g.get("/workspace/settings/account").body, recovery[0][1]) {
		t.Fatalf("%d recovery codes, or shown again", len(recovery))
	}

	other := h.guest()
	password := url.Values{"email": {"ann@example.org"}, "password": {goodPassword}, "next": {"/workspace/skills"}}
	other.want(other.post("/login", password), http.StatusSeeOther, "-> /ui/login/code")
	other.want(other.get("/ui/login/code"), http.StatusOK, "Enter your code")
	other.want(other.get("/workspace/settings/account"), http.StatusSeeOther, "-> /login")
	other.want(other.post("/ui/login/code", url.Values{"code": {"000000"}}), http.StatusUnauthorized, "isn’t right")
	right := code(t, secret, 30*time.Second)
	other.want(other.post("/ui/login/code", url.Values{"code": {right}}), http.StatusSeeOther, "-> /workspace/skills")
	other.want(other.get("/workspace/settings/account"), http.StatusOK, "10 recovery codes left")

	third := h.guest()
	third.want(third.post("/login", password), http.StatusSeeOther, "-> /ui/login/code")
	third.want(third.post("/ui/login/code", url.Values{"code": {right}}), http.StatusUnauthorized, "already used")
	third.want(third.post("/ui/login/code", url.Values{"code": {recovery[3][1]}}), http.StatusSeeOther,
		"-> /workspace/skills")
	h.user("root@example.org", account.RoleOwner)
	root := h.guest()
	root.signIn("root@example.org")
	root.want(root.get("/workspace/settings/users"), http.StatusOK, "Turn off two-step sign-in: ann@example.org")
	third.want(third.post("/ui/account", url.Values{"do": {"totp-off"}, "current": {"wrong horse"}}),
		http.StatusUnprocessableEntity, "current password isn’t right")
	third.want(third.post("/ui/account", url.Values{"do": {"totp-off"}, "current": {goodPassword}}),
		http.StatusSeeOther, "saved=totp")
	h.guest().signIn("ann@example.org")
	webtest.Holds(t, "the second step is off, and can be turned off", root.get("/workspace/settings/users").body, "!Turn off two-step")
	stranger := h.guest()
	stranger.want(stranger.post("/ui/login/code", url.Values{"code": {recovery[4][1]}}), http.StatusBadRequest,
		"sign in again")
}

func TestSessionsTokensAndPasswords(t *testing.T) {
	h := openGuarded(t, config.Default())
	h.user("ann@example.org", account.RoleOwner)
	g, stolen, third := h.guest(), h.guest(), h.guest()
	for _, one := range []*guest{g, stolen, third} {
		one.signIn("ann@example.org")
	}
	page := g.get("/workspace/settings/sessions")
	ids := regexp.MustCompile(`name="id" value="([0-9a-f]+)"`).FindAllStringSubmatch(page.body, -1)
	if len(ids) != 2 || strings.Count(page.body, "This device") != 1 {
		t.Fatalf("%d other sessions", len(ids))
	}
	for _, id := range ids {
		g.want(g.post("/ui/account/sessions", url.Values{"do": {"end"}, "id": {id[1]}}), http.StatusSeeOther,
			"sessions")
	}
	stolen.want(stolen.get("/workspace/settings/sessions"), http.StatusSeeOther, "-> /login")
	third.signIn("ann@example.org")
	g.want(g.post("/ui/account/sessions", url.Values{"do": {"others"}}), http.StatusSeeOther, "sessions")
	third.want(third.get("/workspace/settings/sessions"), http.StatusSeeOther, "-> /login")

	page = g.post("/ui/account/tokens", url.Values{"do": {"add"}, "name": {"CI"}, "scope": {"read"}, "days": {"30"}})
	g.want(page, http.StatusOK, "Copy it now")
	token := regexp.MustCompile(`id="token-secret">([^<]+)<`).FindStringSubmatch(page.body)
	if token == nil {
		t.Fatal("no token is shown")
	}
	g.get("/workspace/settings/tokens").holds(t, "the token is shown again, or not listed", "!"+token[1], "Read only")
	g.want(g.post("/ui/account/tokens", url.Values{"do": {"add"}, "name": {" "}, "scope": {"read"}}),
		http.StatusUnprocessableEntity, "Enter a name")
	program := h.guest()
	bearer := []string{"Authorization", "Bearer " + token[1]}
	program.want(program.get("/workspace/skills", bearer...), http.StatusOK, "ann@example.org")
	program.want(program.post("/ui/account/tokens", url.Values{"do": {"add"}, "name": {"x"}}, bearer...),
		http.StatusForbidden, "")
	id := regexp.MustCompile(`name="id" value="([0-9a-f]+)"`).
		FindStringSubmatch(g.get("/workspace/settings/tokens").body)
	g.want(g.post("/ui/account/tokens", url.Values{"do": {"revoke"}, "id": {id[1]}}), http.StatusSeeOther, "tokens")
	program.want(program.get("/workspace/skills", bearer...), http.StatusSeeOther, "-> /login")

	stolen.signIn("ann@example.org")
	g.want(g.post("/ui/account", url.Values{"do": {"password"}, "current": {"wrong horse"},
		"password": {"another horse"}}), http.StatusUnprocessableEntity, "current password isn’t right")
	g.want(g.post("/ui/account", url.Values{"do": {"password"}, "current": {goodPassword},
		"password": {"another horse"}}), http.StatusSeeOther, "saved=password")
	stolen.want(stolen.get("/workspace/settings/account"), http.StatusSeeOther, "-> /login")
	g.want(g.get("/workspace/settings/account"), http.StatusOK, "ann@example.org")
	g.want(g.post("/ui/account", url.Values{"do": {"profile"}, "name": {"Ann B."}, "email": {"new@example.org"}}),
		http.StatusUnprocessableEntity, "current password isn’t right")
	g.want(g.post("/ui/account", url.Values{"do": {"profile"}, "name": {"Ann B."}, "email": {"new@example.org"},
		"current": {"another horse"}}), http.StatusSeeOther, "saved=profile")
	g.want(g.get("/workspace/settings/account"), http.StatusOK, "Ann B.")
}

func TestUsersAreInvitedChangedAndDeleted(t *testing.T) {
	h := openGuarded(t, config.Default())
	h.user("ann@example.org", account.RoleOwner)
	g := h.guest()
	g.signIn("ann@example.org")
	page := g.post("/ui/users", url.Values{"email": {"bob@example.org"}, "role": {"user"}})
	g.want(page, http.StatusOK, "Invitation for bob@example.org")
	link := regexp.MustCompile(`id="user-link">([^<]+)<`).FindStringSubmatch(page.body)
	if link == nil || !strings.HasPrefix(link[1], h.url+"/setup?token=") {
		t.Fatalf("link %v", link)
	}
	bob := h.guest()
	bob.want(bob.get(link[1]), http.StatusOK, `value="bob@example.org"`)
	token := strings.TrimPrefix(link[1], h.url+"/setup?token=")
	bob.want(bob.post("/setup", url.Values{"token": {token}, "email": {"eve@example.org"}, "password": {goodPassword}}),
		http.StatusSeeOther, "-> /workspace")
	user, err := h.accounts.ByEmail(t.Context(), "bob@example.org")
	if err != nil || user.Role != account.RoleUser {
		t.Fatalf("%+v, %v", user, err)
	}
	bob.want(bob.get("/workspace/settings/users"), http.StatusNotFound, "")
	bob.want(bob.post("/ui/users", url.Values{"email": {"x@example.org"}, "role": {"owner"}}), http.StatusForbidden, "")

	at := "/ui/users/" + user.ID
	g.want(g.post(at+"/role", url.Values{"role": {"admin"}}), http.StatusSeeOther, "users")
	bob.want(bob.get("/workspace/settings/users"), http.StatusOK, "ann@example.org")
	bob.want(bob.post("/ui/users/default/role", url.Values{"role": {"user"}}), http.StatusUnprocessableEntity,
		"Only an owner")
	bob.want(bob.post("/ui/users", url.Values{"email": {"x@example.org"}, "role": {"owner"}}),
		http.StatusUnprocessableEntity, "Only an owner")
	g.want(g.post("/ui/users/default/disable", nil), http.StatusUnprocessableEntity, "")

	page = g.post(at+"/reset", nil)
	g.want(page, http.StatusOK, "New password for bob@example.org")
	reset := regexp.MustCompile(`/reset\?token=([^<]+)<`).FindStringSubmatch(page.body)[1]
	bob.want(bob.get("/setup?token="+reset), http.StatusGone, "")
	bob.want(bob.post("/reset", url.Values{"token": {reset}, "password": {"another horse"}}), http.StatusSeeOther,
		"-> /login?done=reset")
	bob.want(bob.get("/login?done=reset"), http.StatusOK, "Your password has been changed")
	bob.want(bob.post("/reset", url.Values{"token": {reset}, "password": {"another horse"}}), http.StatusGone, "")
	bob.want(bob.post("/login", url.Values{"email": {"bob@example.org"}, "password": {"another horse"}}),
		http.StatusSeeOther, "-> /workspace")

	g.want(g.post(at+"/disable", nil), http.StatusSeeOther, "users")
	bob.want(bob.get("/workspace/settings/account"), http.StatusSeeOther, "-> /login")
	bob.want(bob.post("/login", url.Values{"email": {"bob@example.org"}, "password": {"another horse"}}),
		http.StatusForbidden, "disabled")
	g.want(g.post(at+"/disable", url.Values{"on": {"1"}}), http.StatusSeeOther, "users")
	g.want(g.post(at+"/delete", nil), http.StatusOK, "can’t be undone")
	if _, err := h.accounts.ByEmail(t.Context(), "bob@example.org"); err != nil {
		t.Fatalf("deleted without being asked: %v", err)
	}
	var removed []string
	h.accounts.RemoveOwned = func(_ context.Context, user string) error {
		removed = append(removed, user)
		return nil
	}
	g.want(g.post(at+"/delete", url.Values{"sure": {"1"}}), http.StatusSeeOther, "users")
	if !slices.Equal(removed, []string{user.ID}) {
		t.Errorf("the belongings of %v were removed", removed)
	}
	if _, err := h.accounts.ByEmail(t.Context(), "bob@example.org"); err == nil {
		t.Error("the account is still there")
	}
}
