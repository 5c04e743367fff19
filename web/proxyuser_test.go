package web_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/webtest"
)

// TestATrustedProxySaysWhoAsks: those it names have an account from then on, each their own;
// nobody else may name anybody.
func TestATrustedProxySaysWhoAsks(t *testing.T) {
	t.Parallel()
	const conf = "auth: {required: always, proxy_header: X-Forwarded-Email}\n"
	s := start(t, conf+"server: {trusted_proxies: [loopback]}\n")
	as := func(email string) []string { return []string{"X-Forwarded-Email", email} }
	s.send(t, "GET", "/api/v1/auth/me", "", as("ann@x.org")...).want(t, "before there is an owner", http.StatusUnauthorized)
	s.owner(t) // ann@x.org
	type me struct {
		ID, Email string
		Role      string `json:"system_role"`
	}
	ids := map[string]string{}
	for email, role := range map[string]string{"Ann@X.org": "admin", "bob@x.org": "user", "cy@x.org": "user"} {
		a := s.send(t, "GET", "/api/v1/auth/me", "", as(email)...)
		got := webtest.Decode[me](t, a.body)
		if a.status != http.StatusOK || !strings.EqualFold(got.Email, email) || got.Role != role {
			t.Errorf("%s is %d %+v", email, a.status, got)
		}
		ids[email] = got.ID
	}
	if ids["bob@x.org"] == ids["cy@x.org"] {
		t.Error("two people have one account")
	}
	s.send(t, "POST", "/threads", "{}", as("bob@x.org")...).want(t, "bob makes a chat", http.StatusOK)
	if a := s.send(t, "POST", "/threads/search", "{}", as("cy@x.org")...); a.status != http.StatusOK || a.body != "[]" {
		t.Errorf("cy sees %d %s", a.status, a.body)
	}
	for _, bad := range []string{"not an address", "a@x.org, b@x.org"} {
		s.send(t, "GET", "/api/v1/auth/me", "", as(bad)...).want(t, bad, http.StatusUnauthorized)
	}
	for _, second := range []string{"bob@x.org", "ann@x.org", ""} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/api/v1/auth/me", nil)
		must.Do(t, err)
		r.Header["X-Forwarded-Email"] = []string{"ann@x.org", second}
		res, err := s.client.Do(r)
		must.Do(t, err)
		res.Body.Close()
		webtest.Same(t, fmt.Sprintf("two headers, the second %q", second), res.StatusCode, http.StatusUnauthorized)
	}

	s = start(t, conf+"server: {trusted_proxies: [192.0.2.1]}\n")
	s.owner(t)
	s.send(t, "GET", "/api/v1/auth/me", "", as("ann@x.org")...).want(t, "somebody who is no proxy names ann", http.StatusUnauthorized)
}

func TestAHeaderOfProxiesNeedsProxies(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.yaml")
	must.Do(t, os.WriteFile(file, []byte("auth: {required: always, proxy_header: X-Forwarded-Email}\n"), 0o600))
	_, err := web.Open(t.Context(), web.Options{Addr: "127.0.0.1:0", Data: t.TempDir(), Config: file})
	if err == nil || !strings.Contains(err.Error(), "server.trusted_proxies") {
		t.Errorf("started with %v", err)
	}
}
