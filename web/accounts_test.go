package web_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/account"
	"fawn/web/webtest"
)

// guarded starts a server on an address that other machines can reach.
func guarded(t *testing.T, conf string) *server {
	t.Helper()
	return start(t, conf, func(o *web.Options) { o.Addr = "0.0.0.0:0" })
}

// setupToken is that of the link on the console.
func (s *server) setupToken(t *testing.T) string {
	t.Helper()
	link := regexp.MustCompile(`http://\S+/setup\?token=(\S+)`)
	var found []string
	webtest.UntilSeen(t, func() bool {
		found = link.FindStringSubmatch(s.out.String())
		return found != nil
	}, s.out.String)
	return found[1]
}

// opened is a browser that has opened the set-up link.
func (s *server) opened(t *testing.T) *browser {
	t.Helper()
	b := &browser{s, map[string]string{}}
	if a := b.do(t, "GET", "/setup?token="+s.setupToken(t), ""); a.status != http.StatusOK || b.cookies[account.CookieSetup] == "" {
		t.Fatalf("the set-up link sets no cookie: %d %v", a.status, a.header)
	}
	return b
}

// browser keeps the cookies of somebody who is signed in.
type browser struct {
	*server
	cookies map[string]string
}

func (b *browser) keep(a answer) {
	for _, c := range (&http.Response{Header: a.header}).Cookies() {
		if b.cookies[c.Name] = c.Value; c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
}

// headers are the cookies and the CSRF token, as DeerFlow's front end sends them.
func (b *browser) headers() []string {
	var list []string
	for name, value := range b.cookies {
		list = append(list, name+"="+value)
	}
	return []string{"Cookie", strings.Join(list, "; "), account.HeaderCSRF, b.cookies[account.CookieCSRF]}
}

func (b *browser) do(t *testing.T, method, path, body string, headers ...string) answer {
	t.Helper()
	a := b.send(t, method, path, body, append(b.headers(), headers...)...)
	b.keep(a)
	return a
}

const correct = "correct horse"

// owner sets a guarded server up.
func (s *server) owner(t *testing.T) *browser {
	t.Helper()
	b := &browser{s, map[string]string{}}
	a := b.do(t, "POST", "/api/v1/auth/initialize",
		`{"email":"ann@x.org","password":"`+correct+`","token":"`+s.setupToken(t)+`"}`)
	a.must(t, "initialize", http.StatusCreated)
	return b
}

// member joins a server by an invitation of the owner's.
func (b *browser) member(t *testing.T, email, role string) *browser {
	t.Helper()
	a := b.do(t, "POST", "/api/v1/auth/users", `{"email":"`+email+`","role":"`+role+`"}`)
	a.must(t, "invite", http.StatusCreated)
	link := webtest.Decode[struct{ Link, Token string }](t, a.body)
	m := &browser{b.server, map[string]string{}}
	webtest.Holds(t, "the link", link.Link, "/setup?token="+link.Token)
	m.do(t, "POST", "/api/v1/auth/link", `{"token":"`+link.Token+`","password":"`+correct+`"}`).must(t, "join", http.StatusCreated)
	return m
}

// token makes one for a browser's user.
func (b *browser) token(t *testing.T, scope string) string {
	t.Helper()
	a := b.do(t, "POST", "/api/v1/auth/pats", `{"name":"`+scope+`","scopes":["`+scope+`"],"expires_in_days":7}`)
	a.must(t, "token", http.StatusCreated)
	return webtest.Decode[struct{ Token string }](t, a.body).Token
}

// TestAnAddressOthersReachNeedsAnOwner goes the way of DeerFlow's front end, from the first
// look at a new server on.
func TestAnAddressOthersReachNeedsAnOwner(t *testing.T) {
	t.Parallel()
	s := guarded(t, "")
	a := s.send(t, "POST", "/api/threads/search", "{}")
	if a.status != http.StatusUnauthorized ||
		strings.TrimSpace(a.body) != `{"detail":{"code":"not_authenticated","message":"Authentication required"}}` {
		t.Errorf("without a session: %d %s", a.status, a.body)
	}
	if a := s.send(t, "GET", "/workspace/chats?x=1", "", "Accept", "text/html"); a.status != http.StatusSeeOther ||
		a.header.Get("Location") != "/login?next=%2Fworkspace%2Fchats%3Fx%3D1" {
		t.Errorf("a page: %d %s", a.status, a.header.Get("Location"))
	}
	s.send(t, "GET", "/health", "").want(t, "health", http.StatusOK, "!sandbox")
	const bare = `{"needs_setup":true,"registration_enabled":false}`
	if a := s.send(t, "GET", "/api/v1/auth/setup-status", ""); strings.TrimSpace(a.body) != bare {
		t.Errorf("setup-status: %s", a.body)
	}
	const who = `{"email":"ann@x.org","password":"correct horse"}`
	s.send(t, "POST", "/api/v1/auth/initialize", who).want(t, "whoever comes first owns the server", http.StatusForbidden)
	b := s.opened(t)
	a = b.do(t, "POST", "/api/v1/auth/initialize", who)
	a.must(t, "initialize", http.StatusCreated, `"id":"default"`, `"system_role":"admin"`)
	var session, csrf string
	for _, c := range a.header.Values("Set-Cookie") {
		if strings.HasPrefix(c, account.CookieSession) {
			session = c
		} else if strings.HasPrefix(c, account.CookieCSRF) {
			csrf = c
		}
	}
	webtest.Holds(t, "session", session, "HttpOnly", "SameSite=Lax", "Path=/;", "!Secure")
	webtest.Holds(t, "csrf", csrf, "!HttpOnly", "SameSite=Strict")
	s.send(t, "POST", "/api/v1/auth/initialize", who).want(t, "again", http.StatusConflict, "system_already_initialized")
	b.do(t, "GET", "/api/v1/auth/me", "").want(t, "me", http.StatusOK, `"email":"ann@x.org"`, `"oauth_provider":null`, `"needs_setup":false`)
	for want, header := range map[string]string{"CSRF token missing. Include X-CSRF-Token header.": "",
		"CSRF token mismatch.": "wrong"} {
		s.send(t, "POST", "/api/threads", "{}", "Cookie", b.headers()[1], account.HeaderCSRF, header).want(t, fmt.Sprintf("CSRF header %q", header), http.StatusForbidden, want)
	}
	for _, path := range []string{"/api/threads", "/api/langgraph/threads", "/threads"} {
		b.do(t, "POST", path, "{}").want(t, "POST "+path, http.StatusOK)
	}
	if a := b.do(t, "GET", "/", "", "Accept", "text/html"); a.status >= 400 ||
		strings.Contains(a.header.Get("Location"), "login") {
		t.Errorf("the first page: %d %s", a.status, a.header.Get("Location"))
	}
	old := b.headers()
	if a := b.do(t, "POST", "/api/v1/auth/logout", ""); a.status != http.StatusOK || len(b.cookies) != 1 {
		t.Errorf("logout: %d %v", a.status, b.cookies)
	}
	s.send(t, "GET", "/api/v1/auth/me", "", old...).want(t, "after the logout", http.StatusUnauthorized, "token_invalid")
	form := url.Values{"username": {"Ann@x.org"}, "password": {correct}, "remember_me": {"true"}}
	const kind = "application/x-www-form-urlencoded"
	if a := b.do(t, "POST", "/api/v1/auth/login/local", form.Encode(),
		"Content-Type", kind); a.status != http.StatusOK ||
		strings.TrimSpace(a.body) != `{"expires_in":2592000,"needs_setup":false}` {
		t.Fatalf("login: %d %s", a.status, a.body)
	}
	b.do(t, "POST", "/api/v1/auth/change-password", `{"current_password":"wrong horse","new_password":"battery staple"}`).want(t, "change-password", http.StatusBadRequest,
		"invalid_credentials")
	b.do(t, "POST", "/api/v1/auth/change-password", `{"current_password":"`+correct+`","new_password":"battery staple"}`).want(t, "change-password", http.StatusOK)
	b.do(t, "GET", "/api/v1/auth/me", "").want(t, "after the change", http.StatusOK)
	for i := range 6 {
		a := s.send(t, "POST", "/api/v1/auth/login/local", form.Encode(), "Content-Type", kind)
		if i < 5 && a.status == http.StatusUnauthorized && strings.Contains(a.body, "invalid_credentials") ||
			i == 5 && a.status == http.StatusTooManyRequests && aMinute(a.header.Get("Retry-After")) {
			continue
		}
		t.Errorf("wrong password %d: %d %s", i+1, a.status, a.body)
	}
}

// aMinute says that so many seconds are left of one.
func aMinute(seconds string) bool {
	n, err := strconv.Atoi(seconds)
	return err == nil && n > 0 && n <= 60
}

func TestWithoutAccountsAuthRoutesAnswerForTheLocalUser(t *testing.T) {
	t.Parallel()
	s := start(t, "")
	for path, want := range map[string]string{
		"/api/v1/auth/setup-status": `{"needs_setup":false,"registration_enabled":false}`,
		"/api/v1/auth/providers":    `{"providers":[]}`,
		"/api/v1/auth/me":           `{"id":"default","email":"default@test.local","name":"","system_role":"admin","role":"owner","needs_setup":false,"oauth_provider":null}`,
	} {
		if a := s.send(t, "GET", path, ""); a.status != http.StatusOK || strings.TrimSpace(a.body) != want {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	a := s.send(t, "POST", "/api/v1/auth/login/local", "username=a%40b.c&password=x", "Content-Type",
		"application/x-www-form-urlencoded")
	a.want(t, "login", http.StatusOK, "expires_in")
	for _, path := range []string{"register", "change-password", "pats"} {
		a := s.send(t, "POST", "/api/v1/auth/"+path, "{}")
		if a.status != http.StatusBadRequest && a.status != http.StatusForbidden {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

func TestAccountsCanBeAskedForOnLoopbackAndTurnedOff(t *testing.T) {
	t.Parallel()
	start(t, "auth: {required: always}\n").send(t, "GET", "/api/threads", "").want(t, "always", http.StatusUnauthorized)
	for name, s := range map[string]*server{
		"never":      guarded(t, "auth: {required: never}\n"),
		"--insecure": start(t, "", func(o *web.Options) { o.Addr, o.Insecure = "0.0.0.0:0", true }),
	} {
		s.send(t, "GET", "/api/threads", "").want(t, name, http.StatusOK)
		webtest.Holds(t, fmt.Sprintf("%s: nothing is said", name), s.log.String(), "accounts are off")
	}
}

func TestTokensDoWhatTheirScopeSays(t *testing.T) {
	t.Parallel()
	b := guarded(t, "").owner(t)
	read, write := b.token(t, "read"), b.token(t, "write")
	for _, c := range []struct {
		header, value, method, path, body string
		want                              int
	}{
		{"Authorization", "Bearer " + read, "GET", "/threads", "", 200},
		{"X-Api-Key", read, "POST", "/threads/search", "{}", 200},
		{"X-Api-Key", read, "POST", "/api/store/items/search", "{}", 200},
		{"X-Api-Key", read, "POST", "/threads", "{}", 403},
		{"X-Api-Key", read, "POST", "/runs/wait", "{}", 403},
		{"X-Api-Key", read, "POST", "/ui/prefs", "", 403},
		{"Authorization", "Bearer " + write, "POST", "/threads", "{}", 200},
		{"X-Api-Key", write, "POST", "/api/threads", "{}", 200},
		{"X-Api-Key", write, "POST", "/api/v1/auth/pats", "{}", 403},
		{"X-Api-Key", write, "GET", "/api/v1/auth/users", "", 403},
		{"X-Api-Key", write, "POST", "/api/v1/auth/change-password", "{}", 403},
		{"Authorization", "Bearer " + write + "x", "GET", "/threads", "", 401},
		{"X-Api-Key", "lsv2_of_somebody", "GET", "/threads", "", 401},
	} {
		b.send(t, c.method, c.path, c.body, c.header, c.value).want(t, fmt.Sprintf("%s %s with %.22s...", c.method, c.path, c.value), c.want)
	}
	for _, x := range webtest.Decode[[]struct {
		ID, Name, Token string
		Used            *string `json:"last_used_at"`
	}](t, b.do(t, "GET", "/api/v1/auth/pats", "").body) {
		if x.Token != "" || x.Used == nil {
			t.Errorf("listed: %+v", x)
		}
		b.do(t, "DELETE", "/api/v1/auth/pats/"+x.ID, "").want(t, "revoke", http.StatusOK)
	}
	b.send(t, "GET", "/threads", "", "X-Api-Key", read).want(t, "revoked", http.StatusUnauthorized)
}

// TestAStreamEndsWithItsSession: whoever ends a stolen session ends what it reads, too.
func TestAStreamEndsWithItsSession(t *testing.T) {
	t.Parallel()
	b := guarded(t, "").owner(t)
	b.do(t, "POST", "/threads", `{"thread_id":"watched"}`).must(t, "/threads", http.StatusOK)
	thief := &browser{b.server, map[string]string{}}
	form := url.Values{"username": {"ann@x.org"}, "password": {correct}}
	thief.do(t, "POST", "/api/v1/auth/login/local", form.Encode(), "Content-Type", "application/x-www-form-urlencoded",
		"User-Agent", "thief")
	res, err := b.request(t.Context(), "GET", "/threads/watched/stream", nil, thief.headers()...)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%v %v", res, err)
	}
	defer res.Body.Close()
	list := webtest.Decode[[]struct {
		ID, Device string
		Current    bool
	}](t, b.do(t, "GET", "/api/v1/auth/sessions", "").body)
	if len(list) != 2 {
		t.Fatalf("sessions: %v", list)
	}
	for _, x := range list {
		if x.Current == (x.Device == "thief") {
			t.Errorf("which is this one: %+v", x)
		}
		if x.Device == "thief" {
			b.do(t, "DELETE", "/api/v1/auth/sessions/"+x.ID, "").want(t, "end", http.StatusOK)
		}
	}
	for lines := bufio.NewScanner(res.Body); lines.Scan(); { // ends when the stream does, or the client's patience
	}
	if t.Context().Err() != nil {
		t.Error("the stream goes on")
	}
	thief.do(t, "GET", "/threads", "").want(t, "the session goes on", http.StatusUnauthorized)
	b.do(t, "GET", "/threads", "").want(t, "the owner's own", http.StatusOK)
}

// TestTheConsoleWorksOnAccounts of a server that runs, and of one that doesn't.
func TestTheConsoleWorksOnAccounts(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "fawn") // short enough for the name of a socket
	must.Do(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := start(t, "", func(o *web.Options) { o.Addr, o.Data = "0.0.0.0:0", dir })
	b := s.owner(t)
	console := func(job web.UserJob) (string, error) {
		t.Helper()
		var out bytes.Buffer
		err := web.Users(t.Context(), web.Options{Data: dir, Out: &out}, job)
		return out.String(), err
	}
	if out, err := console(web.UserJob{Do: "list"}); err != nil || !strings.Contains(out, "ann@x.org") {
		t.Fatalf("list: %v\n%s", err, out)
	}
	link := regexp.MustCompile(`token=(\S+)`)
	out, err := console(web.UserJob{Do: "add", Email: "eve@x.org", Role: "user"})
	found := link.FindStringSubmatch(out)
	if err != nil || found == nil {
		t.Fatalf("add: %v\n%s", err, out)
	}
	eve := &browser{s, map[string]string{}}
	eve.do(t, "POST", "/api/v1/auth/link", `{"token":"`+found[1]+`","password":"`+correct+`"}`).must(t, "join", http.StatusCreated)
	if _, err := console(web.UserJob{Do: "role", Email: "ann@x.org", Role: "user"}); err == nil ||
		!strings.Contains(err.Error(), "last owner") {
		t.Errorf("the last owner: %v", err)
	}
	if _, err := console(web.UserJob{Do: "disable", Email: "eve@x.org"}); err != nil {
		t.Error(err)
	}
	eve.do(t, "GET", "/threads", "").want(t, "disabled", http.StatusUnauthorized)
	if out, err = console(web.UserJob{Do: "reset", Email: "ANN@x.org"}); err != nil {
		t.Fatal(err)
	}
	if found = link.FindStringSubmatch(out); found == nil {
		t.Fatal(out)
	}
	b.send(t, "POST", "/api/v1/auth/link", `{"token":"`+found[1]+`","password":"battery staple"}`).want(t, "reset", http.StatusCreated)
	b.do(t, "GET", "/threads", "").want(t, "a session from before the reset", http.StatusUnauthorized)
	must.Do(t, s.stop())
	if out, err := console(web.UserJob{Do: "list"}); err != nil || !strings.Contains(out, "disabled") {
		t.Errorf("without a server: %v\n%s", err, out)
	}
	if _, err := console(web.UserJob{Do: "reset", Email: "nobody@x.org"}); err == nil {
		t.Error("nobody was reset")
	}
}

// TestOnlyConfiguredOriginsMaySendTheSession: a front end on another origin of the owner's choice
// may use the cookie, nobody else, and nobody on a server without accounts.
func TestOnlyConfiguredOriginsMaySendTheSession(t *testing.T) {
	t.Parallel()
	const front = "https://front.example"
	conf := "server: {cors_origins: [" + front + "]}\n"
	for _, c := range []struct {
		s      *server
		origin string
		want   string
	}{
		{guarded(t, conf), front, "true"},
		{guarded(t, conf), "https://else.example", ""},
		{start(t, conf), front, ""},
		{start(t, conf+"auth: {required: always}\n"), "http://localhost:3000", ""},
	} {
		a := c.s.send(t, "OPTIONS", "/api/threads", "", "Origin", c.origin, "Access-Control-Request-Method", "POST")
		if got := a.header.Get("Access-Control-Allow-Credentials"); got != c.want {
			t.Errorf("%s on %s: %q", c.origin, c.s.app.Addr(), got)
		}
	}
}

func TestAStopDuringTheStartIsNoFailure(t *testing.T) {
	t.Parallel()
	conf := filepath.Join(t.TempDir(), "config.yaml")
	must.Do(t, os.WriteFile(conf, []byte("auth: {required: always}\n"), 0o600))
	app, err := web.Open(t.Context(), web.Options{Addr: "127.0.0.1:0", Data: t.TempDir(), Config: conf,
		Log: slog.New(slog.DiscardHandler), Out: io.Discard})
	must.Do(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := errors.Join(app.Run(ctx), app.Close()); err != nil {
		t.Error(err)
	}
}
