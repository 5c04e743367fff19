package llm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/llm"
	"fawn/agent/llm/llmerr"
)

// nobody listens there: no program asks for this port, and the system gives it to none.
const nobody = "http://127.0.0.1:1"

// local is a server that answers some addresses; "POST /api/show" gets the model's name.
func local(t *testing.T, answers map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Method + " " + r.URL.Path
		if key == "POST /api/show" {
			var body struct{ Model string }
			must.Report(t, json.NewDecoder(r.Body).Decode(&body))
			key += " " + body.Model
		}
		if a, ok := answers[key]; ok {
			io.WriteString(w, a)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestDiscoverReadsWhatEachServerSaysAboutItsModels(t *testing.T) {
	t.Parallel()
	ollama := local(t, map[string]string{
		"GET /v1/models":          `{"object":"list","data":[{"id":"qwen3:8b","owned_by":"library"},{"id":""},{"id":"llava"},{"id":"embed"},{"id":"odd"}]}`,
		"GET /api/ps":             `{"models":[{"name":"qwen3:8b","context_length":8192}]}`,
		"POST /api/show qwen3:8b": `{"model_info":{"general.architecture":"qwen3","qwen3.context_length":40960},"parameters":"temperature 0.6\nnum_ctx    16384\n","capabilities":["completion","tools","thinking"]}`,
		"POST /api/show llava":    `{"model_info":{"llama.context_length":32768},"parameters":"num_ctx 4096","capabilities":["completion","vision"]}`,
		"POST /api/show embed":    `{"model_info":{},"capabilities":["embedding"]}`,
		"POST /api/show odd":      `not json`,
		"GET /api/v0/models":      `404`,
		"GET /props":              `{}`,
	})
	studio := local(t, map[string]string{
		"GET /v1/models":     `{"data":[{"id":"gemma"},{"id":"nomic"}]}`,
		"GET /api/v0/models": `{"data":[{"id":"gemma","type":"vlm","state":"loaded","max_context_length":131072,"loaded_context_length":4096,"capabilities":["tool_use"]},{"id":"nomic","type":"embeddings","max_context_length":2048}]}`,
	})
	llama := local(t, map[string]string{
		"GET /v1/models": `{"data":[{"id":"model.gguf","owned_by":"llamacpp","meta":{"n_ctx_train":32768}}]}`,
		"GET /props":     `{"default_generation_settings":{"n_ctx":8192},"modalities":{"vision":true}}`,
	})
	vllm := local(t,
		map[string]string{"GET /v1/models": `{"data":[{"id":"Qwen/Qwen3","owned_by":"vllm","max_model_len":40960}]}`})
	page := local(t, map[string]string{"GET /v1/models": "<html>"})
	elsewhere := httptest.NewServer(http.RedirectHandler(vllm+"/v1/models", http.StatusFound))
	defer elsewhere.Close()

	found := llm.DiscoverAt(t.Context(), []llm.Found{{Name: "a", BaseURL: ollama + "/v1", Use: "ollama"},
		{Name: "b", BaseURL: studio + "/v1/"}, {Name: "page", BaseURL: page + "/v1"},
		{Name: "c", BaseURL: llama + "/v1"}, {Name: "closed", BaseURL: nobody + "/v1"},
		{Name: "d", BaseURL: vllm + "/v1"}, {Name: "e", BaseURL: elsewhere.URL + "/v1"}}, time.Minute)
	want := []llm.Found{
		{Name: "a", BaseURL: ollama + "/v1", Use: "ollama", Models: []string{"qwen3:8b", "llava", "odd"},
			Offers: []llm.Offer{
				{ID: "qwen3:8b", Context: 8192, MaxContext: 40960, Tools: true, Thinking: true},
				{ID: "llava", Context: 4096, MaxContext: 32768, Vision: true}, {ID: "odd"}}},
		{Name: "b", BaseURL: studio + "/v1/", Models: []string{"gemma"}, Offers: []llm.Offer{{ID: "gemma", Context: 4096, MaxContext: 131072, Vision: true, Tools: true}}},
		{Name: "c", BaseURL: llama + "/v1", Models: []string{"model.gguf"}, Offers: []llm.Offer{{ID: "model.gguf", Context: 8192, MaxContext: 32768, Vision: true}}},
		{Name: "d", BaseURL: vllm + "/v1", Models: []string{"Qwen/Qwen3"}, Offers: []llm.Offer{{ID: "Qwen/Qwen3", Context: 40960}}},
	}
	if !reflect.DeepEqual(found, want) {
		t.Errorf("found %+v", found)
	}
}

func TestDiscoverDoesNotWaitForAServerThatHangs(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	hung := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer hung.Close()
	defer close(release)
	found := llm.DiscoverAt(t.Context(), []llm.Found{{Name: "hung", BaseURL: hung.URL + "/v1"}}, 20*time.Millisecond)
	if len(found) != 0 {
		t.Errorf("found %+v", found)
	}
}

func TestPlacesAreOnThisMachine(t *testing.T) {
	for _, p := range llm.Places() {
		if !strings.HasPrefix(p.BaseURL, "http://127.0.0.1:") {
			t.Errorf("%s is at %s", p.Name, p.BaseURL)
		}
		must.Try(llm.New(llm.Config{Name: "m", Use: p.Use, BaseURL: p.BaseURL}))(t)
	}
}

func TestEveryPresetMakesAModel(t *testing.T) {
	for _, p := range llm.Presets() {
		if _, err := llm.New(llm.Config{Name: "m", Use: p.Name, APIKey: "k"}); err != nil && p.Name != "compatible" {
			t.Errorf("%s: %v", p.Name, err)
		}
		if p.Label == "" || (p.BaseURL == "") != (p.Name == "compatible") || !p.Local &&
			p.Name != "compatible" && (p.Key == "" || p.KeyPage == "") {
			t.Errorf("%+v is not whole", p)
		}
	}
}

func TestAddressesAreReadInEveryForm(t *testing.T) {
	for in, want := range map[string]string{
		"https://x.example":                     "https://x.example/v1 https://x.example/api/v1 https://x.example/api",
		"https://x.example/":                    "https://x.example/v1 https://x.example/api/v1 https://x.example/api",
		" https://x.example/v1/ ":               "https://x.example/v1",
		"https://x.example/v1/chat/completions": "https://x.example/v1",
		"https://x.example/v1/responses":        "https://x.example/v1",
		"https://x.example/api/paas/v4":         "https://x.example/api/paas/v4",
		"https://x.example/v1beta/openai/":      "https://x.example/v1beta/openai",
		"http://127.0.0.1:11434/api/chat":       "http://127.0.0.1:11434/api http://127.0.0.1:11434/api/v1 http://127.0.0.1:11434/v1",
		"https://x.example/base?api-version=1":  "https://x.example/base?api-version=1 https://x.example/base/v1?api-version=1 https://x.example/v1?api-version=1",
		"nonsense":                              "nonsense",
	} {
		if got := strings.Join(llm.Addresses(in), " "); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

const probeAnswer = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ready\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"

func TestProbeSaysWhatTheServerHas(t *testing.T) {
	t.Parallel()
	url := local(t, map[string]string{"POST /v1/chat/completions": probeAnswer,
		"GET /v1/models": `{"data":[{"id":"a","context_length":1000},{"id":"b"}]}`})
	p := llm.Probe(t.Context(), llm.Config{Name: "m", Model: "a", BaseURL: url, APIKey: "k"})
	if o, ok := p.Offer("a"); !p.OK || p.Err != nil || p.Reply != "ready" || p.BaseURL != url+"/v1" || !ok ||
		o.Context != 1000 || len(p.Offers) != 2 {
		t.Errorf("got %+v", p)
	}
	if _, ok := p.Offer("c"); ok {
		t.Error("a model the server does not have")
	}
}

// TestProbeShowsTheFailureThatSaysMost: of a model the server does not know, that; and no key in any of them.
func TestProbeShowsTheFailureThatSaysMost(t *testing.T) {
	t.Parallel()
	const key = "sk-secret/with+odd=signs"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		if r.URL.Path == "/v1/chat/completions" {
			fmt.Fprintf(w, `{"error":"model 'x' not found for %s, %s"}`, key, "sk-secret%2Fwith%2Bodd%3Dsigns")
		}
	}))
	defer s.Close()
	p := llm.Probe(t.Context(), llm.Config{Name: "m", Model: "x", BaseURL: s.URL + "/base", APIKey: key})
	text, class, status := llm.Words(p.Err)
	if p.OK || text != "model 'x' not found for ***, ***" || class != llmerr.ClassInvalid || status != 404 ||
		p.BaseURL != s.URL+"/v1" || len(p.Tried) != 3 {
		t.Errorf("%q %s %d, %+v", text, class, status, p)
	}
}

func TestProbeOfWhatCannotBeMadeOrReached(t *testing.T) {
	t.Parallel()
	if p := llm.Probe(t.Context(), llm.Config{Name: "m", Use: "nonsense"}); p.OK || !errors.Is(p.Err, llm.ErrClass) {
		t.Errorf("an unknown class: %+v", p)
	}
	p := llm.Probe(t.Context(), llm.Config{Name: "m", BaseURL: nobody})
	if _, class, _ := llm.Words(p.Err); p.OK || class != llmerr.ClassNetwork || len(p.Tried) != 1 {
		t.Errorf("a closed port: %+v", p)
	}
}

func TestOllamaIsAskedWhereItsVariableSaysOnThisMachine(t *testing.T) {
	for host, want := range map[string]string{
		"": "127.0.0.1:11434", "127.0.0.1:4000": "127.0.0.1:4000", "localhost": "127.0.0.1:11434",
		"http://localhost:99/": "127.0.0.1:99", "0.0.0.0:5000": "127.0.0.1:5000", ":6000": "127.0.0.1:6000",
		"[::1]:7000": "[::1]:7000", "::": "127.0.0.1:11434", "gpu.example:8000": "127.0.0.1:11434",
		"10.0.0.7": "127.0.0.1:11434", "localhost:99999": "127.0.0.1:11434", "127.0.0.1:x@evil": "127.0.0.1:11434",
	} {
		t.Setenv("OLLAMA_HOST", host)
		if got := llm.Places()[0].BaseURL; got != "http://"+want+"/v1" {
			t.Errorf("%q: asked at %s, want %s", host, got, want)
		}
	}
}
