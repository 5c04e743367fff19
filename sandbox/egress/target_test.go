package egress

import (
	"bufio"
	"bytes"
	"context"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/netguard"
)

func FuzzAbsolute(f *testing.F) {
	for _, s := range []string{"http://a.example/x?y", "HTTP://A:80", "http://[::1]:8/", "http://u@a/", "http://a%2e/",
		"http://a:b@c", "http://a?@b", "http://a#@b", "http://a\\@b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		host, port, err := absolute(uri)
		if err != nil {
			return
		}
		// Where the standard library reads an address at all, it must mean the
		// same machine.
		u, err := url.ParseRequestURI(uri)
		if err != nil {
			return
		}
		name, number := u.Hostname(), u.Port()
		if strings.HasPrefix(u.Host, "[") {
			name = "[" + name + "]"
		}
		if number == "" {
			number = "80"
		}
		if other, err := netguard.Host(name); err != nil || other != host || number != strconv.Itoa(port) ||
			u.User != nil {
			t.Fatalf("%q leads to %s port %d; net/url reads %q (%q, %v)", uri, host, port, u.Host, other, err)
		}
	})
}

func FuzzSocks(f *testing.F) {
	f.Add([]byte("\x05\x01\x00\x05\x01\x00\x03\x09a.example\x00\x50"))
	f.Add([]byte("\x05\x02\x02\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x01\xbb"))
	f.Add([]byte("\x05\x01\x00\x05\x01\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x7f\x00\x00\x01\x01\xbb"))
	f.Fuzz(func(t *testing.T, in []byte) {
		conn := oneWay{in: bytes.NewReader(in)}
		s := &session{flow: &flow{client: conn}, in: bufio.NewReader(conn)}
		host, port, code := s.readSocks()
		if code != 0 {
			return
		}
		if again, err := netguard.Host(host); err != nil || again != host || port < 1 || port > 65535 {
			t.Fatalf("%q leads to %q port %d", in, host, port)
		}
	})
}

// FuzzSession sends anything at all to a proxy that opens nothing.
func FuzzSession(f *testing.F) {
	f.Add([]byte("GET http://a.example/ HTTP/1.1\r\nHost: b\r\n\r\n"))
	f.Add([]byte("CONNECT a.example:443 HTTP/1.1\r\n\r\n"))
	f.Add([]byte("\x05\x01\x00\x05\x01\x00\x03\x09a.example\x00\x50"))
	f.Fuzz(func(t *testing.T, in []byte) {
		p := must.Get(New(Policy{}, &netguard.Guard{}))(t)
		p.Audit = func(r Record) {
			if r.Verdict == Allowed || r.IP.IsValid() || r.Out != 0 || r.Rule == "" {
				t.Errorf("%q: record %+v", in, r)
			}
		}
		p.converse(context.Background(), oneWay{in: bytes.NewReader(in)},
			newAccount(Limits{}.withDefaults(), p.clock), "t")
	})
}
