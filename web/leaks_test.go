package web_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/store"
	"fawn/web/account"
	"fawn/web/webtest"
)

// secretWord stands in everything that ann owns.
const secretWord = "xylophonic"

// house is a server with ann, who owns something of every kind, and eve, who owns nothing.
type house struct {
	*server
	ann, eve *browser
	fill     *strings.Replacer
	watched  []string // what shows all that ann owns
}

func newHouse(t *testing.T) *house {
	t.Helper()
	s := guarded(t, "agents_api: {enabled: true}\n")
	h := &house{server: s, ann: s.owner(t)}
	h.eve = h.ann.member(t, "eve@x.org", account.RoleUser)
	h.furnish(t)
	return h
}

// furnish gives ann something of every kind.
func (h *house) furnish(t *testing.T) {
	t.Helper()
	s := h.server
	do := func(method, path, body string) answer {
		t.Helper()
		a := h.ann.do(t, method, path, body)
		a.fine(t, fmt.Sprintf("%s %s", method, path))
		return a
	}
	field := func(body, name string) string {
		t.Helper()
		found := regexp.MustCompile(`"` + name + `":\s*"([^"]+)"`).FindStringSubmatch(body)
		if found == nil {
			t.Fatalf("no %s in %s", name, body)
		}
		return found[1]
	}
	ran := do("POST", "/threads/anns/runs/wait", agenttest.RunBody("/threads/anns/runs/wait", human(secretWord)))
	run := ran.header.Get("Content-Location")
	run = run[strings.LastIndex(run, "/")+1:]
	s.sendFile(t, "/api/threads/anns/uploads", secretWord, h.ann.headers()...).must(t, "upload", http.StatusOK)
	do("PATCH", "/threads/anns", `{"metadata":{"about":"`+secretWord+`"}}`)
	fact := field(do("POST", "/api/memory/facts", `{"content":"`+secretWord+` is a word"}`).body, "id")
	assistant := field(do("POST", "/assistants", `{"graph_id":"lead_agent","name":"`+secretWord+`"}`).body,
		"assistant_id")
	do("POST", "/api/agents", `{"name":"`+secretWord+`","description":"`+secretWord+`"}`)
	cron := field(do("POST", "/runs/crons", `{"assistant_id":"lead_agent","schedule":"0 0 1 1 *","input":{"messages":"`+
		secretWord+`"}}`).body, "cron_id")
	do("PUT", "/store/items", `{"namespace":["a"],"key":"k","value":{"v":"`+secretWord+`"}}`)
	feedback := field(do("PUT", "/api/threads/anns/runs/"+run+"/feedback",
		`{"rating":1,"comment":"`+secretWord+`"}`).body, "feedback_id")
	token := field(do("POST", "/api/v1/auth/pats", `{"name":"`+secretWord+`","scopes":["write"]}`).body, "id")
	session := field(do("GET", "/api/v1/auth/sessions", "").body, "id")
	h.fill = strings.NewReplacer(":tid", "anns", ":id", "anns", ":rid", run, ":run", run, ":fact", fact,
		":aid", assistant, ":agent", secretWord, ":name", secretWord, "state/:cid", "state/x", ":cid", cron,
		":fid", feedback, ":uid", store.DefaultOwner, ":sid", session, ":tokid", token, ":message", "m1",
		"artifacts/*", "artifacts/mnt/user-data/uploads/up.txt", "*", "mnt/user-data/uploads/up.txt")
	h.watched = []string{"/threads/anns", "/threads/anns/state", "/api/threads/anns/uploads/list", "/api/memory",
		"/api/agents", "/assistants/" + assistant, "/runs/crons/" + cron, "/store/items?namespace=a&key=k",
		"/api/threads/anns/runs", "/api/v1/auth/users", "/api/threads/anns/runs/" + run + "/feedback", "/api/skills",
		"/api/settings/models", "/api/mcp/config"}
}

// everything is all that ann owns, and what the installation is.
func (h *house) everything(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, path := range h.watched {
		a := h.ann.do(t, "GET", path, "")
		a.must(t, "ann reads "+path, http.StatusOK)
		fmt.Fprintf(&b, "%s\n%s\n", path, a.body)
	}
	return b.String()
}

