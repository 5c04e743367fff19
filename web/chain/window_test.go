package chain_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/middleware"
	"fawn/web/webtest"
)

// limited stands before the scripted model: it answers these addresses, and refuses requests
// of more tokens than limit in the words of llama.cpp, or without a number where it is negative.
func limited(t *testing.T, limit int, answers map[string]string) setup {
	return func(f *config.File, o *lead.Options) {
		// A busy machine may need more than a run waits for.
		o.After = func(_ time.Duration, f func()) func() bool { return time.AfterFunc(patience, f).Stop }
		target, err := url.Parse(strings.TrimSuffix(f.Models[0].BaseURL, "/v1"))
		must.Do(t, err)
		model := httputil.NewSingleHostReverseProxy(target)
		model.FlushInterval = -1
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			answer, known := answers[r.Method+" "+r.URL.Path]
			switch n := middleware.TextTokens(string(body)); {
			case known:
				io.WriteString(w, answer)
			case !strings.HasSuffix(r.URL.Path, "/chat/completions"):
				http.NotFound(w, r)
			case limit < 0 && n > -limit:
				w.WriteHeader(http.StatusBadRequest)
				io.WriteString(w, `{"error":{"message":"context length exceeded"}}`)
			case limit > 0 && n > limit:
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprintf(w,
					`{"error":{"code":400,"message":"request (%d tokens) exceeds the available context size (%d tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":%d,"n_ctx":%d}}`,
					n, limit, n, limit)
			default:
				model.ServeHTTP(w, r)
			}
		}))
		t.Cleanup(front.Close)
		f.Models[0].BaseURL, f.Models[0].ContextWindow, f.Models[0].Use = front.URL+"/v1", 0,
			"langchain_openai:ChatOpenAI"
	}
}

// tokens is about how long prompt and tools of the nth request are.
func (w *world) front(t *testing.T, n int) int {
	t.Helper()
	var body struct {
		Messages []struct{ Role, Content string }
		Tools    json.RawMessage
	}
	if err := json.Unmarshal(w.model.Requests()[n].Body, &body); err != nil || body.Messages[0].Role != "system" {
		t.Fatal(err, body.Messages)
	}
	return middleware.TextTokens(body.Messages[0].Content) + middleware.TextTokens(string(body.Tools))
}

// TestAModelThatReadsLittleGetsAShortPrompt: each kind of server tells its window before the
// first request, and a request that was refused tells it at the latest.
func TestAModelThatReadsLittleGetsAShortPrompt(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers map[string]string
		want    string // tokens in the remark on the run; "" is a large window
	}{
		{"llama.cpp", map[string]string{"GET /v1/models": `{"data":[{"id":"any.gguf","owned_by":"llamacpp","meta":{"n_ctx_train":32768}}]}`,
			"GET /props": `{"default_generation_settings":{"n_ctx":2048},"total_slots":1}`}, "2048 "},
		{"llama.cpp without props", map[string]string{"GET /v1/models": `{"data":[{"id":"any.gguf","meta":{"n_ctx_train":4096}}]}`}, "4096 "},
		{"vLLM", map[string]string{"GET /v1/models": `{"data":[{"id":"main-1","owned_by":"vllm","max_model_len":4096},{"id":"other","max_model_len":65536}]}`}, "4096 "},
		{"LM Studio", map[string]string{"GET /v1/models": `{"data":[{"id":"main-1"},{"id":"nomic"}]}`,
			"GET /api/v0/models": `{"data":[{"id":"main-1","type":"llm","state":"loaded","max_context_length":131072,"loaded_context_length":4096}]}`}, "4096 "},
		{"Ollama", map[string]string{"GET /v1/models": `{"data":[{"id":"main-1:latest","owned_by":"library"},{"id":"b"}]}`,
			"GET /api/ps":    `{"models":[{"name":"main-1:latest","context_length":4096}]}`,
			"POST /api/show": `{"model_info":{"llama.context_length":40960},"capabilities":["completion","tools"]}`}, "4096 "},
		{"a large one", map[string]string{"GET /v1/models": `{"data":[{"id":"main-1","max_model_len":32768}]}`}, ""},
		{"silence", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := open(t, limited(t, 0, c.answers))
			w.when("hi", say("Hello."))
			w.run(t, "hi", "")
			n, tools := w.front(t, 0), w.request(t, 0).Tools
			if brief := c.want != ""; brief && (n > 900 || len(tools) < 5) || !brief && n < 2000 {
				t.Errorf("prompt and %d tools have %d tokens", len(tools), n)
			}
			if got := w.remark(t, lead.SmallKey); (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
				t.Errorf("the run says %q", got)
			}
		})
	}
}

// remark is what a run says under a key of its metadata, the newest that says it.
func (w *world) remark(t *testing.T, key string) string {
	t.Helper()
	var list []struct{ Metadata map[string]any }
	if err := json.Unmarshal([]byte(w.send(t, "GET", "/threads/t1/runs", "")), &list); err != nil || len(list) == 0 {
		t.Fatal(err, len(list))
	}
	for _, run := range list {
		if text, ok := run.Metadata[key].(string); ok {
			return text
		}
	}
	return ""
}

// TestARefusalTeachesTheWindow: a server that tells nothing beforehand still answers the
// first "hi", later runs begin with the short prompt, and a conversation that grows stays
// within the window and says that it was shortened.
func TestARefusalTeachesTheWindow(t *testing.T) {
	w := open(t, limited(t, 2048, nil), func(f *config.File, _ *lead.Options) {
		f.Summarization.ModelName = "helper"
	})
	w.when("Another model goes on", say("The gist is paint."))
	w.talk(t, 0, 1, 5, func(_ int, r request) {
		if n := w.front(t, 0); n > 900 || len(r.Tools) < 5 {
			t.Errorf("the first answered request has %d tokens before its messages", n)
		}
	})
	webtest.Holds(t, "the answer", string(w.values(t)["messages"]), "answer 0.", "!longer than")
	webtest.Same(t, "the window", w.builder.WindowOf("main", ""), 2048)
	if got := w.remark(t, lead.SmallKey); !strings.HasPrefix(got, "2048 ") {
		t.Errorf("the run that learned it says %q", got)
	}
	w.talk(t, 1, 12, 100, func(i int, _ request) {
		if s := w.last(t); s.Status != "success" || s.Error != "" {
			t.Errorf("turn %d: %+v", i, s)
		}
	})
	if w.remark(t, lead.SmallKey) == "" || w.summarised(t) == 0 {
		t.Errorf("small %q, %d requests with a summary", w.remark(t, lead.SmallKey), w.summarised(t))
	}
}

// TestARunSaysWhenItsRequestWasCut, and the next one begins with a summary.
func TestARunSaysWhenItsRequestWasCut(t *testing.T) {
	w := open(t, limited(t, -6000, nil), func(f *config.File, _ *lead.Options) { f.Models[0].ContextWindow = 100_000 })
	w.talk(t, 0, 9, 800, func(int, request) {})
	if got := w.remark(t, middleware.CutKey); !strings.Contains(got, "older messages were left out") ||
		w.summarised(t) == 0 {
		t.Errorf("the run says %q, %d requests with a summary", got, w.summarised(t))
	}
}

// summarised counts the requests that begin with a summary.
func (w *world) summarised(t *testing.T) (n int) {
	t.Helper()
	for i := range w.model.Requests() {
		if strings.Contains(w.request(t, i).lines(), "<durable_context_data>") {
			n++
		}
	}
	return n
}
