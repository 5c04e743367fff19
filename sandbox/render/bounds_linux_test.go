package render_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/render"
	"fawn/sandbox/render/rendertest"
)

// TestABrowserAsksNobodyForItsOwnSake: while a page is shown, no name is looked up but the page's, and WebRTC sends
// nothing past the proxy. Chromium and its headless shell have different flags for that.
func TestABrowserAsksNobodyForItsOwnSake(t *testing.T) {
	whole, usual := rendertest.Chromium(t), rendertest.Browser(t)
	asksNobody(t, whole)
	if usual != whole {
		asksNobody(t, usual)
	}
}

func asksNobody(t *testing.T, program string) {
	t.Helper()
	b := &render.Browser{Where: func() string { return program }}
	temp(t, 0o755)
	udp := must.Get(net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}))(t)
	defer udp.Close()
	s := newSite(t, map[string]string{"/": fmt.Sprintf(`<script>
let tries = 0, c = new RTCPeerConnection({iceServers: [{urls: "stun:%s"}]})
c.createDataChannel("x"); c.createOffer().then(o => c.setLocalDescription(o))
setInterval(() => { fetch("/again?" + tries++) }, 200)
</script><p>Hello`, udp.LocalAddr())})
	guard := s.open()
	var mu sync.Mutex
	var names []string
	guard.Resolve = func(_ context.Context, name string) ([]netip.Addr, error) {
		mu.Lock()
		defer mu.Unlock()
		names = append(names, name)
		return nil, errors.New("no such host")
	}
	p, err := b.Render(t.Context(), render.Request{URL: s.URL, Guard: guard, Ports: []int{s.port}})
	if err != nil || !strings.Contains(p.HTML, "Hello") {
		t.Fatalf("%s: %v %+v", program, err, p)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, name := range names {
		if name != "127.0.0.1" {
			t.Errorf("%s asks for %s", program, name)
		}
	}
	must.Do(t, udp.SetReadDeadline(time.Now().Add(time.Millisecond)))
	if n, from, err := udp.ReadFromUDP(make([]byte, 1500)); err == nil {
		t.Errorf("WebRTC of %s sends %d bytes of UDP from %s", program, n, from)
	}
}

// TestAPageOfTooMuchMemoryEndsItsBrowser, and only that.
func TestAPageOfTooMuchMemoryEndsItsBrowser(t *testing.T) {
	b := browser(t)
	temp(t, 0o755)
	b.Memory = 600 << 20
	s := newSite(t, map[string]string{"/": "<p>Hello",
		"/greedy": `<script>let all = []; for (let i = 0; i < 80; i++) all.push(new Uint8Array(32 << 20).fill(7))</script>`})
	_, err := b.Render(t.Context(), render.Request{URL: s.URL + "/greedy", Guard: s.open(), Ports: []int{s.port}})
	if !errors.Is(err, render.ErrMemory) {
		t.Errorf("a page that takes all there is: %v", err)
	}
	p, err := b.Render(t.Context(), render.Request{URL: s.URL, Guard: s.open(), Ports: []int{s.port}})
	if err != nil || !strings.Contains(p.HTML, "Hello") {
		t.Errorf("the next page: %v %+v", err, p)
	}
	if n := profiles(t); n != 0 {
		t.Errorf("%d profiles are left", n)
	}
}
