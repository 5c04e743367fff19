package providers_test

import (
	"fmt"
	"net"
	"testing"
	"time"

	"fawn/sandbox"
)

func TestProxyListensInsideAndIsServedOutside(t *testing.T) {
	served := make(chan string, 8)
	over := make(chan struct{})
	w := newWorld(t, func(c *sandbox.Config) {
		c.Proxy = func(thread string, l net.Listener) {
			defer close(over)
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				served <- thread
				fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
				conn.Close()
			}
		}
	})
	s := w.thread("a", func(p *sandbox.Policy) { p.Network = sandbox.NetworkProxy })
	res := bash(t, s, `echo $HTTPS_PROXY; exec 3<>/dev/tcp/127.0.0.1/3128; tail -c 2 <&3`)
	if string(res.Output) != "http://127.0.0.1:3128\nhi" {
		t.Errorf("%q", res.Output)
	}
	select {
	case id := <-served:
		if id != "a" {
			t.Errorf("served for %q", id)
		}
	case <-time.After(time.Minute):
		t.Error("nothing was served")
	}
	if err := w.provider.Destroy(t.Context(), sandbox.ThreadRef{ID: "a"}, "test"); err != nil {
		t.Error(err)
	}
	select {
	case <-over:
	case <-time.After(time.Minute):
		t.Error("the listener outlives the sandbox")
	}
}

func TestNetworkNoneReachesNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	w := newWorld(t)
	dial := fmt.Sprintf("(: <>/dev/tcp/127.0.0.1/%d) 2>/dev/null && echo reached || echo refused; (: <>/dev/tcp/127.0.0.1/3128) 2>/dev/null && echo proxy",
		l.Addr().(*net.TCPAddr).Port)
	if res := bash(t, w.thread("none"), dial); string(res.Output) != "refused\n" {
		t.Errorf("none: %q", res.Output)
	}
	// A proxy that nobody serves answers nothing.
	if res := bash(t, w.thread("proxy", func(p *sandbox.Policy) { p.Network = sandbox.NetworkProxy }),
		dial); string(res.Output) != "refused\n" {
		t.Errorf("proxy: %q", res.Output)
	}
	res := bash(t, w.thread("host", func(p *sandbox.Policy) { p.Network = sandbox.NetworkHost }), dial)
	if string(res.Output) != "reached\n" {
		t.Errorf("host: %q", res.Output)
	}
}
