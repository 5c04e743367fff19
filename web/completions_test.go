package web_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// completion is what clients read of a chat completion.
type completion struct {
	ID, Object, Model string
	Choices           []struct {
		Message struct {
			Role, Content string
			Reasoning     string `json:"reasoning_content"`
		}
		Finish string `json:"finish_reason"`
	}
	Usage struct {
		Prompt int `json:"prompt_tokens"`
		Total  int `json:"total_tokens"`
	}
	Error struct{ Message, Type, Param, Code string }
}

// dialog is a conversation as clients of chat completions keep it.
type dialog struct {
	s        *server
	headers  []string
	messages []map[string]any
	thread   string // of the last answer
}

func (d *dialog) says(t *testing.T, content any) string {
	t.Helper()
	d.messages = append(d.messages, map[string]any{"role": "user", "content": content})
	return d.again(t)
}

func (d *dialog) again(t *testing.T) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"model": "lead_agent", "messages": d.messages})
	must.Do(t, err)
	res, text := webtest.Send(t, d.s.client, "POST", d.s.url+"/v1/chat/completions", strings.NewReader(string(body)), d.headers...)
	c := webtest.Decode[completion](t, text)
	if res.StatusCode != http.StatusOK || len(c.Choices) != 1 {
		t.Fatalf("%d %s", res.StatusCode, text)
	}
	d.thread = res.Header.Get("X-Thread-Id")
	said := c.Choices[0].Message.Content
	d.messages = append(d.messages, map[string]any{"role": "assistant", "content": said})
	return said
}

func answers(texts ...string) string {
	turns := []map[string]string{}
	for _, text := range texts {
		turns = append(turns, map[string]string{"text": text})
	}
	b, _ := json.Marshal(map[string]any{"turns": turns}) // texts always encode
	return "SCRIPT" + string(b)
}

// TestAConversationIsOneThread sends whole conversations as clients of chat completions do: the thread has each message
// once, a regenerated answer is a branch of it, and a history nobody knows begins another with all that was said.
func TestAConversationIsOneThread(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t))
	d := &dialog{s: s, messages: []map[string]any{{"role": "system", "content": "Be brief."}}}
	if said := d.says(t, answers("One.")); said != "One." {
		t.Fatalf("said %q", said)
	}
	first := d.thread
	d.messages[len(d.messages)-1]["content"] = "One. \n" // clients trim or add space
	if said := d.says(t, answers("Two.")); said != "Two." || d.thread != first {
		t.Errorf("said %q in %s, want it in %s", said, d.thread, first)
	}
	count := func(thread string) string {
		var roles []string
		state := webtest.Decode[struct {
			Values struct{ Messages []struct{ Type string } }
		}](t, s.send(t, "GET", "/threads/"+thread+"/state", "").body)
		for _, m := range state.Values.Messages {
			roles = append(roles, m.Type)
		}
		return strings.Join(roles, " ")
	}
	webtest.Same(t, "the thread has", count(first), "system human ai human ai")
	d.messages = d.messages[:len(d.messages)-2]
	if said := d.says(t, answers("Two again.")); said != "Two again." || d.thread != first || count(first) != "system human ai human ai" {
		t.Errorf("regenerated: %q in %s (%s)", said, d.thread, count(d.thread))
	}
	d.messages[1]["content"] = "changed by the client"
	if said := d.says(t, answers("Three.")); said != "Three." || d.thread == first || count(d.thread) != "system human ai human ai human ai" {
		t.Errorf("with a changed history: %q in %s (%s)", said, d.thread, count(d.thread))
	}
	named := &dialog{s: s, headers: []string{"X-Conversation-Id", "chat-7"}}
	named.says(t, answers("Here."))
	begun := named.thread
	named.messages = nil // a client that sends only what is new
	if named.says(t, answers("Still here.")); named.thread != begun || count(begun) != "human ai human ai" {
		t.Errorf("the named conversation is in %s and %s (%s)", begun, named.thread, count(begun))
	}
}

