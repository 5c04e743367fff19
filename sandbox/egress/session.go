package egress

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"time"

	"fawn/sandbox/netguard"
)

const (
	// headLimit limits the bytes before a connection's target is known.
	headLimit = 64 << 10
	// headTime limits reading a head or client hello.
	headTime = 10 * time.Second
	// answerTime limits sending a refusal.
	answerTime = 5 * time.Second
)

// session is one connection from a sandbox.
type session struct {
	*setup
	proxy  *Proxy
	flow   *flow
	head   *io.LimitedReader // below in
	in     *bufio.Reader     // the client's data
	record Record
	stops  []func() bool // cancel effects of the context's end
}

// converse serves one connection and closes it.
func (p *Proxy) converse(ctx context.Context, conn net.Conn, acct *account, thread string) {
	start := time.Now()
	head := &io.LimitedReader{R: conn, N: headLimit}
	s := &session{
		setup:  p.setup.Load(),
		proxy:  p,
		flow:   &flow{client: conn, account: acct, idle: acct.limits.Idle},
		head:   head,
		in:     bufio.NewReader(head),
		record: Record{Thread: thread, At: p.clock()},
	}
	s.stops = append(s.stops, context.AfterFunc(ctx, func() { _ = conn.Close() })) // reads and writes return the error
	defer func() {
		if r := recover(); r != nil {
			// The bytes come from programs that a model wrote; none of them may
			// end the server.
			slog.ErrorContext(ctx, "sandbox proxy connection panicked", "thread", thread, "panic", r,
				"stack", string(debug.Stack()))
			s.record.Verdict = Failed
		}
		for _, stop := range s.stops {
			stop()
		}
		s.flow.close()
		if p.Audit != nil && s.record.Verdict != "" {
			s.record.In, s.record.Out = s.flow.in.Load(), s.flow.out.Load()
			s.record.Took = time.Since(start)
			p.Audit(s.record)
		}
	}()
	s.flow.extend(start.Add(min(headTime, s.flow.idle)))
	first, err := s.in.Peek(1)
	switch {
	case err != nil: // it connected and closed without a request
	case first[0] == socksVersion:
		s.socks(ctx)
	default:
		s.http(ctx)
	}
}

// http serves a request to the proxy.
func (s *session) http(ctx context.Context) {
	req, ok := s.readRequest()
	if !ok {
		return
	}
	if req.Method != http.MethodConnect {
		host, port, err := absolute(req.RequestURI)
		if err != nil {
			s.refuse(malformed("only absolute http:// addresses and CONNECT are served here"), req)
			return
		}
		s.forward(ctx, req, host, port)
		return
	}
	host, port, err := netguard.Authority(req.RequestURI)
	if err != nil || req.ContentLength != 0 {
		s.refuse(malformed("CONNECT needs a host and a port, and no body"), req)
		return
	}
	g, d := s.admit(ctx, host, port)
	if d == nil {
		d = s.connect(ctx, host, port)
	}
	if d != nil {
		s.refuse(d, req)
		return
	}
	if _, err := io.WriteString(s.flow.client, "HTTP/1.1 200 Connection Established\r\n\r\n"); err != nil {
		return
	}
	s.tunnel(ctx, g, host, port)
}

// readRequest reads the head of an HTTP request. Without one, the client has
// its answer already.
func (s *session) readRequest() (*http.Request, bool) {
	req, err := http.ReadRequest(s.in)
	if err == nil && tokens(req.Header) {
		s.head.N = math.MaxInt64
		return req, true
	}
	switch {
	case s.head.N <= 0:
		s.refuse(&denial{http.StatusRequestHeaderFieldsTooLarge, Malformed, "head",
			"the request's head is too large"}, nil)
	default:
		s.refuse(malformed("malformed request"), nil)
	}
	return nil, false
}

// grant is the reason why a connection is open.
type grant struct {
	rule     string
	readOnly bool // over plain HTTP, only GET and HEAD are allowed
}

