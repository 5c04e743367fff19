package agent_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
)

// brief writes what matters of messages: "type:text" with calls and ids where there are any.
func brief(t testing.TB, msgs []*agent.Message) string {
	t.Helper()
	var out []string
	for _, m := range msgs {
		s := m.Type + ":" + m.Content.String()
		if m.ID != "" {
			s += " #" + m.ID
		}
		for _, c := range m.ToolCalls {
			s += " " + c.ID + "=" + c.Name + string(c.Args)
		}
		for _, c := range m.Invalid {
			s += " " + c.ID + "!" + c.Name + c.Args
		}
		if m.ToolCallID != "" {
			s += " >" + m.ToolCallID + " " + m.Status
		}
		out = append(out, s)
	}
	return strings.Join(out, " | ")
}

func TestParseMessagesReadsEveryForm(t *testing.T) {
	cases := []struct{ name, in, want string }{
		{"nothing", ``, ""},
		{"null", ` null `, ""},
		{"empty list", `[]`, ""},
		{"bare string", `"plain"`, "human:plain"},
		{"list of strings", `["a","b"]`, "human:a | human:b"},
		{"one pair", `["user","hi"]`, "human:hi"},
		{"list of pairs", `[["user","hi"],["assistant","ho"],["developer","be kind"]]`, "human:hi | ai:ho | system:be kind"},
		{"single object", `{"role":"user","content":"single"}`, "human:single"},
		{"langchain", `[{"type":"human","id":"1","content":"a"},{"type":"ai","content":"b"},{"type":"system","content":"c"}]`, "human:a #1 | ai:b | system:c"},
		{"openai roles", `[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"system","content":"c"},{"role":"developer","content":"d"}]`, "human:a | ai:b | system:c | system:d"},
		{"roles as types", `[{"type":"user","content":"a"},{"type":"assistant","content":"b"}]`, "human:a | ai:b"},
		{"chunk types", `[{"type":"HumanMessageChunk","content":"a"},{"type":"AIMessageChunk","content":"b"},{"type":"ToolMessageChunk","tool_call_id":"c","content":"d"}]`, "human:a | ai:b | tool:d >c success"},
		{"constructor", `[{"lc":1,"type":"constructor","id":["langchain_core","messages","HumanMessage"],"kwargs":{"content":"lc ctor","id":"x"}}]`, "human:lc ctor #x"},
		{"constructor of a chunk with calls", `{"lc":1,"type":"constructor","id":["langchain","schema","AIMessageChunk"],"kwargs":{"content":"","tool_calls":[{"name":"f","args":{"a":1},"id":"c"}]}}`, `ai: c=f{"a":1}`},
		{"constructor of a result", `{"lc":1,"type":"constructor","id":["ToolMessage"],"kwargs":{"content":"r","tool_call_id":"c","status":"error"}}`, "tool:r >c error"},
		{"openai calls", `[{"role":"assistant","content":"","tool_calls":[{"id":"c9","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Rome\"}"}}]},{"role":"tool","tool_call_id":"c9","content":"ok"}]`,
			`ai: c9=get_weather{"city":"Rome"} | tool:ok >c9 success`},
		{"openai assistant without text", `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}}]}`, `ai: c=f{}`},
		{"openai calls nobody can read", `{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\""}},{"id":"d","type":"function","function":{"name":"g","arguments":"[1]"}}]}`, `ai: c!f{"a" d!g[1]`},
		{"langchain calls", `{"type":"ai","content":"","tool_calls":[{"name":"f","args":{"a": 1},"id":"c","type":"tool_call"},{"name":"g","id":"d"}],"invalid_tool_calls":[{"name":"h","args":"{","id":"e","error":"x"}]}`, `ai: c=f{"a":1} d=g{} e!h{`},
		{"blocks", `{"role":"user","content":["a",{"type":"image_url","image_url":{"url":"u"}},{"type":"text","text":"b"}]}`, "human:a\nb"},
		{"calls without ids get some", `{"type":"ai","tool_calls":[{"name":"f"},{"name":"g","id":"call_0"},{"name":"h","args":7}]}`, `ai: call_1=f{} call_0=g{} call_2!h7`},
		{"a result with a blank call id", `{"type":"tool","tool_call_id":"","content":"x"}`, "tool:x"},
		{"remove", `{"type":"remove","id":"x"}`, "remove: #x"},
		{"other id types are no ids", `{"type":"human","id":null,"content":"a"}`, "human:a"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			msgs := must.Get(agent.ParseMessages([]byte(c.in)))(t)
			if got := brief(t, msgs); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestParseMessagesTellsWhichOneIsBad(t *testing.T) {
	cases := []struct{ name, in, want string }{
		{"no type", `[{"type":"human","content":"a"},{"content":"b"}]`, "messages[1]: invalid message: neither type nor role"},
		{"unknown type", `{"type":"robot","content":"b"}`, `messages: invalid message: unknown type "robot"`},
		{"unknown role", `[{"role":"x"}]`, "messages[0]"},
		{"number", `[7]`, "messages[0]"},
		{"null in a list", `[null]`, "messages[0]"},
		{"bool", `true`, "messages"},
		{"no json", `[{]`, "messages"},
		{"longer pair", `[["user","a","b"]]`, "messages[0]"},
		{"pair of a tool", `[["tool","x"]]`, "messages[0]"},
		{"pair of a removal", `[["remove","x"]]`, "messages[0]"},
		{"tool without call", `[{"role":"tool","content":"x"}]`, "messages[0]: invalid message: a tool message needs tool_call_id"},
		{"remove without id", `[{"type":"remove"}]`, "messages[0]: invalid message: remove needs an id"},
		{"id is a number", `[{"type":"human","id":7}]`, "messages[0]: invalid message: id must be a string"},
		{"content is a number", `[{"type":"human","content":7}]`, "messages[0]"},
		{"block is a number", `[{"type":"human","content":["a",7]}]`, "content[1]"},
		{"call is a string", `[{"type":"ai","tool_calls":[{"name":"f","args":{}},"x"]}]`, "tool_calls[1]"},
		{"constructor without a class", `[{"lc":1,"type":"constructor","id":[],"kwargs":{}}]`, "messages[0]"},
		{"constructor of something else", `[{"lc":1,"type":"constructor","id":["x","PromptTemplate"],"kwargs":{}}]`, "messages[0]"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			msgs, err := agent.ParseMessages([]byte(c.in))
			if !errors.Is(err, agent.ErrMessage) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("read as %q, err %v", brief(t, msgs), err)
			}
		})
	}
}

func TestParsePatch(t *testing.T) {
	p, unknown := must.Get2(agent.ParsePatch(json.RawMessage(
		`{"title":"t","messages":["hi"],"artifacts":[],"goal":null,"zzz":1,"notes":[{"id":"n"}],"view":{},"extra":{}}`)))(t)
	if got := strings.Join(unknown, " "); got != "extra notes view zzz" {
		t.Errorf("unknown = %s", got)
	}
	if *p.Title != "t" || p.Artifacts == nil || p.Goal != nil || p.Notes != nil || p.View != nil ||
		brief(t, p.Messages) != "human:hi" {
		t.Errorf("patch = %+v", p)
	}
	for _, empty := range []string{"", "null", "{}"} {
		if p, unknown, err := agent.ParsePatch(json.RawMessage(empty)); err != nil || !p.Empty() || unknown != nil {
			t.Errorf("%q: %+v, %v, %v", empty, p, unknown, err)
		}
	}
	for in, want := range map[string]error{
		`[]`: agent.ErrPatch, `{"title":7}`: agent.ErrPatch, `{"todos":{}}`: agent.ErrPatch, `{`: agent.ErrPatch,
		`{"messages":[{}]}`: agent.ErrMessage,
	} {
		if p, _, err := agent.ParsePatch(json.RawMessage(in)); !errors.Is(err, want) || !p.Empty() {
			t.Errorf("%s: %+v, %v", in, p, err)
		}
	}
}

func TestStripServerKwargs(t *testing.T) {
	m := human("1", "hi")
	m.Kwargs = map[string]any{
		// these stay
		"files": []any{}, "human_input_response": map[string]any{"value": "x"}, "hide_from_ui": true, "theirs": 1.0,
		"original_user_content": "", "dynamic_context_reminder": true, "reminder_date": "",
		"deerflow_view_image_context": true, "slash_skill_activation": 1, "slash_skill_activation_source": 1,
		"deerflow_error_fallback": true, "deerflow_tool_meta": 1, "deerflow_read_mark": 1, "skill_context_entry": 1,
		"subagent_status": 1, "subagent_x": 1, "token_usage_attribution": 1, "run_id": "r", "timestamp": "t",
	}
	agent.StripServerKwargs(m)
	got := strings.Join(slices.Sorted(maps.Keys(m.Kwargs)), " ")
	if got != "files hide_from_ui human_input_response theirs" {
		t.Errorf("left: %s", got)
	}
	for name, response := range map[string]any{"none": nil, "of a bad shape": "x"} {
		m := human("1", "hi")
		m.Kwargs = map[string]any{"hide_from_ui": true, "human_input_response": response}
		agent.StripServerKwargs(m)
		if _, ok := m.Kwargs["hide_from_ui"]; ok {
			t.Errorf("response %s: a person can hide a message", name)
		}
	}
	agent.StripServerKwargs(human("1", "no kwargs"))
}

func FuzzParseMessage(f *testing.F) {
	for _, c := range canonical {
		f.Add([]byte(c.body))
	}
	f.Add([]byte(`{"lc":1,"type":"constructor","id":["AIMessage"],"kwargs":{"content":["x"],"tool_calls":[{"function":{"name":"f","arguments":"{"}}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := agent.ParseMessage(data)
		if err != nil {
			if !errors.Is(err, agent.ErrMessage) || m != nil {
				t.Fatalf("%v, %v", m, err)
			}
			return
		}
		stored := encode(t, m)
		again, err := agent.ParseMessage([]byte(stored))
		if err != nil {
			t.Fatalf("%s is not read back: %v", stored, err)
		}
		if got := encode(t, again); got != stored {
			t.Fatalf("stored as\n%s, then\n%s", stored, got)
		}
	})
}

func FuzzParseMessages(f *testing.F) {
	f.Add([]byte(`["user","hi"]`))
	f.Add([]byte(`[["user","hi"],"x",{"role":"tool","tool_call_id":"c"}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		msgs, err := agent.ParseMessages(data)
		if err != nil && (!errors.Is(err, agent.ErrMessage) || msgs != nil) {
			t.Fatalf("%v, %v", msgs, err)
		}
		for _, m := range msgs {
			if m == nil || m.Type == "" || m.Type == agent.TypeRemove && m.ID == "" || slices.Contains(m.Calls(), "") {
				t.Fatalf("%q gives %+v", data, m)
			}
			_ = encode(t, m)
		}
	})
}
