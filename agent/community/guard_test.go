package community_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"fawn/agent/community"
	"fawn/sandbox/netguard"
)

// refusedAddresses are never read: addresses of this host, of private networks and of clouds, however
// they are written, and what is no address of the web.
func refusedAddresses() []string {
	return strings.Fields(`
http://127.0.0.1/ http://127.0.0.1:8080/ http://127.1/ http://127.0.1/ http://2130706433/ http://0x7f000001/ http://0x7f.1/
http://0177.0.0.1/ http://017700000001/ http://127.0.0.1./ http://127.255.255.254/ http://0/ http://0.0.0.0/ http://0.1.2.3/
http://10.0.0.1/ http://10.255.255.255/ http://172.16.0.1/ http://172.31.255.254/ http://192.168.0.1/ http://192.168.1.1:8443/
http://169.254.169.254/latest/meta-data/ http://169.254.170.2/ http://2852039166/ http://0xa9fea9fe/ http://[::ffff:169.254.169.254]/
http://100.64.0.1/ http://100.100.100.200/ http://192.0.0.192/ http://198.18.0.1/ http://198.19.255.255/ http://224.0.0.1/
http://239.255.255.250/ http://240.0.0.1/ http://255.255.255.255/ http://[::]/ http://[::1]/ http://[0:0:0:0:0:0:0:1]/
http://[::127.0.0.1]/ http://[::ffff:127.0.0.1]/ http://[::ffff:7f00:1]/ http://[::ffff:10.0.0.1]/ http://[fc00::1]/
http://[fd12:3456::1]/ http://[fd00:ec2::254]/ http://[fe80::1]/ http://[fe80::1%25eth0]/ http://[fec0::1]/ http://[ff02::1]/
http://[64:ff9b::7f00:1]/ http://[64:ff9b::a9fe:a9fe]/ http://[64:ff9b:1::1]/ http://[2002:7f00:1::]/ http://[2002:a00:1::1]/
http://[2001:0:7f00:1::]/ http://[2001:0:4136:e378:8000:63bf:f5ff:fffe]/ http://[2001:db8::5efe:7f00:1]/ http://[100::1]/ http://[4000::1]/
http://localhost/ http://LOCALHOST/ http://localhost./ http://a.localhost/ http://localhost.localdomain/
http://metadata/ http://metadata.google.internal/computeMetadata/v1/ http://db.internal/ http://printer.local/
http://user@example.com/ http://user:pw@example.com/ http://example.com@127.0.0.1/ http://example.com:22/ http://example.com:6379/
http://example.com:11211/ http://example.com:080/ http://①②⑦.⓪.⓪.①/ http://ⓛocalhost/ http://127.0.0.1%2f@example.com/ http://a..b/
http://example.com%00.x/ file:///etc/passwd ftp://example.com/ gopher://example.com/ data:text/html,x javascript:alert(1)
jar:http://example.com!/ unix:///run/x.sock http:///x //127.0.0.1/ /etc/passwd 127.0.0.1 localhost:2026 [::1]:80
rebinds.example both.example lan.example six.example`)
}

// names of a resolver in which hostile ones lead inside.
func hostile() func(*community.Config) {
	var rebound atomic.Int32
	return func(c *community.Config) {
		c.Guard = func(private []netip.Prefix) *netguard.Guard {
			return &netguard.Guard{AllowPrivate: private, Local: func() ([]netip.Addr, error) { return nil, nil },
				Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
					ip := netip.MustParseAddr
					switch host {
					case "rebinds.example": // public when it is looked at, private when it is used
						if rebound.Add(1)%2 == 0 {
							return []netip.Addr{ip("93.184.216.34")}, nil
						}
						return []netip.Addr{ip("127.0.0.1")}, nil
					case "both.example":
						return []netip.Addr{ip("10.1.2.3"), ip("192.168.7.7")}, nil
					case "lan.example":
						return []netip.Addr{ip("192.168.0.10")}, nil
					case "six.example":
						return []netip.Addr{ip("fd00::1")}, nil
					}
					return nil, netguard.ErrUnresolved
				}}
		}
	}
}

