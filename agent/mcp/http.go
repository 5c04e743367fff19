package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"time"

	"fawn/sandbox/netguard"
)

// Limits of HTTP transfers.
const (
	maxMessage   = 32 << 20 // one message of any transport, unless the pool sets another limit
	maxRedirects = 5
)

// errTooLarge is why an answer is not read any further.
var errTooLarge = errors.New("the answer is too large")

// web is the transport to one server over HTTP. Its owner chose the address, which may be private. Redirects are the
// server's choice: headers and tokens aren't sent there, and the guard checks the address.
type web struct {
	server  *url.URL
	headers map[string]string
	tokens  *tokens            // nil sends none
	told    func(refused bool) // reports whether the server rejected our identity; nil ignores it
	direct  *http.Transport
	guarded *http.Transport
	most    int64 // bytes of a message

	life context.Context // ends requests, which the library detaches from its contexts; nil doesn't
}

func newWeb(s Server, t *tokens, o *Options, most int) (*web, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the url must begin with http:// or https://")
	}
	chosen := &netguard.Guard{Private: true} // but no metadata service of a cloud
	dial := (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, Control: chosen.Control}).DialContext
	if s.PublicOnly {
		dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := o.Public().DialContext(ctx, network, address)
			if refused := (*netguard.Refused)(nil); errors.As(err, &refused) && refused.Reason != netguard.Metadata {
				err = fmt.Errorf("%w; the owner can add it to auth.allow_private", err)
			}
			return conn, err
		}
	}
	direct := &http.Transport{DialContext: dial, TLSHandshakeTimeout: 10 * time.Second,
		MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute}
	guarded := &http.Transport{DialContext: o.Guard.DialContext, TLSHandshakeTimeout: 10 * time.Second,
		MaxResponseHeaderBytes: 64 << 10, DisableKeepAlives: true}
	return &web{server: u, headers: s.Headers, tokens: t, direct: direct, guarded: guarded,
		most: int64(most)}, nil
}

// client returns the HTTP client of one session.
func (w *web) client() *http.Client {
	return &http.Client{Transport: w, CheckRedirect: func(_ *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return fmt.Errorf("more than %d redirects", maxRedirects)
		}
		return nil
	}}
}

// RoundTrip implements [http.RoundTripper].
func (w *web) RoundTrip(req *http.Request) (*http.Response, error) {
	if w.life == nil {
		return w.roundTrip(req)
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	stop := context.AfterFunc(w.life, func() { cancel(context.Cause(w.life)) })
	end := func() { stop(); cancel(nil) }
	resp, err := w.roundTrip(req.WithContext(ctx))
	if err != nil {
		end()
		return nil, err
	}
	resp.Body = &ending{resp.Body, end}
	return resp, nil
}

// ending is a response body with a callback at its end.
type ending struct {
	io.ReadCloser
	end func()
}

// Close implements [io.Closer].
func (b *ending) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

func (w *web) roundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != w.server.Scheme || req.URL.Host != w.server.Host {
		return w.bounded(w.guarded.RoundTrip(req))
	}
	resp, sent, err := w.ask(req)
	if err == nil && resp.StatusCode == http.StatusUnauthorized && w.tokens != nil {
		w.tokens.drop(sent)
		if again, ok := repeat(req); ok { // a refused request had no effect
			_ = resp.Body.Close() // nothing reads it
			resp, sent, err = w.ask(again)
			if err == nil && resp.StatusCode == http.StatusUnauthorized {
				w.tokens.drop(sent)
			}
		}
	}
	if w.told != nil && (err == nil || errors.Is(err, errLogin)) {
		w.told(err != nil || resp.StatusCode == http.StatusUnauthorized)
	}
	return resp, err
}

// repeat returns a request that can be sent once more.
func repeat(req *http.Request) (*http.Request, bool) {
	if req.Body == nil || req.Body == http.NoBody {
		return req, true
	}
	if req.GetBody == nil {
		return nil, false
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, false
	}
	again := req.Clone(req.Context())
	again.Body = body
	return again, true
}

// ask sends a request to the server itself, with our credentials.
func (w *web) ask(req *http.Request) (_ *http.Response, sent string, err error) {
	req = req.Clone(req.Context())
	for k, v := range w.headers {
		req.Header.Set(k, v)
	}
	if w.tokens != nil {
		if sent, err = w.tokens.header(req.Context()); err != nil {
			if req.Body != nil {
				_ = req.Body.Close() // nothing was sent
			}
			return nil, "", err
		}
		req.Header.Set("Authorization", sent)
	}
	resp, err := w.bounded(w.direct.RoundTrip(req))
	return resp, sent, err
}

// bounded limits a body, unless it is a stream, whose messages are limited individually.
func (w *web) bounded(resp *http.Response, err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	switch kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind {
	case "text/event-stream":
		resp.Body = &healedBody{ReadCloser: resp.Body, events: true, most: int(w.most)}
	case "application/json":
		resp.Body = &healedBody{ReadCloser: netguard.LimitBody(resp.Body, w.most, errTooLarge)}
		resp.ContentLength = -1
		resp.Header.Del("Content-Length")
	default:
		resp.Body = netguard.LimitBody(resp.Body, w.most, errTooLarge)
	}
	return resp, nil
}

// close closes idle connections.
func (w *web) close() { w.direct.CloseIdleConnections() }
