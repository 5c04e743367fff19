// Package wire holds the parts common to all providers' APIs: connections, the watch for silence, errors of refusals
// and broken answers, and image formats. Parts of a single API are in its adapter.
package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"fawn/agent"
	"fawn/agent/llm/llmerr"
)

// Defaults of [Call].
const (
	DefaultTimeout     = 10 * time.Minute
	DefaultIdleTimeout = 4 * time.Minute
)

// Client returns c, or a shared one if it is nil, on the shared connections unless it has its own. It follows no
// redirects, so the key isn't sent elsewhere.
func Client(c *http.Client) *http.Client {
	out := http.Client{}
	if c != nil {
		out = *c
	}
	if out.Transport == nil {
		out.Transport = shared()
	} else if _, done := out.Transport.(unpacking); !done {
		out.Transport = unpacking{out.Transport}
	}
	out.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &out
}

// shared is the common connection pool. Compression is off because it makes proxies delay events.
var shared = sync.OnceValue(func() http.RoundTripper {
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return unpacking{http.DefaultTransport}
	}
	t := base.Clone()
	t.ReadBufferSize, t.WriteBufferSize = 2<<10, 2<<10 // each active answer has both, and events are short
	t.DisableCompression = true
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 512, 256
	return unpacking{t}
})

// CloseIdle closes the shared connections which no call uses; the next call opens new ones.
func CloseIdle() {
	if t, ok := shared().(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// longHeader is the length from which any header's value counts as a secret.
const longHeader = 16

// Secrets returns the values that must not show in an error.
func Secrets(key string, headers map[string]string) []string {
	var out []string
	if key != "" {
		out = append(out, key)
	}
	for k, v := range headers {
		k = strings.ToLower(k)
		if strings.Contains(k, "key") || strings.Contains(k, "auth") || strings.Contains(k, "token") ||
			strings.Contains(k, "cookie") || len(v) >= longHeader {
			out = append(out, strings.TrimPrefix(v, "Bearer "))
		}
	}
	return out
}

// ErrStopped means that the answer's reader stopped.
var ErrStopped = errors.New("stopped")

// Yield passes on a piece of an answer; false means that the reader stopped.
type Yield = func(agent.Chunk, error) bool

// Call is one call to a model.
type Call struct {
	Name        string        // how errors call the model
	Timeout     time.Duration // wait for the answer to begin; 0 = DefaultTimeout
	IdleTimeout time.Duration // longest silence inside it; 0 = DefaultIdleTimeout, < 0 = no limit
	Secrets     []string      // replaced in every message of an error
}

// Patience limits how long a call waits for its provider.
type Patience struct {
	timer *time.Timer
	limit time.Duration
}

// Wait starts waiting for the provider; call it before each wait that follows data.
func (p *Patience) Wait() {
	if p.limit > 0 {
		p.timer.Reset(p.limit)
	} else {
		p.timer.Stop()
	}
}

// AtMost starts waiting with this limit.
func (p *Patience) AtMost(d time.Duration) { p.timer.Reset(d) }

// Do makes the call: begin sends it, and read processes the response. A failure is yielded last: the cause of ctx's
// end, or a silence or provider failure as *llmerr.Error.
func (c Call) Do(ctx context.Context, yield Yield, begin func(context.Context) (*http.Response, error),
	read func(*http.Response, *Patience) error) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := &Patience{limit: c.Timeout}
	if p.limit <= 0 {
		p.limit = DefaultTimeout
	}
	p.timer = time.AfterFunc(p.limit, func() { cancel(llmerr.ErrIdle) })
	defer p.timer.Stop()
	resp, err := begin(inner)
	if err == nil {
		defer resp.Body.Close()
		if p.limit = c.IdleTimeout; p.limit == 0 {
			p.limit = DefaultIdleTimeout
		}
		p.Wait()
		err = read(resp, p)
	}
	switch {
	case err == nil, errors.Is(err, ErrStopped):
	case ctx.Err() != nil:
		yield(agent.Chunk{}, context.Cause(ctx))
	case errors.Is(context.Cause(inner), llmerr.ErrIdle):
		yield(agent.Chunk{}, &llmerr.Error{Class: llmerr.ClassNetwork, Err: llmerr.ErrIdle,
			Message: fmt.Sprintf("the provider of %s sent nothing for %s", c.Name, p.limit)})
	default:
		yield(agent.Chunk{}, failure(err).Redact(c.Secrets))
	}
}
