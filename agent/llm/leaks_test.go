package llm_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/llm"
)

// leak is an answer as a server hands it out that leaves marks of the model in the text, and what must come of it.
type leak struct{ name, in, text, thought, calls string }

// leaks are the forms of models in use; each call is of a tool that is offered.
func leaks() []leak {
	const call = `run {"command":"echo 1"}`
	two := call + "|" + `run {"command":"echo 2"}`
	qwen := "<tool_call>\n{\"name\": \"run\", \"arguments\": {\"command\": \"echo 1\"}}\n</tool_call>"
	return []leak{
		{"Hermes", qwen, "", "", call},
		{"Hermes behind words", "Let me look.\n\n" + qwen, "Let me look.", "", call},
		{"Hermes twice", qwen + "\n" + strings.Replace(qwen, "echo 1", "echo 2", 1), "", "", two},
		{"Hermes without an end", strings.TrimSuffix(qwen, "\n</tool_call>"), "", "", call},
		{"Hermes with its end inside", `<tool_call>{"name":"run","arguments":{"command":"echo '</tool_call>'"}}</tool_call>`, "", "", `run {"command":"echo '</tool_call>'"}`},
		{"Hermes and an end mark", qwen + "<|im_end|>", "", "", call},
		{"Qwen-Coder", "<tool_call>\n<function=run>\n<parameter=command>\necho 1\n</parameter>\n</function>\n</tool_call>", "", "", call},
		{"Qwen-Coder without a frame", "<function=run>\n<parameter=command>\necho 1\n</parameter>\n</function>", "", "", call},
		{"Qwen-Coder, typed", "<tool_call><function=count><parameter=n>\n3\n</parameter><parameter=all>True</parameter><parameter=word>7</parameter></function></tool_call>", "", "", `count {"n":3,"all":true,"word":"7"}`},
		{"Llama with a tag", `<function=run>{"command": "echo 1"}</function>`, "", "", call},
		{"GLM", "<tool_call>run\n<arg_key>command</arg_key>\n<arg_value>echo 1</arg_value>\n</tool_call>", "", "", call},
		{"GLM, typed", "<tool_call>count<arg_key>n</arg_key><arg_value>3</arg_value><arg_key>list</arg_key><arg_value>[1]</arg_value></tool_call>", "", "", `count {"n":3,"list":[1]}`},
		{"GLM, its next speaker", "Yes.<|user|>", "Yes.", "", ""},
		{"Kimi", "<|tool_calls_section_begin|><|tool_call_begin|>functions.run:0<|tool_call_argument_begin|>{\"command\":\"echo 1\"}<|tool_call_end|><|tool_calls_section_end|>", "", "", call},
		{"Kimi twice", "Now.<|tool_calls_section_begin|><|tool_call_begin|>functions.run:0<|tool_call_argument_begin|>{\"command\":\"echo 1\"}<|tool_call_end|><|tool_call_begin|>functions.run:1<|tool_call_argument_begin|>{\"command\":\"echo 2\"}<|tool_call_end|><|tool_calls_section_end|>", "Now.", "", two},
		{"Kimi without a section", "<|tool_call_begin|>run:0<|tool_call_argument_begin|>{\"command\":\"echo 1\"}<|tool_call_end|>", "", "", call},
		{"Kimi thinks", "◁think▷hm◁/think▷Yes.", "Yes.", "hm", ""},
		{"DeepSeek V3", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>run\n```json\n{\"command\": \"echo 1\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>", "", "", call},
		{"DeepSeek V3.1", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>run<｜tool▁sep｜>{\"command\": \"echo 1\"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>run<｜tool▁sep｜>{\"command\": \"echo 2\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", "", "", two},
		{"DeepSeek, spelled out", "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>run\n```json\n{\"command\": \"echo 1\"}\n```<｜tool_call_end｜><｜tool_calls_end｜>", "", "", call},
		{"DeepSeek without a section", "<｜tool▁call▁begin｜>run<｜tool▁sep｜>{\"command\": \"echo 1\"}<｜tool▁call▁end｜>", "", "", call},
		{"DeepSeek V3.2", "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"run\">\n<｜DSML｜parameter name=\"command\" string=\"true\">echo 1</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>", "", "", call},
		{"DeepSeek V3.2, typed", "<｜DSML｜function_calls><｜DSML｜invoke name=\"count\"><｜DSML｜parameter name=\"n\" string=\"false\">3</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>", "", "", `count {"n":3}`},
		{"MiniMax", "<minimax:tool_call>\n<invoke name=\"run\">\n<parameter name=\"command\">echo 1</parameter>\n</invoke>\n</minimax:tool_call>", "", "", call},
		{"MiniMax M1", "<tool_calls>\n{\"name\": \"run\", \"arguments\": {\"command\": \"echo 1\"}}\n</tool_calls>", "", "", call},
		{"Seed", "<seed:think>hm</seed:think><seed:tool_call>\n<function=run>\n<parameter=command>echo 1</parameter>\n</function>\n</seed:tool_call>", "", "hm", call},
		{"function_calls", "<function_calls>\n<invoke name=\"run\">\n<parameter name=\"command\">echo 1</parameter>\n</invoke>\n</function_calls>", "", "", call},
		{"Grok", "<xai:function_call name=\"run\">\n<parameter name=\"command\">echo 1</parameter>\n</xai:function_call>", "", "", call},
		{"Mistral", `[TOOL_CALLS][{"name": "run", "arguments": {"command": "echo 1"}}]`, "", "", call},
		{"Mistral 11", `[TOOL_CALLS]run[ARGS]{"command": "echo 1"}[TOOL_CALLS]run[ARGS]{"command": "echo 2"}</s>`, "", "", two},
		{"Mistral with an id", `[TOOL_CALLS]run[CALL_ID]abc123def[ARGS]{"command": "echo 1"}`, "", "", call},
		{"Magistral", `[THINK]hm[/THINK]Yes.</s>`, "Yes.", "hm", ""},
		{"Llama 3", `{"name": "run", "parameters": {"command": "echo 1"}}`, "", "", call},
		{"Llama 3, OpenAI's shape", `{"type": "function", "function": {"name": "run", "arguments": "{\"command\": \"echo 1\"}"}}`, "", "", call},
		{"Llama 3 with a mark", `<|python_tag|>{"name": "run", "parameters": {"command": "echo 1"}}<|eom_id|>`, "", "", call},
		{"Llama 4", `<|python_start|>[run(command="echo 1"), run(command='echo 2')]<|python_end|>`, "", "", two},
		{"Granite 3", `<|tool_call|>[{"name": "run", "arguments": {"command": "echo 1"}}]`, "", "", call},
		{"Phi 4", `<|tool_call|>[{"name": "run", "arguments": {"command": "echo 1"}}]<|/tool_call|>`, "", "", call},
		{"LFM", `<|tool_call_start|>[run(command="echo 1")]<|tool_call_end|>`, "", "", call},
		{"Nemotron", `<TOOLCALL>[{"name": "run", "arguments": {"command": "echo 1"}}]</TOOLCALL>`, "", "", call},
		{"Command R", `<|START_THINKING|>hm<|END_THINKING|><|START_ACTION|>[{"tool_call_id": "0", "tool_name": "run", "parameters": {"command": "echo 1"}}]<|END_ACTION|>`, "", "hm", call},
		{"Command R answers", `<|START_RESPONSE|>Yes.<|END_RESPONSE|><|END_OF_TURN_TOKEN|>`, "Yes.", "", ""},
		{"Apertus", `<|tools_prefix|>[{"run": {"command": "echo 1"}}]<|tools_suffix|>`, "", "", call},
		{"InternLM", `<|action_start|><|plugin|>{"name": "run", "parameters": {"command": "echo 1"}}<|action_end|>`, "", "", call},
		{"Doubao", `<|FunctionCallBegin|>[{"name":"run","parameters":{"command":"echo 1"}}]<|FunctionCallEnd|>`, "", "", call},
		{"Solar", `<|tool_call:begin|>c1<|tool_call:name|>run<|tool_call:args|>{"command":"echo 1"}<|tool_call:end|>`, "", "", call},
		{"FunctionGemma", `<start_function_call>call:run{command:<escape>echo 1<escape>}<end_function_call>`, "", "", call},
		{"harmony calls", "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.run <|constrain|>json<|message|>{\"command\":\"echo 1\"}<|call|>", "", "hm", call},
		{"harmony calls, the other order", "<|start|>assistant to=functions.run<|channel|>commentary json<|message|>{\"command\":\"echo 1\"}<|call|>", "", "", call},
		{"harmony says what it will do", "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=functions.run<|message|>{\"command\":\"echo 1\"}<|call|>", "I look.", "", call},
		{"harmony answers", "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Yes.<|return|>", "Yes.", "hm", ""},
		{"harmony thinks and stops", "<|channel|>analysis<|message|>hm", "", "hm", ""},
		{"a prefix", `<tool_call>{"name":"functions.run","arguments":{"command":"echo 1"}}</tool_call>`, "", "", call},
		{"another case", `<tool_call>{"name":"Run ","arguments":{"command":"echo 1"}}</tool_call>`, "", "", call},
		{"an API before the name", `<tool_call>{"name":"default_api.run","arguments":{"command":"echo 1"}}</tool_call>`, "", "", call},
		{"in a thought without an end", "<think>hm\n" + qwen, "", "hm\n" + qwen, call},
		{"in a thought with an end", "<think>hm\n" + qwen + "\nno.</think>Yes.", "Yes.", "hm\n" + qwen + "\nno.", ""},

		{"in backticks", "Write `" + strings.ReplaceAll(qwen, "\n", " ") + "` then.", "Write `" + strings.ReplaceAll(qwen, "\n", " ") + "` then.", "", ""},
		{"in two backticks", "Write ``a ` " + strings.ReplaceAll(qwen, "\n", " ") + "`` then.", "Write ``a ` " + strings.ReplaceAll(qwen, "\n", " ") + "`` then.", "", ""},
		{"in a fence", "Like this:\n\n```xml\n" + qwen + "\n```\nSo.", "Like this:\n\n```xml\n" + qwen + "\n```\nSo.", "", ""},
		{"in a fence of tildes", "~~~\n" + qwen + "\n~~~", "~~~\n" + qwen + "\n~~~", "", ""},
		{"in a fence of a list", "1. so\n   ```\n   " + qwen + "\n   ```", "1. so\n   ```\n   " + qwen + "\n   ```", "", ""},
		{"Mistral in backticks", "It is `[TOOL_CALLS]run[ARGS]{}`.", "It is `[TOOL_CALLS]run[ARGS]{}`.", "", ""},
		{"Kimi in backticks", "It is `<|tool_calls_section_begin|>`.", "It is `<|tool_calls_section_begin|>`.", "", ""},
		{"an end mark in backticks", "It is `<|im_end|>`.", "It is `<|im_end|>`.", "", ""},
		{"JSON in a fence", "```json\n{\"name\": \"run\", \"arguments\": {\"command\": \"echo 1\"}}\n```", "```json\n{\"name\": \"run\", \"arguments\": {\"command\": \"echo 1\"}}\n```", "", ""},
		{"after code", "See `a`:\n```\nb\n```\n" + qwen, "See `a`:\n```\nb\n```", "", call},
		{"after a lone backtick", "Use the ` key.\n\n" + qwen, "Use the ` key.", "", call},
		{"a mark in a sentence", "The tag <tool_call> begins a call.", "The tag <tool_call> begins a call.", "", ""},
		{"another JSON", `{"name": "Ada", "age": 36}`, `{"name": "Ada", "age": 36}`, "", ""},
		{"a JSON list", `[{"a": 1}]`, `[{"a": 1}]`, "", ""},
		{"HTML", "<table><s>x</s></table>\n<function>", "<table><s>x</s></table>\n<function>", "", ""},
		{"links", "[a](b) [TOOL] <|x|>", "[a](b) [TOOL] <|x|>", "", ""},

		{"im_end", "Yes.<|im_end|>", "Yes.", "", ""},
		{"im_end in the middle", "Yes.<|im_end|>\n<|im_start|>user\nAnd now?", "Yes.", "", ""},
		{"im_start", "<|im_start|>assistant\nYes.<|im_end|>\n", "Yes.", "", ""},
		{"Llama's header", "<|start_header_id|>assistant<|end_header_id|>\n\nYes.<|eot_id|>", "Yes.", "", ""},
		{"eos", "Yes.</s>", "Yes.", "", ""},
		{"Gemma", "Yes.<end_of_turn>\n<eos>", "Yes.", "", ""},
		{"endoftext", "Yes.<|endoftext|>", "Yes.", "", ""},
		{"DeepSeek ends", "Yes.<｜end▁of▁sentence｜>", "Yes.", "", ""},
		{"Phi", "Yes.<|end|>", "Yes.", "", ""},
		{"think in upper case", "<THINK>hm</THINK>Yes.", "Yes.", "hm", ""},
		{"only the end of a thought", "hm</think>Yes.", "Yes.", "hm", ""},
	}
}

func leakTools() []*agent.Tool {
	return []*agent.Tool{
		{Name: "run", Schema: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}}}`)},
		{Name: "count", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"all":{"type":"boolean"},"word":{"type":["string","null"]},"list":{"type":"array"}}}`)},
	}
}

