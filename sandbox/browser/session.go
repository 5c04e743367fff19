package browser

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto"
	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"fawn/sandbox/egress"
	"fawn/sandbox/render"
)

const (
	// Width and Height are the page's size in pixels.
	Width, Height = 1280, 800
	maxTabs       = 8
	maxNotes      = 20
	maxIn         = 1 << 30   // bytes per day from the network for a thread's browsers
	maxOut        = 200 << 20 // bytes per day to the network
)

// flags include frames of other sites in the page's accessibility tree. Each thread has its own browser, so sites share
// a process only with other sites it visits.
func flags() []string {
	return []string{"--disable-features=IsolateOrigins,site-per-process", "--disable-site-isolation-trials",
		fmt.Sprintf("--window-size=%d,%d", Width, Height)}
}

// session is the browser of one thread.
type session struct {
	b      *Browsers
	thread string
	owner  string        // owner of the thread, "" if unknown
	turn   chan struct{} // held during an action
	ended  chan struct{} // closed at the end, with the mutex held
	work   sync.WaitGroup

	// Owned by the holder of turn.
	started bool
	told    string // the state as last saved
	went    string // requested address, "" for none

	mu       sync.Mutex
	link     *render.Link
	ctx      context.Context // context of its first tab
	stop     []func()        // in call order
	where    cdp.BrowserContextID
	downs    string // folder of downloads, "" for none
	ups      string // the folder of files to upload
	downRoot *os.Root
	upRoot   *os.Root
	tabs     []*tab // the last one is visible
	opening  int    // number of announced tabs
	changed  chan struct{}
	used     time.Time
	acted    time.Time     // like used, ignoring watchers
	held     chan struct{} // closed when a person returns the browser; nil while no person has control
	handNote bool          // a person had control since the last action
	notes    []string
	dialog   Dialog
	loads    map[string]*Download // by their id; at most maxLoads
	gave     []*Download          // files of the last action
	forced   bool                 // pages are saved rather than shown
	watchers map[*watcher]struct{}
	cast     *tab  // the tab being screencast
	last     Frame // last frame of cast
}

// tab is one page of a session. Its fields are guarded by the mutex of the session.
type tab struct {
	id      target.ID
	t       *chromedp.Target
	ctx     context.Context
	cancel  context.CancelFunc
	loading bool
	asked   map[network.RequestID]bool // requests in progress
	moved   time.Time                  // last change of loading and asked
	status  int64                      // status of the page
	address string
	crashed bool
	numbers numbers
}

func newSession(b *Browsers, thread, owner string) *session {
	now := time.Now()
	return &session{b: b, thread: thread, owner: owner, turn: make(chan struct{}, 1), ended: make(chan struct{}),
		changed: make(chan struct{}), used: now, acted: now, loads: map[string]*Download{},
		watchers: map[*watcher]struct{}{}}
}

func (s *session) over() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// finish marks it as ended.
func (s *session) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over() {
		close(s.ended)
	}
}

// spawn runs a function that end waits for, unless the session has ended. The caller holds the mutex.
func (s *session) spawn(f func()) {
	if !s.over() {
		s.work.Go(f)
	}
}

func (s *session) use() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.touch()
	s.signal()
}

// touch records activity. The caller holds the mutex.
func (s *session) touch() {
	s.used = time.Now()
	s.acted = s.used
}

func (s *session) lastUsed() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// restingSince reports whether the session has been idle since then, without actions or watchers. Watchers keep it for
// watchTime after the last action, and a person in control keeps it for idle after that.
func (s *session) restingSince(then time.Time, idle time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch quiet := time.Since(s.acted); {
	case len(s.turn) > 0:
		return false
	case len(s.watchers) > 0:
		return quiet >= max(s.b.cfg.Watched, idle)
	case s.held != nil && quiet < idle:
		return false
	}
	return !s.used.After(then)
}

