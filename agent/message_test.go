package agent_test

import (
	"encoding/json"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
)

// canonical are messages in exactly the form that is stored and shown.
var canonical = []struct{ name, body string }{
	{"human with blocks and files", `{"type":"human","id":"h1","content":[{"type":"text","text":"weather please"}],"additional_kwargs":{"files":[{"filename":"a.pdf","path":"/mnt/user-data/uploads/a.pdf","size":1,"status":"uploaded"}]},"response_metadata":{},"name":null}`},
	{"ai with a call", `{"type":"ai","id":"lc_run--1","content":"Let me check.","additional_kwargs":{"reasoning_content":"…"},"response_metadata":{"finish_reason":"tool_calls","model_name":"m"},"name":null,"tool_calls":[{"name":"get_weather","args":{"city":"Paris"},"id":"call_1","type":"tool_call"}],"invalid_tool_calls":[],"usage_metadata":{"input_tokens":10,"output_tokens":5,"total_tokens":15,"input_token_details":{"cache_read":0},"output_token_details":{"reasoning":0}}}`},
	{"ai with an invalid call", `{"type":"ai","id":"1","content":"","additional_kwargs":{},"response_metadata":{},"name":null,"tool_calls":[],"invalid_tool_calls":[{"name":"f","args":"{\"a\":","id":"c","error":"unexpected end","type":"invalid_tool_call"}]}`},
	{"tool", `{"type":"tool","id":"t1","content":"It is sunny in Paris","additional_kwargs":{},"response_metadata":{},"name":"get_weather","tool_call_id":"call_1","status":"success","artifact":null}`},
	{"tool error with an artifact", `{"type":"tool","id":"t1","content":"no","additional_kwargs":{},"response_metadata":{},"name":null,"tool_call_id":"call_1","status":"error","artifact":{"human_input":{"x":[1,2.50,"<b>"]}}}`},
	{"system", `{"type":"system","id":"s","content":"…","additional_kwargs":{},"response_metadata":{},"name":null}`},
	{"remove", `{"type":"remove","id":"x"}`},
	{"named human", `{"type":"human","id":"h","content":"hi","additional_kwargs":{"hide_from_ui":true},"response_metadata":{},"name":"user-input"}`},
	{"no blocks", `{"type":"human","id":"h","content":[],"additional_kwargs":{},"response_metadata":{},"name":null}`},
	{"unknown blocks keep keys, order, numbers and escapes", `{"type":"ai","id":"1","content":[{"zeta":1.50,"type":"hologram","alpha":[12345678901234567890,{"b":null,"a":"<&>\u00e9\/\u2028"}]},{"type":"thinking","thinking":"…","signature":"a+b/c=="},{"type":"image_url","image_url":"https://x/y?a=1&b=2"}],"additional_kwargs":{},"response_metadata":{},"name":null,"tool_calls":[],"invalid_tool_calls":[]}`},
	{"letters of all kinds", `{"type":"human","id":"h","content":"é 漢字 👩‍👩‍👧 a\u2028b\u2029c <b>&amp;</b> \"q\" \\ \u0000 \n end","additional_kwargs":{},"response_metadata":{},"name":null}`},
}

func TestMessageCanonicalForm(t *testing.T) {
	for _, c := range canonical {
		t.Run(c.name, func(t *testing.T) {
			m := must.Get(agent.ParseMessage([]byte(c.body)))(t)
			if got := encode(t, m); got != c.body {
				t.Errorf("\n got %s\nwant %s", got, c.body)
			}
			var std agent.Message // and through encoding/json, as other packages read it
			if err := json.Unmarshal([]byte(c.body), &std); err != nil || encode(t, &std) != c.body {
				t.Errorf("json.Unmarshal: %v, %s", err, encode(t, &std))
			}
		})
	}
}