// TestQuestionsFilesAndStepsReachClientsOfCompletions checks what of an agent's work has no place in OpenAI's API.
func TestQuestionsFilesAndStepsReachClientsOfCompletions(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t))
	d := &dialog{s: s}
	said := d.says(t, `SCRIPT{"turns":[{"text":"Let me ask.","tool_calls":[{"name":"ask_clarification","args":{"question":"Which colour?","clarification_type":"approach_choice","options":["red","blue"]}}]},{"text":"Blue it is."}]}`)
	webtest.Same(t, "the question", said, "Let me ask.\n\nWhich colour?\n\n- red\n- blue")
	webtest.Same(t, "the answer to the answer", d.says(t, "blue"), "Blue it is.")
	body := fmt.Sprintf(`{"model":"lead_agent","messages":[{"role":"user","content":[{"type":"text","text":%q},{"type":"file","file":{"filename":"note.txt","file_data":"aGVsbG8="}}]}]}`,
		`SCRIPT{"turns":[{"tool_calls":[{"name":"read_file","args":{"description":"read the note","path":"/mnt/user-data/uploads/note.txt"}},{"name":"write_file","args":{"description":"w","path":"/mnt/user-data/outputs/out.txt","content":"x"}}]},{"tool_calls":[{"name":"present_files","args":{"filepaths":["/mnt/user-data/outputs/out.txt"]}}]},{"text":"Done."}]}`)
	a := s.send(t, "POST", "/v1/chat/completions", body)
	c := webtest.Decode[completion](t, a.body)
	if len(c.Choices) != 1 || !strings.HasPrefix(c.Choices[0].Message.Content, "Done.\n\n[out.txt](http://127.0.0.1:") ||
		!strings.Contains(c.Choices[0].Message.Reasoning, "read_file: read the note") || c.Usage.Prompt == 0 {
		t.Fatalf("%s", a.body)
	}
	_, link, _ := strings.Cut(strings.TrimSuffix(c.Choices[0].Message.Content, ")"), s.url)
	webtest.Same(t, link, s.send(t, "GET", link, "").body, "x")
	webtest.Holds(t, "the agent did not read the file", s.send(t, "GET", "/threads/"+a.header.Get("X-Thread-Id")+"/state", "").body, "hello")
}

// TestCompletionsStream reads the frames of both kinds of streams.
func TestCompletionsStream(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t))
	a := s.send(t, "POST", "/v1/chat/completions", fmt.Sprintf(`{"model":"lead_agent","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":%q}]}`,
		answers("Blue is the sky today.")))
	var said, finish string
	usage := 0
	for _, line := range strings.Split(a.body, "\n") {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		c := webtest.Decode[struct {
			Object  string
			Choices []struct {
				Delta  struct{ Content string }
				Finish string `json:"finish_reason"`
			}
			Usage struct {
				Total int `json:"total_tokens"`
			}
		}](t, data)
		if c.Object != "chat.completion.chunk" {
			t.Errorf("a chunk is %s", data)
		}
		usage += c.Usage.Total
		for _, one := range c.Choices {
			said, finish = said+one.Delta.Content, finish+one.Finish
		}
	}
	if said != "Blue is the sky today." || finish != "stop" || usage == 0 || !strings.HasSuffix(a.body, "data: [DONE]\n\n") {
		t.Errorf("said %q, finish %q, usage %d in %s", said, finish, usage, a.body)
	}

	first := s.send(t, "POST", "/v1/responses", fmt.Sprintf(`{"model":"lead_agent","input":%q}`, answers("One.")))
	r := webtest.Decode[struct{ ID, Status string }](t, first.body)
	if r.Status != "completed" || !strings.Contains(first.body, `"text":"One."`) {
		t.Fatalf("%s", first.body)
	}
	second := s.send(t, "POST", "/v1/responses", fmt.Sprintf(`{"model":"lead_agent","stream":true,"input":%q,"previous_response_id":%q}`, answers("Two."), r.ID))
	if second.header.Get("X-Thread-Id") != first.header.Get("X-Thread-Id") {
		t.Errorf("the second response is in another thread")
	}
	var names []string
	for _, line := range strings.Split(second.body, "\n") {
		if name, ok := strings.CutPrefix(line, "event: "); ok && (len(names) == 0 || names[len(names)-1] != name) {
			names = append(names, name)
		}
	}
	if got, want := strings.Join(names, " "), "response.created response.in_progress response.output_item.added response.content_part.added response.output_text.delta response.output_text.done response.content_part.done response.output_item.done response.completed"; got != want {
		t.Errorf("events\n%s\nwant\n%s", got, want)
	}
	s.send(t, "GET", "/v1/responses/"+r.ID, "").want(t, "read again", 200, `"text":"One."`)
}

