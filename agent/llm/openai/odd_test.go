package openai_test

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/llm/llmerr"
	"fawn/agent/llm/openai"
)

// odd is one way in which servers answer, and what must come of it.
type odd struct {
	name, kind, body string // kind is the media type, "" an event stream
	status           int
	text, thought    string // of the message
	calls            string // names and arguments
	fails            string // words of the error; "" is none
	class            string // of the error; "" is any
}

const fin = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"

// part is an event with a piece of text; end is one with a reason of the end.
func part(text string) string {
	return `data: {"choices":[{"index":0,"delta":{"content":"` + text + `"},"finish_reason":null}]}` + "\n\n"
}

func end(reason string) string {
	return `data: {"choices":[{"index":0,"delta":{},"finish_reason":` + reason + `}]}` + "\n\ndata: [DONE]\n\n"
}

func oddAnswers() []odd {
	list := []odd{
		{name: "plain", body: part("yes") + fin, text: "yes"},
		{name: "mark", body: "\uFEFF" + part("yes") + fin, text: "yes"},
		{name: "lone CR", body: strings.ReplaceAll(part("yes")+fin, "\n", "\r"), text: "yes"},
		{name: "CR LF", body: strings.ReplaceAll(part("yes")+fin, "\n", "\r\n"), text: "yes"},
		{name: "numeric id", body: `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":7,"function":{"name":"ls","arguments":"{}"}}]}}]}` + "\n\n" + end(`"tool_calls"`), calls: "ls {}"},
		{name: "index of a call as text", body: `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":"0","id":"a","function":{"name":"ls","arguments":"{\"a\":"}}]}}]}` + "\n\n" + `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":"0","function":{"arguments":"1}"}}]}}]}` + "\n\n" + end(`"tool_calls"`), calls: `ls {"a":1}`},
		{name: "index as text", body: `data: {"choices":[{"index":"0","delta":{"content":"yes"}}]}` + "\n\n" + fin, text: "yes"},
		{name: "null lists", body: `data: {"choices":[{"index":0,"delta":{"content":"yes","tool_calls":null,"reasoning_details":null}}],"usage":null}` + "\n\n" + fin, text: "yes"},
		{name: "choices as an object", body: `data: {"choices":{"index":0,"delta":{"content":"yes"}}}` + "\n\n" + fin, text: "yes"},
		{name: "one call without a list", body: `data: {"choices":[{"index":0,"delta":{"tool_calls":{"id":"a","function":{"name":"ls","arguments":"{}"}}}}]}` + "\n\n" + end(`"tool_calls"`), calls: "ls {}"},
		{name: "calls as text", body: `data: {"choices":[{"index":0,"delta":{"content":"yes","tool_calls":""}}]}` + "\n\n" + fin, text: "yes"},
		{name: "the older form of a call", body: `data: {"choices":[{"index":0,"delta":{"function_call":{"name":"ls","arguments":"{}"}}}]}` + "\n\n" + end(`"function_call"`), calls: "ls {}"},
		{name: "function is flat", body: `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","name":"ls","arguments":{"a":1}}]}}]}` + "\n\n" + end(`"tool_calls"`), calls: `ls {"a":1}`},
		{name: "model is a number", body: `data: {"model":4,"choices":[{"index":0,"delta":{"content":"yes","tool_calls":[]}}]}` + "\n\n" + fin, text: "yes"},
		{name: "counts as text", body: part("yes") + `data: {"choices":[],"usage":{"prompt_tokens":"3","completion_tokens":1.0,"prompt_tokens_details":[]}}` + "\n\n" + fin, text: "yes"},
		{name: "text of completions", body: `data: {"choices":[{"index":0,"text":"yes","finish_reason":null}]}` + "\n\n" + fin, text: "yes"},
		{name: "content as blocks", body: `data: {"choices":[{"index":0,"delta":{"content":[{"type":"text","text":"yes"}]}}]}` + "\n\n" + fin, text: "yes"},
		{name: "delta is null", body: `data: {"choices":[{"index":0,"delta":null}]}` + "\n\n" + part("yes") + fin, text: "yes"},
		{name: "delta and an empty message", body: `data: {"choices":[{"index":0,"delta":{"content":"yes"},"message":{"role":"assistant","content":""}}]}` + "\n\n" + fin, text: "yes"},
		{name: "null as an event", body: "data: null\n\n" + part("yes") + fin, text: "yes"},
		{name: "ping as an event", body: "data: ping\n\n" + part("yes") + "data: [HEARTBEAT]\n\n" + fin, text: "yes"},
		{name: "goodbye in lower case", body: part("yes") + "data: [done]\n\n", text: "yes"},
		{name: "empty error", body: `data: {"error":"","choices":[{"index":0,"delta":{"content":"yes"}}]}` + "\n\n" + fin, text: "yes"},
		{name: "a pair over two chunks", body: part(`a \ud83d`) + part(`\ude00 b`) + fin, text: "a 😀 b"},
		{name: "half a pair", body: part(`a \ud83d`) + part(` b`) + fin, text: "a \uFFFD b"},
		{name: "half a pair at the end", body: part(`a \ud83d`) + fin, text: "a \uFFFD"},
		{name: "bytes over two chunks", body: part("a \xe4\xb8") + part("\xad b") + fin, text: "a 中 b"},
		{name: "whole answer", kind: "application/json", body: `{"choices":[{"index":0,"message":{"content":"yes"},"finish_reason":"stop"}]}`, text: "yes"},
		{name: "error field", body: "error: {\"code\":400,\"message\":\"MARK exceeds the available context size\"}\n\ndata: [DONE]\n\n", fails: "MARK", class: llmerr.ClassContext},
		{name: "error field in the middle", body: part("half") + "error: {\"code\":500,\"message\":\"MARK\"}\n\n", text: "half", fails: "MARK"},
		{name: "error in a choice", body: part("half") + `data: {"choices":[{"index":0,"delta":{},"finish_reason":"error","error":{"message":"MARK","code":502}}]}` + "\n\ndata: [DONE]\n\n", text: "half", fails: "MARK"},
		{name: "bare error line", body: "{\"error\":{\"message\":\"MARK\"}}\n", fails: "MARK"},
		{name: "event of an error", body: "event: error\ndata: MARK\n\n", fails: "MARK"},
		{name: "words as an event", body: "data: MARK internal server error\n\n", fails: "MARK"},
		{name: "empty with stop", body: part("") + fin, text: ""},
		{name: "empty with length", body: part("") + end(`"length"`), text: ""},
	}
	for _, reason := range []string{"error", "abort", "aborted", "cancelled", "timeout", "network_error", "malformed_function_call",
		"MALFORMED_FUNCTION_CALL", "insufficient_system_resource", "unknown", "other", "FINISH_REASON_OTHER", "xyz"} {
		list = append(list, odd{name: "ends with " + reason, body: part("half") + end(`"`+reason+`"`), text: "half", fails: "", class: llmerr.ClassNetwork},
			odd{name: "nothing, with " + reason, body: part("") + end(`"`+reason+`"`), class: llmerr.ClassNetwork})
	}
	for _, reason := range []string{`"stop"`, `"STOP"`, `"end_turn"`, `"eos"`, `"eos_token"`, `"stop_sequence"`, `"COMPLETE"`,
		`"completed"`, `"FINISH_REASON_STOP"`, `"length"`, `"MAX_TOKENS"`, `"model_context_window_exceeded"`,
		`"max_output_tokens"`, `"content_filter"`, `"SAFETY"`, `""`, `"null"`, `null`, `{}`, `[]`, `true`} {
		list = append(list, odd{name: "ends well with " + reason, body: part("yes") + end(reason), text: "yes"})
	}
	for _, body := range []string{`{"error":{"message":"MARK"}}`, `{"error":"MARK"}`, `{"errors":[{"message":"MARK"}]}`,
		`{"errors":["MARK"]}`, `{"errors":"MARK"}`, `{"message":"MARK"}`, `{"msg":"MARK","code":1}`, `{"detail":"MARK"}`,
		`{"detail":[{"loc":["body"],"msg":"MARK"}]}`, `{"detail":{"message":"MARK"}}`, `{"error":{"error":{"message":"MARK"}}}`,
		`{"error":{"msg":"MARK"}}`, `{"error_msg":"MARK","error_code":17}`, `{"error_description":"MARK"}`,
		`{"errorMessage":"MARK"}`, `{"Error":{"Code":"x","Message":"MARK"}}`, `{"fault":{"faultstring":"MARK"}}`,
		`{"success":false,"message":"MARK"}`, `{"object":"error","message":"MARK"}`, `{"title":"MARK","status":400}`,
		`[{"error":{"message":"MARK"}}]`, `{"error":{"message":["MARK"]}}`, `{"error":"{\"message\":\"MARK\"}"}`,
		`{"error":{"details":[{"reason":"MARK"}]}}`, `{"base_resp":{"status_code":1004,"status_msg":"MARK"}}`,
		`{"response":{"error":{"message":"MARK"}}}`, `{"header":{"code":10013,"message":"MARK"}}`, `MARK`, `"MARK"`} {
		list = append(list, odd{name: "refused with " + body, kind: "application/json", status: 400, body: body, fails: "MARK"})
		if body[0] == '{' {
			list = append(list, odd{name: "at 200 " + body, kind: "application/json", body: body, fails: "MARK"},
				odd{name: "streamed " + body, body: "data: " + body + "\n\ndata: [DONE]\n\n", fails: "MARK"})
		}
	}
	return list
}

