package egress_test

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/egress"
	"fawn/sandbox/netguard/netguardtest"
)

func TestTunnelNeedsTheNameItWasOpenedFor(t *testing.T) {
	l := newLab(t, egress.Policy{Allow: []string{"example.com", "127.0.0.1"}}, nil)
	port := strconv.Itoa(netguardtest.PortOf(l.tls))
	tests := []struct {
		name, target, sni string
		open              bool
		rule              string
	}{
		{"same", "example.com:" + port, "example.com", true, "allow example.com"},
		{"same, other case", "example.com.:" + port, "EXAMPLE.com", true, "allow example.com"},
		{"another host", "example.com:" + port, "evil.example", false, "tls name evil.example"},
		{"below", "example.com:" + port, "www.example.com", false, "tls name www.example.com"},
		{"none for a name", "example.com:" + port, "", false, "tls name missing"},
		{"none for an address", "127.0.0.1:" + port, "", true, "allow 127.0.0.1"},
		{"a name for an address", "127.0.0.1:" + port, "example.com", false, "tls name example.com"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, _, status := l.connect(tt.target)
			if status != "HTTP/1.1 200 Connection Established" {
				t.Fatalf("CONNECT: %s", status)
			}
			err := tls.Client(c, &tls.Config{ServerName: tt.sni, InsecureSkipVerify: true}).
				HandshakeContext(t.Context())
			c.Close()
			if (err == nil) != tt.open {
				t.Errorf("handshake = %v, want open %v", err, tt.open)
			}
			if err != nil && !strings.Contains(err.Error(), "unrecognized name") {
				t.Errorf("handshake = %v, want the alert about the name", err)
			}
			r := l.record()
			if r.Rule != tt.rule || (r.Verdict == egress.Allowed) != tt.open {
				t.Errorf("record %+v, want rule %q", r, tt.rule)
			}
			if !tt.open && r.Out != 0 {
				t.Errorf("%d bytes left", r.Out)
			}
		})
	}
}

func TestTunnelCarriesTLSOnly(t *testing.T) {
	l := newLab(t, egress.Policy{Allow: []string{"example.com"}}, nil)
	for name, text := range map[string]string{
		"http": "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", "ssh": "SSH-2.0-x\r\n",
		"garbage": "\x16\x03\x01\x00\x05hello",
	} {
		c, r, _ := l.connect(net.JoinHostPort("example.com", strconv.Itoa(netguardtest.PortOf(l.tls))))
		must.Get(io.WriteString(c, text))(t)
		if back, _ := io.ReadAll(r); len(back) != 0 {
			t.Errorf("%s: answered by %q", name, back)
		}
		if r := l.record(); r.Rule != "not tls" || r.Out != 0 || r.Verdict != egress.Forbidden {
			t.Errorf("%s: record %+v", name, r)
		}
	}
	c, _, _ := l.connect(net.JoinHostPort("example.com", strconv.Itoa(netguardtest.PortOf(l.tls))))
	c.Close()
	if r := l.record(); r.Verdict != egress.Allowed || r.Out != 0 {
		t.Errorf("unused tunnel: record %+v", r)
	}
}

func TestTunnelToAnHTTPPortCarriesOneCheckedRequest(t *testing.T) {
	l := newLab(t, egress.Policy{Allow: []string{"a.example"}, Packages: true,
		PackageHosts: []string{"index.example"}}, nil)
	ask := func(host, request string) string {
		c, r, status := l.connect(net.JoinHostPort(host, strconv.Itoa(netguardtest.PortOf(l.plain))))
		defer c.Close()
		if !strings.Contains(status, " 200 ") {
			return status
		}
		must.Get(io.WriteString(c, strings.ReplaceAll(request, "PORT", strconv.Itoa(netguardtest.PortOf(l.plain)))))(t)
		back, _ := io.ReadAll(r)
		return string(back)
	}
	for name, tt := range map[string]struct{ host, request, want string }{
		"request":         {"a.example", "POST /echo HTTP/1.1\r\nHost: A.example:PORT\r\nContent-Length: 2\r\n\r\nhi", "HTTP/1.1 200 OK"},
		"other host":      {"a.example", "GET / HTTP/1.1\r\nHost: b.example:PORT\r\n\r\n", "HTTP/1.1 403 "},
		"other port":      {"a.example", "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", "HTTP/1.1 403 "},
		"no host":         {"a.example", "GET / HTTP/1.0\r\n\r\n", "HTTP/1.1 403 "},
		"path in host":    {"a.example", "GET / HTTP/1.1\r\nHost: a.example:PORT/x\r\n\r\n", "HTTP/1.1 403 "},
		"absolute":        {"a.example", "GET http://a.example:PORT/ HTTP/1.1\r\nHost: a.example:PORT\r\n\r\n", "HTTP/1.1 400 "},
		"nested":          {"a.example", "CONNECT b.example:443 HTTP/1.1\r\nHost: a.example:PORT\r\n\r\n", "HTTP/1.1 400 "},
		"reading":         {"index.example", "GET / HTTP/1.1\r\nHost: index.example:PORT\r\n\r\n", "HTTP/1.1 200 OK"},
		"package, upload": {"index.example", "POST /echo HTTP/1.1\r\nHost: index.example:PORT\r\nContent-Length: 2\r\n\r\nhi", "HTTP/1.1 403 "},
	} {
		before := len(l.requests())
		if back := ask(tt.host, tt.request); !strings.HasPrefix(back, tt.want) {
			t.Errorf("%s: %q, want %q", name, back, tt.want)
		}
		r := l.record()
		reached := len(l.requests()) - before
		if open := strings.Contains(tt.want, "200"); open != (r.Verdict == egress.Allowed) || open != (reached == 1) ||
			open != (r.Out > 0) {
			t.Errorf("%s: record %+v, %d requests arrived", name, r, reached)
		}
	}
}

