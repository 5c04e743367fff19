package web_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/webtest"
)

const keyedRun = `{"assistant_id":"lead_agent","if_not_exists":"create","input":{"messages":[{"type":"human","content":"echo 20 tokens at 0 tok/s"}]}}`

// TestARequestWithAKeyIsCarriedOutOnce also over a restart: what is sent again gets the run that is there.
func TestARequestWithAKeyIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	data, conf := t.TempDir(), scripted(t)
	s := start(t, conf, func(o *web.Options) { o.Data = data })
	type run struct {
		ID string `json:"run_id"`
	}
	first := s.send(t, "POST", "/threads/t1/runs", keyedRun, "Idempotency-Key", "k1")
	id := decoded[run](t, first).ID
	if first.status != 200 || id == "" || first.header.Get("Idempotent-Replayed") != "" {
		t.Fatalf("%d %s", first.status, first.body)
	}
	again := func(s *server, what string) {
		t.Helper()
		a := s.send(t, "POST", "/threads/t1/runs", keyedRun, "Idempotency-Key", "k1")
		if decoded[run](t, a).ID != id || a.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: %d %s", what, a.status, a.body)
		}
	}
	again(s, "at once")
	streamed := s.send(t, "POST", "/threads/t1/runs/stream", keyedRun, "Idempotency-Key", "k2")
	replayed := s.send(t, "POST", "/threads/t1/runs/stream", keyedRun, "Idempotency-Key", "k2")
	if streamed.status != 200 || streamed.body != replayed.body || replayed.header.Get("Idempotent-Replayed") != "true" ||
		streamed.header.Get("Content-Location") != replayed.header.Get("Content-Location") {
		t.Errorf("a stream: %.300s, then %.300s", streamed.body, replayed.body)
	}
	for _, path := range []string{"/threads/t1/runs/wait", "/runs/wait"} {
		waited := s.send(t, "POST", path, keyedRun, "Idempotency-Key", "k3 "+path)
		if path == "/runs/wait" { // readers of the run may still be leaving
			thread, _, _ := strings.Cut(strings.TrimPrefix(waited.header.Get("Content-Location"), "/threads/"), "/")
			webtest.UntilSeen(t, func() bool { return s.send(t, "GET", "/threads/"+thread, "").status == 404 }, s.log.String)
		}
		twice := s.send(t, "POST", path, keyedRun, "Idempotency-Key", "k3 "+path)
		if path == "/runs/wait" { // its thread is gone with it
			if waited.status != 200 || twice.status != 410 {
				t.Errorf("%s: %d, then %d %s", path, waited.status, twice.status, twice.body)
			}
		} else if strings.TrimSpace(waited.body) != strings.TrimSpace(twice.body) {
			t.Errorf("%s: %s, then %s", path, waited.body, twice.body)
		}
	}
	other := strings.Replace(keyedRun, "20 tokens", "21 tokens", 1)
	for name, c := range map[string][3]string{"another body": {"/threads/t1/runs", other, "k1"},
		"another thread": {"/threads/t2/runs", keyedRun, "k1"}, "a long key": {"/threads/t1/runs", keyedRun, strings.Repeat("k", 300)}} {
		s.send(t, "POST", c[0], c[1], "Idempotency-Key", c[2]).want(t, name, 422, "Idempotency-Key")
	}
	// What was refused can be sent again with its key.
	const wrong = `{"assistant_id":"lead_agent","if_not_exists":"reject","input":{"messages":[{"type":"human","content":"hi"}]}}`
	for range 2 {
		s.send(t, "POST", "/threads/none/runs", wrong, "Idempotency-Key", "k4").want(t, "a thread that is not there", 404)
	}
	const bad = `{"assistant_id":"lead_agent","input":{"messages":[{"type":"nobody","content":"hi"}]}}`
	if a, plain := s.send(t, "POST", "/threads/t1/runs", bad, "Idempotency-Key", "k5"), s.send(t, "POST", "/threads/t1/runs", bad); a.status != plain.status || a.body != plain.body {
		t.Errorf("refused with a key: %d %s, without one %d %s", a.status, a.body, plain.status, plain.body)
	}
	s.send(t, "POST", "/threads", `{"thread_id":"none"}`).must(t, "/threads", 200)
	s.send(t, "POST", "/threads/none/runs", wrong, "Idempotency-Key", "k4").want(t, "it is there now", 200)
	must.Do(t, s.stop())
	s = start(t, conf, func(o *web.Options) { o.Data = data })
	again(s, "after a restart")
	webtest.Same(t, "the thread has … runs", len(decoded[[]run](t, s.send(t, "GET", "/threads/t1/runs", ""))), 3)
}

// TestServersCarryARequestWithAKeyOutOnce however many of them get it at once.
func TestServersCarryARequestWithAKeyOutOnce(t *testing.T) {
	t.Parallel()
	conf := clustered(t, 200)
	a, b := start(t, conf, sealing(t)), start(t, conf, sealing(t))
	var work sync.WaitGroup
	ids := make([]string, 12)
	for i := range ids {
		s := []*server{a, b}[i%2]
		work.Go(func() {
			got := s.send(t, "POST", "/threads/t1/runs", keyedRun, "Idempotency-Key", "k")
			if got.status != 200 {
				t.Errorf("%d %s", got.status, got.body)
				return
			}
			ids[i] = decoded[struct {
				ID string `json:"run_id"`
			}](t, got).ID
		})
	}
	work.Wait()
	for _, id := range ids {
		if id == "" || id != ids[0] {
			t.Fatalf("the runs are %q", ids)
		}
	}
	webtest.Same(t, "the thread has … runs", len(decoded[[]any](t, a.send(t, "GET", "/threads/t1/runs", ""))), 1)
}

