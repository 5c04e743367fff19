package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/web"
	"fawn/web/webtest"
)

// appServer is an MCP server whose tool has an app.
func appServer(t *testing.T) string {
	t.Helper()
	type none struct{}
	type rise struct {
		By int `json:"by"`
	}
	s := sdk.NewServer(&sdk.Implementation{Name: "charts", Version: "1"}, nil)
	const uri = "ui://charts/line"
	sdk.AddTool(s, &sdk.Tool{Name: "chart", Description: "draws", Meta: sdk.Meta{"ui": map[string]any{"resourceUri": uri}}},
		func(context.Context, *sdk.CallToolRequest, none) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Meta: sdk.Meta{"seen": "by the app only"}, Content: []sdk.Content{&sdk.TextContent{Text: "a line of 3"}},
				StructuredContent: map[string]any{"points": []int{1, 2, 3}}}, nil, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "refresh", Description: "for the app", Meta: sdk.Meta{"ui": map[string]any{"visibility": []string{"app"}}}},
		func(_ context.Context, _ *sdk.CallToolRequest, in rise) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{StructuredContent: map[string]any{"points": []int{in.By}}}, nil, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "secret", Description: "for the model", Meta: sdk.Meta{"ui": map[string]any{"visibility": []string{"model"}}}},
		func(context.Context, *sdk.CallToolRequest, none) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "secret"}}}, nil, nil
		})
	s.AddResource(&sdk.Resource{URI: uri, Name: "line", MIMEType: "text/html;profile=mcp-app"},
		func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: "text/html;profile=mcp-app",
				Text: "<!doctype html><title>line</title>", Meta: sdk.Meta{"ui": map[string]any{"csp": map[string]any{
					"connectDomains":  []string{"https://api.example.com", "javascript:alert(1)", "https://x; script-src *", "http://elsewhere.example"},
					"resourceDomains": []string{"https://*.cdn.example/"}}}}}}}, nil
		})
	at := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(at.Close)
	return at.URL
}

// TestAppsOfMCPServers: the page of a tool's result is shown in a frame that reaches what its server declared, is handed
// the result, and calls tools of its server past the same judges as the model.
func TestAppsOfMCPServers(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	extensions(t, data, map[string]any{"mine": map[string]any{"type": "http", "url": appServer(t)}})
	s := start(t, scripted(t)+"\nguardrails: {enabled: true, provider: {use: allowlist, config: {denied_tools: [mine_secret]}}}\n",
		func(o *web.Options) { o.Data = data })
	webtest.Holds(t, "the model reads", s.offeredTool(t, "one", "mine_chart"), "a line of 3", "!by the app only")
	webtest.Holds(t, "the model has a tool of the app", s.tool(t, "one", "mine_refresh", "{}"), "there is no tool named")
	list := regexp.MustCompile(`data-app="(/ui/threads/one/apps/[^"]+)"`).FindAllStringSubmatch(s.send(t, "GET", "/workspace/chats/one", "").body, -1)
	if len(list) != 1 {
		t.Fatalf("the page has %d apps", len(list))
	}
	at := list[0][1]
	frame := s.send(t, "GET", at, "", "Sec-Fetch-Dest", "iframe")
	policy := frame.header.Get("Content-Security-Policy")
	frame.must(t, "the frame", 200, "<title>line</title>")
	webtest.Holds(t, "the policy", policy,
		"sandbox allow-scripts allow-forms;", "default-src 'none'", "connect-src https://api.example.com;",
		"script-src 'unsafe-inline' blob: https://*.cdn.example;", "frame-src 'none'", "form-action 'none'", "frame-ancestors 'self'")
	webtest.Holds(t, "the policy has : "+policy, strings.Replace(policy, "frame-ancestors 'self'", "", 1)+";",
		"!'self';", "!elsewhere", "!javascript", "!allow-same-origin", "!*;")
	s.send(t, "GET", at, "", "Sec-Fetch-Dest", "document").want(t, "an app by itself", 404)
	var handed struct {
		Tool   string
		Result struct {
			Meta              map[string]any `json:"_meta"`
			StructuredContent map[string]any `json:"structuredContent"`
		}
	}
	if a := s.send(t, "GET", at+"/data", ""); json.Unmarshal([]byte(a.body), &handed) != nil || handed.Tool != "chart" ||
		handed.Result.Meta["seen"] != "by the app only" || len(handed.Result.StructuredContent) != 1 {
		t.Errorf("the app is handed %d %s", a.status, a.body)
	}
	call := func(body string, want int) string {
		t.Helper()
		a := s.send(t, "POST", at+"/call", body, "X-Fawn", "1", "Content-Type", "application/json")
		a.want(t, "call "+body, want)
		return a.body
	}
	webtest.Holds(t, "a call of the app", call(`{"name":"refresh","arguments":{"by":7}}`, 200), `"points":[7]`)
	call(`{"name":"secret"}`, 404)
	call(`{"name":"none"}`, 404)
	call(`["name"]`, 422)
	s.send(t, "POST", at+"/call", `{"name":"refresh"}`, "Origin", "null", "Sec-Fetch-Site", "cross-site", "Content-Type", "text/plain").want(t, "a call from elsewhere", 403)
	s.send(t, "PUT", "/api/threads/one/mcp/tools", `{"tools": {"mine": ["refresh"]}}`).must(t, "switch off", 200)
	webtest.Holds(t, "a tool that is off", call(`{"name":"refresh","arguments":{"by":7}}`, 200), `"isError":true`, "switched off")
	// What the owner denies the model is denied to apps, too.
	s.send(t, "PUT", "/api/threads/one/mcp/tools", `{}`).must(t, "switch on", 200)
	s.takes(t, func() { extensions(t, data, map[string]any{}) })
	for a := s.send(t, "GET", at, "", "Sec-Fetch-Dest", "iframe"); ; a = s.send(t, "GET", at, "", "Sec-Fetch-Dest", "iframe") {
		if a.status == 502 {
			if !strings.Contains(a.body, "can’t be shown") || !strings.Contains(a.header.Get("Content-Security-Policy"), "connect-src 'none'") {
				t.Errorf("an app without its server: %s", a.body)
			}
			break
		}
	}
}

// TestAppsPassTheGuardrails: an owner who denies a tool denies it to apps.
func TestAppsPassTheGuardrails(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	extensions(t, data, map[string]any{"mine": map[string]any{"type": "http", "url": appServer(t)}})
	s := start(t, scripted(t)+"\nguardrails: {enabled: true, provider: {use: allowlist, config: {denied_tools: [mine_refresh]}}}\n",
		func(o *web.Options) { o.Data = data })
	s.offeredTool(t, "one", "mine_chart")
	at := regexp.MustCompile(`data-app="([^"]+)"`).FindStringSubmatch(s.send(t, "GET", "/workspace/chats/one", "").body)
	if at == nil {
		t.Fatal("the page has no app")
	}
	a := s.send(t, "POST", at[1]+"/call", `{"name":"refresh","arguments":{"by":7}}`, "X-Fawn", "1", "Content-Type", "application/json")
	a.want(t, "a denied call", 200, "Guardrail denied", `"isError":true`)
}
