package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/llm/llmerr"
	"fawn/agent/llm/openai"
)

func named(t *testing.T, name string) openai.Dialect {
	t.Helper()
	d, ok := openai.DialectNamed(name)
	if !ok {
		t.Fatalf("no dialect %s", name)
	}
	return d
}

// history is a turn with a call and one without, as a thread has them which another model began.
func history(id string) []*agent.Message {
	return []*agent.Message{say("one"),
		{Type: agent.TypeAI, Content: agent.Text("first"), Kwargs: map[string]any{"reasoning_content": "why first"}},
		say("two"), {Type: agent.TypeAI, ToolCalls: []agent.ToolCall{{ID: id, Name: "ls"}}},
		{Type: agent.TypeTool, ToolCallID: id, Content: agent.Text("x")},
		{Type: agent.TypeAI, Content: agent.Text("second"), Kwargs: map[string]any{"reasoning_content": "why second"}},
		say("three")}
}

func TestEachDialectTakesWhatAnotherModelBegan(t *testing.T) {
	long := "call_" + strings.Repeat("x", 60)
	for name, c := range map[string]struct {
		model        string
		thinking     bool
		has, hasNot  []string
		messageCount int
	}{
		"deepseek":   {"deepseek-chat", true, []string{`"reasoning_content":" "`, "why second"}, []string{"why first"}, 7},
		"moonshot":   {"kimi-k2.5", false, []string{"why first", "why second"}, []string{`"reasoning_content":" "`}, 7},
		"openrouter": {"x/y", true, []string{`"reasoning":"why first"`}, []string{"reasoning_content"}, 7},
		"openai":     {"gpt-5", true, []string{`"call_`}, []string{"why", long}, 7},
		"gemini":     {"gemini-3-pro", true, []string{"skip_thought_signature_validator"}, []string{"why"}, 7},
		"qwen":       {"qwen3", true, nil, []string{"why", "extra_content"}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			body, _ := sent(t, openai.Config{Model: c.model, Dialect: named(t, name)},
				&agent.Request{Messages: history(long), Options: agent.ModelOptions{Thinking: c.thinking}})
			raw := string(body["messages"])
			for _, s := range c.has {
				if !strings.Contains(raw, s) {
					t.Errorf("%q is missing in %s", s, raw)
				}
			}
			for _, s := range c.hasNot {
				if strings.Contains(raw, s) {
					t.Errorf("%q is in %s", s, raw)
				}
			}
			var list []struct {
				CallID string `json:"tool_call_id"`
				Calls  []struct{ ID string }
				Tools  []struct{ ID string } `json:"tool_calls"`
			}
			if err := json.Unmarshal(body["messages"], &list); err != nil || len(list) != c.messageCount {
				t.Fatalf("%d messages, %v", len(list), err)
			}
			if list[3].Tools[0].ID != list[4].CallID {
				t.Errorf("the call is %s, its result %s", list[3].Tools[0].ID, list[4].CallID)
			}
		})
	}
	body, _ := sent(t, openai.Config{Model: "gemini-2.5-flash", Dialect: named(t, "gemini")},
		&agent.Request{Messages: history("c")})
	if strings.Contains(string(body["messages"]), "signature") {
		t.Error("a model that needs no signature was given one")
	}
}

func TestMessagesOfTheUserInARowAreJoinedForTemplates(t *testing.T) {
	image := agent.Content{
		Blocks: []json.RawMessage{
			json.RawMessage(`{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}`),
		},
	}
	list := []*agent.Message{say("a"), say("b"), {Type: agent.TypeHuman, Content: image},
		{Type: agent.TypeAI, Content: agent.Text("c")}, say("d"), say("e")}
	body, _ := sent(t, openai.Config{Dialect: named(t, "vllm")}, &agent.Request{Messages: list})
	want := `[{"content":[{"type":"text","text":"a\n\nb"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}],"role":"user"},{"role":"assistant","content":"c"},{"role":"user","content":"d\n\ne"}]`
	var a, b any
	if json.Unmarshal(body["messages"], &a) != nil || json.Unmarshal([]byte(want), &b) != nil ||
		fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("sent %s", body["messages"])
	}
	if list[0].Content.Text != "a" || list[4].Content.Text != "d" {
		t.Error("the messages of the thread were changed")
	}
}

// MiniMax tells failures at status 200.
func TestMinimaxFailuresAreFailures(t *testing.T) {
	for code, want := range map[int]string{1002: llmerr.ClassBurst, 1004: llmerr.ClassAuth, 1008: llmerr.ClassQuota,
		1013: llmerr.ClassBusy, 1039: llmerr.ClassContext, 2013: llmerr.ClassInvalid, 9999: llmerr.ClassGeneric} {
		for _, kind := range []string{"application/json", "text/event-stream"} {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", kind)
				head := ""
				if kind != "application/json" {
					head = "data: "
				}
				fmt.Fprintf(w, `%s{"id":"1","choices":null,"base_resp":{"status_code":%d,"status_msg":"not today"}}`+
					"\n\n", head, code)
				if head != "" {
					io.WriteString(w, "data: [DONE]\n\n")
				}
			}))
			_, err := agent.Collect("m",
				open(t, openai.Config{BaseURL: s.URL, Dialect: named(t, "minimax")}).Stream(t.Context(),
					&agent.Request{Messages: []*agent.Message{say("x")}}))
			s.Close()
			if e := llmerr.Of(err); e == nil || e.Class != want || e.Message != "not today" {
				t.Errorf("%d as %s is %v", code, kind, err)
			}
		}
	}
}
