package agent_test

import (
	"errors"
	"iter"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
)

// chunks is a stream of deltas, then err when it is not nil.
func chunks(err error, ks ...agent.Chunk) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		for _, k := range ks {
			if !yield(k, nil) {
				return
			}
		}
		if err != nil {
			yield(agent.Chunk{}, err)
		}
	}
}

func call(i int, id, name, args string) agent.Chunk {
	return agent.Chunk{Calls: []agent.CallDelta{{Index: i, ID: id, Name: name, Args: args}}}
}

func TestCollectFoldsDeltas(t *testing.T) {
	m := must.Get(agent.Collect("m", chunks(nil,
		agent.Chunk{Reasoning: "hm"}, agent.Chunk{Reasoning: "m"}, agent.Chunk{Text: "Let "}, agent.Chunk{Text: "me."},
		call(1, "b", "g", ""), call(0, "a", "f", `{"x"`), call(1, "", "", `[1]`), call(0, "", "", `: 1}`),
		agent.Chunk{Kwargs: map[string]any{"signature": "s1"}}, agent.Chunk{Kwargs: map[string]any{"signature": "s2"}},
		agent.Chunk{Finish: "tool_calls", Model: "big", Usage: &agent.Usage{Input: 3, Output: 2, Total: 5}})))(t)
	want := `{"type":"ai","id":"m","content":"Let me.","additional_kwargs":{"reasoning_content":"hmm","signature":"s2"},"response_metadata":{"finish_reason":"tool_calls","model_name":"big"},"name":null,` +
		`"tool_calls":[{"name":"f","args":{"x":1},"id":"a","type":"tool_call"}],"invalid_tool_calls":[{"name":"g","args":"[1]","id":"b","error":"not a JSON object","type":"invalid_tool_call"}],` +
		`"usage_metadata":{"input_tokens":3,"output_tokens":2,"total_tokens":5}}`
	if got := encode(t, m); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestCollectKeepsWhatCameBeforeAnError(t *testing.T) {
	cause := errors.New("gone")
	m, err := agent.Collect("m", chunks(cause, agent.Chunk{Text: "half"}, call(0, "a", "f", `{"x":1}`),
		agent.Chunk{Model: "big"}))
	if !errors.Is(err, cause) {
		t.Fatalf("err = %v", err)
	}
	if got := brief(t, []*agent.Message{m}); got != "ai:half #m" {
		t.Errorf("kept %s", got)
	}
	if m.Meta["finish_reason"] != agent.FinishInterrupted || m.Meta["model_name"] != "big" {
		t.Errorf("meta = %v", m.Meta)
	}
}

func TestCollectGivesEachCallItsOwnID(t *testing.T) {
	m := must.Get(agent.Collect("m", chunks(nil, call(0, "a", "f", ""), call(1, "", "f", ""), call(2, "a", "f", ""),
		call(3, "", "f", "{"))))(t)
	if got := strings.Join(m.Calls(), " "); got != "a m_1 m_2 m_3" {
		t.Errorf("ids = %s", got)
	}
}

func TestCollectorShowsWhatIsThere(t *testing.T) {
	var c agent.Collector
	if !c.Empty() || (agent.Chunk{Finish: "stop", Usage: &agent.Usage{}}).Visible() {
		t.Error("nothing counts as something")
	}
	for _, k := range []agent.Chunk{{Text: "a"}, {Reasoning: "b"}, call(0, "a", "f", "")} {
		var one agent.Collector
		one.Add(k)
		if one.Empty() || !k.Visible() {
			t.Errorf("%+v counts as nothing", k)
		}
	}
	c.Add(agent.Chunk{Text: "a"})
	kw := map[string]any{"k": 1}
	c.Add(agent.Chunk{Text: "b", Kwargs: kw})
	first := c.Message("m", true)
	c.Add(agent.Chunk{Text: "c", Kwargs: map[string]any{"k": 2}})
	if c.Text() != "abc" || first.Content.Text != "ab" || first.Kwargs["k"] != 1 || kw["k"] != 1 {
		t.Errorf("text %q, first %+v, chunk %v", c.Text(), first, kw)
	}
}
