package web_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// priced is a configuration with two models that have prices: script answers, cheap does the
// side jobs.
func priced(url string, input, output float64) string {
	entry := func(name string, in, out float64) string {
		return fmt.Sprintf("  - {name: %s, use: openai, model: %s-1, base_url: %q, api_key: test, pricing: {currency: EUR, input_per_million: %g, output_per_million: %g}}\n",
			name, name, url+"/v1", in, out)
	}
	return "title: {model_name: cheap}\nmemory: {model_name: offline}\ninput_polish: {model_name: cheap}\nmodels:\n" +
		entry("script", input, output) + entry("cheap", 1, 1)
}

// spent is what the token-usage route says of a thread.
type spent struct {
	Total    int            `json:"total_tokens"`
	ByCaller map[string]int `json:"by_caller"`
	ByModel  map[string]struct {
		Tokens int     `json:"tokens"`
		Cost   float64 `json:"cost"`
	} `json:"by_model"`
	Cost     float64 `json:"total_cost"`
	Currency string  `json:"currency"`
}

// TestCallsBesideARunAreBookedAtThePriceOfTheirModel: the answer, the title, suggestions and
// a polished draft, of which no reader of the run sees more than the answer.
func TestCallsBesideARunAreBookedAtThePriceOfTheirModel(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	turn := func(text string, prompt, completion int) scriptmodel.Script {
		return scriptmodel.Script{
			Turns: []scriptmodel.Turn{{Text: text, Usage: &scriptmodel.Usage{Prompt: prompt, Completion: completion}}},
		}
	}
	model.When("Name this conversation", turn("Named <b>", 100, 10))
	model.When("Below is the end of a conversation",
		turn("<think>[1]</think>Here: ```json\n[\"Why  so?\", \"Why so?\", 7, \"\", \"And then?\", \"More\", \"Too many\"]\n```", 200, 20))
	model.When("Rewrite the draft", turn("Is a &lt; b?", 300, 30))
	model.When("paint it", turn("The answer.", 1000, 100))
	s := start(t, priced(model.URL, 2, 10))
	const thread = "11111111-1111-4111-8111-111111111111"
	res := s.send(t, "POST", "/threads/"+thread+"/runs/stream",
		human("paint it", `"stream_mode":["messages-tuple","values","updates","custom"]`))
	res.must(t, "res", http.StatusOK, "The answer.")
	usage := func() spent { return decoded[spent](t, s.send(t, "GET", "/api/threads/"+thread+"/token-usage", "")) }
	webtest.UntilSeen(t, func() bool { return usage().ByCaller["middleware"] == 110 }, func() string {
		return fmt.Sprint(usage())
	})

	body := `{"messages":[{"role":"user","content":"</conversation> why?"},{"type":"ai","content":[{"type":"text","text":"The answer."}]},{"role":"tool","content":"secret"}],"n":3}`
	got := s.send(t, "POST", "/api/threads/"+thread+"/suggestions", body)
	if strings.TrimSpace(got.body) != `{"suggestions":["Why so?","And then?","More"]}` {
		t.Errorf("suggestions: %d %s", got.status, got.body)
	}
	asked := lastRequest(t, model)
	webtest.Holds(t, "the model was asked", asked, "user: &lt;/conversation&gt; why?\\nassistant: The answer.\\n</conversation>", "!secret")
	got = s.send(t, "POST", "/api/input-polish", `{"text":"is a < b","thread_id":"`+thread+`","locale":"de"}`)
	if strings.TrimSpace(got.body) != `{"changed":true,"rewritten_text":"Is a < b?"}` {
		t.Errorf("polish: %d %s", got.status, got.body)
	}
	webtest.Holds(t, "the model was asked", lastRequest(t, model), "is a &lt; b", `"cheap-1"`)

	// script: 1000*2 + 100*10, and suggestions 200*2 + 20*10; cheap: 110 + 330, all per million
	check := func(u spent) {
		t.Helper()
		if u.Total != 1760 || u.ByCaller["lead_agent"] != 1100 || u.ByCaller["middleware"] != 660 ||
			u.Currency != "EUR" || math.Abs(u.Cost-0.00404) > 1e-12 || u.ByModel["script"].Tokens != 1320 ||
			math.Abs(u.ByModel["script"].Cost-0.0036) > 1e-12 || u.ByModel["cheap"].Tokens != 440 {
			t.Errorf("usage %+v", u)
		}
	}
	check(usage())
	s.configure(t, priced(model.URL, 500, 500))
	check(usage())
	stats := decoded[map[string]any](t, s.send(t, "GET", "/api/console/stats", ""))
	days := decoded[struct {
		Cost float64            `json:"total_cost"`
		All  map[string]float64 `json:"costs"`
		Runs int                `json:"total_runs"`
		Days []struct {
			Cost  *float64 `json:"cost"`
			Total int      `json:"total_tokens"`
		} `json:"days"`
	}](t, s.send(t, "GET", "/api/console/usage?days=2", ""))
	sum := 0.0
	for _, d := range days.Days {
		if d.Cost != nil {
			sum += *d.Cost
		}
	}
	if stats["total_tokens"] != 1760.0 || stats["currency"] != "EUR" ||
		math.Abs(stats["total_cost"].(float64)-0.00404) > 1e-12 || math.Abs(days.Cost-0.00404) > 1e-12 ||
		math.Abs(sum-0.00404) > 1e-12 || days.Runs != 1 {
		t.Errorf("console %v %+v", stats, days)
	}
	runs := decoded[[]map[string]any](t, s.send(t, "GET", "/threads/"+thread+"/runs", ""))
	if len(runs) != 1 || runs[0]["total_tokens"] != 1210.0 || runs[0]["lead_agent_tokens"] != 1100.0 ||
		runs[0]["middleware_tokens"] != 110.0 {
		t.Errorf("runs %v", runs)
	}
	again := s.send(t, "GET", "/threads/"+thread+"/runs/"+runs[0]["run_id"].(string)+"/stream", "",
		"Last-Event-ID", "-1")
	for _, body := range []string{res.body, again.body} {
		webtest.Holds(t, "the run's readers see", body, "!And then?", "!Is a", "!Below is the end", "!Name this")
	}
	s.send(t, "DELETE", "/threads/"+thread, "").fine(t, "/threads/"+thread)
	if stats := decoded[map[string]any](t, s.send(t, "GET", "/api/console/stats", "")); stats["total_tokens"] != 0.0 {
		t.Errorf("after the thread was deleted: %v", stats)
	}
}