// TestOddAnswersAreReadAsMeant asks a real server which answers in the ways that were seen at servers.
func TestOddAnswersAreReadAsMeant(t *testing.T) {
	t.Parallel()
	for _, c := range oddAnswers() {
		for _, packed := range []bool{false, true} {
			name := c.name
			if packed {
				name += ", packed"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				got, err := askOdd(t, c, packed)
				if wrong := c.class != "" || c.fails != ""; (err != nil) != wrong {
					t.Fatalf("it failed: %v; the text is %q", err, got.Content.Text)
				}
				if err != nil {
					e := llmerr.Of(err)
					if e == nil || !strings.Contains(e.Message, c.fails) || strings.Contains(e.Message, `{"`) && c.fails != "" ||
						c.class != "" && e.Class != c.class {
						t.Errorf("the error is %v", err)
					}
				}
				thought, _ := got.Kwargs["reasoning_content"].(string)
				if got.Content.Text != c.text || thought != c.thought {
					t.Errorf("the text is %q, the thought %q", got.Content.Text, thought)
				}
				var calls []string
				for _, call := range got.ToolCalls {
					calls = append(calls, call.Name+" "+string(call.Args))
				}
				if s := strings.Join(calls, "|"); s != c.calls {
					t.Errorf("the calls are %q", s)
				}
			})
		}
	}
}

func askOdd(t *testing.T, c odd, packed bool) (*agent.Message, error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		kind := c.kind
		if kind == "" {
			kind = "text/event-stream"
		}
		w.Header().Set("Content-Type", kind)
		body := []byte(c.body)
		if packed {
			w.Header().Set("Content-Encoding", "gzip")
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			must.Try(z.Write(body))(t)
			must.Report(t, z.Close())
			body = b.Bytes()
		}
		if c.status != 0 {
			w.WriteHeader(c.status)
		}
		must.Try(w.Write(body))(t)
	}))
	t.Cleanup(server.Close)
	m := must.Get(openai.New(openai.Config{Name: "odd", Model: "odd", BaseURL: server.URL, Timeout: time.Minute,
		Lessons: &openai.Lessons{}}))(t)
	return agent.Collect("m", m.Stream(t.Context(), &agent.Request{Messages: []*agent.Message{
		{ID: "h", Type: agent.TypeHuman, Content: agent.Text("hi")}}}))
}
