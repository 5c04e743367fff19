package api_test

import "testing"

// TestWhatIsNotThereSaysSo: in the shapes of DeerFlow's gateway, at once.
func TestWhatIsNotThereSaysSo(t *testing.T) {
	w := open(t, nil)
	w.send(t, "POST", "/threads", `{"thread_id": "t"}`)
	w.table(t, []row{
		{"channels", "GET", "/api/channels", "", 200, `{"channels":{},"service_running":false}`},
		{"providers", "GET", "/api/channels/providers", "", 200, `{"enabled":false,"providers":[]}`},
		{"connections", "GET", "/api/channels/connections", "", 200, `{"connections":[]}`},
		{"a connection", "DELETE", "/api/channels/connections/c1", "", 404, `{"detail":"Connection not found"}`},
		{"a channel of no app", "POST", "/api/channels/fax/connect", "", 404, `{"detail":"Unknown channel provider"}`},
		{"restart", "POST", "/api/channels/slack/restart", "", 503, `{"detail":"Chat channels are not available"}`},
		{"connect", "POST", "/api/channels/slack/connect", "", 400, `not available`},
		{"configure", "POST", "/api/channels/slack/runtime-config", `{"values":{}}`, 400, `not available`},
		{"disconnect", "DELETE", "/api/channels/slack/runtime-config", "", 400, `not available`},
		{"Lark", "GET", "/api/integrations/lark/status", "", 200, `"installed":false`},
		{"signed in to Lark", "GET", "/api/integrations/lark/status", "", 200, `"auth":{"message":"Fawn has no Lark integration","status":"unavailable","user":null,"verified":false}`},
		{"install Lark", "POST", "/api/integrations/lark/install", "", 404, `{"detail":"The Lark integration is not available"}`},
		{"sign in to Lark", "POST", "/api/integrations/lark/auth/start", `{}`, 404, `not available`},
		{"tasks", "GET", "/api/threads/t/mcp-tasks?limit=50", "", 200, `[]`},
		{"a task", "GET", "/api/threads/t/mcp-tasks/x", "", 404, `{"detail":"MCP task not found"}`},
		{"cancel", "POST", "/api/threads/t/mcp-tasks/x/cancel", "", 404, `MCP task not found`},
		{"tasks of no thread", "GET", "/api/threads/none/mcp-tasks", "", 404, `none`},
		{"browser", "POST", "/api/threads/t/browser/navigate", `{"url":"https://example.org"}`, 404, `{"detail":"Browser automation is not enabled"}`},
	})
	w.send(t, "GET", "/api/threads/t/mcp-tasks", "", "X-Owner", "eve").want(t, "somebody else's thread", 404)
}
