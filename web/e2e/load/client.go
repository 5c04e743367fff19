// Package load drives a running Fawn with the scripted model and measures the cost of a token. Every figure is measured
// in rounds interleaved with a bare relay of the same wire format, so a slow or noisy machine affects both columns.
package load

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Word is the one word the scripted model repeats; a driver counts tokens by it. The space after it may come with the
// next piece.
const Word = "lorem"

// Target is a server under load. Direct means the model itself, without a server in between.
type Target struct {
	Name   string
	Base   string
	Direct bool
	PID    int    // 0 if its CPU time isn't needed
	Data   string // data folder, for disk figures
	client *http.Client
	asked  int // times its counters were read
}

// NewTarget returns a target with its own connection pool.
func NewTarget(name, base string) *Target {
	return &Target{Name: name, Base: base, client: &http.Client{Transport: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		MaxIdleConns:        512,
		MaxIdleConnsPerHost: 512,
		DisableCompression:  true,
		ReadBufferSize:      32 << 10,
	}}}
}

// Stream is a run as seen by its reader. Times count from sending the request.
type Stream struct {
	Tokens int
	First  time.Duration   // first token
	Last   time.Duration   // last token
	End    time.Duration   // end of the response
	Gaps   []time.Duration // between consecutive frames with tokens
}

func (t *Target) post(ctx context.Context, path string, body any) (*http.Response, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.Base+path, bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := t.client.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(res.Body, 300))
		return nil, fmt.Errorf("%s %s: status %d: %s", t.Name, path, res.StatusCode, text)
	}
	return res, nil
}

// Thread creates a thread and returns its id; a direct target has none.
func (t *Target) Thread(ctx context.Context) (string, error) {
	if t.Direct {
		return "", nil
	}
	res, err := t.post(ctx, "/threads", map[string]any{})
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var body struct {
		ID string `json:"thread_id"`
	}
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
		return "", fmt.Errorf("create thread: %w", err)
	}
	if body.ID == "" {
		return "", errors.New("create thread: no thread_id in the answer")
	}
	return body.ID, nil
}

// count returns the number of threads of a kind.
func (t *Target) count(ctx context.Context, filter map[string]any) (int, error) {
	res, err := t.post(ctx, "/threads/count", filter)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	var n int
	if err := json.NewDecoder(res.Body).Decode(&n); err != nil {
		return 0, fmt.Errorf("count threads: %w", err)
	}
	return n, nil
}

// say sends one message to a thread; the response is a stream.
func (t *Target) say(ctx context.Context, thread, text string) (*http.Response, error) {
	path, body := "/threads/"+thread+"/runs/stream", any(map[string]any{
		"assistant_id": "lead_agent",
		"input":        map[string]any{"messages": []any{map[string]string{"type": "human", "content": text}}},
		"stream_mode":  []string{"messages-tuple", "custom"},
	})
	if t.Direct {
		path, body = "/v1/chat/completions", map[string]any{"model": "script", "stream": true,
			"messages": []any{map[string]string{"role": "user", "content": text}}}
	}
	return t.post(ctx, path, body)
}

// Run sends one message to a thread and reads the answer to its end.
func (t *Target) Run(ctx context.Context, thread, text string) (Stream, error) {
	begin := time.Now()
	res, err := t.say(ctx, thread, text)
	if err != nil {
		return Stream{}, err
	}
	defer res.Body.Close()
	s, err := read(res.Body, begin, t.Direct)
	if err != nil {
		return s, fmt.Errorf("%s: read stream: %w", t.Name, err)
	}
	return s, nil
}

// read counts the words in the frames that carry message chunks.
func read(body io.Reader, begin time.Time, direct bool) (Stream, error) {
	var s Stream
	br := bufio.NewReaderSize(body, 32<<10)
	messages, failed, word := direct, false, []byte(Word)
	for {
		line, err := br.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			// The rest of a line longer than the buffer contains no chunk.
			continue
		}
		if event, ok := bytes.CutPrefix(line, []byte("event: ")); ok {
			event = bytes.TrimRight(event, "\n")
			messages, failed = string(event) == "messages", string(event) == "error"
		} else if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			if failed {
				return s, fmt.Errorf("server said: %s", bytes.TrimSpace(data))
			}
			if n := bytes.Count(data, word); messages && n > 0 {
				now := time.Since(begin)
				if s.Tokens == 0 {
					s.First = now
				} else {
					s.Gaps = append(s.Gaps, now-s.Last)
				}
				s.Tokens, s.Last = s.Tokens+n, now
			}
		}
		if errors.Is(err, io.EOF) {
			s.End = time.Since(begin)
			return s, nil
		}
		if err != nil {
			return s, err
		}
	}
}
