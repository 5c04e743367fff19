package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"fawn/agent/llm/llmerr"
)

// Direct carries calls of go-openai that have one answer: it adds the query of the address, limits answers, and
// returns refusals in the words of the provider.
type Direct struct {
	Below   http.RoundTripper
	Query   string
	Secrets []string // hidden in refusals
	Most    int64    // bytes of an answer

	Body func(*http.Request) (body []byte, kind string, err error) // replaces the body of a request; nil keeps it
}

// RoundTrip implements [http.RoundTripper].
func (t *Direct) RoundTrip(r *http.Request) (*http.Response, error) {
	out := r.Clone(r.Context())
	out.URL.RawQuery = t.Query
	if r.Body != nil && t.Body != nil {
		body, kind, err := t.Body(r)
		if err != nil {
			return nil, err
		}
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		out.Header.Set("Content-Type", kind)
	}
	resp, err := t.Below.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	if failed := Refused(resp); failed != nil {
		failed.Redact(t.Secrets)
		return nil, failed
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, t.Most), resp.Body}
	return resp, nil
}

// Failed returns an error of a call in the words of the provider, or the reason why its context ended. limit is the
// time that the call had.
func Failed(ctx context.Context, err error, limit time.Duration) error {
	var refused *llmerr.Error
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &llmerr.Error{Class: llmerr.ClassNetwork, Message: fmt.Sprintf("no answer within %v", limit)}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &refused):
		return refused
	}
	var u *url.Error
	if errors.As(err, &u) { // without the address, which may hold a key
		err = u.Err
	}
	return &llmerr.Error{Class: llmerr.ClassNetwork, Message: err.Error(), Err: err}
}
