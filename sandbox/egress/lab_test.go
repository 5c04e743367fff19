package egress_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/egress"
	"fawn/sandbox/netguard/netguardtest"
)

// clock is a time that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// lab is a proxy on a real listener, with an HTTP and a TLS server behind it
// to which every name leads.
type lab struct {
	*egress.Proxy
	t          *testing.T
	addr       string
	plain, tls *httptest.Server
	records    chan egress.Record
	questions  chan egress.Question
	decisions  *egress.Memory

	mu   sync.Mutex
	seen []*http.Request // by the servers
}

// newLab starts everything; setup may change the proxy before it serves.
func newLab(t *testing.T, policy egress.Policy, setup func(*lab)) *lab {
	t.Helper()
	l := &lab{t: t, records: make(chan egress.Record, 1000), questions: make(chan egress.Question, 1000),
		decisions: &egress.Memory{}}
	l.plain = httptest.NewServer(http.HandlerFunc(l.handle))
	l.tls = httptest.NewUnstartedServer(http.HandlerFunc(l.handle))
	l.tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	l.tls.StartTLS()
	t.Cleanup(l.plain.Close)
	t.Cleanup(l.tls.Close)
	p := must.Get(egress.New(policy,
		netguardtest.Hosts(map[string]string{"metadata.example": "169.254.169.254", "lan.example": "192.168.1.1"})))(t)
	p.Limits = egress.Limits{HTTPPorts: []int{netguardtest.PortOf(l.plain)}, TLSPorts: []int{netguardtest.PortOf(l.tls)}}
	p.Decisions = l.decisions
	p.Ask = func(q egress.Question) { l.questions <- q }
	p.Audit = func(r egress.Record) { l.records <- r }
	l.Proxy = p
	if setup != nil {
		setup(l)
	}
	l.addr = l.serve("t1")
	return l
}

// serve opens one more listener and returns its address.
func (l *lab) serve(thread string) string {
	l.t.Helper()
	ln := must.Get(net.Listen("tcp", "127.0.0.1:0"))(l.t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.Serve(ctx, ln, thread) }()
	l.t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				l.t.Errorf("Serve = %v", err)
			}
		case <-time.After(time.Minute):
			l.t.Error("Serve did not return")
		}
	})
	return ln.Addr().String()
}

// handle answers for both servers: /big with 3 MB, /echo with the body, other
// paths with "hello".
func (l *lab) handle(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	l.mu.Lock()
	l.seen = append(l.seen, r.Clone(context.Background()))
	l.mu.Unlock()
	w.Header().Set("Keep-Alive", "timeout=5")
	switch r.URL.Path {
	case "/big":
		w.(http.Flusher).Flush()
		for range 96 {
			if _, err := w.Write(make([]byte, 32<<10)); err != nil {
				return
			}
		}
	case "/echo":
		_, _ = w.Write(body)
	case "/hang":
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	default:
		_, _ = io.WriteString(w, "hello")
	}
}

// requests returns what reached the servers so far.
func (l *lab) requests() []*http.Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]*http.Request(nil), l.seen...)
}

// client is an ordinary HTTP client that uses the proxy, as programs in a
// sandbox do.
func (l *lab) client(scheme string) *http.Client {
	roots := x509.NewCertPool()
	roots.AddCert(l.tls.Certificate())
	t := &http.Transport{
		Proxy:             http.ProxyURL(&url.URL{Scheme: scheme, Host: l.addr}),
		TLSClientConfig:   &tls.Config{RootCAs: roots},
		DisableKeepAlives: true,
	}
	l.t.Cleanup(t.CloseIdleConnections)
	return &http.Client{Transport: t, Timeout: time.Minute}
}

// record waits for the next audit record.
func (l *lab) record() egress.Record {
	l.t.Helper()
	select {
	case r := <-l.records:
		return r
	case <-time.After(time.Minute):
		l.t.Fatal("no audit record")
		panic("unreachable")
	}
}

// dial opens a bare connection to the proxy.
func (l *lab) dial() net.Conn {
	l.t.Helper()
	c := must.Get(net.Dial("tcp", l.addr))(l.t)
	l.t.Cleanup(func() { _ = c.Close() })
	must.Do(l.t, c.SetDeadline(time.Now().Add(time.Minute)))
	return c
}

// say sends bytes on a new connection and returns all that comes back.
func (l *lab) say(text string) string {
	l.t.Helper()
	c := l.dial()
	_, _ = io.WriteString(c, text) // what is refused may not be read to its end
	back, _ := io.ReadAll(c)       // however it ends, what came counts
	_ = c.Close()
	return string(back)
}

// connect opens a tunnel and returns it with the status line of the answer.
func (l *lab) connect(target string) (net.Conn, *bufio.Reader, string) {
	l.t.Helper()
	c := l.dial()
	must.Get(io.WriteString(c, "CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\n\r\n"))(l.t)
	r := bufio.NewReader(c)
	status := must.Get(r.ReadString('\n'))(l.t)
	for line := "x"; strings.TrimSpace(line) != ""; {
		line = must.Get(r.ReadString('\n'))(l.t)
	}
	return c, r, strings.TrimSpace(status)
}
