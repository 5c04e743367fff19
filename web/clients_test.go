package web_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web/webtest"
)

// openWebUITask begins as Open WebUI's own requests about a chat do (utils/task.py and config.py of version 0.12.4).
func openWebUITask(what string) string {
	return "### Task:\n" + what + "\n### Chat History:\n<chat_history>\nUSER: hello\nASSISTANT: Hello.\n</chat_history>"
}

// conversations lists the threads that people see.
func (s *server) conversations(t *testing.T) int {
	t.Helper()
	return len(decoded[[]any](t, s.send(t, "POST", "/threads/search", `{"limit": 100, "select": ["thread_id"]}`)))
}

// TestOpenWebUI sends what Open WebUI 0.12.4 sends (routers/openai.py, routers/tasks.py and utils/headers.py of its package): the list
// of models, a streamed turn with settings that have no effect here, a second one whose history it has put together anew, and
// its own requests for a title, tags and follow-ups, which belong to no conversation.
func TestOpenWebUI(t *testing.T) {
	t.Parallel()
	for _, forwards := range []bool{true, false} { // ENABLE_FORWARD_USER_INFO_HEADERS
		s := start(t, scripted(t))
		headers := []string{"Authorization", "Bearer none"}
		if forwards {
			headers = append(headers, "X-OpenWebUI-User-Name", "Ann%20B", "X-OpenWebUI-User-Id", "u1", "X-OpenWebUI-User-Email", "ann@example.org",
				"X-OpenWebUI-User-Role", "admin", "X-OpenWebUI-Chat-Id", "chat-1")
		}
		post := func(body map[string]any) answer {
			t.Helper()
			b, err := json.Marshal(body)
			must.Do(t, err)
			a := s.send(t, "POST", "/v1/chat/completions", string(b), headers...)
			a.must(t, b, 200)
			return a
		}
		s.send(t, "GET", "/v1/models", "", headers...).want(t, "models", 200, `"id":"lead_agent"`, `"object":"list"`)
		settings := func(messages ...any) map[string]any {
			return map[string]any{"stream": true, "model": "lead_agent", "messages": messages, "stream_options": map[string]any{"include_usage": true},
				"temperature": 0.7, "top_p": 0.9, "max_tokens": 1000, "seed": 1, "stop": []string{"END"}, "logit_bias": map[string]int{"1": 2},
				"reasoning_effort": "low", "tools": []any{map[string]any{"type": "function", "function": map[string]any{"name": "x", "parameters": map[string]any{"type": "object"}}}}}
		}
		text := `SCRIPT{"turns":[{"text":"Let me look.","tool_calls":[{"name":"ls","args":{"description":"look","path":"/mnt/user-data"}}]},{"text":"There is  nothing.\n\nSorry."}]}`
		pixel := "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
		user := map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": text},
			map[string]any{"type": "image_url", "image_url": map[string]any{"url": pixel}}}}
		first := post(settings(user))
		said, usage := streamedText(t, first.body)
		if said != "Let me look.\n\nThere is  nothing.\n\nSorry." || !usage {
			t.Errorf("streamed %q, usage %v: %s", said, usage, first.body)
		}
		thread := first.header.Get("X-Thread-Id")
		// It leaves reasoning out, and joins the texts around it by a line.
		second := post(settings(user, map[string]any{"role": "assistant", "content": "Let me look.\n\n\nThere is  nothing.\n\nSorry."},
			map[string]any{"role": "user", "content": answers("Again.")}))
		if second.header.Get("X-Thread-Id") != thread {
			t.Errorf("forwards %v: the second turn is in another thread", forwards)
		}
		before := s.send(t, "GET", "/threads/"+thread+"/state", "").body
		for what, budget := range map[string]string{"Generate a concise title summarizing the chat history.": "max_tokens",
			"Generate 1-3 broad tags categorizing the main themes of the chat history": "max_completion_tokens", "Predict 3-5 useful messages": "max_tokens"} {
			a := post(map[string]any{"model": "lead_agent", "stream": false, budget: 1000,
				"messages": []any{map[string]any{"role": "user", "content": openWebUITask(what)}}})
			if c := webtest.Decode[completion](t, a.body); len(c.Choices) != 1 || c.Choices[0].Message.Content == "" || a.header.Get("X-Thread-Id") == thread {
				t.Errorf("%s: %s", what, a.body)
			}
		}
		webtest.Same(t, fmt.Sprintf("forwards %v: requests of the program's own are part of the conversation", forwards), s.send(t, "GET", "/threads/"+thread+"/state", "").body, before)
		webtest.Same(t, fmt.Sprintf("forwards %v: there are … chats, want one", forwards), s.conversations(t), 1)
		pipeline := settings(user)
		pipeline["user"] = map[string]string{"name": "Ann", "id": "u1", "email": "ann@example.org", "role": "admin"}
		post(pipeline)
	}
}

