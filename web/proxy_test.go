package web_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"fawn/web"
	"fawn/web/webtest"
)

// cardAddress is the address that the server gives of itself in an agent card.
func cardAddress(t *testing.T, s *server, headers ...string) string {
	t.Helper()
	return cardAddressAt(t, s, "", headers...)
}

func cardAddressAt(t *testing.T, s *server, base string, headers ...string) string {
	t.Helper()
	a := s.send(t, "GET", base+"/.well-known/agent-card.json?assistant_id=lead_agent", "", headers...)
	var card struct{ URL string }
	if a.status != http.StatusOK || json.Unmarshal([]byte(a.body), &card) != nil {
		t.Fatalf("the card: %d %s", a.status, a.body)
	}
	return card.URL
}

func TestAProxyIsBelievedOnlyIfItIsTrusted(t *testing.T) {
	t.Parallel()
	said := []string{"X-Forwarded-For", "203.0.113.7", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "fawn.example"}
	conf := "server: {hosts: [fawn.example]%s}\nlogging: {enhance: {enabled: true}}\n"
	wary := start(t, strings.ReplaceAll(conf, "%s", ""))
	if url := cardAddress(t, wary, said...); !strings.HasPrefix(url, wary.url) {
		t.Errorf("without trusted proxies the address is %s", url)
	}
	webtest.Holds(t, "without trusted proxies the log says", wary.log.String(), "client=127.0.0.1", "!203.0.113.7")

	s := start(t, strings.ReplaceAll(conf, "%s", ", trusted_proxies: [loopback]"))
	if url := cardAddress(t, s, said...); !strings.HasPrefix(url, "https://fawn.example/") {
		t.Errorf("behind the proxy the address is %s", url)
	}
	webtest.Holds(t, "the log doesn't name the client", s.log.String(), "client=203.0.113.7")
	a := s.send(t, "POST", "/threads", "{}", append(said, "Origin", "https://fawn.example")...)
	a.want(t, "the proxy's own origin", http.StatusOK)
	a = s.send(t, "POST", "/threads", "{}", append(said, "Origin", "https://evil.example")...)
	a.want(t, "another origin", http.StatusForbidden)
	a = s.send(t, "GET", "/ok", "", "X-Forwarded-For", "203.0.113.7", "X-Forwarded-Host", "evil.example")
	a.want(t, "a host the owner doesn't know", http.StatusMisdirectedRequest)
}

func TestWrongProxySettingsKeepTheServerFromStarting(t *testing.T) {
	t.Parallel()
	for conf, want := range map[string]string{
		"server: {trusted_proxies: [proxy.example]}\n": "server.trusted_proxies",
		"server: {base_path: /a//b}\n":                 "base path \"/a//b\"",
	} {
		s := &server{conf: t.TempDir() + "/config.yaml"}
		s.configure(t, conf)
		app, err := web.Open(t.Context(), web.Options{Addr: "127.0.0.1:0", Data: t.TempDir(), Config: s.conf})
		if err == nil {
			t.Errorf("%s is taken: %v", conf, app.Close())
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", conf, err)
		}
	}
}
