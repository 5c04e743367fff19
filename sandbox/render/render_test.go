package render_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/netguard"
	"fawn/sandbox/render"
	"fawn/sandbox/render/rendertest"
)

// site is a server whose pages need a browser, and what was asked of it.
type site struct {
	*httptest.Server
	port int
	mu   sync.Mutex
	asks []string
}

func (s *site) asked() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.asks, " ")
}

func newSite(t *testing.T, pages map[string]string) *site {
	t.Helper()
	s := &site{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asks = append(s.asks, r.URL.Path)
		s.mu.Unlock()
		body, ok := pages[r.URL.Path]
		if to, moved := strings.CutPrefix(body, "-> "); moved {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		if r.URL.Path == "/file.zip" {
			w.Header().Set("Content-Disposition", "attachment")
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	s.port = s.Listener.Addr().(*net.TCPAddr).Port
	return s
}

// open is a guard that lets one site through.
func (s *site) open() *netguard.Guard {
	return &netguard.Guard{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
}

func browser(t *testing.T) *render.Browser {
	at := rendertest.Browser(t)
	return &render.Browser{Where: func() string { return at }}
}

// profiles are the folders of browsers that have not been removed.
func profiles(t *testing.T) int {
	found := must.Get(filepath.Glob(filepath.Join(os.TempDir(), "fawn-browser-*")))(t)
	return len(found)
}

// temp makes a new folder the one for temporary files.
func temp(t *testing.T, mode os.FileMode) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "fawn-render-") // the way there is open to everybody
	if err == nil {
		err = os.Chmod(dir, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must.Report(t, os.RemoveAll(dir)) })
	t.Setenv("TMPDIR", dir)
}

// TestABrowserStartsWhereTemporaryFilesAreClosedToOthers, whose process root's browser is.
func TestABrowserStartsWhereTemporaryFilesAreClosedToOthers(t *testing.T) {
	b := browser(t)
	temp(t, 0o700)
	s := newSite(t, map[string]string{"/": "<p>Hello"})
	p, err := b.Render(t.Context(), render.Request{URL: s.URL, Guard: s.open(), Ports: []int{s.port}})
	if err != nil || !strings.Contains(p.HTML, "Hello") {
		t.Errorf("%v %+v", err, p)
	}
}

// TestPagesOfScripts: what scripts write is there, also late; dialogs do not hold a page up, a
// script's way elsewhere is followed, and nothing is left behind.
func TestPagesOfScripts(t *testing.T) {
	b := browser(t)
	temp(t, 0o755)
	s := newSite(t, map[string]string{
		"/app":  `<title>App</title><div id=r></div><script>alert("hello"); fetch("/data").then(r => r.text()).then(x => setTimeout(() => { r.textContent = x }, 300))</script>`,
		"/data": "Words that a script fetched",
		"/way":  `<script>location.replace("/app")</script>`,
		"/gone": "-> /missing",
	})
	for _, path := range []string{"/app", "/way"} {
		p, err := b.Render(t.Context(), render.Request{URL: s.URL + path, Guard: s.open(), Ports: []int{s.port}})
		if err != nil || !strings.Contains(p.HTML, "Words that a script fetched") || p.Address != s.URL+"/app" ||
			p.Status != 200 {
			t.Errorf("%s: %v %+v", path, err, p)
		}
	}
	p, err := b.Render(t.Context(), render.Request{URL: s.URL + "/gone", Guard: s.open(), Ports: []int{s.port}})
	if err != nil || p.Status != 404 {
		t.Errorf("a page that is gone: %v %+v", err, p)
	}
	if n := profiles(t); n != 0 {
		t.Errorf("%d profiles are left", n)
	}
}

// TestABrowserReachesOnlyWhatTheGuardOpens: the page itself, redirects, what its scripts ask for,
// names that lead to another address the second time, files, and downloads.
func TestABrowserReachesOnlyWhatTheGuardOpens(t *testing.T) {
	b := &render.Browser{Where: func() string { return rendertest.Chromium(t) }} // as Fawn finds it
	inner := newSite(t, map[string]string{"/secret": "the secret"})
	outer := newSite(t, map[string]string{
		"/":         fmt.Sprintf(`<img src="%[1]s/img"><iframe src="%[1]s/frame"></iframe><script>let x = new WebSocket("ws://127.0.0.1:%[2]d/ws"); fetch("%[1]s/fetch", {mode: "no-cors"})</script><iframe src="file:///etc/passwd"></iframe>`, inner.URL, inner.port),
		"/away":     "-> " + inner.URL + "/redirect",
		"/script":   fmt.Sprintf(`<script>location.href = "%s/way"</script>`, inner.URL),
		"/file":     `-> file:///etc/passwd`,
		"/local":    `<script>location.href = "file:///etc/passwd"</script>still here`,
		"/download": `-> /file.zip`, "/file.zip": "saved by the browser",
	})
	// The guard knows the outer site by its port only; all else of this machine is refused.
	guard := outer.open()
	guard.Own = func() []netip.AddrPort {
		return []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:" + strconv.Itoa(inner.port))}
	}
	ports := []int{outer.port, inner.port}
	p, err := b.Render(t.Context(), render.Request{URL: outer.URL + "/", Guard: guard, Ports: ports})
	if err != nil || strings.Contains(p.HTML, "root:") {
		t.Errorf("a page: %v %+v", err, p)
	}
	for _, path := range []string{"/away", "/script", "/file", "/local", "/download"} {
		p, err := b.Render(t.Context(), render.Request{URL: outer.URL + path, Guard: guard, Ports: ports})
		if strings.Contains(p.HTML, "root:") || strings.Contains(p.HTML, "secret") ||
			strings.Contains(p.HTML, "saved") {
			t.Errorf("%s: %v %+v", path, err, p)
		}
	}
	for _, address := range []string{"file:///etc/passwd", "chrome://version", "data:text/html,hello", "javascript:1"} {
		if p, err := b.Render(t.Context(), render.Request{URL: address, Guard: guard, Ports: ports}); err == nil {
			t.Errorf("%s shows %+v", address, p)
		}
	}
	// A name that is public when it is looked at and ours when it is connected to.
	var mu sync.Mutex
	turn := 0
	guard.Resolve = func(context.Context, string) ([]netip.Addr, error) {
		mu.Lock()
		defer mu.Unlock()
		turn++
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	shut := &netguard.Guard{Resolve: guard.Resolve}
	if p, err := b.Render(t.Context(), render.Request{URL: fmt.Sprintf("http://rebind.example:%d/secret", inner.port),
		Guard: shut, Ports: ports}); err == nil && p.Status == 200 {
		t.Errorf("a name that leads here shows %+v", p)
	}
	mu.Lock()
	if turn == 0 {
		t.Error("the browser looked the name up by itself")
	}
	mu.Unlock()
	if asks := inner.asked(); asks != "" {
		t.Errorf("the browser reached %s", asks)
	}
}

// TestWhatNeverEnds is cut off: a page that never answers, a run that is stopped, and no browser.
func TestWhatNeverEnds(t *testing.T) {
	b := browser(t)
	hold := make(chan struct{})
	began := make(chan struct{}, 1)
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		select {
		case began <- struct{}{}:
		default:
		}
		<-hold
	}))
	t.Cleanup(func() { close(hold); slow.Close() })
	port := slow.Listener.Addr().(*net.TCPAddr).Port
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	guard := &netguard.Guard{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	_, err := b.Render(ctx, render.Request{URL: slow.URL, Guard: guard, Ports: []int{port}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	for where, want := range map[string]error{render.Off: render.ErrNone, "/nonexistent/chromium": os.ErrNotExist} {
		none := &render.Browser{Where: func() string { return where }}
		if _, err := none.Render(t.Context(), render.Request{URL: slow.URL, Guard: guard}); !errors.Is(err, want) {
			t.Errorf("%s: %v", where, err)
		}
	}
}

// TestABrowserThatRunsAlready shows a page in a context of its own and goes on.
func TestABrowserThatRunsAlready(t *testing.T) {
	at := rendertest.Browser(t)
	dir := must.Get(os.MkdirTemp("", ""))(t)
	cmd := exec.CommandContext(t.Context(), at, "--headless", "--no-sandbox", "--remote-debugging-port=0",
		"--user-data-dir="+dir, "--disable-gpu", "about:blank")
	cmd.Cancel = func() error { return cmd.Process.Kill() }
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			err := os.RemoveAll(dir)
			if err == nil {
				return
			}
			if time.Now().After(end) { // its other processes end after it, and write until then
				t.Fatal(err)
			}
		}
	})
	var port string
	for end := time.Now().Add(2 * time.Minute); port == ""; time.Sleep(20 * time.Millisecond) {
		if b, err := os.ReadFile(filepath.Join(dir, "DevToolsActivePort")); err == nil {
			port, _, _ = strings.Cut(string(b), "\n")
		}
		if time.Now().After(end) {
			t.Fatal("the browser does not start")
		}
	}
	b := &render.Browser{Where: func() string { return "http://127.0.0.1:" + port }}
	s := newSite(t, map[string]string{"/": `<script>document.write("shown by " + 1 + "st")</script>`})
	for range 2 {
		p, err := b.Render(t.Context(), render.Request{URL: s.URL + "/", Guard: s.open(), Ports: []int{s.port}})
		if err != nil || !strings.Contains(p.HTML, "shown by 1st") {
			t.Errorf("%v %+v", err, p)
		}
	}
	if _, err := b.Render(t.Context(), render.Request{URL: s.URL + "/", Guard: &netguard.Guard{},
		Ports: []int{s.port}}); err == nil && strings.Count(s.asked(), "/") > 4 {
		t.Errorf("it went past the guard: %v", s.asked())
	}
}
