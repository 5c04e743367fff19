package llm_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/llm"
)

// sent is a request as a strict server looks at it.
type sent struct {
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		Calls   []struct {
			ID string `json:"id"`
		} `json:"tool_calls"`
		CallID string `json:"tool_call_id"`
	} `json:"messages"`
	Tools []any `json:"tools"`
}

// blocks are the kinds of the parts of message i; nil for text.
func (s *sent) blocks(i int) (kinds []string) {
	var list []struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(s.Messages[i].Content, &list) != nil {
		return nil
	}
	for _, b := range list {
		kinds = append(kinds, b.Type)
	}
	return kinds
}

func (s *sent) role(role string) bool {
	for _, m := range s.Messages {
		if m.Role == role {
			return true
		}
	}
	return false
}

// strict is a server that refuses what its kind refuses, in its words.
type strict struct {
	name    string
	status  int
	refuses func(s *sent) string
}

func stricts() []strict {
	const detail = `{"detail":[{"loc":["body","messages",0,"role"],"msg":%q,"type":"x"}]}`
	ids := regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)
	usual := regexp.MustCompile(`^[a-zA-Z0-9_.:-]{1,64}$`)
	text := func(words string) string {
		b, _ := json.Marshal(words)
		return `{"error":{"message":` + string(b) + `}}`
	}
	known := func(kinds ...string) func(*sent) string {
		return func(s *sent) string {
			for i := range s.Messages {
				for _, k := range s.blocks(i) {
					if !slices.Contains(kinds, k) {
						return text("Invalid value: '" + k + "'. Supported values are: " + strings.Join(kinds, ", ") + ".")
					}
				}
			}
			return ""
		}
	}
	alternate := func(words string) func(*sent) string {
		return func(s *sent) string { // as templates count: without calls and results
			next := "user"
			for i, m := range s.Messages {
				if m.Role == "system" && i == 0 || m.Role == "tool" || len(m.Calls) > 0 {
					continue
				}
				if m.Role != next {
					return text(words)
				}
				next = map[string]string{"user": "assistant", "assistant": "user"}[m.Role]
			}
			return ""
		}
	}
	without := func(role, words string) func(*sent) string {
		return func(s *sent) string {
			if s.role(role) {
				return words
			}
			return ""
		}
	}
	return []strict{
		{"nothing", 400, func(*sent) string { return "" }},
		{"Mistral's ids", 400, func(s *sent) string {
			for _, m := range s.Messages {
				for _, c := range m.Calls {
					if !ids.MatchString(c.ID) {
						return text("Tool call id was " + c.ID + " but must be a-z, A-Z, 0-9, with a length of 9.")
					}
				}
				if m.CallID != "" && !ids.MatchString(m.CallID) {
					return text("Tool call id must be a-z, A-Z, 0-9, with a length of 9.")
				}
			}
			return ""
		}},
		{"ids without signs", 400, func(s *sent) string {
			for _, m := range s.Messages {
				for _, c := range m.Calls {
					if !usual.MatchString(c.ID) {
						return text("Invalid tool call id")
					}
				}
			}
			return ""
		}},
		{"no system role, Gemma's template", 500, without("system", text("System role not supported"))},
		{"no system role, Google", 400, without("system", text("Developer instruction is not enabled for models/gemma-3-27b-it"))},
		{"no system role", 400, without("system", text("This model does not support system messages"))},
		{"no tool role, FastAPI", 422, without("tool", fmt.Sprintf(detail, "Input should be 'system', 'user' or 'assistant'"))},
		{"no tool role", 400, without("tool", text("Unknown role: tool"))},
		{"only two roles", 500, without("tool", text("Only user and assistant roles are supported!"))},
		{"no null", 400, func(s *sent) string {
			for _, m := range s.Messages {
				if string(m.Content) == "null" || m.Content == nil {
					return text("Invalid value for 'content': expected a string, got null.")
				}
			}
			return ""
		}},
		{"no null, pydantic", 422, func(s *sent) string {
			for i, m := range s.Messages {
				if string(m.Content) == "null" || m.Content == nil {
					return fmt.Sprintf(`{"detail":[{"loc":["body","messages",%d,"content"],"msg":"none is not an allowed value"}]}`, i)
				}
			}
			return ""
		}},
		{"no empty text", 400, func(s *sent) string {
			for _, m := range s.Messages {
				if c := string(m.Content); c == "null" || c == `""` || c == "" {
					return text("messages: text content blocks must be non-empty")
				}
			}
			return ""
		}},
		{"turns, Jinja", 500, alternate("Conversation roles must alternate user/assistant/user/assistant/...")},
		{"turns", 400, alternate("After the optional system message, conversation roles must alternate user/assistant/user/assistant/...")},
		{"no user after a tool", 400, func(s *sent) string {
			for i, m := range s.Messages {
				if i > 0 && m.Role == "user" && s.Messages[i-1].Role == "tool" {
					return text("Unexpected role 'user' after role 'tool'")
				}
			}
			return ""
		}},
		{"the user first", 400, func(s *sent) string {
			for _, m := range s.Messages {
				if m.Role == "system" {
					continue
				}
				if m.Role != "user" {
					return text("The first message must be from the user")
				}
				return ""
			}
			return ""
		}},
		{"text and images only", 400, known("text", "image_url")},
		{"text only as text", 400, func(s *sent) string {
			for i := range s.Messages {
				if kinds := s.blocks(i); kinds != nil && !slices.Contains(kinds, "image_url") {
					return text("content must be a string")
				}
			}
			return ""
		}},
	}
}