func (s *session) heldBy() chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// signal wakes waiters for a change. The caller holds the mutex.
func (s *session) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *session) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
}

// tell records an event. The caller holds the mutex.
func (s *session) tell(text string) {
	if len(s.notes) < maxNotes && !slices.Contains(s.notes, text) {
		s.notes = append(s.notes, text)
	}
	s.signal()
}

// line is the transport of chromedp over a link.
type line struct{ *render.Link }

func (l line) Read(_ context.Context, m *cdproto.Message) error {
	raw, err := l.Receive()
	if err != nil {
		return err
	}
	return jsonv2.Unmarshal(raw, m, chromedp.DefaultUnmarshalOptions)
}

func (l line) Write(ctx context.Context, m *cdproto.Message) error {
	raw, err := jsonv2.Marshal(m, chromedp.DefaultMarshalOptions)
	if err != nil {
		return err
	}
	return l.Send(context.WithoutCancel(ctx), raw)
}

// Close leaves the link to its owner.
func (l line) Close() error { return nil }

// allocator gives chromedp an existing browser.
type allocator struct{ line }

func (a allocator) Allocate(ctx context.Context, opts ...chromedp.BrowserOption) (*chromedp.Browser, error) {
	return chromedp.NewBrowserTransport(ctx, a.line, opts...)
}

func (a allocator) Wait()          {}
func (a allocator) Attaches() bool { return true }

// refusals allows every host that isn't closed.
type refusals struct{ egress.Decisions }

func (r refusals) Lookup(ctx context.Context, thread, host string) (egress.Answer, bool, error) {
	if r.Decisions != nil {
		if answer, ok, err := r.Decisions.Lookup(ctx, thread, host); err != nil || ok && answer == egress.No {
			return answer, ok, err
		}
	}
	return egress.Once, true, nil
}

func (r refusals) Remember(context.Context, egress.Decision) error { return nil }