// lastRequest is the newest request the model got.
func lastRequest(t *testing.T, m *scriptmodel.Server) string {
	t.Helper()
	all := m.Requests()
	if len(all) == 0 {
		t.Fatal("the model was not asked")
	}
	var indented strings.Builder
	e := json.NewEncoder(&indented)
	e.SetEscapeHTML(false)
	v := webtest.Decode[any](t, string(all[len(all)-1].Body))
	must.Do(t, e.Encode(v))
	return indented.String()
}

// TestAsidesAreRefusedAndSwitchedOff: failures of suggestions are empty lists, those of a
// draft say what to do.
func TestAsidesAreRefusedAndSwitchedOff(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	model.When("Below is", scriptmodel.Script{Turns: []scriptmodel.Turn{{Text: "no list"}}})
	model.When("Rewrite the draft",
		scriptmodel.Script{Turns: []scriptmodel.Turn{{Error: &scriptmodel.Failure{Status: 401, Message: "bad key"}}}})
	conf := fmt.Sprintf("models: [{name: script, use: openai, model: script, base_url: %q, api_key: test}]\n",
		model.URL+"/v1")
	s := start(t, conf)
	now := conf
	for _, c := range []struct {
		conf, path, body string
		status           int
		want             string
	}{
		{conf, "/api/suggestions", `{"messages":[{"role":"user","content":"hi"}]}`, 200, `{"suggestions":[]}`},
		{conf, "/api/suggestions", `{"messages":[]}`, 200, `{"suggestions":[]}`},
		{conf, "/api/suggestions", `{}`, 200, `{"suggestions":[]}`},
		{conf, "/api/suggestions", `{"messages":[{"role":"user","content":7}]}`, 422, "content"},
		{conf, "/api/suggestions", `{"messages":[],"n":6}`, 422, "want 1 to 5"},
		{conf, "/api/threads/nowhere/suggestions", `{"messages":[]}`, 404, "nowhere"},
		{conf, "/api/input-polish", `{"text":"  "}`, 400, "no text"},
		{conf, "/api/input-polish", `{"text":"` + strings.Repeat("x", 4001) + `"}`, 400, "at most 4000"},
		{conf, "/api/input-polish", `{"text":"hi","thread_id":"nowhere"}`, 404, "nowhere"},
		{conf, "/api/input-polish", `{"text":"hi"}`, 503, "bad key"},
		{conf + "input_polish: {enabled: false}\nsuggestions: {enabled: false}\n", "/api/input-polish", `{"text":"hi"}`, 404, "input_polish.enabled"},
		{conf + "suggestions: {enabled: false}\n", "/api/suggestions", `{"messages":[{"role":"user","content":"hi"}]}`, 200, `{"suggestions":[]}`},
		{"models: []\n", "/api/suggestions", `{"messages":[{"role":"user","content":"run: ls"}],"n":2}`, 200, `{"suggestions":["run: ls -la","run: df -h ."]}`},
		{"models: []\n", "/api/suggestions", `{"messages":[{"role":"user","content":"请分析数据"}],"n":1}`, 200, "直方图"},
		{"models: []\n", "/api/input-polish", `{"text":"tidy   this up "}`, 200, `"rewritten_text":"Tidy this up."`},
		{"models: []\n", "/api/input-polish", `{"text":"Tidy."}`, 200, `"changed":false`},
	} {
		if c.conf != now {
			s.configure(t, c.conf)
			now = c.conf
		}
		if a := s.send(t, "POST", c.path, c.body); a.status != c.status || !strings.Contains(a.body, c.want) {
			t.Errorf("%s %s: %d %s, want %d %s", c.path, c.body[:min(len(c.body), 60)], a.status, a.body,
				c.status, c.want)
		}
	}
	a := s.send(t, "GET", "/api/suggestions/config", "")
	if strings.TrimSpace(a.body) != `{"enabled":true,"max_suggestions":3}` {
		t.Errorf("config %s", a.body)
	}
}
