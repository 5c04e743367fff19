package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/web"
	"fawn/web/webtest"
)

// gated is an MCP server that wants a token of its own authorization server.
func gated(t *testing.T) string {
	s := sdk.NewServer(&sdk.Implementation{Name: "gated", Version: "1"}, nil)
	s.AddTool(&sdk.Tool{Name: "look", Description: "looks", InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
	inner := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(func() {
		for session := range s.Sessions() {
			session.Close()
		}
		srv.CloseClientConnections()
		srv.Close()
	})
	reply := func(v any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(v)
		}
	}
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer access-"+mcpCanary {
			http.Error(w, "no token", http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", reply(map[string]any{"issuer": srv.URL,
		"authorization_endpoint": srv.URL + "/authorize", "token_endpoint": srv.URL + "/token", "jwks_uri": srv.URL,
		"registration_endpoint": srv.URL + "/register", "response_types_supported": []string{"code"},
		"code_challenge_methods_supported": []string{"S256"}}))
	mux.HandleFunc("/register", reply(map[string]any{"client_id": "fawn"}))
	mux.HandleFunc("/token", reply(map[string]any{"access_token": "access-" + mcpCanary, "token_type": "Bearer",
		"refresh_token": "refresh-" + mcpCanary, "expires_in": 3600}))
	return srv.URL
}

// TestLoginAtMCPServer: on the page and over the API, bound to the browser that began it; the tools are there
// afterwards, and no token is ever seen.
func TestLoginAtMCPServer(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	base := gated(t)
	extensions(t, data, map[string]any{"gate": map[string]any{"url": base + "/mcp"}})
	s := start(t, scripted(t), func(o *web.Options) { o.Data = data })
	var seen strings.Builder
	ask := func(method, path, cookie string, want int) answer {
		t.Helper()
		headers := []string{"Accept", "text/html", "Sec-Fetch-Site", "same-origin"}
		if cookie != "" {
			headers = append(headers, "Cookie", cookie)
		}
		a := s.send(t, method, path, "", headers...)
		seen.WriteString(a.body)
		a.must(t, fmt.Sprintf("%s %s", method, path), want)
		return a
	}
	page := func(want string) {
		t.Helper()
		for end := time.Now().Add(patience); ; {
			body := ask("GET", "/workspace/settings/mcp", "", 200).body
			if strings.Contains(body, want) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("the page never has %q:\n%s", want, body)
			}
		}
	}
	page("Log in: gate")
	began := ask("POST", "/ui/mcp/by-name/gate/login", "", 200)
	cookie, _, _ := strings.Cut(began.header.Get("Set-Cookie"), ";")
	link := regexp.MustCompile(`href="(` + regexp.QuoteMeta(base) + `/authorize[^"]*)"`).FindStringSubmatch(began.body)
	if link == nil || !strings.Contains(began.header.Get("Set-Cookie"), "HttpOnly; SameSite=Lax") {
		t.Fatalf("the page leads nowhere: %s %s", began.header.Get("Set-Cookie"), began.body)
	}
	to, err := url.Parse(strings.ReplaceAll(link[1], "&amp;", "&"))
	if err != nil || to.Query().Get("redirect_uri") != s.url+"/ui/mcp/callback" {
		t.Fatalf("the browser comes back to %v, %v", to, err)
	}
	back := "/ui/mcp/callback?code=c&state=" + url.QueryEscape(to.Query().Get("state"))
	webtest.Holds(t, "another browser is told", ask("GET", back, "", 400).body, "Login failed")
	webtest.Same(t, "the browser goes on to", ask("GET", back, cookie, 303).header.Get("Location"), "/workspace/settings/mcp")
	page("Log out: gate")
	page("Tools (1)")
	ask("GET", back, cookie, 400) // it counts once

	s.send(t, "POST", "/api/mcp/servers/gate/logout", "").want(t, "logout", 200, `"login"`)
	page("Log in: gate")
	a := s.send(t, "POST", "/api/mcp/servers/gate/login", "")
	var started struct {
		URL string `json:"authorization_url"`
	}
	if json.Unmarshal([]byte(a.body), &started) != nil || !strings.HasPrefix(started.URL, base+"/authorize?") {
		t.Errorf("login: %d %s", a.status, a.body)
	}
	denied := ask("POST", "/ui/mcp/by-name/gate/login", "", 200)
	cookie, _, _ = strings.Cut(denied.header.Get("Set-Cookie"), ";")
	_, state, _ := strings.Cut(cookie, "=")
	got := ask("GET", "/ui/mcp/callback?error=access_denied&state="+state, cookie, 400).body
	webtest.Holds(t, "a person who says no is told", got, "access was denied")
	for path, want := range map[string]int{"/api/mcp/servers/none/login": 404, "/api/mcp/servers/none/logout": 404} {
		s.send(t, "POST", path, "").want(t, path, want)
	}
	webtest.Holds(t, "a token is seen", seen.String()+a.body+s.log.String(), "!"+mcpCanary)
}
