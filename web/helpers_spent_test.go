package web_test

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"

	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// TestHelpersCountWhereTheirRunDoes: tokens and money of a helper, whose kind has a model of its
// own, are in the run's numbers, the thread's, the totals, and on the page of what a chat took, once.
func TestHelpersCountWhereTheirRunDoes(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	costs := func(turn scriptmodel.Turn, prompt, completion int) scriptmodel.Turn {
		turn.Usage = &scriptmodel.Usage{Prompt: prompt, Completion: completion}
		return turn
	}
	model.When("paint it", scriptmodel.Script{Turns: []scriptmodel.Turn{
		costs(scriptmodel.Turn{ToolCalls: []scriptmodel.Call{{Name: "task", Args: json.RawMessage(`{"description":"Mix","prompt":"mix the colour","subagent_type":"general-purpose"}`)}}}, 1000, 100),
		costs(scriptmodel.Turn{Text: "Painted."}, 2000, 100)}})
	model.When("mix the colour",
		scriptmodel.Script{Turns: []scriptmodel.Turn{costs(scriptmodel.Turn{Text: "Mixed."}, 5000, 300)}})
	s := start(t, strings.Replace(priced(model.URL, 2, 10), "title: {model_name: cheap}",
		"title: {enabled: false}\nsubagents: {agents: {general-purpose: {model: cheap}}}", 1))
	const thread = "11111111-1111-4111-8111-111111111111"
	s.send(t, "POST", "/threads/"+thread+"/runs/wait", human("paint it", `"context":{"subagent_enabled":true}`)).must(t, "res", http.StatusOK, "Painted.")

	// script: 3000*2 + 200*10 per million; cheap, which the helper has: 5300
	const cost = 0.008 + 0.0053
	near := func(a float64) bool { return math.Abs(a-cost) < 1e-12 }
	u := decoded[spent](t, s.send(t, "GET", "/api/threads/"+thread+"/token-usage", ""))
	if u.Total != 8500 || u.ByCaller["lead_agent"] != 3200 || u.ByCaller["subagent"] != 5300 || !near(u.Cost) ||
		u.ByModel["cheap"].Tokens != 5300 {
		t.Errorf("the thread: %+v", u)
	}
	list := decoded[[]map[string]any](t, s.send(t, "GET", "/threads/"+thread+"/runs", ""))
	if len(list) != 1 || list[0]["total_tokens"] != 8500.0 || list[0]["lead_agent_tokens"] != 3200.0 ||
		list[0]["subagent_tokens"] != 5300.0 || list[0]["llm_call_count"] != 3.0 {
		t.Errorf("the run: %v", list)
	}
	stats := decoded[map[string]any](t, s.send(t, "GET", "/api/console/stats", ""))
	if stats["total_tokens"] != 8500.0 || stats["total_runs"] != 1.0 || !near(stats["total_cost"].(float64)) {
		t.Errorf("the totals: %v", stats)
	}
	days := decoded[map[string]any](t, s.send(t, "GET", "/api/console/usage?days=2", ""))
	if days["total_tokens"] != 8500.0 || days["total_runs"] != 1.0 || !near(days["total_cost"].(float64)) {
		t.Errorf("the days: %v", days)
	}
	page := s.send(t, "GET", "/ui/threads/"+thread+"/usage", "", "Accept", "text/html").body
	webtest.Holds(t, "is not on the page of what the chat took", page, "8.0k", "500", "0.0133", "Helpers: cheap", "5.0k in, 300 out", "3.0k in, 200 out")
	if t.Failed() {
		t.Log(page)
	}
}
