package anthropic

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"fawn/agent"
	"fawn/agent/agenttest/must"
)

// TestAStreamCutAnywhereIsNeverAShortSuccess cuts the recorded answers at every byte, with and without
// a broken connection. What is left is an error, or the whole answer.
func TestAStreamCutAnywhereIsNeverAShortSuccess(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.sse")
	if err != nil || len(paths) < 2 {
		t.Fatal(paths, err)
	}
	readAll := func(body io.Reader) (*agent.Message, error) {
		var c agent.Collector
		err := read(&http.Response{Header: http.Header{"Content-Type": {"text/event-stream"}},
			Body: io.NopCloser(body)}, func(k agent.Chunk, _ error) bool { c.Add(k); return true }, func() {})
		return c.Message("m", err == nil), err
	}
	for _, path := range paths {
		raw := must.Get(os.ReadFile(path))(t)
		stream := string(raw)
		whole, err := readAll(strings.NewReader(stream))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		failed := 0
		for at := range len(stream) {
			for _, end := range []error{io.EOF, io.ErrUnexpectedEOF} {
				got, err := readAll(io.MultiReader(strings.NewReader(stream[:at]), iotest.ErrReader(end)))
				switch {
				case err != nil:
					failed++
				case got.Content.Text != whole.Content.Text || !reflect.DeepEqual(got.ToolCalls, whole.ToolCalls) ||
					!reflect.DeepEqual(got.Kwargs, whole.Kwargs) || len(got.Invalid) > 0:
					t.Fatalf("%s cut at byte %d ends as a success with %+v", path, at, got)
				case !strings.Contains(stream[:at], `"stop_reason":"`):
					t.Fatalf("%s cut at byte %d, before the reason of its end, is a success", path, at)
				}
			}
		}
		if failed < len(stream) {
			t.Errorf("%s: only %d cuts are failures", path, failed)
		}
	}
}

// anyMessage is a message of a log that may be anything: other providers' calls, thoughts without
// signatures, blank words, results nobody asked for.
func anyMessage(t *rapid.T, i int) *agent.Message {
	m := &agent.Message{ID: fmt.Sprint(i),
		Content: agent.Text(rapid.SampledFrom([]string{"", " ", "words ", "a\n"}).Draw(t, "text"))}
	id := func() string {
		return rapid.SampledFrom([]string{"", "a", "b:1", "functions.ls:0", "toolu_1"}).Draw(t, "id")
	}
	switch rapid.IntRange(0, 4).Draw(t, "type") {
	case 0:
		m.Type = agent.TypeHuman
	case 1:
		m.Type = agent.TypeTool
		m.ToolCallID = id()
		m.Status = rapid.SampledFrom([]string{"", "error"}).Draw(t, "status")
	case 2:
		m.Type = agent.TypeSystem
	default:
		m.Type = agent.TypeAI
		for range rapid.IntRange(0, 3).Draw(t, "calls") {
			m.ToolCalls = append(m.ToolCalls,
				agent.ToolCall{ID: id(), Name: "ls",
					Args: json.RawMessage(rapid.SampledFrom([]string{"", "{}", "[1]", `{"a":1}`}).Draw(t, "args"))})
		}
		switch rapid.IntRange(0, 3).Draw(t, "thought") {
		case 0:
			m.Kwargs = map[string]any{"reasoning_content": "hm",
				keyThoughts: []any{map[string]any{"bytes": 2.0, "signature": "s"}, map[string]any{"data": "x"}}}
		case 1:
			m.Kwargs = map[string]any{"reasoning_content": "of another provider"}
		case 2:
			m.Kwargs = map[string]any{"reasoning_content": "changed",
				keyThoughts: []any{map[string]any{"bytes": 2.0, "signature": "s"}}}
		}
	}
	return m
}

// body is the transport of a provider that says nothing, and what it was sent last.
type body []byte

func (b *body) RoundTrip(r *http.Request) (_ *http.Response, err error) {
	if *b, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

// TestEveryRequestKeepsTheRulesOfTheAPI, whatever the log holds and wherever it is cut: a person first,
// roles in turn, results first and for the calls in front of them, no blank words, thoughts where they
// have to be, not more marks for the cache than allowed.
func TestEveryRequestKeepsTheRulesOfTheAPI(t *testing.T) {
	var sent body
	m := must.Get(New(Config{Model: "m", ThinkingOn: object{"thinking": object{"type": "enabled", "budget_tokens": 1024}},
		MaxTokens: 1000, Client: &http.Client{Transport: &sent}}))(t)
	rapid.Check(t, func(t *rapid.T) {
		var s agent.State
		for i := range rapid.IntRange(0, 12).Draw(t, "length") {
			s.Messages = append(s.Messages, anyMessage(t, i))
		}
		think := rapid.Bool().Draw(t, "thinking")
		_, err := m.open(t.Context(),
			agent.BuildRequest("", &s, []*agent.Tool{{Name: "ls"}}, agent.ModelOptions{Thinking: think}))
		if err != nil {
			t.Fatal(err)
		}
		if problem := broken(sent); problem != "" {
			t.Fatalf("%s\n%s", problem, sent)
		}
	})
}

// broken names the rule a request breaks, or is "".
func broken(raw []byte) string {
	var body struct {
		MaxTokens int `json:"max_tokens"`
		Thinking  struct {
			Type   string
			Budget int `json:"budget_tokens"`
		} `json:"thinking"`
		Messages []struct {
			Role    string
			Content []map[string]any
		}
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return err.Error()
	}
	if body.Thinking.Type == "enabled" && body.Thinking.Budget >= body.MaxTokens {
		return "the limit is below the budget"
	}
	if strings.Count(string(raw), `"cache_control"`) > 4 {
		return "too many marks"
	}
	var open []string // calls of the message before
	for i, msg := range body.Messages {
		if want := []string{"user", "assistant"}[i%2]; msg.Role != want {
			return fmt.Sprintf("message %d is of %s", i, msg.Role)
		}
		if len(msg.Content) == 0 {
			return fmt.Sprintf("message %d is empty", i)
		}
		var calls []string
		spoke := false
		for _, b := range msg.Content {
			switch b["type"] {
			case "text":
				spoke = true
				text, _ := b["text"].(string)
				if strings.TrimSpace(text) == "" || msg.Role == "assistant" && strings.TrimRight(text, " \n") != text {
					return fmt.Sprintf("message %d has a blank", i)
				}
			case "tool_use":
				spoke = true
				if _, ok := b["input"].(map[string]any); !ok {
					return "input is no object"
				}
				calls = append(calls, b["id"].(string))
			case "tool_result":
				if id, _ := b["tool_use_id"].(string); spoke || len(open) == 0 || open[0] != id {
					return fmt.Sprintf("message %d: the result of %v stands in the wrong place", i, b["tool_use_id"])
				}
				open = open[1:]
			}
		}
		if len(open) > 0 {
			return fmt.Sprintf("message %d leaves calls open", i)
		}
		seen := map[string]bool{}
		for _, id := range calls {
			if seen[id] || strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" ||
				id == "" {
				return "the id " + id + " is not allowed, or not unique"
			}
			seen[id] = true
		}
		open = calls
	}
	n := len(body.Messages)
	if n > 0 && body.Messages[n-1].Role != "user" {
		return "" // the chain's Continuation sees to that
	}
	if n > 1 && body.Thinking.Type == "enabled" && body.Messages[n-1].Content[0]["type"] == "tool_result" {
		if first := body.Messages[n-2].Content[0]["type"]; first != "thinking" && first != "redacted_thinking" {
			return "thinking is on, and the calls came without a thought"
		}
	}
	return ""
}
