package mcp_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/mcp"
)

var noCall = agent.ToolCall{ID: "c", Name: "x", Args: json.RawMessage("{}")}

// overHTTP serves a server, after wrap.
func overHTTP(t *testing.T, s *sdk.Server, wrap func(http.Handler) http.Handler) mcp.Server {
	t.Helper()
	var h http.Handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	if wrap != nil {
		h = wrap(h)
	}
	t.Cleanup(func() {
		for session := range s.Sessions() {
			session.Close()
		}
	})
	return mcp.Server{Name: "h", Type: mcp.HTTP, URL: listen(t, h) + "/mcp?key=" + canary, StartTimeout: patience}
}

func listen(t *testing.T, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return srv.URL
}

func TestHTTP(t *testing.T) {
	s := overHTTP(t, newServer(), func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Key") != canary {
				http.Error(w, "who are you", http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	s.Headers = map[string]string{"X-Key": canary}
	w := newWorld(t, s)
	if got := w.says("t", "h_echo", "over HTTP, and "+canary); got != "over HTTP, and ****" {
		t.Errorf("echo says %q", got)
	}
}

func TestSSE(t *testing.T) {
	server := newServer()
	h := sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return server }, nil)
	w := newWorld(t, mcp.Server{Name: "h", Type: mcp.SSE, URL: listen(t, h), StartTimeout: patience})
	if got := w.says("t", "h_echo", "over SSE"); got != "over SSE" {
		t.Errorf("echo says %q", got)
	}
}

// TestStreamThatNeverBegins: a server that accepts the request for its stream and says nothing ends with its time.
func TestStreamThatNeverBegins(t *testing.T) {
	s := overHTTP(t, newServer(), func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				<-r.Context().Done()
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	s.StartTimeout = 100 * time.Millisecond
	w := newWorld(t, s)
	w.state("h", mcp.StateFailed)
	must.Do(t, w.Close())
}

func TestRefusalTellsNoSecret(t *testing.T) {
	s := overHTTP(t, newServer(), func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "no "+r.Header.Get("X-Key")+r.URL.RawQuery, http.StatusForbidden)
		})
	})
	s.Headers = map[string]string{"X-Key": "Bearer " + canary}
	w := newWorld(t, s)
	st := w.state("h", mcp.StateFailed)
	b := must.Get(json.Marshal(w.Status()))(t)
	if !strings.Contains(st.Error, "Forbidden") || strings.Contains(string(b)+w.logs.String(), canary) {
		t.Errorf("the status is %s, the log\n%s", b, w.logs)
	}
}

func TestRedirectsAreJudged(t *testing.T) {
	var mu sync.Mutex
	reached := false
	other := listen(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		reached = true
	}))
	s := overHTTP(t, newServer(), func(http.Handler) http.Handler {
		return http.RedirectHandler(other, http.StatusTemporaryRedirect)
	})
	w := newWorld(t, s)
	if st := w.state("h", mcp.StateFailed); !strings.Contains(st.Error, "loopback") {
		t.Errorf("the status is %+v", st)
	}
	mu.Lock()
	defer mu.Unlock()
	if reached {
		t.Error("a server sent us to an address of this machine")
	}
}

func TestResults(t *testing.T) {
	w := newWorld(t, stdio("s", "good"))
	r := w.call("t", "s_shows", "")
	const at = "/mnt/user-data/outputs/mcp/s_shows-"
	if len(r.Patch.ViewedImages) != 1 || !strings.Contains(r.Content.Text, at) ||
		!strings.Contains(r.Content.Text, "[Resource test://a]\ninside\n[Resource test://b: link]") {
		t.Errorf("the result: %q, %v", r.Content.Text, r.Patch.ViewedImages)
	}
	r = w.call("t", "s_shape", "")
	if r.Content.Text != `{"answer":42}` || string(r.Artifact) != `{"structured_content":{"answer":42}}` {
		t.Errorf("the structured result: %q, %s", r.Content.Text, r.Artifact)
	}
	r = w.call("t", "s_big", strconv.Itoa(1<<20))
	if r.IsError || r.Whole == nil || r.Whole.Bytes != 1<<20-1 || len(r.Content.Text) > 300<<10 {
		t.Fatalf("the long result: %d bytes, %+v", len(r.Content.Text), r.Whole)
	}
	file := filepath.Join(w.dir, "threads/t/user-data", strings.TrimPrefix(r.Whole.Path, "/mnt/user-data"))
	if info, err := os.Stat(file); err != nil || info.Size() != r.Whole.Bytes {
		t.Errorf("the file of the long result: %v, %v", info, err)
	}
}