// serve opens the session's proxy on loopback.
func (s *session) serve() (address string, err error) {
	rules := s.b.cfg.Rules(s.thread)
	proxy, err := egress.New(egress.Policy{Deny: rules.Deny}, rules.Guard)
	if err != nil {
		return "", err
	}
	proxy.Decisions = refusals{rules.Decisions}
	proxy.Ledger = &s.b.ledger
	proxy.Limits = egress.Limits{In: s.b.cfg.In, Out: maxOut, HTTPPorts: append([]int{80, 8080}, rules.Ports...),
		TLSPorts: append([]int{443, 8443}, rules.Ports...)}
	proxy.Audit = func(r egress.Record) {
		switch r.Verdict {
		case egress.Denied:
			s.note("%s was refused: the owner of this server or of the chat has blocked it", r.Host)
		case egress.Forbidden:
			s.note("%s:%d was refused: the address or port isn't allowed", r.Host, r.Port)
		case egress.Exhausted:
			s.note("%s was refused: this chat has used up what its browser may load in a day", r.Host)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = proxy.Serve(ctx, l, s.thread) // failures show as missing parts of the page
	}()
	s.onEnd(func() {
		cancel()
		<-done
	})
	return "http://" + l.Addr().String(), nil
}

func (s *session) onEnd(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop = append(s.stop, f)
}

// start opens the browser with one empty page and restores its state. The caller holds turn and ends the session on
// failure.
func (s *session) start(ctx context.Context) (err error) {
	proxy, err := s.serve()
	if err != nil {
		return fmt.Errorf("open the network of the browser: %w", err)
	}
	link, err := s.b.cfg.Browser.Open(ctx, flags()...)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.link = link
	s.mu.Unlock()
	if s.over() { // it ended before the link was set
		return errors.Join(ErrClosed, link.Close())
	}
	if s.downs, err = link.Folder("downloads"); err != nil {
		return err
	}
	if s.ups, err = link.Folder("uploads"); err != nil {
		return err
	}
	if err = s.openFolders(); err != nil {
		return err
	}
	quiet := func(text string, args ...any) { s.b.cfg.Log.Debug("browser", "text", fmt.Sprintf(text, args...)) }
	all, stopAll := chromedp.NewAllocatorContext(context.Background(), allocator{line{link}})
	first := &tab{asked: map[network.RequestID]bool{}}
	// The first context is the browser itself; tabs are below it.
	root, stopRoot := chromedp.NewContext(all, chromedp.WithErrorf(quiet), chromedp.WithLogf(quiet))
	s.mu.Lock()
	s.stop = append(s.stop, stopRoot, stopAll)
	s.mu.Unlock()
	late := context.AfterFunc(ctx, stopRoot)
	defer late()
	timer := time.AfterFunc(startTime, stopRoot)
	defer timer.Stop()
	if err := chromedp.ListenBrowser(root, s.heard); err != nil {
		return fmt.Errorf("reach the browser: %w", err)
	}
	where, err := chromedp.CallBrowser(root, target.CreateBrowserContext, target.CreateBrowserContextParams{
		DisposeOnDetach: yes(), ProxyServer: proxy, ProxyBypassList: "<-loopback>"})
	if err != nil {
		return fmt.Errorf("open the browser: %w", err)
	}
	s.mu.Lock()
	s.where, s.ctx = where.BrowserContextID, root
	s.mu.Unlock()
	behavior := cdpbrowser.SetDownloadBehaviorParams{Behavior: cdpbrowser.SetDownloadBehaviorBehaviorDeny,
		BrowserContextID: s.where, EventsEnabled: yes()}
	if s.downs != "" {
		behavior.Behavior, behavior.DownloadPath = cdpbrowser.SetDownloadBehaviorBehaviorAllowAndName, s.downs
	}
	if _, err := chromedp.CallBrowser(root, cdpbrowser.SetDownloadBehavior, behavior); err != nil {
		return fmt.Errorf("open the browser: %w", err)
	}
	made, err := chromedp.CallBrowser(root, target.CreateTarget, target.CreateTargetParams{URL: "about:blank",
		BrowserContextID: s.where})
	if err != nil {
		return fmt.Errorf("open the browser: %w", err)
	}
	first.id = made.TargetID
	if err := s.attach(first); err != nil {
		return fmt.Errorf("open the browser: %w", err)
	}
	if _, err := chromedp.CallBrowser(root, target.SetDiscoverTargets,
		target.SetDiscoverTargetsParams{Discover: true}); err != nil {
		return fmt.Errorf("open the browser: %w", err)
	}
	lost := chromedp.FromContext(root).Browser.LostConnection
	s.mu.Lock()
	s.spawn(func() {
		select {
		case <-lost:
			s.finish() // the acting call, or tidy, cleans up
		case <-s.ended:
		}
	})
	s.mu.Unlock()
	s.started = true
	return s.restore(ctx)
}

// openFolders opens the file folders before a page runs, so that links created by the browser can't lead out of them.
func (s *session) openFolders() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range []struct {
		dir string
		at  **os.Root
	}{{s.downs, &s.downRoot}, {s.ups, &s.upRoot}} {
		if one.dir == "" {
			continue
		}
		root, err := os.OpenRoot(one.dir)
		if err != nil {
			return err
		}
		*one.at = root
		s.stop = append(s.stop, func() { _ = root.Close() }) // no unwritten data can be lost
	}
	return nil
}

func yes() *bool {
	v := true
	return &v
}

