package web_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// canary is a secret; each place has one of its own, so that what shows says where from.
func canary(place string) string { return "cAnArY-" + place + "-7f3aQz19" }

// strangers is the other side of all secrets: it notes those that reach it, and repeats them.
type strangers struct {
	mu   sync.Mutex
	seen map[string]bool
	tool http.Handler
	url  string
}

func newStrangers(t *testing.T) *strangers {
	s := sdk.NewServer(&sdk.Implementation{Name: "far", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "say", Description: "says all it knows"},
		func(_ context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			text := fmt.Sprint(r.Extra.Header)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}},
				map[string]any{"said": text}, nil
		})
	x := &strangers{seen: map[string]bool{},
		tool: sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)}
	at := httptest.NewServer(x)
	t.Cleanup(at.Close)
	x.url = at.URL
	return x
}

var anyCanary = regexp.MustCompile(`cAnArY-([a-z0-9-]+)-7f3aQz19`)

// ServeHTTP implements [http.Handler].
func (x *strangers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	all := fmt.Sprint(r.URL, r.Header, string(body))
	x.mu.Lock()
	for _, m := range anyCanary.FindAllStringSubmatch(all, -1) {
		x.seen[m[1]] = true
	}
	x.mu.Unlock()
	switch r.Body = io.NopCloser(bytes.NewReader(body)); {
	case strings.HasPrefix(r.URL.Path, "/mcp"):
		x.tool.ServeHTTP(w, r)
	case r.URL.Path == "/token":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":%q,"refresh_token":%q,"expires_in":3600}`, canary("access"), canary("rotated"))
	default: // a provider, or a server of tools, which does not want us
		http.Error(w, fmt.Sprintf(`{"error":{"message":%q}}`, all), http.StatusUnauthorized)
	}
}

// secretPlaces configures a secret wherever there can be one.
func secretPlaces(t *testing.T, data, model string, x *strangers) (conf string) {
	t.Helper()
	notes := notesServer()
	notes["env"] = map[string]string{"NOTES_TOKEN": "$NOTES_SECRET"}
	notes["args"] = []string{mcpServerArg}
	oauth := func(more map[string]any) map[string]any {
		o := map[string]any{"token_url": x.url + "/token", "client_id": "fawn",
			"client_secret":      canary("client-secret"),
			"extra_token_params": map[string]string{"key": canary("token-param")}}
		for k, v := range more {
			o[k] = v
		}
		return o
	}
	extensions(t, data, map[string]any{
		"notes": notes,
		"far": map[string]any{"type": "http", "url": x.url + "/mcp?api_key=" + canary("mcp-url"),
			"headers": map[string]string{"X-Key": canary("mcp-header")}},
		"token": map[string]any{"type": "http", "url": x.url + "/mcp", "oauth": oauth(map[string]any{"grant_type": "client_credentials"})},
		"fresh": map[string]any{"type": "http", "url": x.url + "/mcp", "oauth": oauth(map[string]any{"grant_type": "refresh_token",
			"refresh_token": canary("refresh")})},
		"closed": map[string]any{"type": "http", "url": x.url + "/closed?k=" + canary("closed-url"),
			"headers": map[string]string{"Authorization": "Bearer " + canary("closed-header")}},
	})
	err := os.WriteFile(filepath.Join(data, "secrets.env"), []byte("SCRIPT_API_KEY="+canary("secrets-env")+"\n"), 0o600)
	must.Do(t, err)
	return fmt.Sprintf(`log_level: debug
metrics: {token: %s}
tracing: {headers: {authorization: %s}}
sandbox: {environment: {DEPLOY_TOKEN: %s}}
title: {enabled: false}
memory: {model_name: offline}
llm_call: {retry_max_attempts: 1}
models:
  - {name: script, use: openai, model: script, base_url: %q, api_key: $SCRIPT_API_KEY, headers: {X-Extra: %s}}
  - {name: closed, use: openai, model: closed, base_url: "%s/v1", api_key: %s, headers: {X-Extra: %s}}
  - {name: userinfo, use: openai, model: userinfo, base_url: "http://me:%s@127.0.0.1:1/v1", api_key: key}
`, canary("metrics"), canary("tracing"), canary("sandbox"), model+"/v1", canary("model-header"), x.url, canary("model"),
		canary("closed-model-header"), canary("userinfo"))
}

