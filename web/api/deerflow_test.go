package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/web/route"
	"fawn/web/webtest"
)

// gatewayRoutes are those of DeerFlow's gateway about models, threads, runs, assistants, files,
// the console and the scheduler.
const gatewayRoutes = `
GET /models
GET /models/{}
GET /features
POST /threads
POST /threads/search
GET /threads/{}
PATCH /threads/{}
DELETE /threads/{}
GET /threads/{}/state
POST /threads/{}/state
POST /threads/{}/history
POST /threads/{}/branches
GET /threads/{}/goal
PUT /threads/{}/goal
DELETE /threads/{}/goal
POST /threads/{}/compact
GET /threads/{}/token-usage
GET /threads/{}/messages
GET /threads/{}/messages/page
POST /threads/{}/runs
POST /threads/{}/runs/stream
POST /threads/{}/runs/wait
GET /threads/{}/runs
GET /threads/{}/runs/{}
POST /threads/{}/runs/{}/cancel
GET /threads/{}/runs/{}/join
GET /threads/{}/runs/{}/stream
POST /threads/{}/runs/{}/stream
GET /threads/{}/runs/{}/messages
GET /threads/{}/runs/{}/events
POST /threads/{}/runs/regenerate/prepare
POST /threads/{}/runs/edit-regenerate/prepare
PUT /threads/{}/runs/{}/feedback
POST /threads/{}/runs/{}/feedback
GET /threads/{}/runs/{}/feedback
DELETE /threads/{}/runs/{}/feedback
GET /threads/{}/runs/{}/feedback/stats
DELETE /threads/{}/runs/{}/feedback/{}
POST /runs/stream
POST /runs/wait
GET /runs/{}/messages
GET /runs/{}/feedback
POST /assistants/search
GET /assistants/{}
GET /assistants/{}/graph
GET /assistants/{}/schemas
POST /threads/{}/uploads
GET /threads/{}/uploads/list
GET /threads/{}/uploads/limits
DELETE /threads/{}/uploads/{}
GET /threads/{}/artifacts/{}
GET /console/stats
GET /console/runs
GET /console/usage
GET /scheduled-tasks
POST /scheduled-tasks
GET /scheduled-tasks/{}
PATCH /scheduled-tasks/{}
DELETE /scheduled-tasks/{}
POST /scheduled-tasks/{}/pause
POST /scheduled-tasks/{}/resume
POST /scheduled-tasks/{}/trigger
GET /scheduled-tasks/{}/runs
GET /threads/{}/scheduled-tasks
`

func TestEveryRouteOfDeerFlowsGatewayIsServed(t *testing.T) {
	served := map[string]bool{}
	e := echo.New()
	serve(route.Deps{}, e.Group(""), true)
	for _, r := range e.Routes() {
		served[shape(r.Method, r.Path)] = true
	}
	for one := range strings.Lines(strings.TrimSpace(gatewayRoutes)) {
		if one = strings.TrimSpace(one); !served[one] {
			t.Errorf("%s is not served under /api", one)
		}
	}
}

func TestModesOfDeerFlowsPage(t *testing.T) {
	look := &agent.Tool{Name: "look", Run: func(_ context.Context, t *agent.Turn,
		_ agent.ToolCall) (agent.Result, error) {
		o := t.Options
		return agent.TextResult(fmt.Sprint(o.Thinking, " ", o.ReasoningEffort, " ", o.PlanMode, " ", o.Subagents)), nil
	}}
	for _, c := range []struct{ body, want string }{
		{`{}`, "true  false false"},
		{`{"context":{"mode":"flash"}}`, "false  false false"},
		{`{"context":{"mode":"thinking"}}`, "true low false false"},
		{`{"config":{"configurable":{"mode":"pro"}}}`, "true medium true false"},
		{`{"context":{"mode":"ultra"}}`, "true high true true"},
		{`{"context":{"mode":"ultra","reasoning_effort":"minimal","is_plan_mode":false}}`, "true minimal false true"},
		{`{"context":{"mode":"flash"},"config":{"configurable":{"thinking_enabled":true,"subagent_enabled":true}}}`, "true  false true"},
		{`{"context":{"mode":"flash"},"config":{"configurable":{"mode":"ultra"}}}`, "false  false false"},
		{`{"context":{"mode":"of my own"}}`, "true  false false"},
		{`{"context":{"mode":{"of":"my own"}}}`, "true  false false"},
	} {
		w := open(t,
			&agent.Agent{Tools: []*agent.Tool{look},
				Model: &agenttest.Script{Replies: []agenttest.Reply{agenttest.Call("c1", "look", `{}`),
					agenttest.Say("done")}}})
		body := strings.TrimSuffix(c.body, "}")
		if body != "{" {
			body += ","
		}
		a := w.ok(t, "POST", "/api/threads/t1/runs/wait", body+`"input":{"messages":"hi"}}`)
		got := a["messages"].([]any)[2].(map[string]any)["content"]
		webtest.Same[any](t, c.body, got, c.want)
	}
}

func TestHostsOpenToEverybodyAreTheOwnersBusiness(t *testing.T) {
	w := open(t, sayAgent("hi"))
	w.ok(t, "POST", "/threads", `{"thread_id":"t1"}`)
	w.send(t, "POST", "/threads", `{"thread_id":"t2"}`, "X-Owner", "eve").must(t, "/threads", http.StatusOK)
	open := func() int {
		out := webtest.Decode[struct{ Decisions []json.RawMessage }](t, w.send(t, "GET", "/api/network", "").body)
		return len(out.Decisions)
	}
	w.ok(t, "POST", "/api/threads/t1/network", `{"host":"example.org","answer":"always"}`)
	w.table(t, []row{
		{"for a thread of one's own", "POST", "/api/threads/t2/network", `{"host":"example.com","answer":"thread"}`, 200, `example.com`},
		{"for every thread", "POST", "/api/threads/t2/network", `{"host":"example.com","answer":"always"}`, 403, `owner`},
		{"look", "GET", "/api/network", "", 403, `owner`},
		{"close", "DELETE", "/api/network?host=example.org", "", 403, `owner`},
	}, "X-Owner", "eve")
	webtest.Same(t, "hosts are open", open(), 1)
	w.ok(t, "DELETE", "/api/network?host=example.org", "")
	webtest.Same(t, "hosts are open", open(), 0)
}
