package mcp_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/agent/agenttest/must"
	"fawn/agent/mcp"
)

const callback = "http://127.0.0.1:1/ui/mcp/callback"

// authority is an authorization server with the MCP server that it gives tokens for.
type authority struct {
	t    *testing.T
	base string

	mu        sync.Mutex
	oidc      bool // its metadata is where OpenID Connect has it
	noPKCE    bool
	noDCR     bool
	noMeta    bool   // neither metadata: the addresses are the usual ones
	elsewhere string // another authorization server than itself
	iss       string // told in the answer
	life      int    // seconds of a token
	noRefresh bool
	refuse    string // error of the token address

	clients map[string]map[string]any // registered
	codes   map[string]url.Values     // requests by code
	forms   []url.Values              // that asked for tokens
	basic   []string                  // users of their headers
	good    map[string]bool           // access tokens
	refresh string                    // the one that is good
	n       int
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, life: 3600, clients: map[string]map[string]any{}, codes: map[string]url.Values{},
		good: map[string]bool{}}
	s := newServer()
	mux := http.NewServeMux()
	inner := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	mux.Handle("/mcp", a.gate(inner))
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", a.resource)
	mux.HandleFunc("/.well-known/oauth-authorization-server", a.metadata(false))
	mux.HandleFunc("/.well-known/openid-configuration", a.metadata(true))
	mux.HandleFunc("/register", a.register)
	mux.HandleFunc("/token", a.token)
	srv := httptest.NewUnstartedServer(mux)
	a.base = "http://" + srv.Listener.Addr().String() // whoever had its port last may be calling already
	srv.Start()
	t.Cleanup(func() {
		for session := range s.Sessions() {
			session.Close()
		}
		srv.CloseClientConnections()
		srv.Close()
	})
	return a
}

func (a *authority) server() mcp.Server {
	return mcp.Server{Name: "h", Type: mcp.HTTP, URL: a.base + "/mcp", StartTimeout: patience}
}

func (a *authority) gate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		a.mu.Lock()
		ok := a.good[token]
		a.mu.Unlock()
		if !ok {
			w.Header().Set("WWW-Authenticate", `Bearer scope="tools:use", resource_metadata="`+a.base+
				`/.well-known/oauth-protected-resource/mcp"`)
			http.Error(w, "who are you, "+token, http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func answerJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (a *authority) resource(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.noMeta {
		http.NotFound(w, r)
		return
	}
	at := a.base
	if a.elsewhere != "" {
		at = a.elsewhere
	}
	answerJSON(w, 200, map[string]any{"resource": a.base + "/mcp", "authorization_servers": []string{at}})
}

func (a *authority) metadata(oidc bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.oidc != oidc || a.noMeta {
			http.NotFound(w, r)
			return
		}
		m := map[string]any{"issuer": a.base, "authorization_endpoint": a.base + "/authorize",
			"jwks_uri": a.base + "/k", "token_endpoint": a.base + "/token",
			"response_types_supported": []string{"code"},
			"scopes_supported":         []string{"tools:use", "offline_access"}}
		if !a.noPKCE {
			m["code_challenge_methods_supported"] = []string{"S256"}
		}
		if !a.noDCR {
			m["registration_endpoint"] = a.base + "/register"
		}
		if a.iss != "" {
			m["authorization_response_iss_parameter_supported"] = true
		}
		answerJSON(w, 200, m)
	}
}

func (a *authority) register(w http.ResponseWriter, r *http.Request) {
	var m map[string]any
	must.Report(a.t, json.NewDecoder(r.Body).Decode(&m))
	a.mu.Lock()
	defer a.mu.Unlock()
	id := fmt.Sprintf("client-%d", len(a.clients)+1)
	a.clients[id] = m
	m["client_id"] = id
	answerJSON(w, 201, m)
}

// consent is a person who agrees: it gives what the browser brings back.
func (a *authority) consent(to mcp.Consent) mcp.LoginAnswer {
	a.t.Helper()
	u := must.Get(url.Parse(to.URL))(a.t)
	q := u.Query()
	if u.Scheme+"://"+u.Host+u.Path != a.base+"/authorize" || q.Get("response_type") != "code" ||
		q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || q.Get("state") != to.State ||
		len(to.State) < 20 || q.Get("redirect_uri") != callback || q.Get("resource") != a.base+"/mcp" {
		a.t.Errorf("the person is sent to %s", to.URL)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	code := fmt.Sprintf("code-%d-%s", len(a.codes)+1, canary)
	a.codes[code] = q
	return mcp.LoginAnswer{State: to.State, Code: code, Issuer: a.iss}
}

func (a *authority) token(w http.ResponseWriter, r *http.Request) {
	must.Report(a.t, r.ParseForm())
	a.mu.Lock()
	defer a.mu.Unlock()
	f := r.PostForm
	a.forms = append(a.forms, f)
	user, secret, _ := r.BasicAuth()
	a.basic = append(a.basic, user+":"+secret)
	bad := func(code string) {
		answerJSON(w, 400,
			map[string]string{"error": code, "error_description": "no, " + f.Get("code") + f.Get("refresh_token")})
	}
	switch f.Get("grant_type") {
	case "authorization_code":
		q, ok := a.codes[f.Get("code")]
		delete(a.codes, f.Get("code"))
		sum := sha256.Sum256([]byte(f.Get("code_verifier")))
		if a.refuse != "" || !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != q.Get("code_challenge") ||
			f.Get("redirect_uri") != q.Get("redirect_uri") || f.Get("resource") != q.Get("resource") {
			bad("invalid_grant")
			return
		}
	case "refresh_token":
		if a.refresh == "" || f.Get("refresh_token") != a.refresh {
			bad("invalid_grant")
			return
		}
	default:
		bad("unsupported_grant_type")
		return
	}
	a.n++
	access := fmt.Sprintf("access-%d-%s", a.n, canary)
	a.good[access] = true
	answer := map[string]any{"access_token": access, "token_type": "bearer", "expires_in": a.life}
	if !a.noRefresh {
		a.refresh = fmt.Sprintf("refresh-%d-%s", a.n, canary)
		answer["refresh_token"] = a.refresh
	}
	answerJSON(w, 200, answer)
}

// revoke takes all access tokens back.
func (a *authority) revoke(refresh bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.good = map[string]bool{}
	if refresh {
		a.refresh = ""
	}
}
