// Package render reads pages as a browser shows them: in Chromium, which runs their scripts. All
// that a page asks of the network goes through a proxy that judges each address.
package render

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"fawn/sandbox/egress"
	"fawn/sandbox/netguard"
)

// Limits of one page.
const (
	maxTime   = 30 * time.Second
	settle    = 6 * time.Second // how long scripts may continue after the page's load event
	maxHTML   = 8 << 20         // characters
	maxIn     = 64 << 20        // bytes received per page
	maxOut    = 2 << 20         // bytes sent per page
	maxPages  = 2               // at a time
	maxMemory = 1 << 30         // memory of all processes of our own browser
)

var (
	// ErrNone means that no browser is installed or configured.
	ErrNone = errors.New("no browser is installed: install Chromium, or set web.browser")
	// ErrPage means that the browser could not show a page.
	ErrPage = errors.New("the browser can't show the page")
	// ErrLarge means that a page is too large.
	ErrLarge = errors.New("the page is too large")
	// ErrMemory means that the browser was ended for a page's memory use.
	ErrMemory = errors.New("the page took too much memory, so the browser was stopped")
)

// Off is the name of a browser that turns rendering off.
const Off = "off"

// Browser shows pages. It is safe for concurrent use.
type Browser struct {
	// Where locates the browser: the path of a program, the address of a local Chromium with remote debugging
	// (--remote-debugging-port), [Off], or "", which searches for a program.
	Where func() string
	Log   *slog.Logger
	// Memory limits the bytes used by all processes of a browser started for a page; 0 means 1 GiB. It works on Linux
	// only.
	Memory int64

	once  sync.Once
	slots chan struct{}
	found struct { // the last search for a program
		mu   sync.Mutex
		path string
		at   time.Time
	}
}

// Request is the page to show with its allowed connections.
type Request struct {
	URL   string
	Guard *netguard.Guard
	Ports []int // besides 80, 443, 8080 and 8443
}

// Page is the result of rendering.
type Page struct {
	Address string // final address after redirects and scripts
	HTML    string
	Status  int // status of the HTTP answer; 0 if it isn't known
}

// Ready reports whether there is a browser.
func (b *Browser) Ready() bool {
	_, err := b.find()
	return err == nil
}

// find returns the browser: an address or the path of a program.
func (b *Browser) find() (string, error) {
	switch where := b.Where(); {
	case where == Off:
		return "", ErrNone
	case where != "":
		return where, nil
	}
	if at := b.search(); at != "" {
		return at, nil
	}
	return "", ErrNone
}

// searchEvery is the interval of searches for a program: each run asks whether there is a browser.
const searchEvery = 2 * time.Second

// search returns the path of the installed program, "" for none. An answer holds for searchEvery.
func (b *Browser) search() string {
	b.found.mu.Lock()
	defer b.found.mu.Unlock()
	if now := time.Now(); b.found.at.IsZero() || now.Sub(b.found.at) >= searchEvery {
		b.found.path, b.found.at = installed(), now
	}
	return b.found.path
}

