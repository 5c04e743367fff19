package proxy

import (
	"context"
	"net"
	"net/http"
	"net/netip"
)

// Client is the origin of a request, and its route to this server.
type Client struct {
	Addr   netip.Addr // client's address, not a trusted proxy's; invalid only if unknown
	Scheme string     // http or https, as the client sees it
	Host   string     // host, and port if there is one, as the client sees it
	Base   string     // path below which the client sees this server: "" or, for example, /fawn
}

// IP returns the client's address as text, "" if it is not known.
func (c Client) IP() string {
	if !c.Addr.IsValid() {
		return ""
	}
	return c.Addr.String()
}

// Secure reports whether the client's connection is encrypted, so that its cookies must be too.
func (c Client) Secure() bool { return c.Scheme == "https" }

// Root returns this server's address as seen by the client, without a trailing slash.
func (c Client) Root() string { return c.Scheme + "://" + c.Host + c.Base }

type key struct{}

// Of returns the client of a request. Without a preceding Trust.Resolve, it is the peer of the connection.
func Of(r *http.Request) Client {
	if c, ok := r.Context().Value(key{}).(Client); ok {
		return c
	}
	return direct(r)
}

// With returns a copy of ctx with c in it.
func With(ctx context.Context, c Client) context.Context { return context.WithValue(ctx, key{}, c) }

// direct returns the other end of the connection.
func direct(r *http.Request) Client {
	c := Client{Addr: address(r.RemoteAddr), Scheme: "http", Host: r.Host}
	if r.TLS != nil {
		c.Scheme = "https"
	}
	return c
}

// address parses host:port. A client on a Unix socket is on this machine.
func address(s string) netip.Addr {
	if at, err := netip.ParseAddrPort(s); err == nil {
		return at.Addr().Unmap().WithZone("")
	}
	if s == "" || s == "@" || s[0] == '/' || s[0] == '@' {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return netip.Addr{}
}

// Resolve determines the origin of a request and puts the Client into its context. In the result, Host and RemoteAddr
// are the client's, and proxy headers are removed, so that later code can't trust them by mistake.
func (t Trust) Resolve(r *http.Request) *http.Request {
	c := direct(r)
	if t.Contains(c.Addr) {
		t.forwarded(r.Header, &c)
	}
	for _, name := range [...]string{headerFor, headerProto, headerHost, headerPrefix, "X-Forwarded-Port",
		"X-Forwarded-Server", "X-Real-Ip", headerForwarded} {
		delete(r.Header, name)
	}
	out := r.WithContext(With(r.Context(), c))
	out.Host = c.Host
	if at := address(r.RemoteAddr); at != c.Addr && c.Addr.IsValid() {
		out.RemoteAddr = net.JoinHostPort(c.Addr.String(), "0")
	}
	return out
}
