package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/middleware"
)

// meta is what the stages say of a call, as "status type recoverable next source".
func meta(t *testing.T, name string, r agent.Result, err error) string {
	t.Helper()
	chain := middleware.ToolMeta().
		WrapTool(middleware.ToolErrors().
			WrapTool(func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) { return r, err }))
	got, failed := chain(t.Context(), agenttest.Turn("go", &agenttest.Sink{}), agent.ToolCall{ID: "c", Name: name})
	m, ok := got.Kwargs[middleware.ToolMetaKey].(map[string]any)
	if failed != nil || !ok || len(m) != 5 {
		t.Fatalf("%v %+v", failed, got.Kwargs)
	}
	return fmt.Sprint(m["status"], " ", m["error_type"], " ", m["recoverable_by_model"], " ",
		m["recommended_next_action"], " ", m["source"])
}

func TestEveryResultSaysHowItsCallWent(t *testing.T) {
	const fine = "success <nil> true continue tool_return"
	for name, c := range map[string]struct {
		tool string
		r    agent.Result
		err  error
		want string
	}{
		"success":               {"task", agent.TextResult("all well"), nil, fine},
		"exception":             {"task", agent.Result{}, errors.New("boom"), "error unknown true try_alternative exception"},
		"a timeout":             {"task", agent.Result{}, errors.New("read tcp: i/o timeout"), "error transient false try_alternative exception"},
		"refused":               {"bash", agent.ErrorResult("Command blocked: no"), nil, "error unknown true try_alternative tool_return"},
		"auth by number":        {"web_search", agent.ErrorResult("status 401."), nil, "error auth false stop tool_return"},
		"a longer number":       {"web_search", agent.ErrorResult("took 14010 ms"), nil, "error unknown true try_alternative tool_return"},
		"a number in a word":    {"web_search", agent.ErrorResult("id x401"), nil, "error unknown true try_alternative tool_return"},
		"rate limit":            {"web_search", agent.ErrorResult("Rate limit reached"), nil, "error rate_limited false summarize tool_return"},
		"config":                {"web_search", agent.ErrorResult("no API key"), nil, "error config false stop tool_return"},
		"permission":            {"read_file", agent.ErrorResult("Permission denied"), nil, "error permission true try_alternative tool_return"},
		"not found":             {"read_file", agent.ErrorResult("no such file"), nil, "error not_found true rewrite_query tool_return"},
		"internal":              {"task", agent.ErrorResult("internal error"), nil, "error internal false stop tool_return"},
		"first match wins":      {"task", agent.ErrorResult("404, then a timeout"), nil, "error transient false try_alternative tool_return"},
		"says error":            {"mcp_x", agent.TextResult("Error: nothing works"), nil, "error unknown true try_alternative content_analysis"},
		"error in json":         {"mcp_x", agent.TextResult(`{"error": "file not found"}`), nil, "error not_found true rewrite_query content_analysis"},
		"no error in json":      {"mcp_x", agent.TextResult(`{"error": "None"}`), nil, fine},
		"false error in json":   {"mcp_x", agent.TextResult(`{"error": false}`), nil, fine},
		"json that is broken":   {"mcp_x", agent.TextResult(`{"error": "x"`), nil, fine},
		"partial":               {"web_search", agent.TextResult("12 pages, truncated"), nil, "partial_success <nil> true continue content_analysis"},
		"nothing found":         {"image_search", agent.TextResult("No images found"), nil, "partial_success no_results true rewrite_query content_analysis"},
		"a page of status":      {"web_fetch", agent.TextResult("# 404 Not Found\n\nsorry"), nil, "error not_found true rewrite_query content_analysis"},
		"a page about a status": {"web_fetch", agent.TextResult("# How 404 Not Found came about"), nil, fine},
		"a file about errors":   {"read_file", agent.TextResult("Error: truncated"), nil, fine},
		"a command's output":    {"bash", agent.TextResult(`{"error": "x"}`), nil, fine},
	} {
		t.Run(name, func(t *testing.T) {
			if got := meta(t, c.tool, c.r, c.err); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestTheMarkOfAResultKeepsItsOtherValues(t *testing.T) {
	kwargs := map[string]any{"deerflow_read_mark": "m"}
	chain := middleware.ToolMeta().WrapTool(func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) {
		return agent.Result{Content: agent.Text("x"), Kwargs: kwargs}, nil
	})
	r, err := chain(t.Context(), agenttest.Turn("go", &agenttest.Sink{}), agent.ToolCall{ID: "c", Name: "read_file"})
	if err != nil || r.Kwargs["deerflow_read_mark"] != "m" || r.Kwargs[middleware.ToolMetaKey] == nil ||
		len(kwargs) != 1 {
		t.Errorf("%v %+v, given %+v", err, r.Kwargs, kwargs)
	}
}

func FuzzToolMeta(f *testing.F) {
	for _, s := range []string{"", "Error: x", `{"error": [1]}`, "401", "# 404 Not Found", "\xff"} {
		f.Add("web_fetch", s, true)
		f.Add("task", s, false)
	}
	f.Fuzz(func(t *testing.T, name, text string, failed bool) {
		chain := middleware.ToolMeta().WrapTool(func(context.Context, *agent.Turn,
			agent.ToolCall) (agent.Result, error) {
			return agent.Result{Content: agent.Text(text), IsError: failed}, nil
		})
		r, err := chain(t.Context(), agenttest.Turn("go", &agenttest.Sink{}), agent.ToolCall{ID: "c", Name: name})
		m, ok := r.Kwargs[middleware.ToolMetaKey].(map[string]any)
		if err != nil || !ok || failed != (m["status"] == "error" && m["source"] == "tool_return") ||
			(m["status"] == "error") != (m["error_type"] != nil && m["status"] != "partial_success") {
			t.Errorf("%v %+v", err, m)
		}
	})
}