// routes are all there are, with what ann owns in their paths.
func (h *house) routes() (list []route) {
	for _, r := range h.app.Route() {
		if r.Method != "echo_route_not_found" {
			list = append(list,
				route{r.Method, r.Path, regexp.MustCompile(`:[a-z]+`).ReplaceAllString(h.fill.Replace(r.Path), "x")})
		}
	}
	return list
}

// ask sends a request for a route with the headers of somebody, for a page if it is one.
func (h *house) ask(t *testing.T, r route, headers ...string) answer {
	t.Helper()
	kind, body, accept := "application/json", "{}", "application/json"
	if strings.HasPrefix(r.path, "/ui/") {
		kind, body = "application/x-www-form-urlencoded", "text=x"
	}
	if r.method == http.MethodGet && !strings.HasPrefix(r.path, "/api/") {
		accept = "text/html"
	}
	res, err := h.request(t.Context(), r.method, r.path, strings.NewReader(agenttest.RunBody(r.path, body)),
		append(slices.Clone(headers), "Content-Type", kind, "Accept", accept)...)
	must.Do(t, err, fmt.Sprintf("%s %s", r.method, r.path))
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	must.Do(t, err, fmt.Sprintf("%s %s", r.method, r.path))
	return answer{res.StatusCode, res.Header, string(text)}
}

// open are the routes that answer people without an account.
func open(r route) bool {
	return slices.Contains([]string{"/assets/*", "/health", "/healthz", "/api/health", "/ui/diagram", "/login",
		"/setup", "/reset", "/logout"}, r.pattern) ||
		strings.HasPrefix(r.pattern, "/share/") || strings.HasPrefix(r.pattern, "/login/") ||
		strings.HasPrefix(r.pattern, "/ui/login/") || strings.HasPrefix(r.pattern, "/api/v1/auth/oauth/") ||
		strings.HasPrefix(r.pattern, "/api/v1/auth/callback/") ||
		slices.ContainsFunc([]string{"/ok", "/info"}, func(p string) bool { return strings.HasSuffix(r.pattern, p) }) ||
		slices.Contains([]string{"setup-status", "providers", "initialize", "register", "login/local", "link",
			"logout"}, strings.TrimPrefix(r.pattern, "/api/v1/auth/"))
}

