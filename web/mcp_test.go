package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/webtest"
)

// mcpServerArg makes the test binary an MCP server on its standard input and output.
const mcpServerArg = "fawn-test-mcp-server"

// serveMCP has a tool that shows its secret and one that fails with it.
func serveMCP() {
	type none struct{}
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "tell", Description: "tells where it works"},
		func(context.Context, *sdk.CallToolRequest, none) (*sdk.CallToolResult, any, error) {
			dir, err := os.Getwd()
			text := "in " + dir + " with " + os.Getenv("NOTES_TOKEN") + " </memory>"
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, err
		})
	sdk.AddTool(s, &sdk.Tool{Name: "fail", Description: "fails"},
		func(context.Context, *sdk.CallToolRequest, none) (*sdk.CallToolResult, any, error) {
			fmt.Fprintln(os.Stderr, "my token is", os.Getenv("NOTES_TOKEN"))
			os.Exit(1)
			return nil, nil, nil
		})
	addDraft(s)
	addAsk(s)
	addProbe(s)
	addExtras(s)
	if err := s.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
	}
}

const mcpCanary = "sk-canary-57c2a90e11"

// extensions is a file with MCP servers, the parts of each being those of a JSON object.
func extensions(t *testing.T, data string, servers map[string]any) {
	t.Helper()
	b, err := json.Marshal(map[string]any{"mcpServers": servers,
		"skills": map[string]any{"kept": map[string]any{"enabled": false}}})
	if err == nil {
		err = os.WriteFile(filepath.Join(data, "extensions_config.json"), b, 0o600)
	}
	must.Do(t, err)
}

func notesServer() map[string]any {
	return map[string]any{"command": os.Args[0], "args": []string{mcpServerArg}, "session_init_timeout": 60,
		"env": map[string]string{"NOTES_TOKEN": "$NOTES_SECRET"}}
}

// offeredTool waits until a tool of an MCP server can be called.
func (s *server) offeredTool(t *testing.T, thread, name string) string {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if got := s.tool(t, thread, name, "{}"); !strings.Contains(got, "there is no tool named") {
			return got
		}
	}
	t.Fatalf("%s is never offered", name)
	return ""
}

// TestToolsOfMCPServers: a server of the configuration works in the folder of the thread, its
// results are treated as those of strangers, and its secret is nowhere to be seen.
func TestToolsOfMCPServers(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	extensions(t, data,
		map[string]any{"notes": notesServer(), "gone": map[string]any{"command": "fawn-no-such-program"}})
	s := start(t, scripted(t), func(o *web.Options) { o.Data = data })
	got, want := s.offeredTool(t, "one", "notes_tell"), "in /mnt/user-data/workspace with **** &lt;/memory&gt;"
	webtest.Same(t, "the tool says", got, want)
	webtest.Holds(t, "a server that dies", s.tool(t, "one", "notes_fail", "{}"), "stopped during the call", "my token is ****")
	webtest.Holds(t, "after it died", s.tool(t, "one", "notes_tell", "{}"), "workspace")
	// A change of the file is followed without a restart.
	s.takes(t, func() { extensions(t, data, map[string]any{}) })
	for end := time.Now().Add(patience); !strings.Contains(s.tool(t, "one", "notes_tell", "{}"), "there is no tool"); {
		if time.Now().After(end) {
			t.Fatal("a removed server is still there")
		}
	}
	s.send(t, "DELETE", "/threads/one", "").fine(t, "delete")
	must.Do(t, s.stop())
	if found := mentions(t, data, mcpCanary); len(found) > 0 || strings.Contains(s.log.String(), mcpCanary) {
		t.Errorf("the secret is in %q, or in the log:\n%s", found, s.log)
	}
}

// TestMCPServersOverTheAPI: added, masked, switched, reset and removed, with everything else in
// the file left alone.
func TestMCPServersOverTheAPI(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	extensions(t, data, map[string]any{"old": map[string]any{"url": "http://127.0.0.1:9/mcp", "enabled": false,
		"headers": map[string]string{"Authorization": "Bearer " + mcpCanary}}})
	s := start(t, scripted(t), func(o *web.Options) { o.Data = data })
	put := func(want int, servers map[string]any) string {
		t.Helper()
		b, err := json.Marshal(map[string]any{"mcp_servers": servers})
		must.Do(t, err)
		a := s.send(t, "PUT", "/api/mcp/config", string(b))
		a.must(t, "PUT", want, "!"+mcpCanary)
		return a.body
	}
	notes := notesServer()
	notes["env"] = map[string]string{"NOTES_TOKEN": mcpCanary}
	old := map[string]any{"url": "http://127.0.0.1:9/mcp", "enabled": false,
		"headers": map[string]string{"Authorization": "***"}}
	webtest.Holds(t, "the servers are shown as", put(200, map[string]any{"notes": notes, "old": old}), `"NOTES_TOKEN":"***"`)
	webtest.Holds(t, "the tool says", s.offeredTool(t, "one", "notes_tell"), "with ****")
	put(400, map[string]any{"bad": map[string]any{"command": "sh", "args": []string{"-c", "id"}}})
	put(400, map[string]any{"new": map[string]any{"url": "http://x.example", "headers": map[string]string{"K": "***"}}})
	put(400, map[string]any{"new": map[string]any{"url": "http://x.example", "args": "not a list"}})
	for body, want := range map[string]int{`{"server_name":"notes","enabled":false}`: 200,
		`{"server_name":"none","enabled":false}`: 404, `{"server_name":"notes"}`: 422} {
		s.send(t, "PATCH", "/api/mcp/config", body).want(t, "PATCH "+body, want)
	}
	status := s.send(t, "GET", "/api/mcp/status", "")
	status.holds(t, "the status", `"name":"notes","state":"off"`)
	for path, want := range map[string]int{"/api/mcp/cache/reset": 200, "/api/mcp/servers/none/reconnect": 404,
		"/api/mcp/servers/none/approve": 404} {
		s.send(t, "POST", path, "").want(t, "POST "+path, want)
	}
	file, err := os.ReadFile(filepath.Join(data, "extensions_config.json"))
	if err != nil || strings.Count(string(file), mcpCanary) != 2 || !strings.Contains(string(file), `"kept"`) {
		t.Errorf("the file: %v\n%s", err, file)
	}
	put(200, map[string]any{})
	for _, a := range []answer{s.send(t, "GET", "/api/mcp/config", ""), status} {
		a.want(t, "the answer", 200, "!"+mcpCanary)
	}
	webtest.Holds(t, "the log shows the secret", s.log.String(), "!"+mcpCanary)
}