// admit decides about a host and a port, without resolving the name: not even
// a question to a name server leaves for a host that is not open.
func (s *session) admit(ctx context.Context, host string, port int) (grant, *denial) {
	s.record.Host, s.record.Port = host, port
	limits := s.flow.account.limits
	if rule, ok := s.rules.deny.match(host); ok {
		return grant{}, blocked(host, Denied, "deny "+rule)
	}
	if !slices.Contains(limits.HTTPPorts, port) && !slices.Contains(limits.TLSPorts, port) {
		return grant{}, closedPort(host, port, limits)
	}
	if err := s.guard.CheckName(host); err != nil {
		return grant{}, closedAddress(host, err)
	}
	if rule, ok := s.rules.allow.match(host); ok {
		return grant{rule: "allow " + rule}, nil
	}
	if s.proxy.Decisions != nil {
		answer, ok, err := s.proxy.Decisions.Lookup(ctx, s.record.Thread, host)
		switch {
		case err != nil:
			slog.WarnContext(ctx, "couldn't look up answers about a host", "thread", s.record.Thread, "host", host, "err", err)
			return grant{}, blocked(host, Failed, "answers unreadable")
		case ok && answer == No:
			return grant{}, blocked(host, Denied, "answer no")
		case ok:
			return grant{rule: "answer " + string(answer)}, nil
		}
	}
	if rule, ok := s.rules.packages.match(host); ok {
		return grant{rule: "packages " + rule, readOnly: true}, nil
	}
	if s.proxy.Ask == nil {
		return grant{}, blocked(host, Denied, "default")
	}
	q := Question{Thread: s.record.Thread, Host: host, Port: port, At: s.record.At}
	if s.flow.account.mayAsk(host) {
		s.proxy.Ask(q)
	}
	if s.proxy.Decisions != nil && s.proxy.Await != nil && s.await(ctx, q) {
		switch answer, ok, err := s.proxy.Decisions.Lookup(ctx, s.record.Thread, host); {
		case err != nil || !ok: // the answer is unknown
		case answer == No:
			return grant{}, blocked(host, Denied, "answer no")
		default:
			return grant{rule: "answer " + string(answer)}, nil
		}
	}
	return grant{}, blocked(host, Asked, "default")
}

// await holds the connection until the question is answered or times out.
func (s *session) await(ctx context.Context, q Question) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.flow.extend(time.Time{})
	over := make(chan struct{})
	go func() {
		defer close(over)
		if _, err := s.in.Peek(1); err != nil { // the client is gone, or the timeout has passed
			cancel()
		}
	}()
	ok := s.proxy.Await(ctx, q)
	_ = s.flow.client.SetReadDeadline(time.Now()) // ends Peek
	<-over
	s.flow.extend(time.Now().Add(min(headTime, s.flow.idle)))
	return ok
}

// connect opens the network's side to an admitted host.
func (s *session) connect(ctx context.Context, host string, port int) *denial {
	if s.flow.account.spent() {
		return overBudget(s.flow.account.limits)
	}
	conn, err := s.guard.DialContext(ctx, "tcp", netguard.Join(host, port))
	if err != nil {
		return unreachable(host, err)
	}
	if ap, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil {
		s.record.IP = ap.Addr().Unmap()
	}
	s.flow.up = conn
	s.flow.extend(time.Now().Add(s.flow.idle))
	s.stops = append(s.stops, context.AfterFunc(ctx, func() { _ = conn.Close() }))
	return nil
}

// refuse answers an HTTP client and records the reason.
func (s *session) refuse(d *denial, req *http.Request) {
	s.note(d)
	// The reason may be that the time of both sides was over.
	if s.flow.client.SetDeadline(time.Now().Add(answerTime)) == nil && d.write(s.flow.client, req) == nil {
		s.linger()
	}
}

// note records a denial.
func (s *session) note(d *denial) {
	s.record.Verdict, s.record.Rule = d.verdict, d.rule
}

// linger lets a client read the response: closing a connection while the client still sends resets it, and the response
// is lost.
func (s *session) linger() {
	if closeWrite(s.flow.client) != nil || s.flow.client.SetDeadline(time.Now().Add(time.Second)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, s.flow.client, 256<<10) // discard trailing headers up to the end
}

// unreachable describes why a connection failed.
func unreachable(host string, err error) *denial {
	var refused *netguard.Refused
	var timeout net.Error
	switch {
	case errors.As(err, &refused):
		return closedAddress(host, err)
	case errors.Is(err, netguard.ErrUnresolved):
		return &denial{http.StatusBadGateway, Failed, "resolve", "the sandbox proxy found no address for " + host}
	case errors.As(err, &timeout) && timeout.Timeout():
		return &denial{http.StatusGatewayTimeout, Failed, "connect", host + " did not answer the sandbox proxy in time"}
	default:
		return &denial{http.StatusBadGateway, Failed, "connect", "the sandbox proxy could not connect to " + host}
	}
}