func TestMessageWrittenInGoHasCanonicalForm(t *testing.T) {
	cases := []struct {
		name string
		m    *agent.Message
		want string
	}{
		{"bare ai", &agent.Message{ID: "1", Type: agent.TypeAI}, `{"type":"ai","id":"1","content":"","additional_kwargs":{},"response_metadata":{},"name":null,"tool_calls":[],"invalid_tool_calls":[]}`},
		{"bare tool", &agent.Message{ID: "1", Type: agent.TypeTool, ToolCallID: "c"}, `{"type":"tool","id":"1","content":"","additional_kwargs":{},"response_metadata":{},"name":null,"tool_call_id":"c","status":"success","artifact":null}`},
		{"empty artifact", &agent.Message{ID: "1", Type: agent.TypeTool, ToolCallID: "c", Artifact: json.RawMessage{}}, `{"type":"tool","id":"1","content":"","additional_kwargs":{},"response_metadata":{},"name":null,"tool_call_id":"c","status":"success","artifact":null}`},
		{"call without arguments", &agent.Message{ID: "1", Type: agent.TypeAI, ToolCalls: []agent.ToolCall{{ID: "c", Name: "f"}}}, `{"type":"ai","id":"1","content":"","additional_kwargs":{},"response_metadata":{},"name":null,"tool_calls":[{"name":"f","args":{},"id":"c","type":"tool_call"}],"invalid_tool_calls":[]}`},
		{"html stays as it is", human("1", "<a href='x'>&</a>"), `{"type":"human","id":"1","content":"<a href='x'>&</a>","additional_kwargs":{},"response_metadata":{},"name":null}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := encode(t, c.m); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestContentText(t *testing.T) {
	cases := []struct{ name, body, want string }{
		{"plain", `"a\nb"`, "a\nb"},
		{"null", `null`, ""},
		{"text blocks are joined, others left out", `[{"type":"text","text":"a"},{"type":"image_url","image_url":"u"},"b",{"type":"text"}]`, "a\nb\n"},
		{"one block", `{"type":"text","text":"a"}`, "a"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got agent.Content
			must.Do(t, json.Unmarshal([]byte(c.body), &got))
			if got.String() != c.want {
				t.Errorf("%q, want %q", got.String(), c.want)
			}
		})
	}
}

// TestMemoryAndStoreReadTheSame guards the prompt cache: what a model was sent before a
// message was stored and what it is sent after must be the same bytes.
func TestMemoryAndStoreReadTheSame(t *testing.T) {
	m := &agent.Message{ID: "1", Type: agent.TypeAI}
	m.AddCall("c", "f", " {\n  \"a\" : [ 1, 2 ],\t\"b\": \"x  y \u2028\" }\n")
	must.Do(t, m.Content.UnmarshalJSON([]byte(`[ { "type" : "text", "text": "a  b" } , "c" ]`)))
	var back agent.Message
	must.Do(t, json.Unmarshal([]byte(encode(t, m)), &back))
	if got, want := string(back.ToolCalls[0].Args), string(m.ToolCalls[0].Args); got != want {
		t.Errorf("arguments %q were %q", got, want)
	}
	for i := range m.Content.Blocks {
		if got, want := string(back.Content.Blocks[i]), string(m.Content.Blocks[i]); got != want {
			t.Errorf("block %q was %q", got, want)
		}
	}
}

func TestWithCopies(t *testing.T) {
	m := human("1", "hi")
	a := m.With("run_id", "r")
	b := a.With("run_id", "s")
	if m.Kwargs != nil || a.Kwargs["run_id"] != "r" || b.Kwargs["run_id"] != "s" || b.ID != "1" {
		t.Errorf("%v, %v, %v", m.Kwargs, a.Kwargs, b.Kwargs)
	}
}

func TestGenuine(t *testing.T) {
	cases := []struct {
		name string
		body string
		want bool
	}{
		{"a person", `{"type":"human","content":"hi"}`, true},
		{"a summary", `{"type":"human","content":"hi","name":"summary"}`, false},
		{"hidden", `{"type":"human","content":"hi","additional_kwargs":{"hide_from_ui":true}}`, false},
		{"a hidden answer", `{"type":"human","content":"hi","additional_kwargs":{"hide_from_ui":true,"human_input_response":{"value":"x"}}}`, true},
		{"a hidden answer of a bad shape", `{"type":"human","content":"hi","additional_kwargs":{"hide_from_ui":true,"human_input_response":"x"}}`, false},
		{"a model", `{"type":"ai","content":"hi"}`, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := must.Get(agent.ParseMessage([]byte(c.body)))(t)
			if got := m.Genuine(); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
			first := human("first", "")
			if got := agent.LastGenuine([]*agent.Message{first, m, ai("x", "")}); (got == m) != c.want {
				t.Errorf("newest is %v", got)
			}
		})
	}
	if m := agent.LastGenuine(nil); m != nil {
		t.Errorf("of nothing: %v", m)
	}
}

func TestEscapeKeepsUntrustedTextInItsPlace(t *testing.T) {
	cases := map[string]string{
		"a <b>&</b>":                   "a &lt;b&gt;&amp;&lt;/b&gt;",
		"a.txt\n</uploaded_files>\r\n": "a.txt &lt;/uploaded_files&gt;",
		"a\u2028b\u2029c\u0085d\ve":    "a b c d e",
		"gpj.\u202eexe":                "gpj. exe",
		"a\x00b\x1b[31mc":              "ab [31mc",
		"漢字 👍\ttab":                    "漢字 👍\ttab",
		"":                             "",
	}
	for in, want := range cases {
		if got := agent.Escape(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("<system>\n")
	f.Fuzz(func(t *testing.T, s string) {
		if got := agent.Escape(s); strings.ContainsAny(got, "<>\n\r\x00\u2028\u2029\u202e\u2066") {
			t.Errorf("%q becomes %q", s, got)
		}
	})
}
