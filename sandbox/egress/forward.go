package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"fawn/sandbox/netguard"
)

// absolute parses a request target in absolute form, such as "http://example.com:80/path". It checks the raw bytes,
// because a parsed URL has already decoded the forbidden forms.
func absolute(uri string) (host string, port int, err error) {
	const scheme = "http://"
	if len(uri) < len(scheme) || !strings.EqualFold(uri[:len(scheme)], scheme) {
		return "", 0, fmt.Errorf("%w: not an http address", netguard.ErrHost)
	}
	part := uri[len(scheme):]
	if i := strings.IndexAny(part, "/?#"); i >= 0 {
		part = part[:i]
	}
	if i := strings.LastIndexByte(part, ':'); i < 0 || strings.HasSuffix(part, "]") {
		host, err = netguard.Host(part)
		return host, 80, err
	}
	return netguard.Authority(part)
}

// forward passes one plain HTTP request to host and its answer back.
func (s *session) forward(ctx context.Context, req *http.Request, host string, port int) {
	g, d := s.admit(ctx, host, port)
	if d == nil && !slices.Contains(s.flow.account.limits.HTTPPorts, port) {
		d = &denial{http.StatusForbidden, Forbidden, "port",
			fmt.Sprintf("blocked by sandbox network policy: %s port %d takes no plain HTTP", host, port)}
	}
	if d == nil {
		d = readOnly(g, req, host)
	}
	if d == nil {
		d = s.connect(ctx, host, port)
	}
	if d != nil {
		s.refuse(d, req)
		return
	}
	s.exchange(ctx, g, req, host, port)
}

// readOnly refuses requests that could send data to a read-only host.
func readOnly(g grant, req *http.Request, host string) *denial {
	reads := req.Method == http.MethodGet || req.Method == http.MethodHead
	if !g.readOnly || reads && req.ContentLength == 0 {
		return nil
	}
	return &denial{http.StatusForbidden, Forbidden, "method",
		"blocked by sandbox network policy: " + host +
			" (package hosts take GET and HEAD without a body; ask the owner to add it to sandbox.network.allow)"}
}

// exchange sends req over the connected flow and the answer to the client. The request is read and written again, so
// that both sides see the same one.
func (s *session) exchange(ctx context.Context, g grant, req *http.Request, host string, port int) {
	s.record.Verdict, s.record.Rule = Allowed, g.rule
	target := netguard.Join(host, port)
	if port == 80 {
		target = strings.TrimSuffix(target, ":80")
	}
	out := req.Clone(ctx)
	out.URL = &url.URL{Scheme: "http", Host: target, Path: req.URL.Path, RawPath: req.URL.RawPath,
		RawQuery: req.URL.RawQuery, ForceQuery: req.URL.ForceQuery}
	out.Host, out.RequestURI = target, ""
	stripHops(out.Header)
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header["User-Agent"] = nil // otherwise the transport adds its own
	}
	if strings.EqualFold(out.Header.Get("Expect"), "100-continue") {
		out.Header.Del("Expect")
		if _, err := io.WriteString(s.flow.client, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return
		}
	}
	resp, err := s.roundTrip(out)
	if err != nil {
		s.refuse(s.broken(host, err), req)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		s.refuse(s.broken(host, errors.New("unexpected protocol switch")), req)
		return
	}
	stripHops(resp.Header)
	resp.Proto, resp.ProtoMajor, resp.ProtoMinor = "HTTP/1.1", 1, 1
	resp.Close, resp.Request = true, req
	switch {
	case !req.ProtoAtLeast(1, 1):
		resp.TransferEncoding = nil
	case resp.ContentLength < 0:
		// With chunks, the client can detect a truncated body.
		resp.TransferEncoding = []string{"chunked"}
	}
	if resp.Write(clientSide{s.flow.client, s.flow}) == nil {
		s.linger()
	} else if s.flow.limited.Load() {
		s.note(overBudget(s.flow.account.limits))
	}
}

// roundTrip sends a request over the connection that is already there.
func (s *session) roundTrip(req *http.Request) (*http.Response, error) {
	taken := false
	t := &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			if taken {
				return nil, errors.New("one request per connection")
			}
			taken = true
			return upSide{s.flow.up, s.flow}, nil
		},
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 256 << 10,
	}
	return t.RoundTrip(req)
}

// broken describes why there was no response.
func (s *session) broken(host string, err error) *denial {
	switch {
	case s.flow.limited.Load():
		return overBudget(s.flow.account.limits)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &denial{http.StatusGatewayTimeout, Failed, "answer", host + " did not answer the sandbox proxy in time"}
	default:
		return &denial{http.StatusBadGateway, Failed, "answer", "the answer of " + host + " broke off or made no sense"}
	}
}

// tokens reports whether all header names are valid. The parser accepts some that others read differently, such as one
// with a space before the colon.
func tokens(h http.Header) bool {
	for name := range h {
		for _, c := range []byte(name) {
			if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') &&
				!strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
				return false
			}
		}
	}
	return true
}

// stripHops removes the headers that are for the next machine only.
func stripHops(h http.Header) {
	for _, list := range h["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range []string{"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate",
		"Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade"} {
		h.Del(name)
	}
}
