package egress_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/egress"
	"fawn/sandbox/netguard/netguardtest"
)

func TestForwardWritesRequestsAnew(t *testing.T) {
	l := newLab(t, egress.Policy{Allow: []string{"a.example"}}, nil)
	base := netguardtest.At(l.plain, "a.example", "")
	back := l.say("POST " + base + "/echo?q=%41&r HTTP/1.1\r\nHost: evil.example\r\nConnection: x-secret, close\r\nX-Secret: 1\r\n" +
		"Proxy-Authorization: Basic eA==\r\nProxy-Connection: keep-alive\r\nKeep-Alive: 5\r\nTE: trailers\r\nUpgrade: h2c\r\nX-Kept: yes\r\nCookie: c=1\r\n" +
		"Transfer-Encoding: chunked\r\nContent-Length: 99\r\n\r\n3\r\nabc\r\n0\r\n\r\n" +
		"GET " + base + "/smuggled HTTP/1.1\r\nHost: a.example\r\n\r\n")
	if !strings.HasPrefix(back, "HTTP/1.1 200 OK\r\n") || !strings.Contains(back, "abc") ||
		strings.Contains(back, "hello") {
		t.Errorf("answer %q", back)
	}
	for _, hop := range []string{"Keep-Alive", "Proxy-"} {
		if strings.Contains(back, hop) {
			t.Errorf("the answer has %s", hop)
		}
	}
	if !strings.Contains(back, "Connection: close\r\n") {
		t.Error("the answer does not say that the connection ends")
	}
	seen := l.requests()
	if len(seen) != 1 {
		t.Fatalf("%d requests arrived, want 1", len(seen))
	}
	r := seen[0]
	if r.Host != strings.TrimPrefix(base, "http://") || r.URL.String() != "/echo?q=%41&r" || r.Method != "POST" {
		t.Errorf("arrived as %s %s for %s", r.Method, r.URL, r.Host)
	}
	for _, name := range []string{"X-Secret", "Proxy-Authorization", "Proxy-Connection", "Keep-Alive", "Te", "Upgrade",
		"Content-Length", "User-Agent", "Accept-Encoding", "Via", "X-Forwarded-For"} {
		if v, ok := r.Header[name]; ok {
			t.Errorf("arrived with %s: %q", name, v)
		}
	}
	if r.Header.Get("X-Kept") != "yes" || r.Header.Get("Cookie") != "c=1" {
		t.Errorf("lost headers: %v", r.Header)
	}
}

