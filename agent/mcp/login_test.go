package mcp_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/mcp"
)

// login is one from beginning to end.
func (w *world) login(a *authority) {
	w.t.Helper()
	to := must.Get(w.Login(w.t.Context(), "h", callback))(w.t)
	if name, err := w.FinishLogin(w.t.Context(), a.consent(to)); err != nil || name != "h" {
		w.t.Fatalf("the login at %q: %v", name, err)
	}
}

// noCanary: nobody sees a token.
func (w *world) noCanary() {
	w.t.Helper()
	b := must.Get(json.Marshal(w.Status()))(w.t)
	if strings.Contains(string(b)+w.logs.String(), canary) {
		w.t.Errorf("a secret is seen in the status %s or in the log\n%s", b, w.logs)
	}
}

// TestLogin: the server asks for a login, its tools come when somebody has, the token lives in a file
// of the owner's, is renewed, survives a restart and is gone after the logout.
func TestLogin(t *testing.T) {
	a := newAuthority(t)
	dir := t.TempDir()
	w := worldIn(t, dir, a.server())
	if st := w.state("h", mcp.StateLogin); st.Login != mcp.LoginOut || st.Next != nil || len(st.Tools) != 0 {
		t.Errorf("before the login: %+v", st)
	}
	w.login(a)
	if got := w.says("t", "h_echo", "in"); got != "in" {
		t.Errorf("echo says %q", got)
	}
	if st := w.state("h", mcp.StateReady); st.Login != mcp.LoginIn {
		t.Errorf("after the login: %+v", st)
	}
	a.mu.Lock()
	c := a.clients["client-1"]
	f := a.forms[0]
	a.mu.Unlock()
	if c["client_name"] != "Fawn" || c["token_endpoint_auth_method"] != "none" ||
		!slices.Equal(c["redirect_uris"].([]any), []any{callback}) {
		t.Errorf("the client is registered as %v", c)
	}
	if f.Get("client_id") != "client-1" || f.Get("resource") != a.base+"/mcp" || len(f.Get("code_verifier")) < 43 {
		t.Errorf("the form is %v", f)
	}
	info, err := os.Stat(filepath.Join(dir, "mcp", "known.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file with the token: %v, %v", info, err)
	}
	a.revoke(false) // the call is repeated with another token
	if got := w.says("t", "h_echo", "renewed"); got != "renewed" {
		t.Errorf("echo says %q", got)
	}
	must.Do(t, w.Close())
	next := worldIn(t, dir, a.server())
	if got := next.says("t", "h_echo", "after a restart"); got != "after a restart" {
		t.Errorf("echo says %q", got)
	}
	must.Do(t, next.Logout("h"))
	if st := next.state("h", mcp.StateLogin); st.Login != mcp.LoginOut {
		t.Errorf("after the logout: %+v", st)
	}
	data, err := os.ReadFile(filepath.Join(dir, "mcp", "known.json"))
	if err != nil || strings.Contains(string(data), canary) {
		t.Errorf("the file after the logout: %s, %v", data, err)
	}
	w.noCanary()
	next.noCanary()
}

// TestLoginEnds: without anything to renew the token with, the call says what is to be done.
func TestLoginEnds(t *testing.T) {
	a := newAuthority(t)
	w := newWorld(t, a.server())
	w.state("h", mcp.StateLogin)
	w.login(a)
	w.says("t", "h_echo", "in")
	a.revoke(true)
	if r := w.call("t", "h_echo", "out"); !r.IsError || !strings.Contains(r.Content.Text, "wants you to log in") {
		t.Errorf("a call without a token: %s", r.Content.Text)
	}
	w.state("h", mcp.StateLogin)
	w.login(a)
	if got := w.says("t", "h_echo", "again"); got != "again" {
		t.Errorf("echo says %q", got)
	}
	w.noCanary()
}

