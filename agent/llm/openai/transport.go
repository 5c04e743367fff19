package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"

	"fawn/agent/llm/llmerr"
	"fawn/agent/llm/wire"
)

// call connects one Stream call and its round trip through the context, because go-openai is between them.
type call struct {
	body     map[string]any  // laid over the request body; nil values remove fields
	response *http.Response  // a success; the reader of the stream closes its body
	failed   *llmerr.Error   // a refusal
	sent     map[string]bool // the fields of the body
}

type callKey struct{}

// transport adds fields that go-openai's request types lack, keeps error details that it drops, and passes the body of
// a successful response to the call.
type transport struct {
	below   http.RoundTripper
	headers map[string]string
	query   string
	secrets []string
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	c, ok := r.Context().Value(callKey{}).(*call)
	if !ok {
		return nil, fmt.Errorf("a request outside of a model call")
	}
	r, sent, err := t.rewrite(r, c)
	if err != nil {
		return nil, err
	}
	resp, err := t.below.RoundTrip(r)
	// The response references its request while it is read, which takes minutes.
	sent.drop()
	c.body = nil
	if err != nil {
		return nil, err
	}
	if c.failed = wire.Refused(resp); c.failed != nil {
		c.failed.Redact(t.secrets)
		return nil, c.failed
	}
	c.response = resp
	shell := *resp
	shell.Body = http.NoBody
	return &shell, nil
}

// rewrite merges the call's fields into go-openai's body.
func (t *transport) rewrite(r *http.Request, c *call) (*http.Request, *payload, error) {
	var body map[string]json.RawMessage
	err := json.NewDecoder(r.Body).Decode(&body)
	r.Body.Close()
	if err != nil {
		return nil, nil, fmt.Errorf("read the request: %w", err)
	}
	for k, v := range c.body {
		delete(body, k)
		if v == nil {
			continue
		}
		if done, ok := v.(encoded); ok {
			body[k] = json.RawMessage(done)
		} else if body[k], err = json.Marshal(v); err != nil {
			return nil, nil, fmt.Errorf("write the request: %s: %w", k, err)
		}
	}
	c.sent = make(map[string]bool, len(body))
	for k := range body {
		c.sent[k] = true
	}
	data := joined(body)
	sent := newPayload(data)
	out := r.Clone(r.Context())
	out.ContentLength = int64(len(data))
	out.GetBody = sent.open
	out.Body, _ = sent.open() // fails only after it is dropped
	out.Header.Del("Connection")
	for k, v := range t.headers {
		out.Header.Set(k, v)
	}
	out.URL.RawQuery = t.query
	return out, sent, nil
}

// joined writes an object of the fields as they are, sorted by name. The messages are most of a request,
// and encoding/json would go through every byte of them once more.
func joined(fields map[string]json.RawMessage) []byte {
	n := 2
	for k, v := range fields {
		n += len(k) + len(v) + 8
	}
	out := append(make([]byte, 0, n), '{')
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		name, _ := json.Marshal(k) // a string always encodes
		out = append(append(append(out, name...), ':'), fields[k]...)
	}
	return append(out, '}')
}

// open sends the request and returns the response of a success; its body must be closed.
func (m *Model) open(ctx context.Context, r outgoing, c *call) (*http.Response, error) {
	messages, err := encodeMessages(r.messages, r.fields, m.first)
	if err != nil {
		return nil, fmt.Errorf("write the messages: %w", err)
	}
	r.body["messages"] = messages
	c.body = r.body
	stream, err := m.client.CreateChatCompletionStream(context.WithValue(ctx, callKey{}, c), r.request)
	switch {
	case c.failed != nil:
		return nil, c.failed
	case err != nil:
		if c.response != nil {
			c.response.Body.Close()
		}
		return nil, err
	}
	stream.Close() // its body is empty: the call holds the real one
	return c.response, nil
}

// errDropped means that a request would be sent again after its answer began.
var errDropped = errors.New("the request body has been dropped")

// payload is a request body that the connection may send repeatedly until it is dropped. A dropped or closed body
// releases its memory, even if still referenced.
type payload struct {
	mu   sync.Mutex
	data []byte // nil = dropped
}

func newPayload(data []byte) *payload { return &payload{data: data} }

// open returns a reader of the body from its start.
func (p *payload) open() (io.ReadCloser, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.data == nil {
		return nil, errDropped
	}
	return &payloadReader{rest: *bytes.NewReader(p.data)}, nil
}

// drop releases the body; open readers continue.
func (p *payload) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.data = nil
}

// payloadReader reads a body. The connection closes it, maybe while it is being read.
type payloadReader struct {
	mu   sync.Mutex
	rest bytes.Reader
}

// Read implements io.Reader.
func (r *payloadReader) Read(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rest.Read(b)
}

// Close implements io.Closer.
func (r *payloadReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rest.Reset(nil)
	return nil
}