// TestLibreChat sends what LibreChat sends to a custom endpoint (its documentation's default parameters, headers with
// {{LIBRECHAT_BODY_CONVERSATIONID}}, and the prompts for titles of @librechat/agents): one conversation, named, and a title beside it.
func TestLibreChat(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t))
	headers := []string{"Authorization", "Bearer none", "X-Conversation-Id", "7d1c8a52-0000-4000-8000-000000000001"}
	post := func(body map[string]any) answer {
		t.Helper()
		b, err := json.Marshal(body)
		must.Do(t, err)
		a := s.send(t, "POST", "/v1/chat/completions", string(b), headers...)
		a.must(t, b, 200)
		return a
	}
	turn := func(messages ...any) map[string]any {
		return map[string]any{"model": "lead_agent", "temperature": 1, "top_p": 1, "presence_penalty": 0, "frequency_penalty": 0,
			"user": "65f0c0ffee", "stream": true, "stream_options": map[string]any{"include_usage": true}, "messages": messages}
	}
	user := map[string]any{"role": "user", "content": answers("Hello.")}
	first := post(turn(user))
	if said, _ := streamedText(t, first.body); said != "Hello." {
		t.Errorf("streamed %q", said)
	}
	for _, prompt := range []string{
		"Provide a concise, 5-word-or-less title for the conversation, using title case conventions. Only return the title itself.\n\nConversation:\nUser: hi\nAI: Hello.",
		"Analyze this conversation and provide:\n1. The detected language of the conversation\n2. A concise title\n\nUser: hi\nAI: Hello."} {
		a := post(map[string]any{"model": "lead_agent", "user": "65f0c0ffee", "stream": false,
			"messages": []any{map[string]any{"role": "user", "content": prompt}}})
		if a.header.Get("X-Thread-Id") == first.header.Get("X-Thread-Id") {
			t.Errorf("the title is asked for in the conversation itself")
		}
	}
	second := post(turn(user, map[string]any{"role": "assistant", "content": []any{map[string]any{"type": "text", "text": "Hello."}}},
		map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": answers("Still here.")},
			map[string]any{"type": "file", "file": map[string]any{"filename": "note.txt", "file_data": "data:text/plain;base64,aGVsbG8="}}}}))
	if said, _ := streamedText(t, second.body); said != "Still here." || second.header.Get("X-Thread-Id") != first.header.Get("X-Thread-Id") {
		t.Errorf("the second turn: %q in %s", said, second.header.Get("X-Thread-Id"))
	}
	webtest.Same(t, "there are … chats, want one", s.conversations(t), 1)
	// A title by a tool that the model has to call is refused with a sentence, and LibreChat falls back to its own title.
	a := s.send(t, "POST", "/v1/chat/completions", `{"model":"lead_agent","messages":[{"role":"user","content":"x"}],"tools":[],"tool_choice":{"type":"function","function":{"name":"title"}}}`)
	a.want(t, "a forced tool", 400, "tool_choice")
}

// streamedText adds up the chunks of a stream, and tells whether it had counts of tokens.
func streamedText(t *testing.T, body string) (text string, usage bool) {
	t.Helper()
	for lines := bufio.NewScanner(strings.NewReader(body)); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		c := webtest.Decode[struct {
			Choices []struct{ Delta struct{ Content string } }
			Usage   *struct {
				Total int `json:"total_tokens"`
			}
		}](t, data)
		for _, choice := range c.Choices {
			text += choice.Delta.Content
		}
		usage = usage || c.Usage != nil && c.Usage.Total > 0
	}
	return text, usage
}
