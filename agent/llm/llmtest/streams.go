package llmtest

import (
	"encoding/json"
	"strings"
	"testing"

	"fawn/agent"
)

type conversation struct {
	name string
	answer
	want
}

// data formats one event.
func data(payload string) string { return "data: " + payload + "\n\n" }

// text returns a plain chunk.
func text(s string) string {
	return delta(`{"content":`+quoted(s)+`}`, "")
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}

func delta(d, finish string) string {
	f := "null"
	if finish != "" {
		f = quoted(finish)
	}
	return data(`{"id":"c1","object":"chat.completion.chunk","created":1700000000,"model":"test-model","choices":[{"index":0,"delta":` +
		d + `,"logprobs":null,"finish_reason":` + f + `}]}`)
}

const done = "data: [DONE]\n\n"

func call(id, name, args string) agent.ToolCall {
	return agent.ToolCall{ID: id, Name: name, Args: json.RawMessage(args)}
}

// streams returns answers that must be received completely.
func streams() []conversation {
	plain := []string{delta(`{"role":"assistant","content":"","refusal":null}`, ""), text("Hel"),
		text("lo, \"wörld\"\n😀"), delta(`{}`, "stop")}
	hello := "Hello, \"wörld\"\n😀"
	return []conversation{
		{"OpenAI", answer{pieces: append(plain[:4:4],
			data(`{"id":"c1","object":"chat.completion.chunk","model":"test-model","choices":[],"usage":{"prompt_tokens":20,"completion_tokens":9,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":16,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":4,"audio_tokens":0}}}`), done)},
			want{text: hello, finish: "stop", model: "test-model", usage: &agent.Usage{Input: 20, Output: 9, Total: 29,
				InputDetails: map[string]int{"cache_read": 16}, OutputDetails: map[string]int{"reasoning": 4}}}},
		{"OpenAIParallelCalls", answer{pieces: []string{
			delta(`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"ls","arguments":""}}]}`, ""),
			delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}}]}`, ""),
			delta(`{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"glob","arguments":""}}]}`, ""),
			delta(`{"tool_calls":[{"index":0,"function":{"arguments":"\"/mnt\"}"}},{"index":1,"function":{"arguments":"{}"}}]}`,
				""),
			delta(`{}`, "tool_calls"), done}},
			want{finish: "tool_calls", calls: []agent.ToolCall{call("call_a", "ls", `{"path":"/mnt"}`),
				call("call_b", "glob", `{}`)}}},
		{"DeepSeekReasoning", answer{pieces: []string{
			delta(`{"role":"assistant","content":null,"reasoning_content":""}`, ""),
			delta(`{"content":null,"reasoning_content":"Let me "}`, ""),
			delta(`{"content":null,"reasoning_content":"think."}`, ""),
			delta(`{"content":"42","reasoning_content":null}`, ""),
			data(`{"model":"test-model","choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12,"prompt_cache_hit_tokens":3,"prompt_cache_miss_tokens":4}}`), done}},
			want{text: "42", reasoning: "Let me think.", finish: "stop", model: "test-model",
				usage: &agent.Usage{Input: 7, Output: 5, Total: 12, InputDetails: map[string]int{"cache_read": 3}}}},
		{"OpenRouterReasoningDetails", answer{pieces: []string{": OPENROUTER PROCESSING\n\n",
			delta(`{"role":"assistant","content":"","reasoning":"Hm, ","reasoning_details":[{"type":"reasoning.text","text":"Hm, ","index":0}]}`, ""),
			delta(`{"content":"","reasoning":"yes","reasoning_details":[{"type":"reasoning.text","text":"yes","index":0}]}`, ""),
			delta(`{"content":"","reasoning":null,"reasoning_details":[{"type":"reasoning.text","signature":"sig==","index":0}]}`, ""),
			text("Yes."), delta(`{"content":""}`, "stop"), done}},
			want{text: "Yes.", reasoning: "Hm, yes", finish: "stop", kwargs: func(t *testing.T, m *agent.Message) {
				b, err := json.Marshal(m.Kwargs["reasoning_details"])
				if err != nil ||
					string(b) != `[{"index":0,"signature":"sig==","text":"Hm, yes","type":"reasoning.text"}]` {
					t.Errorf("reasoning_details %s, %v", b, err)
				}
			}}},
		{"GeminiCallsWithoutIndexOrID", answer{pieces: []string{
			delta(`{"role":"assistant","tool_calls":[{"id":"","type":"function","function":{"name":"ls","arguments":"{\"path\":\"/a\"}"},"extra_content":{"google":{"thought_signature":"c2ln"}}}]}`, ""),
			delta(`{"role":"assistant","tool_calls":[{"id":"","type":"function","function":{"name":"ls","arguments":"{\"path\":\"/b\"}"}}]}`,
				"tool_calls"), done}},
			want{finish: "tool_calls",
				calls: []agent.ToolCall{call("", "ls", `{"path":"/a"}`), call("", "ls", `{"path":"/b"}`)},
				kwargs: func(t *testing.T, m *agent.Message) {
					extra, _ := m.Kwargs["extra_content"].(map[string]any)
					b, err := json.Marshal(extra[m.ToolCalls[0].ID])
					if err != nil || string(b) != `{"google":{"thought_signature":"c2ln"}}` {
						t.Errorf("the signature is lost: %s, %v", b, err)
					}
				}}},
		{"OllamaCallsAllWithIndexZero", answer{pieces: []string{
			delta(`{"role":"assistant","content":"","tool_calls":[{"id":"call_1","index":0,"type":"function","function":{"name":"ls","arguments":"{}"}}]}`, ""),
			delta(`{"role":"assistant","content":"","tool_calls":[{"id":"call_2","index":0,"type":"function","function":{"name":"glob","arguments":"{}"}}]}`, ""),
			delta(`{"role":"assistant","content":""}`, "tool_calls"), done}},
			want{calls: []agent.ToolCall{call("call_1", "ls", `{}`), call("call_2", "glob", `{}`)}}},
		{"CallsWithTheIDOnEveryPiece", answer{pieces: []string{
			delta(`{"tool_calls":[{"index":0,"id":"x","function":{"name":"ls","arguments":"{\"a\""}}]}`, ""),
			delta(`{"tool_calls":[{"index":0,"id":"x","function":{"name":"ls","arguments":":1}"}}]}`, ""),
			delta(`{}`, "tool_calls"), done}},
			want{calls: []agent.ToolCall{call("x", "ls", `{"a":1}`)}}},
		{"ArgumentsAsObject", answer{pieces: []string{
			delta(`{"tool_calls":[{"index":0,"id":"x","function":{"name":"ls","arguments":{"a":1}}}]}`,
				"tool_calls"), done}},
			want{calls: []agent.ToolCall{call("x", "ls", `{"a":1}`)}}},
		{"ThinkTags", answer{pieces: []string{text("<th"), text("ink>why"), text("</thi"),
			text("nk>\n\nbecause <think> is a tag"), delta(`{}`, "stop"), done}},
			want{text: "because <think> is a tag", reasoning: "why"}},
		{"OnlyTheEndOfAThought", answer{pieces: []string{text("I "), text("wonder\n</th"), text("ink>\n"),
			text("\nYes."), delta(`{}`, "stop"), done}},
			want{text: "Yes.", reasoning: "I wonder\n"}},
		{"KeepAliveFlood", answer{pieces: []string{strings.Repeat(": ping\n\n", 2000), text("still "),
			strings.Repeat("\n", 1000), text("here"), delta(`{}`, "stop"), done}},
			want{text: "still here", finish: "stop"}},
		{"CRLFAndOtherFields", answer{pieces: []string{"event: message\r\nid: 7\r\nretry: 10\r\n" +
			strings.ReplaceAll(text("ok"), "\n", "\r\n"), delta(`{}`, "stop"), done}},
			want{text: "ok"}},
		{"DataOverSeveralLines",
			answer{pieces: []string{"data: {\"choices\":[{\"index\":0,\ndata: \"delta\":{\"content\":\"joined\"}}]}\n\n", delta(`{}`, "stop"), done}},
			want{text: "joined"}},
		{"NoBlankLines", answer{pieces: []string{strings.TrimSuffix(text("a"), "\n"),
			strings.TrimSuffix(text("b"), "\n"), strings.TrimSuffix(delta(`{}`, "stop"), "\n"), "data: [DONE]\n"}},
			want{text: "ab", finish: "stop"}},
		{"CutInsideEveryLine", answer{pieces: strings.SplitAfter(text("sl")+text("ow")+delta(`{}`, "stop")+done, ":")},
			want{text: "slow", finish: "stop"}},
		{"NoDoneAfterFinish", answer{pieces: plain}, want{text: hello, finish: "stop"}},
		{"DoneWithoutFinish", answer{pieces: []string{text("fin"), done}}, want{text: "fin", finish: "stop"}},
		{"ContentAsBlocks",
			answer{pieces: []string{delta(`{"content":[{"type":"text","text":"block"}]}`, "stop"), done}},
			want{text: "block"}},
		{"WholeAnswerWithoutStream", answer{headers: map[string]string{
			"Content-Type": "application/json; charset=utf-8",
		},
			pieces: []string{
				"{\n \"model\": \"test-model\", \"choices\": [{\"index\": 0, \"message\": {\"role\": \"assistant\", \"content\": \"whole\"},\n \"finish_reason\": \"stop\"}], \"usage\": {\"prompt_tokens\": 1, \"completion_tokens\": 2}}"}},
			want{text: "whole", finish: "stop", model: "test-model", usage: &agent.Usage{Input: 1, Output: 2, Total: 3}}},
		{"UsageInTheChoice", answer{pieces: []string{text("m"),
			data(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}]}`), done}},
			want{text: "m", usage: &agent.Usage{Input: 3, Output: 1, Total: 4}}},
		{"HugeEvent", answer{pieces: []string{text(strings.Repeat("x", 1<<20)), delta(`{}`, "stop"), done}},
			want{text: strings.Repeat("x", 1<<20)}},
	}
}
