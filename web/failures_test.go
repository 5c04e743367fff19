package web_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web/webtest"
)

// failing is a provider that fails in one way for each path it is called at.
type failing struct {
	url   string
	mu    sync.Mutex
	calls map[string]int
}

// moods starts a provider. Calls at /NAME/v1/chat/completions are answered by the mood of
// that name; which call it is counts from 1.
func moods(t *testing.T, list []mood) *failing {
	f := &failing{calls: map[string]int{}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet { // the question for the window is no call
			http.NotFound(w, r)
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return // the client went
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		f.mu.Lock()
		f.calls[name]++
		n := f.calls[name]
		f.mu.Unlock()
		i := slices.IndexFunc(list, func(m mood) bool { return slug(m.name) == name })
		if i < 0 || list[i].answer == nil {
			http.NotFound(w, r)
			return
		}
		list[i].answer(w, r, n)
	}))
	t.Cleanup(s.Close)
	f.url = s.URL
	return f
}

func (f *failing) count(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[slug(name)]
}

func slug(name string) string { return strings.NewReplacer(" ", "-", ",", "").Replace(name) }

// frame is one event with a delta, flushed. finish may be "".
func frame(w http.ResponseWriter, delta, finish string) {
	f := "null"
	if finish != "" {
		f = fmt.Sprintf("%q", finish)
	}
	send(w, fmt.Sprintf(`data: {"id":"c","model":"m","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n",
		delta, f))
}

func send(w http.ResponseWriter, text string) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	io.WriteString(w, text)                   // a client that went is seen by the flush
	_ = http.NewResponseController(w).Flush() // and then there is nobody to tell
}

func say(w http.ResponseWriter, text string) { frame(w, fmt.Sprintf(`{"content":%q}`, text), "") }

func goodbye(w http.ResponseWriter) { send(w, "data: [DONE]\n\n") }

// refuse answers with a status and an error of OpenAI's shape.
func refuse(status int, code, message string, headers ...string) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"message":%q,"type":"error","code":%q}}`, message, code)
	}
}

// drop breaks the connection.
func drop(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	conn.Close()
}

// mood is one way to fail, and what must come of it.
type mood struct {
	name   string
	answer func(w http.ResponseWriter, r *http.Request, call int)
	model  string // more of the model's entry
	url    string // instead of the provider's

	calls int    // to the provider; 0 = none reaches it
	hasty bool   // its time is so short that a call may be given up before the provider sees it
	tries int    // in all; 0 = as many as calls
	error string // the name clients tell it by; "" = the run is a success
	says  []string
	text  string // of the last message: what was seen before it failed, or the answer
	holds string // some message has these words
	stop  string // stop reason of a success
	wait  int    // ms until each retry; 0 = whatever
}

// outcome is what a client sees of a run.
type outcome struct {
	run struct {
		Status string `json:"status"`
		Error  any    `json:"error"`
		Stop   string `json:"stop_reason"`
		ID     string `json:"run_id"`
		Meta   struct {
			Stop string `json:"stop_reason"`
		} `json:"metadata"`
	}
	failure struct{ Error, Message string }
	retries []retry
	ended   bool
	last    map[string]any
	texts   []string
}

type retry struct {
	Type, Reason, Message string
	Attempt               int
	Wait                  int `json:"wait_ms"`
}

// ask runs one question on a new thread and looks at it from all sides.
func ask(t *testing.T, s *server, model string) outcome {
	t.Helper()
	id := decoded[struct {
		ID string `json:"thread_id"`
	}](t, s.send(t, "POST", "/threads", "{}")).ID
	a := s.send(t, "POST", "/threads/"+id+"/runs/stream",
		human("go", fmt.Sprintf(`"context":{"model_name":%q},"stream_mode":["values","custom"]`, model)))
	a.must(t, "the answer", http.StatusOK)
	var o outcome
	event := ""
	for line := range strings.Lines(a.body) {
		line = strings.TrimRight(line, "\r\n")
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			event = name
			o.ended = event == "end"
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		switch event {
		case "error":
			if err := json.Unmarshal([]byte(data), &o.failure); err != nil {
				t.Errorf("event error: %s", data)
			}
		case "custom":
			var r retry
			if json.Unmarshal([]byte(data), &r) == nil && r.Type == "llm_retry" {
				o.retries = append(o.retries, r)
			}
		}
	}
	list := decoded[[]json.RawMessage](t, s.send(t, "GET", "/threads/"+id+"/runs", ""))
	if len(list) != 1 {
		t.Fatalf("%d runs", len(list))
	}
	must.Do(t, json.Unmarshal(list[0], &o.run))
	state := decoded[struct {
		Values struct{ Messages []map[string]any }
	}](t, s.send(t, "GET", "/threads/"+id+"/state", ""))
	for _, m := range state.Values.Messages {
		text, _ := m["content"].(string)
		o.texts = append(o.texts, fmt.Sprint(m["type"], ": ", text))
		o.last = m
	}
	return o
}