// TestAnswersOfAKeyAreTheSame for clients of OpenAI's API, also when the conversation has gone on, and over a restart.
func TestAnswersOfAKeyAreTheSame(t *testing.T) {
	t.Parallel()
	data, conf := t.TempDir(), scripted(t)
	s := start(t, conf, func(o *web.Options) { o.Data = data })
	chat := func(history, text, more string) string {
		return fmt.Sprintf(`{"model":"lead_agent"%s,"messages":[%s{"role":"user","content":%q}]}`, more, history, answers(text))
	}
	opening := chat("", "One.", "")
	send := func(s *server, path, body, key string) answer {
		return s.send(t, "POST", path, body, "Idempotency-Key", key)
	}
	same := func(what string, a, b answer) {
		t.Helper()
		var first, again struct {
			ID      string `json:"id"`
			Choices []struct {
				Message struct {
					Content string `json:"content"`
				} `json:"message"`
			} `json:"choices"`
		}
		_, _ = json.Unmarshal([]byte(a.body), &first), json.Unmarshal([]byte(b.body), &again) // streams are compared as they are
		if a.status != 200 || b.status != 200 || fmt.Sprint(first) != fmt.Sprint(again) || b.header.Get("Idempotent-Replayed") != "true" ||
			a.header.Get("Idempotent-Replayed") != "" || a.header.Get("X-Run-Id") != b.header.Get("X-Run-Id") || a.header.Get("X-Thread-Id") == "" ||
			a.header.Get("X-Thread-Id") != b.header.Get("X-Thread-Id") {
			t.Errorf("%s: %d %s\n%v\nthen %d %s\n%v", what, a.status, a.body, a.header, b.status, b.body, b.header)
		}
	}
	first := send(s, "/v1/chat/completions", opening, "k1")
	same("a completion", first, send(s, "/v1/chat/completions", opening, "k1"))
	past := fmt.Sprintf(`{"role":"user","content":%q},{"role":"assistant","content":"One."},`, answers("One."))
	second := chat(past, "Two.", "")
	on := send(s, "/v1/chat/completions", second, "k2")
	same("a second turn", on, send(s, "/v1/chat/completions", second, "k2"))
	same("the first turn, later", first, send(s, "/v1/chat/completions", opening, "k1"))
	streamed := chat("", "In pieces.", `,"stream":true`)
	whole := send(s, "/v1/chat/completions", streamed, "k3")
	same("a stream", whole, send(s, "/v1/chat/completions", streamed, "k3"))
	file := `{"model":"lead_agent","messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"file","file":{"filename":"note.txt","file_data":"aGVsbG8="}}]}]}`
	with := send(s, "/v1/chat/completions", file, "k4")
	same("a file", with, send(s, "/v1/chat/completions", file, "k4"))
	if list := s.send(t, "GET", "/threads/"+with.header.Get("X-Thread-Id")+"/uploads/list", "").body; strings.Count(list, `"filename"`) != 1 {
		t.Errorf("the file is there %s", list)
	}
	response := fmt.Sprintf(`{"model":"lead_agent","input":%q}`, answers("A response."))
	same("a response", send(s, "/v1/responses", response, "k5"), send(s, "/v1/responses", response, "k5"))
	send(s, "/v1/chat/completions", chat("", "Other.", ""), "k1").want(t, "another body", 400, "Idempotency-Key")
	thread := first.header.Get("X-Thread-Id")
	if on.header.Get("X-Thread-Id") != thread {
		t.Errorf("the second turn is in another thread")
	}
	must.Do(t, s.stop())
	s = start(t, conf, func(o *web.Options) { o.Data = data })
	same("over a restart", first, send(s, "/v1/chat/completions", opening, "k1"))
	webtest.Same(t, "the thread has … runs", len(decoded[[]any](t, s.send(t, "GET", "/threads/"+thread+"/runs", ""))), 2)
	s.send(t, "DELETE", "/threads/"+thread, "")
	send(s, "/v1/chat/completions", opening, "k1").want(t, "after its thread was deleted", 410)
}

// TestAPageSendsAMessageOnce when the answer to its form was lost and it sends the form again.
func TestAPageSendsAMessageOnce(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t))
	id := uuid.NewString()
	type frame struct {
		Location string `json:"location"`
		Error    string `json:"error"`
	}
	post := func(path, text, key string) (frame, answer) {
		a := s.send(t, "POST", path, url.Values{"thread": {id}, "text": {text}}.Encode(), "Content-Type", "application/x-www-form-urlencoded",
			"X-Fawn", "1", "Accept", "application/json", "Idempotency-Key", key)
		f := decoded[frame](t, a)
		return f, a
	}
	first, _ := post("/ui/threads", "echo 3 tokens", "k1")
	again, told := post("/ui/threads", "echo 3 tokens", "k1")
	if first.Location == "" || again.Location != first.Location || told.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("a new chat: %+v, then %+v", first, again)
	}
	webtest.UntilSeen(t, func() bool { return strings.Contains(s.send(t, "GET", "/threads/"+id, "").body, `"status":"idle"`) }, s.log.String)
	post("/ui/threads/"+id+"/messages", "echo 4 tokens", "k2")
	if f, a := post("/ui/threads/"+id+"/messages", "echo 4 tokens", "k2"); !strings.HasSuffix(f.Location, id) || a.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("a message: %+v", f)
	}
	post("/ui/threads/"+id+"/messages", "echo 4 tokens", "k3") // meant
	webtest.Same(t, "the chat has … runs", len(decoded[[]any](t, s.send(t, "GET", "/threads/"+id+"/runs", ""))), 3)
}