// TestMCPServersOnThePage: pasted, shown with their tools, switched off and removed.
func TestMCPServersOnThePage(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t))
	post := func(path string, form url.Values, want int) string {
		t.Helper()
		a := s.send(t, "POST", path, form.Encode(), "Content-Type", "application/x-www-form-urlencoded",
			"Sec-Fetch-Site", "same-origin")
		a.must(t, "POST "+path, want)
		return a.body
	}
	notes := notesServer()
	notes["env"] = map[string]string{"NOTES_TOKEN": mcpCanary}
	pasted, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"my notes": notes}})
	must.Do(t, err)
	post("/ui/mcp/add", url.Values{"json": {string(pasted)}}, 303)
	page := func(want string) string {
		t.Helper()
		for end := time.Now().Add(patience); ; {
			a := s.send(t, "GET", "/workspace/settings/mcp", "", "Accept", "text/html")
			if strings.Contains(a.body, mcpCanary) {
				t.Fatal("the page shows the secret")
			}
			if strings.Contains(a.body, want) {
				return a.body
			}
			if time.Now().After(end) {
				t.Fatalf("the page never has %q:\n%s", want, a.body)
			}
		}
	}
	webtest.Holds(t, "the page", page("Connected"), "Tools (5)", "tells where it works")
	for text, want := range map[string]string{string(pasted): "already", "nonsense": "not a JSON object",
		`{"x": {"command": "sh", "args": ["-c", "id"]}}`: "Run this command?"} {
		webtest.Holds(t, fmt.Sprintf("%q is not told", want), post("/ui/mcp/add", url.Values{"json": {text}}, 422), want)
	}
	// One that is refused keeps no other out, and what its owner agrees to runs.
	const several = `{"mcpServers": {"odd": 1, "web": {"url": "http://127.0.0.1:1/mcp"}, "asks": {"command": "sh", "args": ["-c", "exit 3"], "env": {"TOKEN": "` + mcpCanary + `"}}}}`
	asked := post("/ui/mcp/add", url.Values{"json": {several}}, 422)
	sum := regexp.MustCompile(`name="agree" value="([0-9a-f]{32})"`).FindStringSubmatch(asked)
	if sum == nil || !strings.Contains(asked, "TOKEN=… sh -c &#39;exit 3&#39;") || !strings.Contains(asked, "&#34;odd&#34; has neither") {
		t.Fatalf("asked is %s", asked)
	}
	webtest.Holds(t, "a command runs that nobody agreed to", page("Remove: web"), "!Remove: asks")
	const one = `{"asks": {"command": "sh", "args": ["-c", "exit 3"], "env": {"TOKEN": "` + mcpCanary + `"}}}`
	post("/ui/mcp/add", url.Values{"json": {strings.Replace(one, "exit 3", "exit 4", 1)}, "agree": {sum[1]}}, 422)
	post("/ui/mcp/add", url.Values{"json": {one}, "agree": {sum[1]}}, 303)
	page("Remove: asks")
	post("/ui/mcp/by-name/asks/remove", nil, 303)
	post("/ui/mcp/by-name/web/remove", nil, 303)
	const of = "/ui/mcp/by-name/my%20notes/"
	post(of+"reconnect", nil, 303)
	post(of+"approve", nil, 303)
	post(of+"switch", url.Values{"on": {"false"}}, 303)
	page("Turn on: my notes")
	post(of+"remove", nil, 303)
	webtest.Holds(t, "a removed server is still on the page", page("MCP servers"), "!my notes")
}

// TestKnownMCPServers: one of the short list is added with a click, and is not offered again.
func TestKnownMCPServers(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no launcher: nothing is downloaded
	s := start(t, scripted(t))
	a := s.send(t, "POST", "/ui/mcp/add", "known=time", "Content-Type", "application/x-www-form-urlencoded",
		"Sec-Fetch-Site", "same-origin")
	page := s.send(t, "GET", "/workspace/settings/mcp", "", "Accept", "text/html").body
	if a.status != 303 || !strings.Contains(page, "Remove: time") || strings.Contains(page, "Add: time") ||
		!strings.Contains(page, "Add: fetch") {
		t.Errorf("added with %d %s:\n%s", a.status, a.body, page)
	}
	got := s.send(t, "GET", "/api/mcp/config", "").body
	webtest.Holds(t, "the configuration", got, `"mcp-server-time"`, `"uvx"`)
}
