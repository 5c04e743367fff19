package browser_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/sandbox/browser"
	"fawn/sandbox/netguard"
	"fawn/sandbox/render"
	"fawn/sandbox/render/rendertest"
)

// kept are the states of threads in memory.
type kept struct {
	mu  sync.Mutex
	all map[string][]byte
}

func (k *kept) load(thread string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.all[thread], nil
}

func (k *kept) save(thread string, state []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all[thread] = state
	return nil
}

// world is a site and browsers that may reach it.
type world struct {
	*testing.T
	b    *browser.Browsers
	site *httptest.Server
	port int
	kept *kept
}

func newWorld(t *testing.T, pages http.Handler, change func(*browser.Config)) *world {
	t.Helper()
	at := rendertest.Browser(t)
	w := &world{T: t, site: httptest.NewServer(pages), kept: &kept{all: map[string][]byte{}}}
	t.Cleanup(w.site.Close)
	w.port = w.site.Listener.Addr().(*net.TCPAddr).Port
	c := browser.Config{Browser: &render.Browser{Where: func() string { return at }}, Load: w.kept.load, Save: w.kept.save,
		Rules: func(string) browser.Rules {
			return browser.Rules{Ports: []int{w.port}, Guard: &netguard.Guard{
				AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}}
		}}
	if change != nil {
		change(&c)
	}
	w.b = browser.New(c)
	t.Cleanup(w.b.Close)
	return w
}

// act does something in thread "a", which must work.
func (w *world) act(a browser.Action) *browser.View {
	w.Helper()
	v, err := w.b.Act(w.Context(), "a", a)
	if err != nil {
		if v != nil {
			w.Log(v.Text)
		}
		w.Fatalf("%+v: %v", a, err)
	}
	return v
}

func (w *world) open(path string) *browser.View {
	w.Helper()
	return w.act(browser.Action{Kind: browser.Navigate, URL: w.site.URL + path})
}

func (w *world) click(element string) *browser.View {
	w.Helper()
	return w.act(browser.Action{Kind: browser.Click, Element: element})
}

func (w *world) typed(element, text string) *browser.View {
	w.Helper()
	return w.act(browser.Action{Kind: browser.Type, Element: element, Text: text})
}

// refused does something that is not carried out.
func (w *world) refused(a browser.Action, want string) *browser.View {
	w.Helper()
	v, err := w.b.Act(w.Context(), "a", a)
	var no *browser.Refusal
	if !errors.As(err, &no) || !strings.Contains(no.Text, want) {
		w.Fatalf("%+v: %v, want %q", a, err, want)
	}
	return v
}

func (w *world) has(v *browser.View, want ...string) {
	w.Helper()
	all := v.Address + "\n" + v.Title + "\n" + strings.Join(v.Notes, "\n") + "\n" + v.Text
	for _, one := range want {
		if !strings.Contains(all, one) {
			w.Errorf("the page lacks %q:\n%s", one, all)
		}
	}
}

// pages answers with the page of a path.
type pages map[string]string

