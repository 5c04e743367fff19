package proxy_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"

	"fawn/web/proxy"
)

// ask is a request that came from a peer, with headers as name, value, name, value.
func ask(peer string, headers ...string) *http.Request {
	r := httptest.NewRequest("GET", "/", nil)
	r.Host, r.RemoteAddr = "inner:2026", peer
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func trust(t *testing.T, list ...string) proxy.Trust {
	t.Helper()
	tr, err := proxy.Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestOnlyTrustedProxiesAreBelieved(t *testing.T) {
	for name, c := range map[string]struct {
		trusted []string
		r       *http.Request
		want    proxy.Client
		ip      string
	}{
		"nobody is trusted": {nil, ask("127.0.0.1:9", "X-Forwarded-For", "7.7.7.7", "X-Forwarded-Proto", "https",
			"X-Forwarded-Host", "evil.example", "Forwarded", "for=8.8.8.8;proto=https;host=evil.example"),
			proxy.Client{Scheme: "http", Host: "inner:2026"}, "127.0.0.1"},
		"another is trusted": {[]string{"10.0.0.0/8"}, ask("11.0.0.1:9", "X-Forwarded-For", "7.7.7.7"),
			proxy.Client{Scheme: "http", Host: "inner:2026"}, "11.0.0.1"},
		"all three": {[]string{"loopback"},
			ask("127.0.0.1:9", "X-Forwarded-For", "7.7.7.7", "X-Forwarded-Proto", "HTTPS", "X-Forwarded-Host",
				"fawn.example:8443"), proxy.Client{Scheme: "https", Host: "fawn.example:8443"}, "7.7.7.7"},
		"IPv6 loopback": {[]string{"loopback"}, ask("[::1]:9", "X-Forwarded-For", "2001:db8::1"),
			proxy.Client{Scheme: "http", Host: "inner:2026"}, "2001:db8::1"},
		"IPv4 written as IPv6": {[]string{"10.1.2.3"}, ask("[::ffff:10.1.2.3]:9", "X-Forwarded-For", "::ffff:7.7.7.7"),
			proxy.Client{Scheme: "http", Host: "inner:2026"}, "7.7.7.7"},
		"a Unix socket is this machine": {[]string{"loopback"}, ask("@", "X-Forwarded-For", "7.7.7.7"),
			proxy.Client{Scheme: "http", Host: "inner:2026"}, "7.7.7.7"},
		"what a client wrote stands left": {[]string{"loopback"},
			ask("127.0.0.1:9", "X-Forwarded-For", "1.1.1.1, 7.7.7.7", "X-Forwarded-Proto", "https"),
			proxy.Client{Scheme: "https", Host: "inner:2026"}, "7.7.7.7"},
		"two proxies": {[]string{"loopback", "10.0.0.0/8"}, ask("127.0.0.1:9", "X-Forwarded-For", "7.7.7.7",
			"X-Forwarded-For", "10.0.0.9", "X-Forwarded-Proto", "https, http", "X-Forwarded-Host",
			"out.example, mid.example"),
			proxy.Client{Scheme: "https", Host: "out.example"}, "7.7.7.7"},
		"the first proxy is a stranger": {[]string{"loopback"},
			ask("127.0.0.1:9", "X-Forwarded-For", "7.7.7.7, 10.0.0.9", "X-Forwarded-Proto", "https, http"),
			proxy.Client{Scheme: "http", Host: "inner:2026"}, "10.0.0.9"},
		"only trusted ones": {[]string{"loopback", "10.0.0.0/8"},
			ask("127.0.0.1:9", "X-Forwarded-For", "10.0.0.1, 10.0.0.2"),
			proxy.Client{Scheme: "http", Host: "inner:2026"}, "10.0.0.1"},
		"nonsense for an address": {[]string{"loopback"}, ask("127.0.0.1:9", "X-Forwarded-For", "7.7.7.7, unknown"),
			proxy.Client{Scheme: "http", Host: "inner:2026"}, "127.0.0.1"},
		"nonsense for host and scheme": {[]string{"loopback"}, ask("127.0.0.1:9", "X-Forwarded-For", "7.7.7.7",
			"X-Forwarded-Proto", "javascript", "X-Forwarded-Host", "a/b"),
			proxy.Client{Scheme: "http", Host: "inner:2026"}, "7.7.7.7"},
		"Forwarded": {[]string{"loopback"}, ask("127.0.0.1:9", "Forwarded",
			`for=1.1.1.1, For="[2001:db8::7]:1234"; proto=https;host="fawn.example:8443"`),
			proxy.Client{Scheme: "https", Host: "fawn.example:8443"}, "2001:db8::7"},
		"Forwarded of a client behind a proxy that knows the other headers": {[]string{"loopback"}, ask("127.0.0.1:9",
			"Forwarded", "for=1.1.1.1;host=evil.example;proto=https", "X-Forwarded-For", "7.7.7.7"),
			proxy.Client{Scheme: "http", Host: "inner:2026"}, "7.7.7.7"},
		"prefix": {[]string{"loopback"},
			ask("127.0.0.1:9", "X-Forwarded-For", "7.7.7.7", "X-Forwarded-Prefix", "/a/b/"),
			proxy.Client{Scheme: "http", Host: "inner:2026", Base: "/a/b"}, "7.7.7.7"},
		"prefix that is none": {[]string{"loopback"}, ask("127.0.0.1:9", "X-Forwarded-Prefix", `/a"><script>`),
			proxy.Client{Scheme: "http", Host: "inner:2026"}, "127.0.0.1"},
		"prefix to another host": {[]string{"loopback"}, ask("127.0.0.1:9", "X-Forwarded-Prefix", `//evil.example`),
			proxy.Client{Scheme: "http", Host: "inner:2026"}, "127.0.0.1"},
	} {
		r := trust(t, c.trusted...).Resolve(c.r)
		got := proxy.Of(r)
		if ip := got.IP(); ip != c.ip {
			t.Errorf("%s: the client is %s, want %s", name, ip, c.ip)
		}
		if got.Scheme != c.want.Scheme || got.Host != c.want.Host || got.Base != c.want.Base {
			t.Errorf("%s: got %+v", name, got)
		}
		if r.Host != got.Host {
			t.Errorf("%s: the request's host is %q", name, r.Host)
		}
		again := trust(t, "0.0.0.0/0", "::/0").Resolve(r)
		if proxy.Of(again).Host != got.Host || len(again.Header) != 0 {
			t.Errorf("%s: headers of proxies are left for others to believe: %v", name, again.Header)
		}
	}
}

func TestAClientIsKnownWithoutProxies(t *testing.T) {
	r := ask("192.168.1.5:777")
	if c := proxy.Of(r); c.IP() != "192.168.1.5" || c.Secure() || c.Root() != "http://inner:2026" {
		t.Errorf("got %+v", c)
	}
	r.TLS = &tls.ConnectionState{}
	if c := proxy.Of(trust(t).Resolve(r)); !c.Secure() || c.Root() != "https://inner:2026" {
		t.Errorf("with TLS: %+v", c)
	}
}

func TestListsOfProxiesAreChecked(t *testing.T) {
	for _, bad := range []string{"", "proxy.example", "10.0.0.0/40", "10.0.0.1:80", "fe80::1%eth0",
		"::ffff:10.0.0.0/104"} {
		if _, err := proxy.Parse([]string{"loopback", bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestABaseIsAPathThatNeedsNoEscapes(t *testing.T) {
	for in, want := range map[string]string{"": "", "/": "", "/x": "/x", "x": "/x", "/x/": "/x",
		"/a/b-c_d.e~1": "/a/b-c_d.e~1"} {
		if got, ok := proxy.CleanBase(in); !ok || got != want {
			t.Errorf("%q is %q, %v", in, got, ok)
		}
	}
	for _, bad := range []string{"//x", "/a//b", "/a/../b", "/..", "/a b", "/a%20", "/a?b", "/a#b", `/a"b`, "/ä",
		"/a;b", "\\x"} {
		if got, ok := proxy.CleanBase(bad); ok {
			t.Errorf("%q is taken as %q", bad, got)
		}
	}
}

func FuzzForwarded(f *testing.F) {
	f.Add("7.7.7.7, 10.0.0.1", "https", "a.example", `for="[::1]:1";proto=http`, "/x")
	f.Add("", "", "", `for="a\"b, c`, "//")
	f.Fuzz(func(t *testing.T, from, proto, host, forwarded, prefix string) {
		r := ask("127.0.0.1:9", "X-Forwarded-For", from, "X-Forwarded-Proto", proto, "X-Forwarded-Host", host,
			"Forwarded", forwarded, "X-Forwarded-Prefix", prefix)
		c := proxy.Of(trust(t, "loopback", "10.0.0.0/8").Resolve(r))
		if c.Scheme != "http" && c.Scheme != "https" || !c.Addr.IsValid() || c.Host == "" {
			t.Errorf("got %+v", c)
		}
		if again, ok := proxy.CleanBase(c.Base); !ok || again != c.Base {
			t.Errorf("the base is %q", c.Base)
		}
	})
}