// TestStrictServersAreSpokenToAsTheyWant sends each a conversation with all that such servers refuse.
func TestStrictServersAreSpokenToAsTheyWant(t *testing.T) {
	t.Parallel()
	block := func(texts ...string) agent.Content {
		c := agent.Content{}
		for _, s := range texts {
			c.Blocks = append(c.Blocks, json.RawMessage(s))
		}
		return c
	}
	const pdf = "JVBERi0xLjQK"
	on := true
	tools := []*agent.Tool{{Name: "ls", Description: "lists", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}}
	for _, first := range []string{agent.TypeHuman, agent.TypeAI} {
		conversation := []*agent.Message{
			{ID: "1", Type: first, Content: agent.Text("hello")},
			{ID: "2", Type: agent.TypeHuman, Content: block(`{"type":"text","text":"read these"}`,
				`{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,`+pdf+`"}}`,
				`{"type":"file","source_type":"base64","mime_type":"application/pdf","data":"`+pdf+`"}`,
				`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"`+pdf+`"}}`,
				`{"type":"input_file","filename":"b.pdf","file_data":"`+pdf+`"}`,
				`{"type":"file","base64":"aGVsbG8gZnJvbSBhIGZpbGU=","mime_type":"text/plain","filename":"c.txt"}`,
				`{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}}`,
				`{"type":"audio","base64":"UklGRg==","mime_type":"audio/mpeg"}`,
				`{"type":"video_url","video_url":{"url":"https://example.org/a.mp4"}}`,
				`{"type":"input_text","text":"as text"}`, `{"type":"odd","value":{"a":1}}`, `{"type":"file","file":{"file_id":"file-1"}}`,
				`{"type":5}`, `{"type":"image","url":5}`)},
			{ID: "3", Type: agent.TypeAI, ToolCalls: []agent.ToolCall{{ID: "functions.ls:0/ä", Name: "ls", Args: json.RawMessage(`{}`)},
				{ID: strings.Repeat("long", 30), Name: "ls", Args: json.RawMessage(`{}`)}}},
			{ID: "4", Type: agent.TypeTool, Name: "ls", ToolCallID: "functions.ls:0/ä", Content: agent.Text("a.txt")},
			{ID: "5", Type: agent.TypeTool, Name: "ls", ToolCallID: strings.Repeat("long", 30), Content: agent.Text("")},
			{ID: "6", Type: agent.TypeHuman, Content: agent.Text("and?")},
			{ID: "7", Type: agent.TypeHuman, Content: block(`{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}`)},
			{ID: "8", Type: agent.TypeAI, Content: agent.Text("A picture.")},
			{ID: "9", Type: agent.TypeAI, Content: agent.Text("It is red.")},
			{ID: "10", Type: agent.TypeHuman, Content: agent.Text("thanks")},
		}
		for _, server := range stricts() {
			for _, dialect := range []string{"compatible", "openai", "mistral", "vllm"} {
				for name, calls := range map[string]*bool{"native": &on, "perhaps": nil} {
					t.Run(server.name+", "+dialect+", "+name+", begins with "+first, func(t *testing.T) {
						t.Parallel()
						asked, why := 0, ""
						url := listenStrict(t, server, &asked, &why)
						m := must.Get(llm.New(llm.Config{Name: "m", BaseURL: url, Dialect: dialect, ToolCalls: calls}))(t)
						for range 2 {
							got, err := agent.Collect("m", m.Stream(t.Context(), &agent.Request{System: "Be kind.", Messages: conversation,
								Tools: tools}))
							if err != nil || got.Content.Text != "yes" {
								t.Fatalf("%v, %q after %d calls, the last refusal is %.3000s", err, got.Content.Text, asked, why)
							}
						}
						if asked > 5 {
							t.Errorf("asked %d times", asked)
						}
					})
				}
			}
		}
	}
}

func listenStrict(t *testing.T, server strict, asked *int, why *string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var req sent
		if err == nil {
			err = json.Unmarshal(body, &req)
		}
		if err != nil {
			t.Error(err)
		}
		*asked++
		for i := range req.Messages {
			for _, kind := range req.blocks(i) {
				if !slices.Contains([]string{"text", "image_url", "file", "input_audio"}, kind) {
					t.Errorf("sends a block %q", kind)
				}
			}
		}
		if no := server.refuses(&req); no != "" {
			*why = no + " of " + string(body)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(server.status)
			fmt.Fprint(w, no)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"yes\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s.URL
}