// TestCompletionsRefuse checks that refusals have OpenAI's form and say what to do.
func TestCompletionsRefuse(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t)+"openai_api: {models: true}\n")
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/v1/chat/completions", `{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}`, 404, `"code":"model_not_found"`},
		{"POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":"hi"}]}`, 400, `"param":"model"`},
		{"POST", "/v1/chat/completions", `{"model":"lead_agent"}`, 400, `"param":"messages"`},
		{"POST", "/v1/chat/completions", `{"model":"lead_agent","messages":[{"role":"assistant","content":"hi"}]}`, 400, `the last message is an answer`},
		{"POST", "/v1/chat/completions", `{"model":"lead_agent","messages":[{"role":"user","content":[{"type":"video"}]}]}`, 400, `messages[0].content[0]`},
		{"POST", "/v1/chat/completions", `{"model":"lead_agent","n":2,"messages":[{"role":"user","content":"hi"}]}`, 400, `"param":"n"`},
		{"POST", "/v1/chat/completions", `{"model":"lead_agent","tool_choice":"required","messages":[{"role":"user","content":"hi"}]}`, 400, `tool_choice`},
		{"POST", "/v1/chat/completions", `{"model":5}`, 400, `want a string`},
		{"POST", "/v1/chat/completions", `{`, 400, `not valid JSON`},
		{"POST", "/v1/responses", `{"model":"lead_agent","input":"hi","previous_response_id":"resp_x"}`, 400, `previous_response_not_found`},
		{"GET", "/v1/responses/resp_x", "", 404, `There is no response`},
		{"GET", "/v1/models/none", "", 404, `model_not_found`},
		{"GET", "/v1/models/script", "", 200, `"id":"script"`},
		{"GET", "/v1/models", "", 200, `"id":"lead_agent"`},
	} {
		a := s.send(t, c.method, c.path, c.body)
		if a.status != c.status || !strings.Contains(a.body, c.want) || c.status >= 400 && !strings.HasPrefix(a.body, `{"error":{"message":`) {
			t.Errorf("%s %s %s: %d %s, want %d with %s", c.method, c.path, c.body, a.status, a.body, c.status, c.want)
		}
	}
	a := s.send(t, "POST", "/v1/chat/completions", fmt.Sprintf(`{"model":"script","messages":[{"role":"user","content":%q}]}`, answers("As asked.")))
	if c := webtest.Decode[completion](t, a.body); a.status != 200 || c.Model != "script" || c.Choices[0].Message.Content != "As asked." {
		t.Errorf("a model: %d %s", a.status, a.body)
	}
}

// TestCompletionsLoseNothing sends what clients send besides one message after the other.
func TestCompletionsLoseNothing(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t))
	ask := `SCRIPT{"turns":[{"tool_calls":[{"name":"ask_clarification","args":{"question":"Which colour?"}}]},{"text":"Noted."}]}`
	d := &dialog{s: s}
	d.says(t, ask)
	d.messages = append(d.messages, map[string]any{"role": "user", "content": "first half"})
	d.says(t, "second half")
	state := s.send(t, "GET", "/threads/"+d.thread+"/state", "").body
	webtest.Holds(t, "an answer in two messages", state, "first half", "second half")

	respond := func(more string) (id, thread string, status int, body string) {
		a := s.send(t, "POST", "/v1/responses", `{"model":"lead_agent"`+more+`}`)
		var r struct{ ID string }
		_ = json.Unmarshal([]byte(a.body), &r) // refusals have none
		return r.ID, a.header.Get("X-Thread-Id"), a.status, a.body
	}
	input := func(text string) string { return fmt.Sprintf(`,"input":%q`, answers(text)) }
	first, thread, _, _ := respond(input("One."))
	var all sync.WaitGroup
	ids := make([]string, 3)
	for i := range ids {
		all.Go(func() {
			ids[i], _, _, _ = respond(input(fmt.Sprintf("Side %d.", i)) + `,"previous_response_id":"` + first + `"`)
		})
	}
	all.Wait()
	for i, id := range ids {
		a := s.send(t, "GET", "/v1/responses/"+id, "")
		if want := fmt.Sprintf(`"text":"Side %d."`, i); !strings.Contains(a.body, want) {
			t.Errorf("response %d of three at once is %d %s", i, a.status, a.body)
		}
	}
	values := webtest.Decode[struct {
		Values struct{ Messages []struct{ Type string } }
	}](t, s.send(t, "GET", "/threads/"+thread+"/state", "").body)
	webtest.Same(t, "three answers to one place are branches, but the thread has … messages", len(values.Values.Messages), 4)
	s.send(t, "DELETE", "/threads/"+thread, "").fine(t, "delete")
	if _, _, status, body := respond(input("Two.") + `,"previous_response_id":"` + first + `"`); status != 400 || !strings.Contains(body, "previous_response_not_found") {
		t.Errorf("behind a deleted thread: %d %s", status, body)
	}

	s.send(t, "PUT", "/store/items", `{"namespace":["fawn","conversations"],"key":"response-evil","value":{"thread":5}}`)
	s.send(t, "GET", "/v1/responses/resp_evil", "").want(t, "a value of the user's own", 404)
	many := `{"model":"lead_agent","messages":[` + strings.Repeat(`{},`, 30_000) + `{}]}`
	s.send(t, "POST", "/v1/chat/completions", many).want(t, "30,000 messages", 400, "at most 20000")
}

// TestResponsesAreThereBeforeTheyEnd and when they fail: a client can ask for each, and go on behind it.
func TestResponsesAreThereBeforeTheyEnd(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	s := start(t, "llm: {retry: {max_attempts: 1}}\n"+scriptedBy(model))
	type response struct {
		ID, Status string
		Error      *struct{ Message string }
		Output     []struct{ Content []struct{ Text string } }
	}
	post := func(body string) response {
		t.Helper()
		a := s.send(t, "POST", "/v1/responses", body)
		a.must(t, "the answer", http.StatusOK)
		return decoded[response](t, a)
	}
	failed := post(`{"model":"lead_agent","input":"SCRIPT{\"turns\":[{\"error\":{\"status\":400,\"message\":\"no such thing\"}}]}"}`)
	if failed.Status != "failed" || failed.Error == nil {
		t.Fatalf("it is %+v", failed)
	}
	a := s.send(t, "GET", "/v1/responses/"+failed.ID, "")
	if got := decoded[response](t, a); a.status != http.StatusOK || got.Status != "failed" || got.Error == nil ||
		got.Error.Message != failed.Error.Message {
		t.Errorf("a failed response: %d %s", a.status, a.body)
	}
	next := post(`{"model":"lead_agent","previous_response_id":"` + failed.ID + `","input":"SCRIPT{\"turns\":[{\"text\":\"Better.\"}]}"}`)
	if next.Status != "completed" || next.Output[0].Content[0].Text != "Better." {
		t.Errorf("behind it: %+v", next)
	}

	res, err := s.request(t.Context(), "POST", "/v1/responses", strings.NewReader(
		`{"model":"lead_agent","stream":true,"input":"SCRIPT{\"turns\":[{\"text\":\"held\",\"gate\":\"g\",\"tokens\":1}]}"}`))
	must.Do(t, err)
	defer res.Body.Close()
	a = s.send(t, "GET", "/v1/responses/resp_"+res.Header.Get("X-Run-Id"), "")
	if got := decoded[response](t, a); a.status != http.StatusOK || got.Status != "in_progress" {
		t.Errorf("one that works: %d %s", a.status, a.body)
	}
	model.Open("g")
	if _, err := io.ReadAll(res.Body); err != nil {
		t.Error(err)
	}
}

// TestManyEmptyMessagesAreRefused before they are all decoded: each takes a hundred times the bytes that it is sent in.
func TestManyEmptyMessagesAreRefused(t *testing.T) {
	s := start(t, scripted(t))
	body := `{"assistant_id":"lead_agent","if_not_exists":"create","input":{"messages":[` + strings.Repeat(`"",`, 5_000_000) + `""]}}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	a := s.sendBody(t, "POST", "/threads/t1/runs", strings.NewReader(body))
	runtime.ReadMemStats(&after)
	if a.status/100 != 4 || !strings.Contains(a.body, "at most 20000") {
		t.Errorf("%d %.300s", a.status, a.body)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 700<<20 {
		t.Errorf("it took %d MB of memory", took>>20)
	}
}
