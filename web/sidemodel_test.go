package web_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// asked are the models of the calls so far: those of runs, and those beside them.
func asked(t *testing.T, script *scriptmodel.Server) (runs, beside []string, prompts []string) {
	t.Helper()
	for _, r := range script.Requests() {
		body := webtest.Decode[struct{ Model string }](t, string(r.Body))
		if strings.Contains(string(r.Body), "Name this conversation") {
			beside, prompts = append(beside, body.Model), append(prompts, string(r.Body))
		} else {
			runs = append(runs, body.Model)
		}
	}
	return runs, beside, prompts
}

// TestTitlesAreMadeByTheCheapestLightweightModel, unless the configuration names one for them.
func TestTitlesAreMadeByTheCheapestLightweightModel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, conf, light, want string }{
		{"no lightweight model", "", "", "main"},
		{"the cheapest", "", ", lightweight: true", "cheap"},
		{"the one that is named", "title: {model_name: dear}", ", lightweight: true", "dear"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			script := scriptmodel.Start(t)
			conf := c.conf + "\nmemory: {model_name: offline}\nmodels:\n"
			for _, m := range []struct{ name, more string }{
				{"main", ""}, {"free", c.light},
				{"dear", c.light + ", pricing: {input_per_million: 5, output_per_million: 9}"},
				{"cheap", c.light + ", pricing: {input_per_million: 0.1, output_per_million: 0.4}"},
				{"off", c.light + ", api_key: $NOT_THERE_AT_ALL"},
			} {
				key := ", api_key: test"
				if strings.Contains(m.more, "api_key") {
					key = ""
				}
				conf += fmt.Sprintf("  - {name: %s, use: openai, model: %s, base_url: %q%s%s}\n", m.name, m.name,
					script.URL+"/v1", key, m.more)
			}
			s := start(t, conf)
			s.send(t, "POST", "/threads/t1/runs/wait", `{"input":{"messages":"name this chat, please"}}`).must(t, "the answer", 200)
			end := time.Now().Add(patience)
			for {
				runs, beside, _ := asked(t, script)
				if len(beside) > 0 {
					if !slices.Equal(runs, []string{"main"}) || !slices.Equal(beside, []string{c.want}) {
						t.Errorf("answered by %v, named by %v, want %s", runs, beside, c.want)
					}
					return
				}
				if time.Now().After(end) {
					t.Fatal("no title was asked for")
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
}

// TestATitleWaitsForAnAnswerWithWords: what only calls a tool says nothing to name a chat by.
func TestATitleWaitsForAnAnswerWithWords(t *testing.T) {
	t.Parallel()
	script := scriptmodel.Start(t)
	s := start(t, fmt.Sprintf("memory: {model_name: offline}\nmodels: [{name: m, use: openai, model: m, base_url: %q, api_key: test}]\n",
		script.URL+"/v1"))
	message, err := json.Marshal(`SCRIPT{"turns": [{"tool_calls": [{"name": "ls", "args": {"path": "/mnt/user-data/workspace"}}]}, {"text": "The folder is empty."}]}`)
	must.Do(t, err)
	s.send(t, "POST", "/threads/t1/runs/wait", `{"input":{"messages":`+string(message)+`}}`).must(t, "/threads/t1/runs/wait", 200)
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if _, beside, prompts := asked(t, script); len(beside) > 0 {
			if len(beside) != 1 || !strings.Contains(prompts[0], "The folder is empty.") {
				t.Errorf("asked %d times: %s", len(beside), prompts)
			}
			return
		}
		if time.Now().After(end) {
			t.Fatal("no title was asked for")
		}
	}
}

// TestEffortsAndAgentsThatDoNotExist: an unknown effort is left out with a warning, or refused where
// nothing may be left out; an unknown agent is always refused.
func TestEffortsAndAgentsThatDoNotExist(t *testing.T) {
	t.Parallel()
	script := scriptmodel.Start(t)
	models := fmt.Sprintf("title: {model_name: offline}\nmemory: {model_name: offline}\nmodels: [{name: m, use: openai, dialect: openai, model: m, base_url: %q, api_key: test, supports_reasoning_effort: true}]\n",
		script.URL+"/v1")
	for _, c := range []struct {
		degrade bool
		options string
		status  int
		sent    string // effort in the request
		says    string
	}{
		{true, `{"reasoning_effort":"high"}`, 200, "high", ""},
		{true, `{"reasoning_effort":"xhigh"}`, 200, "xhigh", ""}, // what OpenAI takes besides
		{true, `{"reasoning_effort":"enormous"}`, 200, "", "reasoning effort enormous (it takes low, medium, high, none, minimal, xhigh)"},
		{false, `{"reasoning_effort":"high"}`, 200, "high", ""},
		{false, `{"reasoning_effort":"enormous"}`, 422, "", "low, medium, high, none, minimal, xhigh"},
		{true, `{"agent_name":"nobody"}`, 422, "", "no agent"},
		{true, `{"agent_name":"lead_agent"}`, 200, "", ""},
	} {
		t.Run(fmt.Sprintf("%v %s", c.degrade, c.options), func(t *testing.T) {
			s := start(t, models+fmt.Sprintf("runs: {allow_degradation: %v}\n", c.degrade))
			for _, mount := range []string{"", "/api"} {
				script.Forget()
				a := s.send(t, "POST", mount+"/threads/t1/runs/wait",
					`{"input":{"messages":"hi"},"context":`+c.options+`}`)
				var sent struct {
					Effort string `json:"reasoning_effort"`
				}
				if all := script.Requests(); len(all) > 0 {
					must.Do(t, json.Unmarshal(all[0].Body, &sent))
				}
				if a.status != c.status || sent.Effort != c.sent ||
					c.status == 422 && !strings.Contains(a.body, c.says) {
					t.Errorf("%s: %d %s, effort sent %q", mount, a.status, a.body, sent.Effort)
				}
				if c.status != 200 {
					continue
				}
				var rows []struct {
					Metadata map[string]any `json:"metadata"`
				}
				if err := json.Unmarshal([]byte(s.send(t, "GET", "/threads/t1/runs", "").body), &rows); err != nil ||
					len(rows) == 0 {
					t.Fatal(err)
				}
				warning, _ := rows[0].Metadata["capability_warning"].(string)
				if (warning != "") != (c.says != "") || !strings.Contains(warning, c.says) {
					t.Errorf("%s: warned %q", mount, warning)
				}
			}
		})
	}
}