// TestNothingOfATemplateIsShown streams each answer over HTTP, whole and in pieces of several lengths, to models that
// are said to have tool calls, may have some, and have none.
func TestNothingOfATemplateIsShown(t *testing.T) {
	t.Parallel()
	on, off := true, false
	for _, c := range leaks() {
		for name, calls := range map[string]*bool{"native": &on, "perhaps": nil, "in the prompt": &off} {
			t.Run(c.name+", "+name, func(t *testing.T) {
				t.Parallel()
				if calls == &off && c.name == "JSON in a fence" {
					t.Skip("without calls of their own, models put them into fences") // see texttools
				}
				for _, size := range []int{1, 2, 3, 5, 9, len(c.in)} {
					got := askLeak(t, c.in, size, calls, leakTools())
					if s := spellLeak(got); s != spellWanted(c) {
						t.Fatalf("in pieces of %d: %q, want %q", size, s, spellWanted(c))
					}
				}
			})
		}
	}
}

// TestMarksThatThePersonAskedAboutStay, as an answer about them would have holes.
func TestMarksThatThePersonAskedAboutStay(t *testing.T) {
	got := askLeak(t, "The mark <|im_end|> ends a message.<|eot_id|>", 3, nil, nil)
	if got.Content.Text != "The mark <|im_end|> ends a message." {
		t.Errorf("%q", got.Content.Text)
	}
}

