package mcpserver

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

// maxAnswer is how much of an answer of the API is read: 64 MiB.
const maxAnswer = 64 << 20

// reply is an answer of the API, kept in memory.
type reply struct {
	status int
	header http.Header
	body   bytes.Buffer
	most   int
	full   bool // there was more than fits
}

// errFull stops a handler whose answer is too large.
var errFull = errors.New("the answer is too large")

// Header implements http.ResponseWriter.
func (r *reply) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *reply) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

// Write implements http.ResponseWriter.
func (r *reply) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	if room := r.most - r.body.Len(); len(p) > room {
		r.full = true
		r.body.Write(p[:room])
		return room, errFull
	}
	return r.body.Write(p)
}

// Flush implements http.Flusher.
func (r *reply) Flush() {}

// refusal is what the API says against a request.
type refusal struct {
	status int
	text   string
}

// Error implements error.
func (e *refusal) Error() string { return e.text }

// request asks the API, as the principal of ctx, and keeps up to most bytes of the answer.
func (s *Server) request(ctx context.Context, method, path, kind string, body io.Reader, most int,
	headers ...string) (*reply, error) {
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
	out := &reply{header: http.Header{}, most: most}
	s.API.ServeHTTP(out, r)
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if out.status >= 400 {
		return nil, &refusal{out.status, detail(out.body.Bytes(), out.status)}
	}
	return out, nil
}

// detail is the text of an error of the API.
func detail(body []byte, status int) string {
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

// call sends an object, or nothing, and decodes the answer into out unless that is nil.
func (s *Server) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	kind := ""
	if in != nil {
		b, err := agent.Encode(in)
		if err != nil {
			return err
		}
		body, kind = bytes.NewReader(b), "application/json"
	}
	r, err := s.request(ctx, method, path, kind, body, maxAnswer)
	if err != nil || out == nil {
		return err
	}
	return decode(r, out)
}

// threadPath is the path of a thread, or of what is below it. Parts that could be another path
// are escaped.
func threadPath(thread string, parts ...string) string {
	all := "/api/threads/" + url.PathEscape(thread)
	for _, p := range parts {
		all += "/" + url.PathEscape(p)
	}
	return all
}

// decode reads the body of an answer.
func decode(r *reply, out any) error {
	if r.full {
		return errFull
	}
	if err := json.Unmarshal(r.body.Bytes(), out); err != nil {
		return fmt.Errorf("read the answer of the API: %w", err)
	}
	return nil
}