// attach follows a page and makes it the visible one.
func (s *session) attach(t *tab) error {
	t.ctx, t.cancel = chromedp.NewContext(s.ctx, chromedp.WithTargetID(t.id),
		chromedp.WithListener(func(ev any) { s.happened(t, ev) }))
	if t.asked == nil {
		t.asked = map[network.RequestID]bool{}
	}
	timer := time.AfterFunc(startTime, t.cancel)
	defer timer.Stop()
	if err := chromedp.Do(t.ctx); err != nil {
		t.cancel()
		return err
	}
	to := chromedp.FromContext(t.ctx).Target
	if _, err := cdp.Call(t.ctx, to, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: Width, Height: Height, DeviceScaleFactor: 1}); err != nil {
		t.cancel()
		return err
	}
	at, err := cdp.Call(t.ctx, to, page.GetFrameTree, cdp.Empty{}) // it may have been loaded before listening started
	if err != nil {
		t.cancel()
		return err
	}
	s.mu.Lock()
	s.tabs = append(s.tabs, t)
	t.t, t.moved = to, time.Now()
	if t.address == "" {
		t.address = clip(at.FrameTree.Frame.URL+at.FrameTree.Frame.URLFragment, maxURL)
	}
	var old *tab
	if len(s.tabs) > maxTabs {
		old = s.tabs[0]
		s.tabs = slices.Delete(s.tabs, 0, 1)
	}
	s.signal()
	s.mu.Unlock()
	if old != nil {
		old.cancel()
	}
	s.recast()
	return nil
}

// heard handles events of the browser. It must not block.
func (s *session) heard(ev any) {
	switch e := ev.(type) {
	case *target.EventTargetCreated:
		s.appeared(e.TargetInfo)
	case *target.EventTargetDestroyed:
		s.vanished(e.TargetID)
	case *cdpbrowser.EventDownloadWillBegin:
		s.downloads(e)
	case *cdpbrowser.EventDownloadProgress:
		s.downloaded(e)
	}
}

// appeared tracks a page opened by another one.
func (s *session) appeared(info *target.Info) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if info.Type != "page" || info.BrowserContextID != s.where || s.over() ||
		slices.ContainsFunc(s.tabs, func(t *tab) bool { return t.id == info.TargetID }) {
		return
	}
	s.opening++
	s.signal()
	s.spawn(func() {
		err := s.attach(&tab{id: info.TargetID})
		s.mu.Lock()
		s.opening--
		s.signal()
		s.mu.Unlock()
		if err == nil {
			s.note("a new tab was opened, which is the one shown now")
		}
	})
}

func (s *session) vanished(id target.ID) {
	s.mu.Lock()
	i := slices.IndexFunc(s.tabs, func(t *tab) bool { return t.id == id })
	var gone *tab
	if i >= 0 {
		gone = s.tabs[i]
		s.tabs = slices.Delete(s.tabs, i, i+1)
	}
	s.signal()
	left := len(s.tabs)
	if gone != nil {
		s.spawn(gone.cancel)
	}
	if left > 0 {
		s.spawn(s.recast)
	}
	s.mu.Unlock()
	if gone != nil && left > 0 {
		s.note("the tab was closed; the one before it is shown now")
	}
}

// happened handles events of a page. It must not block.
func (s *session) happened(t *tab, ev any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	main := func(id cdp.FrameID) bool { return id == cdp.FrameID(t.id) }
	moved := true
	switch e := ev.(type) {
	case *page.EventFrameStartedLoading:
		if main(e.FrameID) {
			t.loading = true
		}
	case *page.EventFrameStoppedLoading:
		if main(e.FrameID) {
			t.loading = false
		}
	case *page.EventFrameNavigated:
		if main(e.Frame.ID) {
			t.numbers.clear()
			clear(t.asked)
			t.address = clip(e.Frame.URL+e.Frame.URLFragment, maxURL)
		}
	case *page.EventNavigatedWithinDocument:
		if main(e.FrameID) {
			t.address = clip(e.URL, maxURL)
		}
	case *page.EventFrameRequestedNavigation:
	case *network.EventRequestWillBeSent:
		switch e.Type {
		case network.ResourceTypeEventSource, network.ResourceTypeWebSocket, network.ResourceTypeMedia,
			network.ResourceTypePing:
			return
		}
		if strings.HasPrefix(e.Request.URL, "data:") {
			return
		}
		t.asked[e.RequestID] = true
	case *network.EventResponseReceived:
		if e.Type == network.ResourceTypeDocument && main(e.FrameID) {
			t.status = e.Response.Status
		}
	case *network.EventLoadingFinished:
		delete(t.asked, e.RequestID)
	case *network.EventLoadingFailed:
		delete(t.asked, e.RequestID)
	case *page.EventJavascriptDialogOpening:
		s.answer(t, e)
	case *inspector.EventTargetCrashed:
		t.crashed, t.loading = true, false
	case *fetch.EventRequestPaused:
		s.paused(t, e)
	case *page.EventScreencastFrame:
		s.frame(t, e)
		return
	default:
		moved = false
	}
	if moved {
		t.moved = time.Now()
		s.signal()
	}
}