func spellWanted(c leak) string { return fmt.Sprintf("%q %q %s", c.text, c.thought, c.calls) }

func spellLeak(m *agent.Message) string {
	var calls []string
	for _, c := range m.ToolCalls {
		calls = append(calls, c.Name+" "+string(c.Args))
	}
	for _, c := range m.Invalid {
		calls = append(calls, "invalid "+c.Name+" "+c.Args)
	}
	thought, _ := m.Kwargs["reasoning_content"].(string)
	return fmt.Sprintf("%q %q %s", strings.TrimRight(m.Content.Text, " \n"), thought, strings.Join(calls, "|"))
}

// askLeak asks a server that answers so, in pieces of a length in characters.
func askLeak(t *testing.T, answer string, size int, calls *bool, tools []*agent.Tool) *agent.Message {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for all := []rune(answer); len(all) > 0; {
			n := min(size, len(all))
			piece, err := json.Marshal(string(all[:n]))
			if err != nil {
				t.Error(err)
			}
			all = all[n:]
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s},\"finish_reason\":null}]}\n\n", piece)
		}
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	m := must.Get(llm.New(llm.Config{Name: "m", BaseURL: server.URL, ToolCalls: calls}))(t)
	question := "what is <|im_end|>?"
	if tools != nil {
		question = "do it"
	}
	got := must.Get(agent.Collect("m", m.Stream(t.Context(), &agent.Request{Tools: tools, Messages: []*agent.Message{
		{ID: "h", Type: agent.TypeHuman, Content: agent.Text(question)}}})))(t)
	return got
}