func TestIdleConnectionsEnd(t *testing.T) {
	t.Parallel() // it waits for most of its time
	const idle = 5 * time.Second
	l := newLab(t, egress.Policy{Allow: []string{"example.com"}}, func(l *lab) { l.Limits.Idle = idle })
	silent := l.dial()
	c, _, _ := l.connect(net.JoinHostPort("example.com", strconv.Itoa(netguardtest.PortOf(l.tls))))
	conn := tls.Client(c, &tls.Config{ServerName: "example.com", InsecureSkipVerify: true})
	// Half a request at a time keeps a connection alive for longer than Idle.
	for _, part := range []string{"GET /a HT", "TP/1.1\r\n", "Host: exa", "mple.com\r\n", "X: y\r\n\r\n"} {
		must.Get(io.WriteString(conn, part))(t)
		<-time.After(idle / 4)
	}
	resp := must.Get(http.ReadResponse(bufio.NewReader(conn), nil))(t)
	resp.Body.Close()
	_, _ = io.ReadAll(conn) // ends when the proxy does
	if r := l.record(); r.Verdict != egress.Allowed || r.Took < idle {
		t.Errorf("record %+v", r)
	}
	if _, err := io.ReadAll(silent); err != nil {
		t.Errorf("silent connection: %v", err)
	}
}

func TestHalfClosedTunnelsDeliverTheRest(t *testing.T) {
	// A server that reads to the end before it answers, over TLS as the tunnel wants.
	ln := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	port := ln.Addr().(*net.TCPAddr).Port
	l := newLab(t, egress.Policy{Allow: []string{"example.com"}}, func(l *lab) { l.Limits.TLSPorts = []int{port} })
	ln = tls.NewListener(ln, l.tls.TLS)
	done := make(chan error, 1)
	go func() {
		c, err := ln.Accept()
		if err != nil {
			done <- err
			return
		}
		defer c.Close()
		n, err := io.Copy(io.Discard, c)
		if err == nil {
			_, err = io.WriteString(c, strconv.FormatInt(n, 10))
		}
		done <- err
	}()
	t.Cleanup(func() { ln.Close() })
	c, _, _ := l.connect(net.JoinHostPort("example.com", strconv.Itoa(port)))
	conn := tls.Client(c, &tls.Config{ServerName: "example.com", InsecureSkipVerify: true})
	must.Get(conn.Write(make([]byte, 100<<10)))(t)
	must.Do(t, conn.CloseWrite())
	if back, err := io.ReadAll(conn); err != nil || string(back) != "102400" {
		t.Errorf("%q, %v", back, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestSocksRefusesAsItsProtocolSays(t *testing.T) {
	l := newLab(t, egress.Policy{Allow: []string{"a.example"}}, nil)
	request := func(command, kind byte, address string, port int) string {
		return "\x05\x01\x00\x05" + string([]byte{command, 0, kind}) + address +
			string(binary.BigEndian.AppendUint16(nil, uint16(port)))
	}
	name := func(s string) string { return string([]byte{byte(len(s))}) + s }
	port := netguardtest.PortOf(l.tls)
	v6 := netip.MustParseAddr("::ffff:169.254.169.254").As16()
	for title, tt := range map[string]struct {
		in      string
		code    byte
		verdict egress.Verdict
	}{
		"unknown host":    {request(1, 3, name("b.example"), port), 2, egress.Asked},
		"port":            {request(1, 3, name("a.example"), 22), 2, egress.Forbidden},
		"metadata":        {request(1, 1, "\xa9\xfe\xa9\xfe", port), 2, egress.Forbidden},
		"metadata mapped": {request(1, 4, string(v6[:]), port), 2, egress.Forbidden},
		"nul in the name": {request(1, 3, name("a.example\x00.b"), port), 1, egress.Malformed},
		"empty name":      {request(1, 3, name(""), port), 1, egress.Malformed},
		"port zero":       {request(1, 3, name("a.example"), 0), 1, egress.Malformed},
		"bind":            {request(2, 3, name("a.example"), port), 7, egress.Malformed},
		"udp":             {request(3, 3, name("a.example"), port), 7, egress.Malformed},
		"unknown address": {request(1, 9, "", port), 8, egress.Malformed},
	} {
		back := l.say(tt.in)
		if len(back) != 12 || back[:2] != "\x05\x00" || back[3] != tt.code {
			t.Errorf("%s: %q, want code %d", title, back, tt.code)
		}
		if r := l.record(); r.Verdict != tt.verdict || r.Out != 0 {
			t.Errorf("%s: record %+v", title, r)
		}
	}
	if back := l.say("\x05\x01\x02"); back != "\x05\xff" {
		t.Errorf("authentication only: %q", back)
	}
}