func TestNothingInsideIsRead(t *testing.T) {
	if n := len(refusedAddresses()); n < 60 {
		t.Fatalf("only %d addresses", n)
	}
	w := newWorld(t, hostile())
	for _, a := range refusedAddresses() {
		r := w.call(community.WebFetch, fmt.Sprintf(`{"url":%q}`, a))
		if got := r.Content.String(); !r.IsError || !strings.Contains(got, "the address isn't allowed") {
			t.Errorf("%s: %s", a, got)
		}
	}
}

// TestNothingInsideIsReadByOthers: a service that reads for us is not told of addresses inside.
func TestNothingInsideIsReadByOthers(t *testing.T) {
	s := serve(t, func(rw http.ResponseWriter, _ *http.Request, _ string) {
		fmt.Fprint(rw, `{"code":200,"data":{"title":"t","url":"https://a.example/","content":"text"}}`)
	})
	w := newWorld(t, nil)
	chosen(w, community.WebFetch, "jina", s.URL)
	for _, a := range []string{"http://127.0.0.1/", "http://[::1]/", "http://169.254.169.254/", "http://db.internal/x",
		"http://localhost/", "http://u:p@a.example/", "file:///etc/passwd", "http://2130706433/"} {
		w.call(community.WebFetch, fmt.Sprintf(`{"url":%q}`, a))
	}
	if got := s.asked(); len(got) > 0 {
		t.Errorf("asked %q", got)
	}
}

// TestRedirectsAreJudged: a page that is allowed leads to each address that is not.
func TestRedirectsAreJudged(t *testing.T) {
	var inside atomic.Int32
	own := map[string]string{"lan.example": "192.168.0.10", "both.example": "10.1.2.3", "six.example": "fd00::1",
		"rebinds.example": "169.254.169.254"}
	w := newWorld(t, local(own))
	s := serve(t, func(rw http.ResponseWriter, r *http.Request, _ string) {
		if r.URL.Path != "/go" {
			inside.Add(1)
			return
		}
		rw.Header().Set("Location", r.URL.Query().Get("to"))
		rw.WriteHeader(http.StatusFound)
	})
	port := s.Listener.Addr().(*net.TCPAddr).Port
	// One address of the loopback is open, so that the first page is there; the others stay closed.
	w.set.Private = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	w.set.Ports = []int{port}
	n := 0
	for _, to := range refusedAddresses() {
		// Those that lead to the one address that is open here, and relative ones.
		if !strings.Contains(to, "://") || strings.Contains(to, "127.0.0.1") && !strings.Contains(to, "@") ||
			strings.Contains(to, "7f00:1]") || strings.Contains(to, "ocalhost") {
			continue
		}
		n++
		from := fmt.Sprintf("http://open.example:%d/go?to=%s", port, url.QueryEscape(to))
		r := w.call(community.WebFetch, fmt.Sprintf(`{"url":%q}`, from))
		if got := r.Content.String(); !r.IsError || strings.Contains(got, "Source ") {
			t.Errorf("%s: %s", to, got)
		}
	}
	for _, host := range []string{"lan.example", "both.example", "six.example", "rebinds.example"} {
		n++
		to := url.QueryEscape(fmt.Sprintf("http://%s:%d/", host, port))
		r := w.call(community.WebFetch, fmt.Sprintf(`{"url":"http://open.example:%d/go?to=%s"}`, port, to))
		if got := r.Content.String(); !strings.Contains(got, "the address isn't allowed") {
			t.Errorf("%s: %s", host, got)
		}
	}
	if n < 60 || inside.Load() != 0 {
		t.Errorf("%d redirects, %d arrived", n, inside.Load())
	}
}
