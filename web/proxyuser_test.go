package web_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/web"
)

// TestATrustedProxySaysWhoAsks: those it names have an account from then on, each their own;
// nobody else may name anybody.
func TestATrustedProxySaysWhoAsks(t *testing.T) {
	const conf = "auth: {required: always, proxy_header: X-Forwarded-Email}\n"
	s := start(t, conf+"server: {trusted_proxies: [loopback]}\n")
	as := func(email string) []string { return []string{"X-Forwarded-Email", email} }
	if a := s.send(t, "GET", "/api/v1/auth/me", "", as("ann@x.org")...); a.status != http.StatusUnauthorized {
		t.Errorf("before there is an owner: %d %s", a.status, a.body)
	}
	s.owner(t) // ann@x.org
	type me struct {
		ID, Email string
		Role      string `json:"system_role"`
	}
	ids := map[string]string{}
	for email, role := range map[string]string{"Ann@X.org": "admin", "bob@x.org": "user", "cy@x.org": "user"} {
		a := s.send(t, "GET", "/api/v1/auth/me", "", as(email)...)
		got := decodeAs[me](t, a.body)
		if a.status != http.StatusOK || !strings.EqualFold(got.Email, email) || got.Role != role {
			t.Errorf("%s is %d %+v", email, a.status, got)
		}
		ids[email] = got.ID
	}
	if ids["bob@x.org"] == ids["cy@x.org"] {
		t.Error("two people have one account")
	}
	if a := s.send(t, "POST", "/threads", "{}", as("bob@x.org")...); a.status != http.StatusOK {
		t.Errorf("bob makes a chat: %d %s", a.status, a.body)
	}
	if a := s.send(t, "POST", "/threads/search", "{}", as("cy@x.org")...); a.status != http.StatusOK || a.body != "[]" {
		t.Errorf("cy sees %d %s", a.status, a.body)
	}
	for _, bad := range []string{"not an address", "a@x.org, b@x.org"} {
		if a := s.send(t, "GET", "/api/v1/auth/me", "", as(bad)...); a.status != http.StatusUnauthorized {
			t.Errorf("%q is %d %s", bad, a.status, a.body)
		}
	}
	for _, second := range []string{"bob@x.org", "ann@x.org", ""} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/api/v1/auth/me", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header["X-Forwarded-Email"] = []string{"ann@x.org", second}
		res, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusUnauthorized {
			t.Errorf("two headers, the second %q: %d", second, res.StatusCode)
		}
	}

	s = start(t, conf+"server: {trusted_proxies: [192.0.2.1]}\n")
	s.owner(t)
	if a := s.send(t, "GET", "/api/v1/auth/me", "", as("ann@x.org")...); a.status != http.StatusUnauthorized {
		t.Errorf("somebody who is no proxy names ann: %d %s", a.status, a.body)
	}
}

func TestAHeaderOfProxiesNeedsProxies(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("auth: {required: always, proxy_header: X-Forwarded-Email}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	_, err := web.Open(t.Context(), web.Options{Addr: "127.0.0.1:0", Data: t.TempDir(), Config: file})
	if err == nil || !strings.Contains(err.Error(), "server.trusted_proxies") {
		t.Errorf("started with %v", err)
	}
}