func TestForwardRefusesMalformedRequests(t *testing.T) {
	l := newLab(t, egress.Policy{Allow: []string{"*"}}, nil)
	port := strconv.Itoa(netguardtest.PortOf(l.plain))
	for name, request := range map[string]string{
		"origin form":        "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"asterisk":           "OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"https":              "GET https://a.example/ HTTP/1.1\r\n\r\n",
		"ftp":                "GET ftp://a.example/ HTTP/1.1\r\n\r\n",
		"opaque":             "GET http:a.example/ HTTP/1.1\r\n\r\n",
		"user":               "GET http://u:p@a.example:" + port + "/ HTTP/1.1\r\n\r\n",
		"user hides host":    "GET http://a.example@169.254.169.254/ HTTP/1.1\r\n\r\n",
		"percent":            "GET http://a%2eexample/ HTTP/1.1\r\n\r\n",
		"percent utf-8":      "GET http://b%C3%BCcher.example/ HTTP/1.1\r\n\r\n",
		"decimal":            "GET http://2130706433:" + port + "/ HTTP/1.1\r\n\r\n",
		"backslash":          "GET http://a.example\\@b.example/ HTTP/1.1\r\n\r\n",
		"bad port":           "GET http://a.example:99999/ HTTP/1.1\r\n\r\n",
		"empty port":         "GET http://a.example:/ HTTP/1.1\r\n\r\n",
		"no host":            "GET http:/// HTTP/1.1\r\n\r\n",
		"zone":               "GET http://[fe80::1%25lo]/ HTTP/1.1\r\n\r\n",
		"control in target":  "GET http://a.example/\x01 HTTP/1.1\r\n\r\n",
		"control in header":  "GET http://a.example:" + port + "/ HTTP/1.1\r\nX: a\x00b\r\n\r\n",
		"space before colon": "GET http://a.example:" + port + "/ HTTP/1.1\r\nX : a\r\n\r\n",
		"two lengths":        "POST http://a.example:" + port + "/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"bad length":         "POST http://a.example:" + port + "/ HTTP/1.1\r\nContent-Length: +1\r\n\r\na",
		"bad coding":         "POST http://a.example:" + port + "/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
		"two codings":        "POST http://a.example:" + port + "/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"bad method":         "G(T http://a.example:" + port + "/ HTTP/1.1\r\n\r\n",
		"CONNECT, no port":   "CONNECT a.example HTTP/1.1\r\n\r\n",
		"CONNECT, port 0":    "CONNECT a.example:0 HTTP/1.1\r\n\r\n",
		"CONNECT, address":   "CONNECT http://a.example:443/ HTTP/1.1\r\n\r\n",
		"CONNECT, user":      "CONNECT u@a.example:443 HTTP/1.1\r\n\r\n",
		"CONNECT, body":      "CONNECT a.example:443 HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi",
		"TLS":                "\x16\x03\x01\x00\x05hello\r\n\r\n",
		"garbage":            "\x00\x01\x02\r\n\r\n",
	} {
		back := l.say(request)
		if !strings.HasPrefix(back, "HTTP/1.1 400 ") {
			t.Errorf("%s: %q", name, back)
		}
		if r := l.record(); r.Verdict != egress.Malformed || r.Out != 0 {
			t.Errorf("%s: record %+v", name, r)
		}
	}
	back := l.say("GET http://a.example:" + port + "/ HTTP/1.1\r\nX: " + strings.Repeat("a", 100<<10) + "\r\n\r\n")
	if !strings.HasPrefix(back, "HTTP/1.1 431 ") {
		t.Errorf("huge head: %.100q", back)
	}
	if back := l.say("GET http://a.example:" + strconv.Itoa(netguardtest.PortOf(l.tls)) +
		"/ HTTP/1.1\r\n\r\n"); !strings.HasPrefix(back, "HTTP/1.1 403 ") ||
		!strings.Contains(back, "takes no plain HTTP") {
		t.Errorf("plain HTTP to the TLS port: %.100q", back)
	}
	if n := len(l.requests()); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

func TestForwardKeepsTheFormOfAnswers(t *testing.T) {
	answers := map[string]string{
		"/length":  "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"/chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"/eof":     "HTTP/1.0 200 OK\r\n\r\nhello",
		"/early":   "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"/cut":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
		"/switch":  "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
		"/garbage": "what?\r\n\r\n",
		"/nothing": "",
		"/huge":    "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("a", 300<<10) + "\r\n\r\n",
	}
	ln := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	var served sync.WaitGroup
	t.Cleanup(func() { ln.Close(); served.Wait() })
	served.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			if req, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				_, _ = io.WriteString(c, answers[req.URL.Path])
			}
			c.Close()
		}
	})
	port := ln.Addr().(*net.TCPAddr).Port
	l := newLab(t, egress.Policy{Allow: []string{"a.example"}}, func(l *lab) { l.Limits.HTTPPorts = []int{port} })
	for _, version := range []string{"1.0", "1.1"} {
		for path := range answers {
			back := l.say(fmt.Sprintf("GET http://a.example:%d%s HTTP/%s\r\n\r\n", port, path, version))
			l.record()
			resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(back)), nil)
			if err != nil {
				t.Errorf("%s over %s: %v in %.200q", path, version, err, back)
				continue
			}
			body, err := io.ReadAll(resp.Body)
			if path == "/switch" || path == "/garbage" || path == "/nothing" || path == "/huge" {
				if resp.StatusCode != http.StatusBadGateway {
					t.Errorf("%s over %s: %s", path, version, resp.Status)
				}
				continue
			}
			cut := path == "/cut"
			if resp.StatusCode != 200 || !cut && (err != nil || string(body) != "hello") {
				t.Errorf("%s over %s: %s, %q, %v", path, version, resp.Status, body, err)
			}
			if cut && version == "1.1" && err == nil {
				t.Errorf("a cut answer looks whole: %q", back)
			}
			if version == "1.0" && resp.TransferEncoding != nil {
				t.Errorf("%s: an HTTP/1.0 client got %v", path, resp.TransferEncoding)
			}
		}
	}
}

func TestForwardAnswersClientsThatExpectToContinue(t *testing.T) {
	l := newLab(t, egress.Policy{Allow: []string{"a.example"}}, nil)
	c := l.dial()
	defer c.Close()
	r := bufio.NewReader(c)
	must.Get(fmt.Fprintf(c, "POST %s HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n",
		netguardtest.At(l.plain, "a.example", "/echo")))(t)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != http.StatusContinue {
		t.Fatalf("%v, %v; want 100", resp, err)
	}
	must.Get(io.WriteString(c, "body"))(t)
	resp = must.Get(http.ReadResponse(r, nil))(t)
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "body" {
		t.Errorf("%q, %v", body, err)
	}
	resp.Body.Close()
}

