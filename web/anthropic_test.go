package web_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"fawn/web/webtest"
)

// claude is a provider with Anthropic's API: it gives its answers one by one, and keeps what it was sent.
type claude struct {
	*httptest.Server
	sent chan claudeRequest
}

// claudeRequest is a request as it arrived.
type claudeRequest struct {
	head http.Header
	raw  string
	body struct {
		Stream   bool
		Thinking struct{ Type string }
		System   []map[string]any
		Tools    []map[string]any
		Messages []claudeTurn
	}
}

type claudeTurn struct {
	Role    string
	Content []map[string]any
}

func startClaude(t *testing.T, answers ...[]string) *claude {
	t.Helper()
	c := &claude{sent: make(chan claudeRequest, len(answers))}
	left := make(chan []string, len(answers))
	for _, a := range answers {
		left <- a
	}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet { // the question for the window is no call
			http.NotFound(w, r)
			return
		}
		got := claudeRequest{head: r.Header}
		body, err := io.ReadAll(r.Body)
		if err == nil {
			got.raw, err = string(body), json.Unmarshal(body, &got.body)
		}
		if err != nil || r.URL.Path != "/v1/messages" {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		select {
		case events := <-left:
			c.sent <- got
			w.Header().Set("Content-Type", "text/event-stream")
			for _, data := range events {
				var e struct{ Type string }
				if err := json.Unmarshal([]byte(data), &e); err != nil {
					t.Error(err)
				}
				fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e.Type, data)
			}
		default:
			t.Errorf("nobody expected the request %s", body)
			http.Error(w, "no more answers", http.StatusTeapot)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// claudeAnswer is the stream of an answer with these events for its blocks.
func claudeAnswer(stop string, blocks ...string) []string {
	out := []string{`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-test-1","content":[],"stop_reason":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":300,"cache_read_input_tokens":200,"output_tokens":1}}}`}
	out = append(out, blocks...)
	return append(out,
		`{"type":"message_delta","delta":{"stop_reason":"`+stop+`","stop_sequence":null},"usage":{"output_tokens":40}}`,
		`{"type":"message_stop"}`)
}

// claudeBlock is a block that begins as start and grows by deltas.
func claudeBlock(index int, start string, deltas ...string) []string {
	out := []string{fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, start)}
	for _, d := range deltas {
		out = append(out, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, d))
	}
	return append(out, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
}

// marks are the lists that end in a mark for the cache; the marks are taken out.
func (r *claudeRequest) marks() (out []string) {
	take := func(name string, list []map[string]any) {
		for i, b := range list {
			if b["cache_control"] == nil {
				continue
			}
			if i < len(list)-1 {
				name += " inside"
			}
			out = append(out, name)
			delete(b, "cache_control")
		}
	}
	take("system", r.body.System)
	take("tools", r.body.Tools)
	for i, m := range r.body.Messages {
		take(fmt.Sprintf("%s %d", m.Role, i), m.Content)
	}
	return out
}

// TestAnthropicThroughTheWholeServer is a thread with thoughts, a call and a second turn: each request
// carries what came before byte for byte, its results with their calls, and the marks for the cache.
func TestAnthropicThroughTheWholeServer(t *testing.T) {
	t.Parallel()
	const thought, signature, hidden = "Let me look: <a> & \"b\" ✓", "EqoBCkgIARABGAIiQL8v/+yz==",
		"EmwKAhgBEgy3va3pzix/+hidden=="
	var calls []string
	calls = append(calls, claudeBlock(0, `{"type":"thinking","thinking":"","signature":""}`,
		`{"type":"thinking_delta","thinking":"Let me look: "}`, `{"type":"thinking_delta","thinking":"<a> & \"b\" ✓"}`,
		`{"type":"signature_delta","signature":"`+signature+`"}`)...)
	calls = append(calls, claudeBlock(1, `{"type":"redacted_thinking","data":"`+hidden+`"}`)...)
	calls = append(calls, claudeBlock(2, `{"type":"text","text":""}`, `{"type":"text_delta","text":"I look."}`)...)
	calls = append(calls, claudeBlock(3, `{"type":"tool_use","id":"toolu_01","name":"write_file","input":{}}`,
		`{"type":"input_json_delta","partial_json":"{\"description\":\"x\",\"path\":\"/mnt/user-data/works"}`,
		`{"type":"input_json_delta","partial_json":"pace/note.txt\",\"content\":\"kept\"}"}`)...)
	calls = append(calls, claudeBlock(4, `{"type":"tool_use","id":"toolu_02","name":"ls","input":{}}`,
		`{"type":"input_json_delta","partial_json":"{\"description\":\"x\",\"path\":\"/mnt/none\"}"}`)...)
	words := func(s string) []string {
		return claudeBlock(0, `{"type":"text","text":""}`, `{"type":"text_delta","text":"`+s+`"}`)
	}
	provider := startClaude(t, claudeAnswer("tool_use", calls...), claudeAnswer("end_turn", words("It is written.")...),
		claudeAnswer("end_turn", words("You are welcome.")...))
	s := start(t, fmt.Sprintf("title: {enabled: false}\nmemory: {enabled: false}\nmodels: [{name: claude, use: 'langchain_anthropic:ChatAnthropic', model: claude-test-1, base_url: %q, api_key: sk-ant-0123456789, supports_thinking: true, betas: [a-1, b-2]}]\n",
		provider.URL))
	thread := "/threads/" + decoded[struct {
		ID string `json:"thread_id"`
	}](t, s.send(t, "POST", "/threads", "{}")).ID
	for _, text := range []string{"Write it down.", "Thanks."} {
		s.send(t, "POST", thread+"/runs/wait", human(text)).must(t, "the answer", http.StatusOK, "!__error__")
	}
	var asked [3]claudeRequest
	var marked [3][]string
	for i := range asked {
		asked[i] = <-provider.sent
		marked[i] = asked[i].marks()
		r := asked[i]
		if r.head.Get("X-Api-Key") != "sk-ant-0123456789" || r.head.Get("Anthropic-Beta") != "a-1,b-2" ||
			!r.body.Stream || r.body.Thinking.Type != "enabled" || len(r.body.Tools) == 0 {
			t.Errorf("request %d: %v %s", i, r.head, r.raw)
		}
	}
	turns := func(i int) []claudeTurn { return asked[i].body.Messages }
	if n := []int{len(turns(0)), len(turns(1)), len(turns(2))}; !reflect.DeepEqual(n, []int{1, 3, 5}) {
		t.Fatalf("%v turns", n)
	}
	for i := range 2 {
		if !reflect.DeepEqual(turns(i), turns(i + 1)[:len(turns(i))]) ||
			!reflect.DeepEqual(asked[i].body.System, asked[i+1].body.System) ||
			!reflect.DeepEqual(asked[i].body.Tools, asked[i+1].body.Tools) {
			t.Errorf("request %d does not begin as the one before:\n%s\n%s", i+1, asked[i].raw, asked[i+1].raw)
		}
	}
	want := []map[string]any{
		{"type": "thinking", "thinking": thought, "signature": signature},
		{"type": "redacted_thinking", "data": hidden},
		{"type": "text", "text": "I look."},
		{"type": "tool_use", "id": "toolu_01", "name": "write_file", "input": map[string]any{"description": "x", "path": "/mnt/user-data/workspace/note.txt", "content": "kept"}},
		{"type": "tool_use", "id": "toolu_02", "name": "ls", "input": map[string]any{"description": "x", "path": "/mnt/none"}},
	}
	if got := turns(1)[1]; got.Role != "assistant" || !reflect.DeepEqual(got.Content, want) {
		t.Errorf("the answer goes back as %v", got)
	}
	results := turns(1)[2]
	if len(results.Content) != 2 || results.Role != "user" {
		t.Fatalf("the results are %v", results)
	}
	for i, r := range results.Content {
		if r["type"] != "tool_result" || r["tool_use_id"] != fmt.Sprintf("toolu_0%d", i+1) ||
			(r["is_error"] == true) != (i == 1) {
			t.Errorf("result %d is %v", i, r)
		}
	}
	if want := [3][]string{{"system", "user 0"}, {"system", "user 0", "user 2"},
		{"system", "user 2", "user 4"}}; !reflect.DeepEqual(marked, want) {
		t.Errorf("the marks are %v, want %v", marked, want)
	}
	state := s.send(t, "GET", thread+"/state", "").body
	webtest.Holds(t, "the state", state, `"cache_read":200`, `"cache_creation":300`, `"input_tokens":510`, `"model_name":"claude-test-1"`, "You are welcome.")
}