// Dialog is the answer to a page's dialogs: they are declined unless Accept is set.
type Dialog struct {
	Accept bool
	Text   string // for dialogs that ask for text
}

// answer closes a dialog, for which the page waits. The caller holds the mutex.
func (s *session) answer(t *tab, e *page.EventJavascriptDialogOpening) {
	accept := e.Type == page.DialogTypeAlert || e.Type == page.DialogTypeBeforeunload || s.dialog.Accept || s.held != nil
	text := ""
	if e.Type == page.DialogTypePrompt && accept {
		if text = s.dialog.Text; text == "" {
			text = e.DefaultPrompt
		}
	}
	did := map[bool]string{true: "accepted", false: "declined"}[accept]
	message, kind := clip(oneLine(e.Message), 500), string(e.Type)
	s.spawn(func() {
		ctx, cancel := context.WithTimeout(t.ctx, closeTime)
		defer cancel()
		to := s.ready(ctx, t)
		if to == nil {
			return
		}
		_, err := cdp.Call(ctx, to, page.HandleJavaScriptDialog,
			page.HandleJavaScriptDialogParams{Accept: accept, PromptText: text})
		if err == nil && kind != string(page.DialogTypeBeforeunload) {
			s.note("the page showed a dialog (%s): %q, which was %s", kind, message, did)
		}
	})
}

// ready waits until a new page accepts commands; nil if it does not.
func (s *session) ready(ctx context.Context, t *tab) *chromedp.Target {
	for {
		s.mu.Lock()
		to, changed := t.t, s.changed
		s.mu.Unlock()
		if to != nil {
			return to
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// current returns the tab that is shown.
func (s *session) current() (*tab, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.tabs) == 0 {
		return nil, refuse("The page has closed itself. Open an address with browser_navigate.")
	}
	return s.tabs[len(s.tabs)-1], nil
}

// end closes the browser and waits for all that belongs to it.
func (s *session) end() {
	s.finish()
	s.dropGiven()
	s.mu.Lock()
	link, stop := s.link, s.stop
	s.link, s.stop = nil, nil
	for w := range s.watchers {
		w.close()
	}
	clear(s.watchers)
	if s.held != nil {
		close(s.held)
		s.held = nil
	}
	s.mu.Unlock()
	if link != nil {
		if err := link.Close(); err != nil {
			s.b.cfg.Log.Warn("browser exited with an error", "thread", s.thread, "err", err)
		}
	}
	for _, f := range stop {
		f()
	}
	s.work.Wait()
}

// why returns the reason of a failed action, preferring the session's own.
func (s *session) why(err error) error {
	if err == nil {
		return nil
	}
	s.mu.Lock()
	link := s.link
	s.mu.Unlock()
	var lost <-chan struct{}
	if s.ctx != nil {
		if c := chromedp.FromContext(s.ctx); c.Browser != nil {
			lost = c.Browser.LostConnection
		}
	}
	select {
	case <-lost:
		s.finish()
	default:
	}
	switch {
	case link != nil && link.Exceeded():
		s.finish()
		return ErrMemory
	case link == nil: // we ended it
		return ErrClosed
	case s.over():
		return fmt.Errorf("%w: %w", errLost, err)
	}
	return err
}