// TestTokenOfLoginIsRenewedOnce: before it ends, by one request for many calls.
func TestTokenOfLoginIsRenewedOnce(t *testing.T) {
	a := newAuthority(t)
	a.mu.Lock()
	a.life = 61 // a second more than the skew
	a.mu.Unlock()
	w := newWorld(t, a.server())
	w.state("h", mcp.StateLogin)
	w.login(a)
	w.says("t", "h_echo", "in")
	a.mu.Lock()
	a.life = 3600
	before := len(a.forms)
	a.mu.Unlock()
	until(t, "the token's end", func() bool {
		var calls sync.WaitGroup
		for range 4 {
			calls.Go(func() { w.says("t", "h_echo", "x") })
		}
		calls.Wait()
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.forms) > before
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := len(a.forms) - before; n != 1 {
		t.Errorf("the token was renewed %d times", n)
	}
	if f := a.forms[len(a.forms)-1]; f.Get("resource") != a.base+"/mcp" || f.Get("client_id") != "client-1" {
		t.Errorf("the form is %v", f)
	}
}

// TestWaysToLogIn: wherever the metadata is, and with a client that was registered by hand.
func TestWaysToLogIn(t *testing.T) {
	for name, set := range map[string]func(*authority, *mcp.Server){
		"OpenID Connect":   func(a *authority, _ *mcp.Server) { a.oidc = true },
		"no metadata":      func(a *authority, _ *mcp.Server) { a.noMeta = true },
		"issuer":           func(a *authority, _ *mcp.Server) { a.iss = a.base },
		"no refresh token": func(a *authority, _ *mcp.Server) { a.noRefresh = true },
		"own client": func(a *authority, s *mcp.Server) {
			a.noDCR = true
			s.Client = &mcp.Client{ID: "own", Secret: "s-" + canary, Scope: "a b"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAuthority(t)
			s := a.server()
			a.mu.Lock()
			set(a, &s)
			a.mu.Unlock()
			w := newWorld(t, s)
			w.state("h", mcp.StateLogin)
			w.login(a)
			if got := w.says("t", "h_echo", "in"); got != "in" {
				t.Errorf("echo says %q", got)
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			if s.Client != nil && a.basic[0] != "own:s-"+canary && a.forms[0].Get("client_secret") != "s-"+canary {
				t.Errorf("the client is %v, %v", a.basic, a.forms)
			}
			w.noCanary()
		})
	}
}

// TestLoginsThatFail: each says why, and none leaves a token.
func TestLoginsThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		set    func(*authority, *mcp.Server)
		answer func(mcp.LoginAnswer) mcp.LoginAnswer
		want   string
	}{
		"no PKCE":            {set: func(a *authority, _ *mcp.Server) { a.noPKCE = true }, want: "PKCE"},
		"no way to register": {set: func(a *authority, _ *mcp.Server) { a.noDCR = true }, want: "registration"},
		"private authority": {set: func(a *authority, _ *mcp.Server) {
			a.elsewhere = listen(a.t, http.NotFoundHandler())
		}, want: "127.0.0.1"},
		"denied": {answer: func(l mcp.LoginAnswer) mcp.LoginAnswer {
			return mcp.LoginAnswer{State: l.State, Error: "access_denied", Description: "not today"}
		}, want: "access was denied: access_denied not today"},
		"no code":      {answer: func(l mcp.LoginAnswer) mcp.LoginAnswer { l.Code = ""; return l }, want: "no code"},
		"other code":   {answer: func(l mcp.LoginAnswer) mcp.LoginAnswer { l.Code = "x"; return l }, want: "invalid_grant"},
		"other issuer": {answer: func(l mcp.LoginAnswer) mcp.LoginAnswer { l.Issuer = "https://evil"; return l }, want: "issuer"},
		"other state": {answer: func(l mcp.LoginAnswer) mcp.LoginAnswer { l.State += "x"; return l },
			want: mcp.ErrLoginGone.Error()},
		"refused token": {set: func(a *authority, _ *mcp.Server) { a.refuse = "x" }, want: "the code was refused: 400"},
		"other credentials": {set: func(_ *authority, s *mcp.Server) {
			s.Headers = map[string]string{"authorization": "Bearer x"}
		}, want: mcp.ErrNoLogin.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAuthority(t)
			s := a.server()
			if c.set != nil {
				a.mu.Lock()
				c.set(a, &s)
				a.mu.Unlock()
			}
			dir := t.TempDir()
			w := worldIn(t, dir, s)
			if s.Headers == nil {
				w.state("h", mcp.StateLogin)
			}
			to, err := w.Login(t.Context(), "h", callback)
			if err == nil {
				answer := a.consent(to)
				if c.answer != nil {
					answer = c.answer(answer)
				}
				_, err = w.FinishLogin(t.Context(), answer)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), canary) {
				t.Errorf("the login ends with %v", err)
			}
			data, err := os.ReadFile(filepath.Join(dir, "mcp", "known.json"))
			if err == nil && strings.Contains(string(data), "access") {
				t.Errorf("a token is kept: %s", data)
			}
			w.noCanary()
		})
	}
}

// TestLoginAnswersCountOnce: what a browser brings back twice is refused.
func TestLoginAnswersCountOnce(t *testing.T) {
	a := newAuthority(t)
	w := newWorld(t, a.server())
	to := must.Get(w.Login(t.Context(), "h", callback))(t)
	answer := a.consent(to)
	must.Get(w.FinishLogin(t.Context(), answer))(t)
	if _, err := w.FinishLogin(t.Context(), answer); err != mcp.ErrLoginGone {
		t.Errorf("the second time: %v", err)
	}
	if _, err := w.Login(t.Context(), "nobody", callback); err != mcp.ErrUnknown {
		t.Errorf("a login at nobody: %v", err)
	}
}

// TestALoginIsForOneAddress: the token does not go to another one with the same name.
func TestALoginIsForOneAddress(t *testing.T) {
	a, b := newAuthority(t), newAuthority(t)
	w := newWorld(t, a.server())
	w.state("h", mcp.StateLogin)
	w.login(a)
	w.says("t", "h_echo", "in")
	b.revoke(false)
	w.Set([]mcp.Server{b.server()})
	w.state("h", mcp.StateLogin)
	w.noCanary()
}
