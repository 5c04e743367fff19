package load

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"sync"
)

// Relay returns the baseline: a handler with Fawn's stream outside and the model inside, without agent
// or store. It keeps only the messages of each thread, so that the model sees the same conversation.
func Relay(model string) http.Handler {
	r := &relay{model: model, threads: map[string][]turn{}, client: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 512, DisableCompression: true}}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ok", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"ok":true}`) })
	mux.HandleFunc("GET /metrics", allocated)
	mux.HandleFunc("POST /threads", r.create)
	mux.HandleFunc("POST /threads/{id}/runs/stream", r.run)
	return mux
}

// allocated reports the relay's allocations under the names of Fawn's metrics.
func allocated(w http.ResponseWriter, _ *http.Request) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Fprintf(w, "go_memstats_mallocs_total %d\ngo_memstats_alloc_bytes_total %d\n", m.Mallocs, m.TotalAlloc)
}

type turn struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type relay struct {
	model  string
	client *http.Client

	mu      sync.Mutex // guards threads
	threads map[string][]turn
}

func (r *relay) create(w http.ResponseWriter, _ *http.Request) {
	id := rand.Text()
	r.mu.Lock()
	r.threads[id] = []turn{}
	r.mu.Unlock()
	fmt.Fprintf(w, `{"thread_id":%q}`, id)
}

func (r *relay) run(w http.ResponseWriter, req *http.Request) {
	var in struct {
		Input struct {
			Messages []struct{ Content string }
		}
	}
	if err := json.NewDecoder(req.Body).Decode(&in); err != nil || len(in.Input.Messages) == 0 {
		http.Error(w, "no message", http.StatusUnprocessableEntity)
		return
	}
	id := req.PathValue("id")
	r.mu.Lock()
	history, found := r.threads[id]
	history = append(history[:len(history):len(history)], turn{"user", in.Input.Messages[0].Content})
	r.mu.Unlock()
	if !found {
		http.NotFound(w, req)
		return
	}
	answer, err := r.relay(w, req, history)
	if err != nil {
		fmt.Fprintf(w, "event: error\ndata: {\"message\":%q}\n\n", err)
	}
	fmt.Fprint(w, "event: end\ndata: null\n\n")
	r.mu.Lock()
	r.threads[id] = append(history, turn{"assistant", answer})
	r.mu.Unlock()
}

// relay copies one answer of the model to the client, frame by frame.
func (r *relay) relay(w http.ResponseWriter, req *http.Request, history []turn) (string, error) {
	body, err := json.Marshal(map[string]any{"model": "script", "stream": true, "messages": history})
	if err != nil {
		return "", err
	}
	up, err := http.NewRequestWithContext(req.Context(), http.MethodPost,
		r.model+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	res, err := r.client.Do(up)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()

	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	run, seq := rand.Text(), 0
	fmt.Fprintf(w, "event: metadata\ndata: {\"run_id\":%q,\"attempt\":1}\nid: 0\n\n", run)
	if err := out.Flush(); err != nil {
		return "", err
	}
	meta := fmt.Sprintf(`,{"langgraph_node":"model","langgraph_step":1,"run_id":%q,"tags":[]}]`, run)
	var answer, frame []byte
	in := bufio.NewReaderSize(res.Body, 16<<10)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return string(answer), nil
		}
		data, ok := bytes.CutPrefix(line, []byte("data: {"))
		if !ok {
			continue
		}
		var chunk struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal(append([]byte{'{'}, data...), &chunk); err != nil {
			return string(answer), err
		}
		if len(chunk.Choices) == 0 || chunk.Choices[0].Delta.Content == "" {
			continue
		}
		text := chunk.Choices[0].Delta.Content
		answer = append(answer, text...)
		quoted, err := json.Marshal(text)
		if err != nil {
			return string(answer), err
		}
		seq++
		frame = fmt.Appendf(frame[:0], "event: messages\ndata: [{\"type\":\"AIMessageChunk\",\"id\":%q,\"content\":%s,"+
			"\"additional_kwargs\":{},\"response_metadata\":{},\"name\":null,\"tool_calls\":[],\"tool_call_chunks\":[]}%s\nid: %d\n\n", run, quoted, meta, seq)
		if _, err := w.Write(frame); err != nil {
			return string(answer), err
		}
		// More than the empty line that ends this event: the next event has arrived already.
		if in.Buffered() > 1 {
			continue
		}
		if err := out.Flush(); err != nil {
			return string(answer), err
		}
	}
}
