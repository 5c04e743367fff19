package api_test

import (
	"fmt"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
)

func TestConsoleAddsUp(t *testing.T) {
	say := agenttest.Reply{
		Chunks: []agent.Chunk{{Text: "hi"},
			{Usage: &agent.Usage{Input: 100, Output: 20, Total: 120, Model: "big", Cost: 0.75, Currency: "EUR"}, Finish: "stop"}},
	}
	other := agenttest.Reply{
		Chunks: []agent.Chunk{{Text: "hi"},
			{Usage: &agent.Usage{Input: 100, Output: 20, Total: 120}, Model: "provider-1", Finish: "stop"}},
	}
	w := open(t, &agent.Agent{Model: &agenttest.Script{Replies: []agenttest.Reply{say, other, {Err: namedError{}}}}})
	for i := range 3 {
		w.send(t, "POST", fmt.Sprint("/threads/t", i, "/runs/wait"), `{"input":{"messages":"x"}}`)
	}
	w.ok(t, "POST", "/assistants", `{}`)
	w.table(t, []row{
		{"stats", "GET", "/api/console/stats", "", 200, `{"active_runs":0,"costs":{"EUR":0.75},"currency":"EUR","failed_runs":1,"total_agents":2,"total_cost":0.75,"total_runs":3,"total_threads":3,"total_tokens":240}`},
		{"runs", "GET", "/api/console/runs?limit=2", "", 200, `"has_more":true`},
		{"rest of the runs", "GET", "/api/console/runs?limit=2&offset=2", "", 200, `"has_more":false`},
		{"failed runs", "GET", "/api/console/runs?status=error", "", 200, `"status":"error","total_tokens":0,"error":"kaboom"`},
		{"usage", "GET", "/api/console/usage?days=3", "", 200, `"by_model":{"big":{"tokens":120,"runs":1,"cost":0.75,"currency":"EUR"},"provider-1":{"tokens":120,"runs":1}}`},
		{"status", "GET", "/api/console/runs?status=x", "", 422, `"status"`},
		{"limit", "GET", "/api/console/runs?limit=201", "", 422, `"limit"`},
		{"days", "GET", "/api/console/usage?days=0", "", 422, `"days"`},
		{"zone", "GET", "/api/console/usage?tz_offset_minutes=900", "", 422, `"tz_offset_minutes"`},
	})
	for _, minutes := range []int{-720, 0, 840} {
		u := w.ok(t, "GET", fmt.Sprint("/api/console/usage?days=2&tz_offset_minutes=", minutes), "")
		days := u["days"].([]any)
		sum := 0.0
		for _, d := range days {
			sum += d.(map[string]any)["total_tokens"].(float64)
		}
		if len(days) != 2 || sum != 240 || u["total_tokens"] != 240.0 || u["total_runs"] != 3.0 {
			t.Errorf("%d minutes: %v", minutes, u)
		}
	}
	w.send(t, "GET", "/api/console/runs", "", "X-Owner", "eve").holds(t, "somebody else", `"runs":[]`)
}
