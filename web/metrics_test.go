package web_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// metric is the value of a series, or 0 without one.
func (s *server) metric(t *testing.T, series string) float64 {
	t.Helper()
	a := s.send(t, "GET", "/metrics", "")
	a.must(t, "the answer", http.StatusOK)
	for line := range strings.Lines(a.body) {
		if rest, ok := strings.CutPrefix(line, series+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			must.Do(t, err)
			return v
		}
	}
	return 0
}

// TestMetricsCountWhatRunsDo: runs, models, tools, tokens, money, helpers, requests and the store
// are in the numbers, and nothing that a model made up is a label.
func TestMetricsCountWhatRunsDo(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	turn := func(prompt, completion int, text string, calls ...scriptmodel.Call) scriptmodel.Turn {
		return scriptmodel.Turn{Text: text, ToolCalls: calls,
			Usage: &scriptmodel.Usage{Prompt: prompt, Completion: completion}}
	}
	model.When("paint it", scriptmodel.Script{Turns: []scriptmodel.Turn{
		turn(1000, 100, "",
			scriptmodel.Call{Name: "task",
				Args: json.RawMessage(
					`{"description":"Mix","prompt":"mix the colour","subagent_type":"general-purpose"}`)},
			scriptmodel.Call{Name: "paint_with_gold", Args: json.RawMessage(`{}`)},
			scriptmodel.Call{Name: "read_file", Args: json.RawMessage(`{"path":"/mnt/user-data/workspace/none.txt"}`)}),
		turn(2000, 100, "Painted.")}})
	model.When("mix the colour", scriptmodel.Script{Turns: []scriptmodel.Turn{turn(5000, 300, "Mixed.")}})
	s := start(t, strings.Replace(priced(model.URL, 2, 10), "title: {model_name: cheap}", "title: {enabled: false}", 1))
	res := s.send(t, "POST", "/runs/wait", human("paint it", `"context":{"subagent_enabled":true}`))
	if !strings.Contains(res.body, "Painted.") {
		t.Fatalf("%d %s", res.status, res.body)
	}
	s.send(t, "GET", "/threads/none/state", "")
	s.sendBody(t, "BREW", "/metrics", strings.NewReader(""))
	for series, want := range map[string]float64{
		`fawn_runs_started_total{kind="run"}`:                                             1,
		`fawn_runs_started_total{kind="helper"}`:                                          1,
		`fawn_runs_ended_total{kind="run",status="success"}`:                              1,
		`fawn_runs_ended_total{kind="helper",status="success"}`:                           1,
		`fawn_runs{state="active"}`:                                                       0,
		`fawn_model_calls_total{model="script",outcome="ok"}`:                             3,
		`fawn_model_first_token_seconds_count{model="script"}`:                            3,
		`fawn_model_tokens_total{kind="input",model="script"}`:                            8000,
		`fawn_model_tokens_total{kind="output",model="script"}`:                           500,
		`fawn_model_cost_total{currency="EUR",model="script"}`:                            0.021,
		`fawn_tool_calls_total{outcome="ok",tool="task"}`:                                 1,
		`fawn_tool_calls_total{outcome="error",tool="unknown"}`:                           1,
		`fawn_tool_calls_total{outcome="error",tool="read_file"}`:                         1,
		`fawn_http_requests_total{method="POST",route="/runs/wait",status="2xx"}`:         1,
		`fawn_http_requests_total{method="GET",route="/threads/:tid/state",status="4xx"}`: 1,
		`fawn_event_streams{kind="api"}`:                                                  0,
		`fawn_mcp_servers{state="ready"}`:                                                 0,
		`fawn_build_info{version="test"}`:                                                 1,
	} {
		webtest.Same(t, series, s.metric(t, series), want)
	}
	for _, series := range []string{"fawn_store_commit_seconds_count", `fawn_store_commits_total{outcome="ok"}`,
		"process_open_fds", "go_goroutines"} {
		if s.metric(t, series) <= 0 {
			t.Errorf("%s is missing", series)
		}
	}
	all := s.send(t, "GET", "/metrics", "").body
	webtest.Same(t, "which others made up, is a label", regexp.MustCompile(`paint_with_gold|BREW|none/state`).FindString(all), "")
	if t.Failed() {
		t.Log(all)
	}
}

// TestMetricsSeeARunAtWork: a run that works and one behind it are counted while they do.
func TestMetricsSeeARunAtWork(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	model.When("take your time", scriptmodel.Script{Turns: []scriptmodel.Turn{{Text: "Slowly now.", Hang: true}}})
	s := start(t,
		"title: {enabled: false}\nmemory: {enabled: false}\nmodels: [{name: script, use: openai, model: script, base_url: "+
			strconv.Quote(model.URL+"/v1")+", api_key: test}]\n")
	const thread = "/threads/11111111-1111-4111-8111-111111111111"
	run := s.stream(t, t.Context(), thread+"/runs/stream", human("take your time", `"stream_mode":"messages-tuple"`))
	run.until(t, "event: messages")
	s.send(t, "POST", thread+"/runs", human("and then?", `"multitask_strategy":"enqueue"`)).must(t, "the answer", http.StatusOK)
	for series, want := range map[string]float64{`fawn_runs{state="active"}`: 1, `fawn_runs{state="queued"}`: 1,
		`fawn_event_streams{kind="api"}`: 1} {
		webtest.Same(t, series, s.metric(t, series), want)
	}
}

// TestMetricsAreOffWhereTheOwnerWantsNone.
func TestMetricsAreOffWhereTheOwnerWantsNone(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t)+"metrics: {enabled: false}\n")
	s.send(t, "GET", "/metrics", "").want(t, "/metrics", http.StatusNotFound)
}
