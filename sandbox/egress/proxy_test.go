package egress_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/egress"
	"fawn/sandbox/netguard"
	"fawn/sandbox/netguard/netguardtest"
)

func TestProxyServesOpenHosts(t *testing.T) {
	l := newLab(t, egress.Policy{Allow: []string{"example.com", "*.example.com"}}, nil)
	for _, scheme := range []string{"http", "socks5h"} {
		for _, s := range []string{netguardtest.At(l.plain, "example.com", "/a?b=c"), netguardtest.At(l.tls, "example.com", "/a?b=c"),
			netguardtest.At(l.plain, "www.EXAMPLE.com.", "/a?b=c")} {
			body, err := netguardtest.Fetch(t, l.client(scheme), s)
			if err != nil || body != "hello" {
				t.Fatalf("%s through %s: %q, %v", s, scheme, body, err)
			}
			r := l.record()
			if r.Verdict != egress.Allowed || r.Thread != "t1" || r.IP != netip.MustParseAddr("127.0.0.1") ||
				!strings.HasSuffix(r.Host, "example.com") || !strings.HasPrefix(r.Rule, "allow ") || r.In == 0 ||
				r.Out == 0 || r.Port == 0 || r.At.IsZero() || r.Took <= 0 {
				t.Errorf("%s through %s: record %+v", s, scheme, r)
			}
		}
	}
	for _, r := range l.requests() {
		if r.URL.RequestURI() != "/a?b=c" {
			t.Errorf("the server was asked for %s", r.URL)
		}
	}
	in, out := l.Usage("t1")
	if in == 0 || out == 0 {
		t.Errorf("usage %d, %d", in, out)
	}
	if in, out := l.Usage("other"); in+out != 0 {
		t.Errorf("usage of a thread that was never served: %d, %d", in, out)
	}
}

func TestProxyAsksAboutUnknownHosts(t *testing.T) {
	const text = "403 blocked by sandbox network policy: new.example (ask the owner to add it to sandbox.network.allow)"
	clock := newClock()
	l := newLab(t, egress.Policy{}, func(l *lab) {
		l.Now, l.decisions.Now = clock.Now, clock.Now
	})
	address := netguardtest.At(l.plain, "new.example", "/")
	get := func() (int, string, string) {
		resp := must.Get(l.client("http").Get(address))(t)
		defer resp.Body.Close()
		b := make([]byte, 1000)
		n, _ := resp.Body.Read(b)
		return resp.StatusCode, resp.Status, string(b[:n])
	}
	for range 3 {
		if code, status, body := get(); code != 403 || status != text || body != text+"\n" {
			t.Fatalf("%d %q %q, want %q", code, status, body, text)
		}
		if r := l.record(); r.Verdict != egress.Asked || r.Host != "new.example" || r.IP.IsValid() || r.In+r.Out != 0 {
			t.Errorf("record %+v", r)
		}
	}
	q := <-l.questions
	if q != (egress.Question{Thread: "t1", Host: "new.example", Port: netguardtest.PortOf(l.plain), At: clock.Now()}) {
		t.Errorf("question %+v", q)
	}
	if len(l.questions) != 0 {
		t.Error("asked more than once within a minute")
	}
	clock.Add(61 * time.Second)
	get()
	l.record()
	if len(l.questions) != 1 {
		t.Errorf("%d questions after a minute, want one more", len(l.questions))
	}
	_, err := netguardtest.Fetch(t, l.client("http"), netguardtest.At(l.tls, "new.example", "/"))
	if err == nil || !strings.Contains(err.Error(), "blocked by sandbox network policy: new.example (ask") {
		t.Errorf("CONNECT: %v", err)
	}
	l.record()

	for _, step := range []struct {
		answer egress.Answer
		after  time.Duration
		open   bool
		rule   string
	}{
		{egress.Once, time.Second, true, "answer once"},
		{egress.Once, egress.OnceFor, false, "default"},
		{egress.Thread, 1000 * time.Hour, true, "answer thread"},
		{egress.No, time.Second, false, "answer no"},
		{egress.Always, time.Second, true, "answer always"},
	} {
		must.Do(t, l.decisions.Remember(t.Context(), egress.Decision{Thread: "t1", Host: "new.example", Answer: step.answer,
			At: clock.Now()}))
		clock.Add(step.after)
		code, _, _ := get()
		if r := l.record(); (code == 200) != step.open || r.Rule != step.rule {
			t.Errorf("%s after %v: %d, rule %q; want open %v, %q", step.answer, step.after, code, r.Rule, step.open,
				step.rule)
		}
	}
	l.addr = l.serve("t2")
	if code, _, _ := get(); code != 200 {
		t.Errorf("always, in another thread: %d", code)
	}
}