// TestNobodyGetsWhatIsNotTheirs walks every route and page, with what ann owns in its path, as
// people without an account, with a session that is over, with an account that is disabled, as
// another user, and with ann's token that may only read.
func TestNobodyGetsWhatIsNotTheirs(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	routes := h.routes()
	if len(routes) < 400 {
		t.Fatalf("only %d routes", len(routes))
	}
	past := time.Now().Add(-time.Hour)
	sum := sha256.Sum256([]byte("over"))
	err := h.app.DB().PutSession(t.Context(), store.Session{ID: "over", Hash: sum[:], User: store.DefaultOwner,
		CreatedAt: past.Add(-time.Hour), UsedAt: past, ExpiresAt: past}, 100)
	must.Do(t, err)
	mallory := h.ann.member(t, "mallory@x.org", account.RoleAdmin)
	out := webtest.Decode[[]struct{ ID, Email string }](t, h.ann.do(t, "GET", "/api/v1/auth/users", "").body)
	a := h.ann.do(t, "PATCH", "/api/v1/auth/users/"+out[len(out)-1].ID, `{"disabled":true}`)
	if a.status != http.StatusOK || out[len(out)-1].Email != "mallory@x.org" {
		t.Fatalf("disable: %d %s", a.status, a.body)
	}

	for who, headers := range map[string][]string{
		"nobody":               nil,
		"a session that ended": {"Cookie", "access_token=over; csrf_token=x", account.HeaderCSRF, "x"},
		"a disabled user":      mallory.headers(),
		"a made-up token":      {"Authorization", "Bearer fawn_x"},
	} {
		webtest.Each(routes, func(r route) {
			a := h.ask(t, r, headers...)
			toLogin := a.status == http.StatusSeeOther && strings.HasPrefix(a.header.Get("Location"), "/login")
			if strings.Contains(a.body, secretWord) || a.status != http.StatusUnauthorized && !toLogin && !open(r) {
				t.Errorf("%s %s as %s: %d %.200s", r.method, r.pattern, who, a.status, a.body)
			}
		})
	}

	read := h.ann.token(t, "read")
	before := h.everything(t)
	for _, r := range routes {
		if strings.HasSuffix(r.pattern, "/stream") || strings.HasSuffix(r.pattern, "/stream/events") ||
			r.method == http.MethodGet || r.method == http.MethodHead || open(r) {
			continue // reading is what it may do
		}
		a := h.ask(t, r, "X-Api-Key", read)
		if a.status < 300 &&
			!slices.ContainsFunc([]string{"/search", "/count", "/history", "/versions", "/namespaces",
				"/state/checkpoint"}, func(end string) bool { return strings.HasSuffix(r.pattern, end) }) {
			t.Errorf("%s %s with a token that may only read: %d %.200s", r.method, r.pattern, a.status, a.body)
		}
	}

	asked := 0
	for _, r := range routes {
		if strings.HasSuffix(r.pattern, "/logout") || open(r) {
			continue
		}
		asked++
		a := h.ask(t, r, h.eve.headers()...)
		named := ofThread.MatchString(r.pattern) || ofRun.MatchString(r.pattern)
		echoed := strings.ReplaceAll(a.body, "/"+secretWord, "") // the page of an address may name it
		if a.status < 300 && strings.Contains(echoed, secretWord) ||
			named && a.status != http.StatusNotFound && a.status != http.StatusForbidden {
			t.Errorf("%s %s as another user: %d %.300s", r.method, r.pattern, a.status, a.body)
		}
	}
	if asked < 350 {
		t.Errorf("only %d routes were asked", asked)
	}
	webtest.Same(t, "something was done to what ann owns", h.everything(t), before)
}

// TestSettingsShowTheInstallationToWhoeverRunsIt: paths, servers, open hosts and what is wrong with
// the configuration are no matter of other users.
func TestSettingsShowTheInstallationToWhoeverRunsIt(t *testing.T) {
	t.Parallel()
	s := guarded(t, "runs: {resume: auto}\nacp_agents: {x: {command: y}}\n")
	ann := s.owner(t)
	eve := ann.member(t, "eve@x.org", account.RoleUser)
	a := ann.do(t, "PUT", "/api/mcp/config",
		`{"mcp_servers":{"innermost":{"enabled":false,"type":"http","url":"https://innermost.example/mcp"}}}`)
	a.must(t, "add a server", http.StatusOK)
	nav := eve.do(t, "GET", "/workspace/settings/appearance", "", "Accept", "text/html").body
	for _, section := range []string{"models", "tools", "mcp", "sandbox"} {
		locked := eve.do(t, "GET", "/workspace/settings/"+section, "", "Accept", "text/html").body
		if strings.Contains(nav, `href="/workspace/settings/`+section+`"`) || !strings.Contains(locked, "Only administrators can see") ||
			strings.Contains(locked, `action="/ui/`+section) {
			t.Errorf("a user is led to %s, or it doesn't say that it's for administrators", section)
		}
	}
	for shown, section := range map[string]string{s.app.DataDir(): "about", "/api/support-bundle": "about",
		"innermost": "mcp", `id="hosts"`: "sandbox"} {
		path := "/workspace/settings/" + section
		for who, b := range map[string]*browser{"ann": ann, "eve": eve} {
			a := b.do(t, "GET", path, "", "Accept", "text/html")
			if a.status != http.StatusOK || strings.Contains(a.body, shown) != (who == "ann") {
				t.Errorf("%s sees %q in %s: %v (%d)", who, shown, section, who != "ann", a.status)
			}
			if who == "eve" && strings.Contains(a.body, "acp_agents") {
				t.Errorf("eve sees what is wrong with the configuration in %s", section)
			}
		}
	}
}