func (p pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, ok := p[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if to, moved := strings.CutPrefix(body, "-> "); moved {
		http.Redirect(w, r, to, http.StatusFound)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, body)
}

// TestAnAgentUsesAForm: what a page says and takes is in the snapshot, and fields, lists and boxes change as a person
// would change them.
func TestAnAgentUsesAForm(t *testing.T) {
	w := newWorld(t, pages{
		"/": `<title>Start</title><h1>Welcome</h1><p>Read <a href=/form>the form</a> now.</p><div hidden>unseen</div>
			<ul><li>One</li><li>Two</li></ul><table><tr><th>Name<th>Price</tr><tr><td>Tea<td>3 €</tr></table>`,
		"/form": `<title>Form</title><form onsubmit="event.preventDefault(); out.textContent = 'Sent ' +
			JSON.stringify(Object.fromEntries(new FormData(this)))">
			<label>Name <input name=name value=old></label><label>Password <input type=password name=pw></label>
			<label>Country <select name=land><option>France<option>Germany<option disabled>Nowhere</select></label>
			<label><input type=checkbox name=ok> I agree</label><label>Day <input type=date name=day></label>
			<textarea name=more aria-label=Remarks></textarea><input name=off aria-label=Off disabled>
			<div contenteditable role=textbox aria-label=Note>x</div>
			<button>Send</button></form><p id=out></p>`,
	}, nil)
	v := w.open("/")
	w.has(v, w.site.URL+"/", "Start", "# Welcome", `Read [1] link "the form" now.`, "- One", "- Two", "Name | Price",
		"Tea | 3 €")
	if strings.Contains(v.Text, "unseen") {
		t.Errorf("what is hidden is told: %s", v.Text)
	}
	if len(v.Picture) == 0 || len(v.Picture) > 60<<10 || v.Status != 200 {
		t.Errorf("a picture of %d bytes, status %d", len(v.Picture), v.Status)
	}
	v = w.click("1")
	w.has(v, "/form", `textbox "Name" = "old"`, `combobox "Country" = "France" options: France | Germany | Nowhere`,
		`checkbox "I agree"`, `button "Send"`, `"Off" (disabled)`)
	w.typed("Name", "Anna & Bo")
	v = w.typed("Password", "geheim")
	if strings.Contains(v.Text, "geheim") {
		t.Errorf("a password is told: %s", v.Text)
	}
	w.has(v, `= "(hidden)"`)
	w.typed("Country", "germany")
	w.refused(browser.Action{Kind: browser.Type, Element: "Country", Text: "Spain"}, "It has: France, Germany, Nowhere")
	w.has(w.click("I agree"), `"I agree" (checked`)
	w.typed("Day", "2026-03-31")
	w.typed("Remarks", "two\nlines")
	w.has(w.typed("Note", "yes"), `"Note" = "yes"`)
	w.refused(browser.Action{Kind: browser.Click, Element: "Off"}, "disabled")
	w.refused(browser.Action{Kind: browser.Click, Element: "Buy"}, "No element is called")
	w.refused(browser.Action{Kind: browser.Click, Element: "999"}, "no element [999]")
	w.has(w.click("Send"), `Sent {"name":"Anna & Bo","pw":"geheim","land":"Germany","ok":"on","day":"2026-03-31","more":"two\nlines"}`)
	w.has(w.act(browser.Action{Kind: browser.Back}), "# Welcome")
	w.refused(browser.Action{Kind: browser.Back}, "no page before")
}

// TestNumbersStayUntilThePageChanges, and one of a page before is refused rather than used for something else.
func TestNumbersStayUntilThePageChanges(t *testing.T) {
	w := newWorld(t, pages{
		"/": `<button onclick="p.insertAdjacentHTML('afterbegin', '<button>New</button>')">First</button><p id=p><button
			onclick="this.textContent='Pressed'">Second</button></p><a href=/other>Away</a>`,
		"/other": `<button>Only</button>`,
	}, nil)
	w.has(w.open("/"), `[1] button "First"`, `[2] button "Second"`, `[3] link "Away"`)
	w.has(w.click("1"), `[4] button "New"`, `[2] button "Second"`)
	w.has(w.click("[2]"), `[2] button "Pressed"`)
	w.has(w.click("Away"), `[1] button "Only"`)
	w.refused(browser.Action{Kind: browser.Click, Element: "3"}, "no element [3]")
}

// TestDialogsAreAnswered and told.
func TestDialogsAreAnswered(t *testing.T) {
	w := newWorld(t, pages{"/": `<button onclick="alert('Hello there'); out.textContent='after'">Alert</button>
		<button onclick="out.textContent = confirm('Delete all?') ? 'gone' : 'kept'">Delete</button>
		<button onclick="out.textContent = 'Name ' + prompt('Who?', 'nobody')">Ask</button><p id=out></p>`}, nil)
	w.open("/")
	w.has(w.click("Alert"), `a dialog (alert): "Hello there", which was accepted`, "after")
	w.has(w.click("Delete"), `(confirm): "Delete all?", which was declined`, "kept")
	w.has(w.act(browser.Action{Kind: browser.Click, Element: "Delete", Dialog: browser.Dialog{Accept: true}}), "gone")
	w.has(w.act(browser.Action{Kind: browser.Click, Element: "Ask", Dialog: browser.Dialog{Accept: true, Text: "Bo"}}),
		"Name Bo")
	w.has(w.click("Ask"), "Name null")
}

// TestFramesTabsAndWhatComesLate: frames of other sites too, pages that open others, lists that scripts fill, and what
// lies over an element.
func TestFramesTabsAndWhatComesLate(t *testing.T) {
	other := httptest.NewServer(pages{"/inner": `<button onclick="this.textContent='Clicked inside'">Inside</button>`})
	t.Cleanup(other.Close)
	far := strings.Replace(other.URL, "127.0.0.1", "localhost", 1) // another site
	w := newWorld(t, pages{
		"/":     fmt.Sprintf(`<p>Outer</p><iframe src="%s/inner" title=Shop></iframe>`, far),
		"/tabs": `<a href=/second target=_blank>Open</a>`, "/second": `<h1>Second</h1><button onclick="window.close()">Close</button>`,
		"/late": `<p id=p>Loading</p><script>setTimeout(() => fetch("/data").then(r => r.text()).then(x => setTimeout(() => p.textContent = x, 100)), 200)</script>`,
		"/data": "Words from a script",
		"/over": `<button onclick="this.textContent='Bought'">Buy</button><div id=c style="position:fixed;inset:0;background:#fff"><button onclick="c.remove()">Accept cookies</button></div>`,
		"/away": "-> /second",
	}, func(c *browser.Config) {
		rules := c.Rules
		c.Rules = func(thread string) browser.Rules {
			r := rules(thread)
			r.Ports = append(r.Ports, other.Listener.Addr().(*net.TCPAddr).Port)
			return r
		}
	})
	w.has(w.open("/"), "Outer", `frame "Shop":`, `[1] button "Inside"`)
	w.has(w.click("Inside"), `"Clicked inside"`)
	w.open("/tabs")
	w.has(w.click("Open"), "a new tab was opened", "# Second", w.site.URL+"/second")
	w.has(w.click("Close"), "the tab was closed", `link "Open"`)
	w.has(w.open("/late"), "Words from a script")
	w.open("/over")
	w.refused(browser.Action{Kind: browser.Click, Element: "Buy"}, `lies over the element "Buy": "Accept cookies"`)
	w.click("Accept cookies")
	w.has(w.click("Buy"), `"Bought"`)
	w.has(w.open("/away"), "# Second")
}

// TestLongPagesComeInParts, and the words alone can be read.
func TestLongPagesComeInParts(t *testing.T) {
	var b strings.Builder
	for i := range 800 {
		fmt.Fprintf(&b, "<p>Line %d <a href=/x>more</a></p>", i)
	}
	w := newWorld(t, pages{"/": b.String()}, nil)
	v := w.open("/")
	if len(v.Text) > browser.SnapshotBytes+200 || !strings.Contains(v.Text, "more lines: browser_read with from=") {
		t.Errorf("%d bytes: %s", len(v.Text), v.Text[max(0, len(v.Text)-200):])
	}
	var from int
	if _, err := fmt.Sscanf(v.Text[strings.Index(v.Text, "from="):], "from=%d", &from); err != nil {
		t.Fatal(err)
	}
	w.has(w.act(browser.Action{Kind: browser.Read, From: from}), fmt.Sprintf("Line %d ", from))
	v = w.act(browser.Action{Kind: browser.Read, Words: true})
	w.has(v, "Line 0 more")
	if strings.Contains(v.Text, "[1]") {
		t.Errorf("words have numbers: %.200s", v.Text)
	}
}

// TestFilesGoInAndOut: a download by a link, of a page that a browser would show, and by a script; an upload; and names
// that lead out of the folder.
func TestFilesGoInAndOut(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/", pages{"/": `<a href=/report.csv>Report</a> <a href=/paper.pdf>Paper</a>
		<button onclick="const a = document.createElement('a'); a.href = window.URL.createObjectURL(new Blob(['made here'])); a.download = 'made.txt'; a.click()">Make</button>
		<form method=post action=/up enctype=multipart/form-data><label>File <input type=file name=f></label><button>Upload</button></form>`})
	mux.HandleFunc("/report.csv", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", `attachment; filename="../../etc/re:port.csv"`)
		fmt.Fprint(w, "a,b\n1,2\n")
	})
	mux.HandleFunc("/paper.pdf", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/pdf")
		fmt.Fprint(w, "%PDF-1.4 shown by a browser")
	})
	mux.HandleFunc("/up", func(w http.ResponseWriter, r *http.Request) {
		f, h, err := r.FormFile("f")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		all, _ := io.ReadAll(f)
		fmt.Fprintf(w, "Got %s: %s", h.Filename, all)
	})
	w := newWorld(t, mux, nil)
	w.open("/")
	saved := func(v *browser.View, name, want string) {
		t.Helper()
		if len(v.Saved) != 1 || v.Saved[0].Failed != "" || v.Saved[0].Name != name {
			for _, d := range v.Saved {
				t.Logf("%+v", *d)
			}
			t.Fatalf("saved %d, notes %q", len(v.Saved), v.Notes)
		}
		f, err := v.Saved[0].Open()
		if err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(f)
		if err != nil || string(all) != want {
			t.Errorf("%s: %q %v", name, all, err)
		}
		if err := errors.Join(f.Close(), v.Saved[0].Close()); err != nil {
			t.Error(err)
		}
	}
	saved(w.click("Report"), "_.._etc_re_port.csv", "a,b\n1,2\n")
	saved(w.act(browser.Action{Kind: browser.Save, Element: "Paper"}), "paper.pdf", "%PDF-1.4 shown by a browser")
	saved(w.act(browser.Action{Kind: browser.Save, Element: "Make"}), "made.txt", "made here")
	saved(w.act(browser.Action{Kind: browser.Save, URL: w.site.URL + "/paper.pdf"}), "paper.pdf", "%PDF-1.4 shown by a browser")
	w.refused(browser.Action{Kind: browser.Save, URL: w.site.URL + "/missing"}, "Nothing was downloaded")
	w.open("/")
	w.act(browser.Action{Kind: browser.Type, Element: "File", File: strings.NewReader("from the thread"), FileName: "in.txt"})
	w.has(w.click("Upload"), "Got in.txt: from the thread")
}

// TestABrowserIsHeldByTheRules: addresses that the guard closes, hosts that the owner blocked, and other schemes.
func TestABrowserIsHeldByTheRules(t *testing.T) {
	secret := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the browser reached what is closed")
	}))
	t.Cleanup(secret.Close)
	inner := secret.Listener.Addr().(*net.TCPAddr)
	w := newWorld(t, pages{"/": fmt.Sprintf(`<img src="%s/x"><p>Here</p><a href="%[1]s/">In</a>`, secret.URL)},
		func(c *browser.Config) {
			at := rendertest.Chromium(t) // as Fawn finds it
			c.Browser = &render.Browser{Where: func() string { return at }}
			rules := c.Rules
			c.Rules = func(thread string) browser.Rules {
				r := rules(thread)
				r.Guard.Own = func() []netip.AddrPort { return []netip.AddrPort{inner.AddrPort()} }
				r.Ports = append(r.Ports, inner.Port)
				r.Deny = []string{"127.0.0.3"}
				return r
			}
		})
	w.has(w.open("/"), "Here", "was refused")
	w.click("In")
	for _, address := range []string{"file:///etc/passwd", "chrome://version", "javascript:alert(1)", "data:text/html,x"} {
		w.refused(browser.Action{Kind: browser.Navigate, URL: address}, "Only http and https")
	}
	// Go reads a host here, Chromium does not.
	for _, kind := range []browser.Kind{browser.Navigate, browser.Save} {
		w.refused(browser.Action{Kind: kind, URL: "https://\u0087F"}, "can't be opened")
	}
	v, err := w.b.Act(t.Context(), "a", browser.Action{Kind: browser.Navigate, URL: fmt.Sprintf("http://127.0.0.3:%d/", w.port)})
	if err == nil && !strings.Contains(strings.Join(v.Notes, " "), "127.0.0.3 was refused") {
		t.Errorf("a blocked host: %+v", v)
	}
	w.refused(browser.Action{Kind: browser.Navigate, URL: "http://169.254.169.254/latest"}, "can't be opened")
}

// TestASessionGoesOn after its browser was killed or has ended: with its cookies, at its address, and the agent is told.
func TestASessionGoesOn(t *testing.T) {
	w := newWorld(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/login" {
			http.SetCookie(w, &http.Cookie{Name: "who", Value: "anna", HttpOnly: true})
			http.Redirect(w, r, "/home", http.StatusFound)
			return
		}
		c, err := r.Cookie("who")
		if err != nil {
			fmt.Fprint(w, `<p>Nobody</p>`)
			return
		}
		fmt.Fprintf(w, `<p>Hello %s at %s</p>`, c.Value, r.URL.Path)
	}), nil)
	w.has(w.open("/login"), "Hello anna at /home")
	w.b.End("a")
	if w.b.Open("a") {
		t.Error("it is still open")
	}
	v := w.act(browser.Action{Kind: browser.Read})
	w.has(v, "Hello anna at /home", "the browser was started again", "/home was opened again")
	kill(t)
	w.has(w.act(browser.Action{Kind: browser.Read}), "Hello anna", "the browser was started again")
	if v, err := w.b.Act(t.Context(), "b", browser.Action{Kind: browser.Navigate, URL: w.site.URL + "/home"}); err != nil ||
		!strings.Contains(v.Text, "Nobody") {
		t.Errorf("another thread has the cookies of this one: %v %+v", err, v)
	}
}

// kill ends all browsers that this process has started, as a lack of memory would.
func kill(t *testing.T) {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(found) == 0 {
		t.Skip("processes are found on Linux only")
	}
	type process struct{ pid, parent, group int }
	var all []process
	for _, name := range found {
		raw, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		var p process
		var state string
		if _, err := fmt.Sscan(string(raw[strings.LastIndexByte(string(raw), ')')+1:]), &state, &p.parent, &p.group); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(filepath.Base(filepath.Dir(name)), &p.pid); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	n := 0
	for _, p := range all {
		// A browser may be a script that starts the program. Each has a group of its own.
		if !slices.ContainsFunc(all, func(first process) bool { return first.pid == p.group && first.parent == os.Getpid() }) {
			continue
		}
		one, err := os.FindProcess(p.pid)
		if err == nil {
			err = one.Kill()
		}
		if err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		n++
	}
	if n == 0 {
		t.Fatal("there is no browser to kill")
	}
}

// TestBrowsersMakeRoomAndEnd: the one that rests for longest makes room, one that nobody uses ends, and none is left at
// the end.
func TestBrowsersMakeRoomAndEnd(t *testing.T) {
	idle := time.Hour
	var mu sync.Mutex
	w := newWorld(t, pages{"/": "<p>Here"}, func(c *browser.Config) {
		c.Most = func() int { return 2 }
		c.Idle = func() time.Duration { mu.Lock(); defer mu.Unlock(); return idle }
	})
	for _, thread := range []string{"a", "b", "c"} {
		if _, err := w.b.Act(t.Context(), thread, browser.Action{Kind: browser.Navigate, URL: w.site.URL}); err != nil {
			t.Fatal(err)
		}
	}
	if w.b.Open("a") || !w.b.Open("b") || !w.b.Open("c") {
		t.Errorf("open: a %t, b %t, c %t", w.b.Open("a"), w.b.Open("b"), w.b.Open("c"))
	}
	w.b.Close()
	if w.b.Open("b") || w.b.Open("c") {
		t.Error("browsers are left")
	}
	if _, err := w.b.Act(t.Context(), "a", browser.Action{Kind: browser.Read}); !errors.Is(err, browser.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	mu.Lock()
	idle = 50 * time.Millisecond
	mu.Unlock()
	w2 := newWorld(t, pages{"/": "<p>Here"}, func(c *browser.Config) { c.Idle = func() time.Duration { return idle } })
	w2.open("/")
	for end := time.Now().Add(20 * time.Second); w2.b.Open("a"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a browser that nobody uses is kept")
		}
	}
}

// TestAPersonTakesOver: the agent waits, what the person does is in the page, and the agent is told.
func TestAPersonTakesOver(t *testing.T) {
	w := newWorld(t, pages{"/": `<input aria-label=Code style="position:absolute;left:0;top:0;width:200px;height:40px"
		oninput="out.textContent='Code is '+this.value"><p id=out style="margin-top:60px">Nothing</p>`}, nil)
	ctx := t.Context()
	if err := w.b.TakeOver(ctx, "a"); !errors.Is(err, browser.ErrNoSession) {
		t.Errorf("without a browser: %v", err)
	}
	w.open("/")
	if err := w.b.Do(ctx, "a", browser.Gesture{Kind: "click"}); !errors.Is(err, browser.ErrNotHeld) {
		t.Errorf("without taking over: %v", err)
	}
	frames := make(chan browser.Frame, 100)
	watch, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		if err := w.b.Watch(watch, "a", func(f browser.Frame) error {
			select {
			case frames <- f:
			default:
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
	defer func() { stop(); watching.Wait() }()
	if f := <-frames; f.JPEG != nil || f.Held || f.Address != w.site.URL+"/" {
		t.Errorf("at first: %+v", f)
	}
	if f := <-frames; len(f.JPEG) < 500 || f.Held {
		t.Errorf("a frame of %d bytes, held %t", len(f.JPEG), f.Held)
	}
	if err := w.b.TakeOver(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	waits, done := make(chan struct{}), make(chan *browser.View)
	go func() {
		v, err := w.b.Act(ctx, "a", browser.Action{Kind: browser.Read, Waiting: func() { close(waits) }})
		if err != nil {
			t.Error(err)
		}
		done <- v
	}()
	<-waits
	for _, g := range []browser.Gesture{{Kind: "click", X: 50, Y: 20}, {Kind: "text", Text: "4711x"},
		{Kind: "key", Text: "Backspace"}} {
		if err := w.b.Do(ctx, "a", g); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-done:
		t.Fatal("the agent did not wait")
	default:
	}
	if err := w.b.HandBack(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	w.has(<-done, "Code is 4711", "a person had taken over the browser")
}

// TestAnAgentDoesNotWaitForever for a person.
func TestAnAgentDoesNotWaitForever(t *testing.T) {
	w := newWorld(t, pages{"/": "<p>Here"}, func(c *browser.Config) { c.Hand = 50 * time.Millisecond })
	w.open("/")
	if err := w.b.TakeOver(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.b.Act(t.Context(), "a", browser.Action{Kind: browser.Read}); !errors.Is(err, browser.ErrHeld) {
		t.Errorf("the agent: %v", err)
	}
}