func TestProxyAsksAboutFewHosts(t *testing.T) {
	clock := newClock()
	l := newLab(t, egress.Policy{}, func(l *lab) {
		l.Limits.Questions = 2
		l.Now = clock.Now
	})
	for range 2 {
		for _, host := range []string{"a.example", "b.example", "c.example"} {
			must.Get(netguardtest.Fetch(t, l.client("http"), netguardtest.At(l.plain, host, "/")))(t)
			l.record()
		}
	}
	if len(l.questions) != 2 {
		t.Errorf("%d questions, want 2", len(l.questions))
	}
}

// broken is a store of answers that cannot be read.
type broken struct{ egress.Memory }

func (*broken) Lookup(context.Context, string, string) (egress.Answer, bool, error) {
	return egress.Always, true, errors.New("disk gone")
}

func TestProxyRefusesByRule(t *testing.T) {
	l := newLab(t, egress.Policy{Allow: []string{"*"}, Deny: []string{"bad.example", "*.bad.example"}}, nil)
	port, other := strconv.Itoa(netguardtest.PortOf(l.plain)), "22"
	tests := []struct{ name, target, rule, text string }{
		{"denied", "bad.example:" + port, "deny bad.example", "bad.example (ask the owner"},
		{"denied below", "x.BAD.example.:" + port, "deny *.bad.example", "x.bad.example (ask the owner"},
		{"port", "ok.example:" + other, "port", "ok.example port 22 (open ports: "},
		{"metadata by name", "metadata.google.internal:" + port, "address cloud metadata", "(cloud metadata;"},
		{"metadata by address", "169.254.169.254:" + port, "address link-local or cloud metadata", "169.254.169.254 (link-local"},
		{"metadata by answer", "metadata.example:" + port, "address link-local or cloud metadata", "metadata.example (link-local"},
		{"private by answer", "lan.example:" + port, "address private network", "lan.example (private network;"},
		{"mapped", "[::ffff:10.0.0.1]:" + port, "address private network", "10.0.0.1 (private network;"},
		{"unspecified", "0.0.0.0:" + port, "address this host", ""},
		{"loopback v6", "[::1]:" + port, "address loopback", ""},
	}
	for _, tt := range tests {
		for _, request := range []string{"CONNECT " + tt.target + " HTTP/1.1\r\n\r\n",
			"GET http://" + tt.target + "/ HTTP/1.1\r\nHost: x\r\n\r\n"} {
			back := l.say(request)
			if !strings.HasPrefix(back, "HTTP/1.1 403 blocked by sandbox network policy: ") ||
				!strings.Contains(back, tt.text) {
				t.Errorf("%s: %q answered by %q", tt.name, request, back)
			}
			if r := l.record(); r.Rule != tt.rule || r.Verdict == egress.Allowed || r.IP.IsValid() {
				t.Errorf("%s: record %+v, want rule %q", tt.name, r, tt.rule)
			}
		}
	}
	if len(l.requests()) != 0 || len(l.questions) != 0 {
		t.Errorf("%d requests passed, %d questions asked", len(l.requests()), len(l.questions))
	}
	back := l.say("GET http://8.8.8.8.:" + other + "/ HTTP/1.1\r\nHost: x\r\n\r\n")
	if !strings.Contains(back, "8.8.8.8 port 22") {
		t.Errorf("literal with a dot: %q", back)
	}
}

func TestProxyRefusesWhenAnswersCannotBeRead(t *testing.T) {
	l := newLab(t, egress.Policy{}, func(l *lab) { l.Decisions = &broken{} })
	body, err := netguardtest.Fetch(t, l.client("http"), netguardtest.At(l.plain, "a.example", "/"))
	if err != nil || !strings.HasPrefix(body, "403 blocked") {
		t.Errorf("%q, %v", body, err)
	}
	if r := l.record(); r.Verdict != egress.Failed {
		t.Errorf("record %+v", r)
	}
}

func TestProxyWithoutAnyoneToAskRefuses(t *testing.T) {
	l := newLab(t, egress.Policy{}, func(l *lab) { l.Ask, l.Decisions = nil, nil })
	body, err := netguardtest.Fetch(t, l.client("http"), netguardtest.At(l.plain, "a.example", "/"))
	if err != nil || !strings.HasPrefix(body, "403 blocked") {
		t.Errorf("%q, %v", body, err)
	}
	if r := l.record(); r.Verdict != egress.Denied || r.Rule != "default" {
		t.Errorf("record %+v", r)
	}
}