// TestEveryKindOfProviderFailureEndsWell goes through the whole program: a question over
// HTTP, a provider that fails in its own way, and then the status, the events, the words and
// the number of tries that a client sees. No run hangs.
func TestEveryKindOfProviderFailureEndsWell(t *testing.T) {
	t.Parallel()
	list := allMoods(t)
	f := moods(t, list)
	var conf strings.Builder
	conf.WriteString("title: {enabled: false}\nmemory: {enabled: false}\nllm_call: {retry_max_attempts: 3, retry_base_delay_ms: 1, retry_cap_delay_ms: 2, burst_retry_base_delay_ms: 1}\n" +
		"circuit_breaker: {failure_threshold: 1000}\nmodels:\n")
	for _, m := range list {
		url := m.url
		if url == "" {
			url = f.url + "/" + slug(m.name) + "/v1"
		}
		fmt.Fprintf(&conf, "- {name: %q, use: openai, model: m, base_url: %q, api_key: sk-secret-0123456789%s}\n",
			slug(m.name), url, m.model)
	}
	s := start(t, conf.String())
	for _, m := range list {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			m.check(t, ask(t, s, slug(m.name)), f.count(m.name))
		})
	}
}

func (m *mood) check(t *testing.T, o outcome, calls int) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("run %+v\nfailure %+v\nretries %+v\nmessages %q", o.run, o.failure, o.retries, o.texts)
		}
	}()
	tries := m.tries
	if tries == 0 {
		tries = m.calls
	}
	if calls > m.calls || calls < m.calls && !m.hasty {
		t.Errorf("%d calls, want %d", calls, m.calls)
	}
	if !o.ended {
		t.Error("the stream has no end event")
	}
	said := o.failure.Message
	if m.error == "" {
		if o.run.Status != "success" || o.failure.Error != "" {
			t.Errorf("the run is %s with %q", o.run.Status, o.failure.Error)
		}
		said, _ = o.last["content"].(string)
	} else {
		if o.run.Status != "error" || o.failure.Error != m.error || len(o.retries) != tries-1 {
			t.Errorf("the run is %s with %q after %d retries, want %q after %d", o.run.Status, o.failure.Error,
				len(o.retries), m.error, tries-1)
		}
		if !strings.HasSuffix(said, ".") || strings.ContainsAny(said, "\n\x00") {
			t.Errorf("not a sentence for people: %q", said)
		}
	}
	for i, r := range o.retries {
		if m.wait > 0 && r.Wait != m.wait || r.Attempt != i+1 || r.Reason == "" || !strings.Contains(r.Message, "Trying again") {
			t.Errorf("retry %+v", r)
		}
	}
	webtest.Holds(t, "said", said, m.says...)
	if m.holds != "" && !strings.Contains(strings.Join(o.texts, "\n"), m.holds) {
		t.Errorf("no message says %q", m.holds)
	}
	webtest.Holds(t, "the key shows", fmt.Sprint(o), "!sk-secret")
	if text, _ := o.last["content"].(string); m.text != "" && text != m.text {
		t.Errorf("the last message is %q, want %q", text, m.text)
	}
	if o.run.Meta.Stop != m.stop && o.run.Stop != m.stop {
		t.Errorf("stop reason %q %q, want %q", o.run.Stop, o.run.Meta.Stop, m.stop)
	}
}
