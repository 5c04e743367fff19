// Package inproc calls the HTTP API of this process without a connection, with its checks, as the principal of a
// request. MCP, OpenAI's API and editors are served through it.
package inproc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"fawn/agent"
)

// MaxAnswer limits a response of the API: 64 MiB.
const MaxAnswer = 64 << 20

// Client asks an API.
type Client struct {
	API http.Handler // reads the principal in the context of a request
}

// Reply is an answer of the API, kept in memory.
type Reply struct {
	Status int
	Body   bytes.Buffer
	Full   bool // there was more than fits

	header http.Header
	most   int
}

// ErrFull stops a handler whose response is too large.
var ErrFull = errors.New("the answer is too large")

// Header implements http.ResponseWriter.
func (r *Reply) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *Reply) WriteHeader(status int) {
	if r.Status == 0 {
		r.Status = status
	}
}

// Write implements http.ResponseWriter.
func (r *Reply) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	if room := r.most - r.Body.Len(); len(p) > room {
		r.Full = true
		r.Body.Write(p[:room])
		return room, ErrFull
	}
	return r.Body.Write(p)
}

// Flush implements http.Flusher.
func (r *Reply) Flush() {}

// Refusal is the API's refusal of a request.
type Refusal struct {
	Status int
	Text   string
}

// Error implements error.
func (e *Refusal) Error() string { return e.Text }

// Request asks the API, as the principal of ctx, and keeps up to most bytes of the answer.
func (c Client) Request(ctx context.Context, method, path, kind string, body io.Reader, most int,
	headers ...string) (*Reply, error) {
	r, err := http.NewRequestWithContext(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	out := &Reply{header: http.Header{}, most: most}
	c.API.ServeHTTP(out, r)
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if out.Status >= 400 {
		return nil, &Refusal{out.Status, Detail(out.Body.Bytes(), out.Status)}
	}
	return out, nil
}

// Detail returns the text of an error of the API.
func Detail(body []byte, status int) string {
	var told struct {
		Detail json.RawMessage `json:"detail"`
	}
	var text string
	var fields []struct {
		At   []any  `json:"loc"`
		Text string `json:"msg"`
	}
	switch {
	case json.Unmarshal(body, &told) != nil:
	case json.Unmarshal(told.Detail, &text) == nil && text != "":
		return text
	case json.Unmarshal(told.Detail, &fields) == nil && len(fields) > 0:
		var all []string
		for _, f := range fields {
			name := ""
			if n := len(f.At); n > 0 {
				name = fmt.Sprint(f.At[n-1]) + ": "
			}
			all = append(all, name+f.Text)
		}
		return strings.Join(all, "; ")
	}
	return fmt.Sprintf("the request failed (%d %s)", status, http.StatusText(status))
}

// Call sends an object, or nothing, and decodes the answer into out unless that is nil.
func (c Client) Call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	kind := ""
	if in != nil {
		b, err := agent.Encode(in)
		if err != nil {
			return err
		}
		body, kind = bytes.NewReader(b), "application/json"
	}
	r, err := c.Request(ctx, method, path, kind, body, MaxAnswer)
	if err != nil || out == nil {
		return err
	}
	return Decode(r, out)
}

// ThreadPath returns the path of a thread, or of a resource below it. Parts are escaped.
func ThreadPath(thread string, parts ...string) string {
	all := "/api/threads/" + url.PathEscape(thread)
	for _, p := range parts {
		all += "/" + url.PathEscape(p)
	}
	return all
}

// Decode reads the body of an answer.
func Decode(r *Reply, out any) error {
	if r.Full {
		return ErrFull
	}
	if err := json.Unmarshal(r.Body.Bytes(), out); err != nil {
		return fmt.Errorf("read the answer of the API: %w", err)
	}
	return nil
}