func TestPackageHostsAreOpenForReading(t *testing.T) {
	l := newLab(t, egress.Policy{Packages: true, PackageHosts: []string{"index.example", "example.com"}}, nil)
	address := netguardtest.At(l.plain, "index.example", "/simple/")
	if body, err := netguardtest.Fetch(t, l.client("http"), address); err != nil || body != "hello" {
		t.Errorf("GET: %q, %v", body, err)
	}
	if r := l.record(); r.Rule != "packages index.example" {
		t.Errorf("record %+v", r)
	}
	if resp, err := l.client("http").Head(address); err != nil || resp.StatusCode != 200 {
		t.Errorf("HEAD: %v, %v", resp, err)
	}
	l.record()
	if body, err := netguardtest.Fetch(t, l.client("http"), netguardtest.At(l.tls, "example.com", "/")); err != nil || body != "hello" {
		t.Errorf("TLS: %q, %v", body, err)
	}
	l.record()
	before := len(l.requests())
	for _, request := range []string{
		"POST " + address + " HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi",
		"PUT " + address + " HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
		"DELETE " + address + " HTTP/1.1\r\n\r\n",
		"GET " + address + " HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi",
		"GET " + address + " HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
	} {
		back := l.say(request)
		if !strings.HasPrefix(back, "HTTP/1.1 403 blocked by sandbox network policy: index.example (package hosts") {
			t.Errorf("%q answered by %q", request, back)
		}
		if r := l.record(); r.Rule != "method" || r.Verdict != egress.Forbidden {
			t.Errorf("record %+v", r)
		}
	}
	if n := len(l.requests()) - before; n != 0 {
		t.Errorf("%d of them reached the server", n)
	}
	must.Do(t, l.decisions.Remember(t.Context(),
		egress.Decision{Thread: "t1", Host: "index.example", Answer: egress.Thread, At: time.Now()}))
	resp, err := l.client("http").Post(netguardtest.At(l.plain, "index.example", "/echo"), "text/plain",
		strings.NewReader("body"))
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("POST after an answer: %v, %v", resp, err)
	}
	resp.Body.Close()
}

func TestProxyOutlivesAPanic(t *testing.T) {
	l := newLab(t, egress.Policy{Allow: []string{"a.example"}}, func(l *lab) {
		l.Ask = func(egress.Question) { panic("asked") }
	})
	if back := l.say("GET " + netguardtest.At(l.plain, "b.example", "/") + " HTTP/1.1\r\n\r\n"); back != "" {
		t.Errorf("answered by %q", back)
	}
	if r := l.record(); r.Verdict != egress.Failed || r.Host != "b.example" {
		t.Errorf("record %+v", r)
	}
	if body, err := netguardtest.Fetch(t, l.client("http"), netguardtest.At(l.plain, "a.example", "/")); err != nil || body != "hello" {
		t.Errorf("afterwards: %q, %v", body, err)
	}
}

// flaky is a listener that fails before it accepts.
type flaky struct {
	net.Listener
	failures atomic.Int32
}

func (f *flaky) Accept() (net.Conn, error) {
	if f.failures.Add(-1) >= 0 {
		return nil, errors.New("too many open files")
	}
	return f.Listener.Accept()
}

func TestServeOutlivesFailuresToAccept(t *testing.T) {
	l := newLab(t, egress.Policy{Allow: []string{"a.example"}}, nil)
	ln := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	f := &flaky{Listener: ln}
	f.failures.Store(3)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Serve(ctx, f, "t") }()
	l.addr = ln.Addr().String()
	if body, err := netguardtest.Fetch(t, l.client("http"), netguardtest.At(l.plain, "a.example", "/")); err != nil || body != "hello" {
		t.Errorf("%q, %v", body, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestConfigureHoldsForLaterConnections(t *testing.T) {
	l := newLab(t, egress.Policy{}, nil)
	if err := l.Configure(egress.Policy{Allow: []string{"*."}}, &netguard.Guard{}); err == nil {
		t.Error("a bad policy was taken")
	}
	must.Do(t, l.Configure(egress.Policy{Allow: []string{"a.example"}}, netguardtest.Hosts(nil)))
	if body, err := netguardtest.Fetch(t, l.client("http"), netguardtest.At(l.plain, "a.example", "/")); err != nil || body != "hello" {
		t.Errorf("after the change: %q, %v", body, err)
	}
}

func TestServeEndsWithItsListenerOrContext(t *testing.T) {
	for _, how := range []string{"listener", "context"} {
		t.Run(how, func(t *testing.T) {
			l := newLab(t, egress.Policy{Allow: []string{"*"}}, nil)
			ln := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() { done <- l.Serve(ctx, ln, "t9") }()
			l.addr = ln.Addr().String()
			resp := must.Get(l.client("http").Get(netguardtest.At(l.plain, "a.example", "/hang")))(t)
			defer resp.Body.Close()
			l.dial() // and one that never says a word
			if how == "listener" {
				ln.Close()
			} else {
				cancel()
			}
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("Serve = %v", err)
				}
			case <-time.After(time.Minute):
				t.Fatal("Serve did not end its connections")
			}
			if r := l.record(); r.Thread != "t9" || r.Host != "a.example" {
				t.Errorf("record %+v", r)
			}
		})
	}
}