func TestTooLargeResult(t *testing.T) {
	w := newWorld(t, stdio("s", "good"), overHTTP(t, newServer(), nil))
	for _, name := range []string{"s_big", "h_big"} {
		r := w.call("t", name, strconv.Itoa(3<<20))
		if !r.IsError || !strings.Contains(r.Content.Text, "it sent a message larger than 2 MiB") {
			t.Errorf("%s: %v, %.2000q", name, r.IsError, r.Content.Text)
		}
	}
	if got := w.says("t", "s_echo", "again"); got != "again" {
		t.Errorf("echo says %q afterwards", got)
	}
}

// provider gives OAuth tokens.
type provider struct {
	t       *testing.T
	mu      sync.Mutex
	asked   []url.Values
	refresh string // the one that is good
	life    any
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	must.Report(p.t, r.ParseForm())
	p.asked = append(p.asked, r.PostForm)
	if p.refresh != "" && r.PostForm.Get("refresh_token") != p.refresh {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": "invalid_grant",
			"error_description": "bad token " + r.PostForm.Get("refresh_token")})
		return
	}
	answer := map[string]any{"access_token": "access-" + strconv.Itoa(len(p.asked)) + "-" + canary,
		"expires_in": p.life}
	if p.refresh != "" {
		p.refresh = "refresh-" + strconv.Itoa(len(p.asked)) + "-" + canary
		answer["refresh_token"] = p.refresh
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func (p *provider) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

// guarded is a server that wants a token of the provider.
func (p *provider) guarded(t *testing.T, o mcp.OAuth) mcp.Server {
	o.TokenURL, o.TokenField, o.TypeField, o.ExpiryField = listen(t, p), "access_token", "token_type", "expires_in"
	o.DefaultType, o.Skew = "Bearer", time.Minute
	s := overHTTP(t, newServer(), func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer access-") {
				http.Error(w, "no token", http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	s.OAuth = &o
	return s
}

func TestClientCredentials(t *testing.T) {
	p := &provider{t: t, life: 3600}
	w := newWorld(t, p.guarded(t, mcp.OAuth{Grant: "client_credentials", ClientID: "id", ClientSecret: "s-" + canary,
		Scope: "a b", Params: map[string]string{"resource": "r"}}))
	for _, thread := range []string{"t1", "t2"} {
		if got := w.says(thread, "h_echo", "x"); got != "x" {
			t.Errorf("echo says %q", got)
		}
	}
	if n := p.count(); n != 1 {
		t.Errorf("a token was asked for %d times", n)
	}
	if f := p.asked[0]; f.Get("grant_type") != "client_credentials" || f.Get("client_secret") != "s-"+canary ||
		f.Get("scope") != "a b" || f.Get("resource") != "r" {
		t.Errorf("the form is %v", f)
	}
}

func TestRefreshTokenRotates(t *testing.T) {
	p := &provider{t: t, refresh: "first-" + canary, life: "30"} // shorter than the skew: each request needs another
	dir := t.TempDir()
	s := p.guarded(t, mcp.OAuth{Grant: "refresh_token", RefreshToken: "first-" + canary})
	w := worldIn(t, dir, s)
	w.says("t", "h_echo", "x")
	if p.count() < 2 {
		t.Errorf("a token was asked for %d times", p.count())
	}
	must.Do(t, w.Close())
	info, err := os.Stat(filepath.Join(dir, "mcp", "known.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file with the token: %v, %v", info, err)
	}
	next := worldIn(t, dir, s) // goes on with the newest token
	next.says("t", "h_echo", "x")
	if strings.Contains(w.logs.String()+next.logs.String(), canary) {
		t.Error("the log shows a token")
	}
}

func TestRefusedToken(t *testing.T) {
	p := &provider{t: t, refresh: "good"}
	w := newWorld(t, p.guarded(t, mcp.OAuth{Grant: "refresh_token", RefreshToken: "bad-" + canary}))
	if st := w.state("h", mcp.StateFailed); !strings.Contains(st.Error, "invalid_grant bad token ****") {
		t.Errorf("the status is %+v", st)
	}
}