// Render loads a page and returns its final state. The error wraps [ErrNone], [ErrPage], [ErrLarge] or [ErrMemory], or
// is that of the context.
func (b *Browser) Render(ctx context.Context, r Request) (p Page, err error) {
	if u, err := url.Parse(r.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return p, fmt.Errorf("%w: only http and https are allowed", ErrPage)
	}
	where, err := b.find()
	if err != nil {
		return p, err
	}
	b.once.Do(func() { b.slots = make(chan struct{}, maxPages) })
	select {
	case b.slots <- struct{}{}:
		defer func() { <-b.slots }()
	case <-ctx.Done():
		return p, context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	proxy, stop, err := serve(ctx, r)
	if err != nil {
		return p, err
	}
	defer stop()
	w, err := open(ctx, where, cmp.Or(b.Memory, maxMemory))
	if err != nil {
		return p, fmt.Errorf("start the browser: %w", err)
	}
	c := newConversation(ctx, w)
	defer func() {
		if failed := c.close(); failed != nil && b.Log != nil {
			b.Log.Warn("browser exited with an error", "err", failed)
		}
	}()
	p, err = c.show(ctx, r.URL, proxy)
	if w, ok := w.(bounded); ok && err != nil && w.exceeded() {
		return p, ErrMemory
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return p, err
}

// bounded is a connection to a browser with limited memory.
type bounded interface{ exceeded() bool }

// serve opens the proxy of one page on loopback and returns its address.
func serve(ctx context.Context, r Request) (string, func(), error) {
	proxy, err := egress.New(egress.Policy{Allow: []string{"*"}}, r.Guard)
	if err != nil {
		return "", nil, err
	}
	proxy.Limits = egress.Limits{In: maxIn, Out: maxOut, HTTPPorts: append([]int{80, 8080}, r.Ports...),
		TLSPorts: append([]int{443, 8443}, r.Ports...)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = proxy.Serve(ctx, l, "page") // failures show as missing parts of the page
	}()
	return "http://" + l.Addr().String(), func() {
		cancel()
		<-done
	}, nil
}

// open starts a browser, with the flags, or connects to one.
func open(ctx context.Context, where string, memory int64, flags ...string) (wire, error) {
	u, err := url.Parse(where)
	if err == nil && strings.Contains(where, "://") && u.Host != "" {
		return dial(ctx, u)
	}
	if _, err := os.Stat(where); err != nil {
		return nil, err
	}
	return launch(where, memory, flags...)
}

// show loads a page and reads it once it is idle.
func (c *conversation) show(ctx context.Context, address, proxy string) (p Page, err error) {
	var made struct {
		Context string `json:"browserContextId"`
		Target  string `json:"targetId"`
		Session string `json:"sessionId"`
	}
	for _, step := range []struct {
		method string
		params func() any
	}{
		{"Target.createBrowserContext", func() any {
			return map[string]any{"disposeOnDetach": true, "proxyServer": proxy, "proxyBypassList": "<-loopback>"}
		}},
		{"Browser.setDownloadBehavior", func() any {
			return map[string]any{"behavior": "deny", "browserContextId": made.Context}
		}},
		{"Target.createTarget", func() any {
			return map[string]any{"url": "about:blank", "browserContextId": made.Context}
		}},
		{"Target.attachToTarget", func() any { return map[string]any{"targetId": made.Target, "flatten": true} }},
	} {
		if err := c.call(ctx, "", step.method, step.params(), &made); err != nil {
			return p, err
		}
	}
	defer func() { // an external browser must forget the page
		left, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = c.call(left, "", "Target.disposeBrowserContext", map[string]any{"browserContextId": made.Context}, nil)
	}()
	for _, method := range []string{"Page.enable", "Network.enable", "Page.setLifecycleEventsEnabled"} {
		if err := c.call(ctx, made.Session, method, map[string]any{"enabled": true}, nil); err != nil {
			return p, err
		}
	}
	c.frame, c.session = made.Target, made.Session // the frame of a page has the name of its target
	var gone struct {
		Error string `json:"errorText"`
	}
	if err := c.call(ctx, made.Session, "Page.navigate", map[string]any{"url": address}, &gone); err != nil {
		return p, err
	}
	switch {
	case gone.Error != "" && c.status >= http.StatusBadRequest: // nothing to show
		return Page{Address: address, Status: c.status}, nil
	case gone.Error != "":
		return p, fmt.Errorf("%w: %s", ErrPage, strings.TrimPrefix(gone.Error, "net::"))
	}
	if err := c.rest(ctx); err != nil {
		return p, err
	}
	var read struct {
		Result struct {
			Value struct{ Address, HTML string } `json:"value"`
		} `json:"result"`
	}
	expression := fmt.Sprintf("({Address: location.href, HTML: document.documentElement.outerHTML.slice(0, %d)})",
		maxHTML+1)
	if err := c.call(ctx, made.Session, "Runtime.evaluate", map[string]any{"expression": expression,
		"returnByValue": true, "timeout": 5000}, &read); err != nil {
		return p, err
	}
	p = Page{Address: read.Result.Value.Address, HTML: read.Result.Value.HTML, Status: c.status}
	switch u, err := url.Parse(p.Address); {
	case len(p.HTML) > maxHTML:
		return Page{}, ErrLarge
	case err != nil || u.Scheme != "http" && u.Scheme != "https":
		return Page{}, fmt.Errorf("%w: it redirected to another address", ErrPage)
	}
	return p, nil
}

// rest waits until the page has loaded and its requests have ended, which some never do.
func (c *conversation) rest(ctx context.Context) error {
	for !c.loaded {
		if err := c.next(ctx); err != nil {
			return err
		}
	}
	quiet, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	for !c.idle {
		if err := c.next(quiet); err != nil {
			if quiet.Err() != nil && ctx.Err() == nil {
				return nil
			}
			return err
		}
	}
	return nil
}

// event handles unsolicited messages of the browser.
func (c *conversation) event(ctx context.Context, session, method string, raw json.RawMessage) error {
	if session == "" || session != c.session {
		return nil
	}
	var e struct {
		Frame    string `json:"frameId"`
		Name     string `json:"name"`
		Type     string `json:"type"`
		Response struct {
			Status int `json:"status"`
		} `json:"response"`
	}
	switch method {
	case "Page.javascriptDialogOpening": // a dialog would wait for a person
		return c.send(ctx, session, "Page.handleJavaScriptDialog", map[string]any{"accept": false})
	case "Page.lifecycleEvent", "Network.responseReceived":
		if err := json.Unmarshal(raw, &e); err != nil || e.Frame != c.frame {
			return err
		}
	}
	switch {
	case method == "Network.responseReceived" && e.Type == "Document":
		c.status = e.Response.Status
	case e.Name == "init": // a page led to another one
		c.loaded, c.idle = false, false
	case e.Name == "load":
		c.loaded = true
	case e.Name == "networkIdle":
		c.idle = c.loaded
	}
	return nil
}

// dial connects to a browser by the address of its commands, or the one that reports it.
func dial(ctx context.Context, u *url.URL) (wire, error) {
	if u.Scheme == "ws" || u.Scheme == "wss" {
		return connect(ctx, u.String())
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath("json", "version").String(), nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var told struct {
		At string `json:"webSocketDebuggerUrl"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(nil, res.Body, 64<<10)).Decode(&told); err != nil || told.At == "" {
		return nil, fmt.Errorf("no browser answers at %s", u.Redacted())
	}
	return connect(ctx, told.At)
}
