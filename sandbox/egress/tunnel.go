package egress

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"fawn/sandbox/netguard"
)

const (
	// recordFirst is the first byte of a TLS connection.
	recordFirst = recordHandshake
	// alertName is the fatal TLS alert "unrecognized_name", in plain.
	alertName = "\x15\x03\x03\x00\x02\x02\x70"
)

// tunnel serves a client that was told that it is connected. Nothing reaches the network before the
// client names this host in TLS; on ports for plain HTTP it may send one request instead, for programs
// that tunnel everything.
func (s *session) tunnel(ctx context.Context, g grant, host string, port int) {
	s.flow.extend(time.Now().Add(min(headTime, s.flow.idle)))
	s.head.N = headLimit
	first, err := s.in.Peek(1)
	if err != nil {
		s.record.Verdict, s.record.Rule = Allowed, g.rule // opened and left unused
		return
	}
	if first[0] != recordFirst && slices.Contains(s.flow.account.limits.HTTPPorts, port) {
		s.tunnelled(ctx, g, host, port)
		return
	}
	raw, name, err := readHello(s.in)
	if err != nil {
		s.note(&denial{verdict: Forbidden, rule: "not tls"})
		return
	}
	if !sameName(name, host) {
		s.note(&denial{verdict: Forbidden, rule: "tls name " + printable(name)})
		_, _ = s.flow.client.Write([]byte(alertName)) // a courtesy; the connection ends either way
		s.linger()
		return
	}
	s.record.Verdict, s.record.Rule = Allowed, g.rule
	s.head.N = 1 << 62
	s.flow.extend(time.Now().Add(s.flow.idle))
	if _, err := (upSide{s.flow.up, s.flow}).Write(raw); err == nil {
		s.flow.splice(s.in)
	}
	if s.flow.limited.Load() {
		s.note(overBudget(s.flow.account.limits))
	}
}

// tunnelled serves one plain request inside a tunnel, as if it were in absolute form.
func (s *session) tunnelled(ctx context.Context, g grant, host string, port int) {
	req, ok := s.readRequest()
	if !ok {
		return
	}
	named, namedPort, err := absolute("http://" + req.Host)
	switch {
	case req.Method == http.MethodConnect || !strings.HasPrefix(req.RequestURI, "/"):
		s.refuse(malformed("a request inside a tunnel has a path only"), req)
		return
	case err != nil || named != host || namedPort != port || strings.ContainsAny(req.Host, "/?#"):
		s.refuse(&denial{http.StatusForbidden, Forbidden, "host header",
			"blocked by sandbox network policy: the Host header differs from " + host}, req)
		return
	}
	if d := readOnly(g, req, host); d != nil {
		s.refuse(d, req)
		return
	}
	s.flow.extend(time.Now().Add(s.flow.idle))
	s.exchange(ctx, g, req, host, port)
}

// sameName reports whether the name in a client hello is the host of the tunnel. Clients send none for an address.
func sameName(name, host string) bool {
	if name == "" {
		return netguard.IsAddress(host)
	}
	normal, err := netguard.Host(name)
	return err == nil && normal == host
}

// printable returns a name for records, which a hostile client chose.
func printable(name string) string {
	if name == "" {
		return "missing"
	}
	if host, err := netguard.Host(name); err == nil {
		return host
	}
	return "malformed"
}