func TestBudgetEndsConnectionsUntilTheNextDay(t *testing.T) {
	clock := newClock()
	l := newLab(t, egress.Policy{Allow: []string{"example.com"}}, func(l *lab) {
		l.Limits.In, l.Limits.Out = 1<<20, 1<<20
		l.Now = clock.Now
	})
	for name, server := range map[string]string{"plain": netguardtest.At(l.plain, "example.com", "/big"),
		"tls": netguardtest.At(l.tls, "example.com", "/big")} {
		body, err := netguardtest.Fetch(t, l.client("http"), server)
		if err == nil || len(body) > 1<<20 || len(body) < 1<<19 {
			t.Errorf("%s: %d bytes, %v; want a broken body of at most 1 MB", name, len(body), err)
		}
		if r := l.record(); r.Verdict != egress.Exhausted || r.In < 1<<20 {
			t.Errorf("%s: record %+v", name, r)
		}
		back, err := netguardtest.Fetch(t, l.client("http"), netguardtest.At(l.plain, "example.com", "/"))
		if err != nil || back != "429 sandbox network budget used up: a thread may receive 1 MB and send 1 MB a day\n" {
			t.Errorf("%s, afterwards: %q, %v", name, back, err)
		}
		l.record()
		clock.Add(24 * time.Hour)
	}
	if body, err := netguardtest.Fetch(t, l.client("http"), netguardtest.At(l.plain, "example.com", "/")); err != nil || body != "hello" {
		t.Errorf("the next day: %q, %v", body, err)
	}
	l.record()
	resp, err := l.client("http").Post(netguardtest.At(l.plain, "example.com", "/echo"), "text/plain",
		strings.NewReader(strings.Repeat("a", 2<<20)))
	if err == nil {
		resp.Body.Close()
		if resp.StatusCode != http.StatusTooManyRequests {
			t.Errorf("upload over the limit: %s", resp.Status)
		}
	}
	if r := l.record(); r.Verdict != egress.Exhausted || r.Out > 1<<20 {
		t.Errorf("upload: record %+v", r)
	}
	l.addr = l.serve("t2")
	if body, err := netguardtest.Fetch(t, l.client("http"), netguardtest.At(l.plain, "example.com", "/")); err != nil || body != "hello" {
		t.Errorf("another thread: %q, %v", body, err)
	}
}

func TestConnectionsOverTheLimitWait(t *testing.T) {
	l := newLab(t, egress.Policy{Allow: []string{"a.example"}}, func(l *lab) { l.Limits.Conns = 2 })
	address := netguardtest.At(l.plain, "a.example", "/")
	first, second := l.dial(), l.dial()
	defer second.Close()
	done := make(chan string, 1)
	go func() {
		resp, err := l.client("http").Get(address)
		if err != nil {
			done <- err.Error()
			return
		}
		resp.Body.Close()
		done <- resp.Status
	}()
	select {
	case got := <-done:
		t.Fatalf("a third connection was served: %s", got)
	case <-time.After(200 * time.Millisecond):
	}
	first.Close()
	if got := <-done; got != "200 OK" {
		t.Errorf("after a place was free: %s", got)
	}
}

func TestForwardTellsWhyNoAnswerCame(t *testing.T) {
	t.Parallel() // it waits for most of its time
	silent := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer silent.Close()
	silentPort := silent.Addr().(*net.TCPAddr).Port
	closed := must.Get(net.Dial("tcp", silent.Addr().String()))(t) // has a port where netguardtest.Nobody else can listen
	defer closed.Close()
	port := closed.LocalAddr().(*net.TCPAddr).Port
	l := newLab(t, egress.Policy{Allow: []string{"*"}}, func(l *lab) {
		l.Limits.HTTPPorts = []int{port, silentPort}
		l.Limits.Idle = 5 * time.Second
	})
	if body, err := netguardtest.Fetch(t, l.client("http"), fmt.Sprintf("http://a.example:%d/", port)); err != nil ||
		body != "502 the sandbox proxy could not connect to a.example\n" {
		t.Errorf("netguardtest.Nobody listens: %q, %v", body, err)
	}
	if r := l.record(); r.Verdict != egress.Failed || r.Rule != "connect" {
		t.Errorf("record %+v", r)
	}
	if body, err := netguardtest.Fetch(t, l.client("http"), fmt.Sprintf("http://a.example:%d/", silentPort)); err != nil ||
		!strings.HasPrefix(body, "504 a.example did not answer") {
		t.Errorf("netguardtest.Nobody answers: %q, %v", body, err)
	}
}