// TestNoRouteAnswersWithASecret: with secrets of all kinds configured, used, and repeated by those who
// got them, no GET route of the table, no error, event, log or stored thing shows one.
func TestNoRouteAnswersWithASecret(t *testing.T) {
	t.Setenv("NOTES_SECRET", canary("mcp-env"))
	t.Setenv("OTHER_API_KEY", canary("environment"))
	x, model, data := newStrangers(t), scriptmodel.Start(t), t.TempDir()
	log := &agenttest.Log{}
	conf := secretPlaces(t, data, model.URL, x)
	s := start(t, conf, func(o *web.Options) { o.Data, o.Log = data, web.NewLog(log) })
	for _, name := range []string{"notes_tell", "far_say", "token_say", "fresh_say"} {
		s.offeredTool(t, "warm", name)
	}
	const thread = "one"
	calls := `SCRIPT{"turns":[{"tool_calls":[{"name":"notes_tell","args":{}},{"name":"notes_fail","args":{}},` +
		`{"name":"far_say","args":{}},{"name":"token_say","args":{}},{"name":"fresh_say","args":{}},` +
		`{"name":"bash","args":{"description":"look","command":"echo $API_TOKEN"}}]},{"text":"Done."}]}`
	secrets := fmt.Sprintf(`"context":{"secrets":{"API_TOKEN":%q}},"stream_mode":["values","updates","messages-tuple","custom","events","debug"]`,
		canary("run"))
	ran := s.send(t, "POST", "/threads/"+thread+"/runs/stream", human(calls, secrets))
	run := ran.header.Get("Content-Location")
	run = run[strings.LastIndex(run, "/")+1:]
	answers := map[string]answer{"the stream": ran,
		"a failure":                  s.send(t, "POST", "/threads/"+thread+"/runs/wait", human("go", `"context":{"model_name":"closed"}`)),
		"a bad configuration":        s.send(t, "PUT", "/api/mcp/config", `{"mcp_servers":{"far":{"type":"http","url":"ftp://x?k=***"}}}`),
		"an address with a password": s.send(t, "POST", "/threads/"+thread+"/runs/wait", human("go", `"context":{"model_name":"userinfo"}`)),
		"a token in a query":         s.send(t, "GET", "/metrics?token="+canary("query"), ""),
		"a reset":                    s.send(t, "POST", "/api/mcp/servers/closed/reconnect", ""),
	}
	if !strings.Contains(ran.body, "Done.") || !strings.Contains(ran.body, "my token is ****") {
		t.Fatalf("the run is %s", ran.body)
	}
	for r, a := range s.everything(t, thread, run) {
		answers[r] = a
	}
	if len(answers) < 100 {
		t.Errorf("only %d answers", len(answers))
	}
	for what, a := range answers {
		tells(t, what, fmt.Sprint(a.header)+a.body)
	}
	s.configure(t, strings.Replace(conf, "log_level: debug", "log_level: debug\nmisspelt_key: "+canary("misspelt"), 1))
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	webtest.Holds(t, "the log of the failures, without which this test shows nothing", log.String(), "run failed")
	tells(t, "the log", log.String())
	for _, file := range mentions(t, data, "cAnArY") {
		base := filepath.Base(file)
		if !slices.Contains([]string{"secrets.env", "extensions_config.json", "known.json"}, base) {
			t.Errorf("a secret is stored in %s", file)
		}
	}
	x.used(t)
}

// used makes sure that the secrets were used, without which the test would show nothing.
func (x *strangers) used(t *testing.T) {
	t.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, place := range []string{"mcp-url", "mcp-header", "client-secret", "token-param", "access", "refresh",
		"closed-url", "closed-header", "model", "closed-model-header"} {
		if !x.seen[place] {
			t.Errorf("the secret of %s was never used", place)
		}
	}
}

// everything asks all GET routes of the table.
func (s *server) everything(t *testing.T, thread, run string) map[string]answer {
	t.Helper()
	fill := strings.NewReplacer(":tid", thread, ":id", thread, ":rid", run, ":run", run, ":name", "far",
		"artifacts/*", "artifacts/mnt/user-data/workspace/x", ":page", "tools", "*", "x")
	out := map[string]answer{}
	for _, r := range s.app.Route() {
		if r.Method != http.MethodGet {
			continue
		}
		path := regexp.MustCompile(`:[a-z]+`).ReplaceAllString(fill.Replace(r.Path), "x")
		for _, accept := range []string{"application/json", "text/html"} {
			out[path+" as "+accept] = s.glance(t, path, accept)
		}
	}
	for _, page := range []string{"tools", "mcp", "models", "data", "about", "general", "usage"} {
		out["settings "+page] = s.glance(t, "/workspace/settings/"+page, "text/html")
	}
	return out
}

// glance reads an answer, and of a stream that does not end what there is at first.
func (s *server) glance(t *testing.T, path, accept string) (a answer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	res, err := s.request(ctx, http.MethodGet, path, nil, "Accept", accept, "Authorization",
		"Bearer "+canary("metrics"))
	must.Do(t, err, "GET "+path)
	defer res.Body.Close()
	a.status, a.header = res.StatusCode, res.Header
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		time.AfterFunc(200*time.Millisecond, cancel)
	}
	b, _ := io.ReadAll(res.Body) // a stream was cut
	a.body = string(b)
	return a
}

// tells looks for a secret, in archives too.
func tells(t *testing.T, what, text string) {
	t.Helper()
	if i := strings.Index(text, "PK\x03\x04"); i >= 0 {
		b := []byte(text[i:])
		if z, err := zip.NewReader(bytes.NewReader(b), int64(len(b))); err == nil {
			for _, f := range z.File {
				if r, err := f.Open(); err == nil {
					inside, _ := io.ReadAll(r)
					tells(t, what+" "+f.Name, string(inside))
				}
			}
		}
	}
	for _, m := range anyCanary.FindAllStringSubmatchIndex(text, 3) {
		t.Errorf("%s tells the secret of %s: …%s…", what, text[m[2]:m[3]],
			text[max(0, m[0]-120):min(len(text), m[1]+40)])
	}
}
