package browser

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"fawn/sandbox/netguard"
)

const (
	quietTime  = 300 * time.Millisecond // time without requests after which a page counts as loaded
	settleTime = 4 * time.Second        // wait limit for requests that never end
	loadTime   = 30 * time.Second       // time limit of a page load
	maxPicture = 60 << 10
	maxURL     = 8 << 10
	maxTyped   = 100 << 10
	maxUpload  = 100 << 20
)

// Kind is the type of an action.
type Kind int

// Kinds of actions.
const (
	Navigate Kind = iota
	Click
	Type
	Read // the page as it is
	Back
	Screenshot
	Save // downloads an element's target, or an address
)

// Action is something to do in the browser of a thread.
type Action struct {
	Kind    Kind
	URL     string // of Navigate and Save
	Element string // of Click, Type and Save: a number of a snapshot, or the name of exactly one element
	Text    string // of Type; for a list the option
	Submit  bool   // press Enter after Type
	Dialog  Dialog
	// File is uploaded by Type, into a field for files.
	File     io.Reader
	FileName string
	Whole    bool // of Screenshot: all of the page
	Words    bool // of Read: the text without elements
	From     int  // of Read: the line to begin with
	// Quiet leaves the small picture out.
	Quiet bool
	// Waiting is called once if a person has the browser.
	Waiting func()
}

// View is the page after an action.
type View struct {
	Address, Title string
	Status         int      // status of the HTTP answer; 0 if it isn't known
	Notes          []string // events during the action
	Text           string   // numbered elements, or words
	Picture        []byte   // small JPEG; nil if none could be made
	Shot           []byte   // PNG of Screenshot
	Target         string   // the name of the element that was used
	Saved          []*Download
}

// Act performs an action in the browser of a thread, starting it if needed. With a [Refusal] it also returns the
// current page, if there is one.
func (b *Browsers) Act(ctx context.Context, thread string, a Action) (*View, error) {
	if a.Kind == Navigate && !b.Open(thread) { // don't start a browser for a blocked address
		if _, err := Address(a.URL); err != nil {
			return nil, err
		}
	}
	v, err := b.once(ctx, thread, a)
	if !errors.Is(err, errLost) || ctx.Err() != nil {
		return v, err
	}
	if a.Kind != Navigate && a.Kind != Read && a.Kind != Screenshot {
		v, err = b.once(ctx, thread, Action{Kind: Read, Waiting: a.Waiting})
		if err == nil {
			err = refuse("The browser ended before it was known whether this was done, and was started again. " +
				"Look at the page, and do it again if need be.")
		}
		return v, err
	}
	return b.once(ctx, thread, a)
}

// errLost means that the browser exited.
var errLost = errors.New("the browser ended")

// once carries out an action.
func (b *Browsers) once(ctx context.Context, thread string, a Action) (*View, error) {
	s, err := b.take(ctx, thread, true, a.Waiting)
	if err != nil {
		return nil, err
	}
	defer s.release()
	s.dropGiven()
	ctx, cancel := context.WithTimeout(ctx, actionTime)
	defer cancel()
	s.mu.Lock()
	s.dialog = a.Dialog
	if s.handNote {
		s.handNote = false
		s.notes = append([]string{"a person had taken over the browser since your last step: the page may have changed"},
			s.notes...)
	}
	s.mu.Unlock()
	v := &View{}
	failed := s.act(ctx, a, v)
	var refused *Refusal
	if failed != nil && !errors.As(failed, &refused) {
		failed = s.why(failed)
		if s.over() {
			b.remove(s)
		}
		return nil, failed
	}
	if err := s.view(ctx, a, v); err != nil {
		if failed != nil {
			return nil, failed
		}
		err = s.why(err)
		if s.over() {
			b.remove(s)
		}
		return nil, err
	}
	s.keep(ctx, v.Address)
	return v, failed
}

// Address checks an address for the browser.
func Address(raw string) (string, error) {
	raw = strings.TrimSpace(raw)
	if raw == "" || len(raw) > maxURL {
		return "", refuse("The address is empty or too long.")
	}
	if !strings.Contains(raw, "://") && !strings.HasPrefix(raw, "/") {
		raw = "https://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return "", refuse("Only http and https addresses without user names can be opened.")
	}
	return u.String(), nil
}

func (s *session) act(ctx context.Context, a Action, v *View) error {
	t, err := s.current()
	if err != nil && a.Kind != Navigate {
		return err
	}
	if t == nil { // open a new tab instead of the last closed one
		if t, err = s.another(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	crashed := t.crashed
	t.crashed = false
	s.mu.Unlock()
	if crashed && a.Kind != Navigate {
		return refuse("The page has crashed. Open an address with browser_navigate.")
	}
	switch a.Kind {
	case Navigate:
		return s.open(ctx, t, a.URL)
	case Click:
		if v.Target, err = s.click(ctx, t, a.Element); err != nil {
			return err
		}
		return s.rest(ctx)
	case Type:
		if v.Target, err = s.write(ctx, t, a); err != nil {
			return err
		}
		return s.rest(ctx)
	case Back:
		return s.back(ctx, t)
	case Screenshot:
		v.Shot, err = shoot(ctx, t, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng}, a.Whole)
		return err
	case Save:
		return s.save(ctx, t, a, v)
	}
	return nil
}

// another opens an empty page.
func (s *session) another() (*tab, error) {
	made, err := chromedp.CallBrowser(s.ctx, targetCreate, targetParams(s.where))
	if err != nil {
		return nil, err
	}
	for {
		s.mu.Lock()
		for _, t := range s.tabs {
			if t.id == made.TargetID && t.t != nil {
				s.mu.Unlock()
				return t, nil
			}
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-s.ended:
			return nil, ErrNoSession
		}
	}
}

// open loads an address.
func (s *session) open(ctx context.Context, t *tab, raw string) error {
	address, err := Address(raw)
	if err != nil {
		return err
	}
	if u, err := url.Parse(address); err == nil {
		if host, err := netguard.Host(u.Hostname()); err == nil {
			var no *netguard.Refused
			if err := s.b.cfg.Rules(s.thread).Guard.CheckName(host); errors.As(err, &no) {
				return refuse("%s can't be opened: %s", host, no.Reason)
			}
		}
	}
	s.mu.Lock()
	t.moved, t.status = time.Now(), 0
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	gone, err := cdp.Call(ctx, t.t, page.Navigate, page.NavigateParams{URL: address})
	if err == nil && gone.ErrorText != "" && !gone.IsDownload && gone.ErrorText != "net::ERR_ABORTED" {
		return s.unreachable(address, gone.ErrorText)
	}
	if err != nil && ctx.Err() != nil && !s.over() {
		_, _ = cdp.Call(t.ctx, t.t, page.StopLoading, cdp.Empty{}) // show the page as far as it loaded
		return refuse("%s didn't answer within %d seconds.", address, int(loadTime.Seconds()))
	}
	if err != nil {
		return s.unopened(address, err)
	}
	s.mu.Lock()
	s.went = address
	s.mu.Unlock()
	return s.rest(ctx)
}

// unopened turns the error of a navigation into a refusal if the browser can't open the address, since its rules for host
// names are stricter than Go's.
func (s *session) unopened(address string, err error) error {
	var told *cdproto.Error
	if errors.As(err, &told) && !s.over() {
		return refuse("%s can't be opened: %s.", address, told.Message)
	}
	return err
}

// unreachable explains why an address can't be shown, with the proxy's message if it refused.
func (s *session) unreachable(address, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, err := url.Parse(address)
	for _, n := range s.notes {
		if err == nil && strings.HasPrefix(n, u.Hostname()) {
			return refuse("%s can't be opened: %s.", address, n)
		}
	}
	return refuse("%s can't be opened: %s.", address, strings.TrimPrefix(text, "net::"))
}

// back navigates to the previous page.
func (s *session) back(ctx context.Context, t *tab) error {
	h, err := cdp.Call(ctx, t.t, page.GetNavigationHistory, cdp.Empty{})
	if err != nil {
		return err
	}
	if h.CurrentIndex < 1 || h.CurrentIndex == 1 && h.Entries[0].URL == "about:blank" {
		return refuse("There is no page before this one.")
	}
	s.mu.Lock()
	t.moved = time.Now()
	s.mu.Unlock()
	if _, err := cdp.Call(ctx, t.t, page.NavigateToHistoryEntry,
		page.NavigateToHistoryEntryParams{EntryID: h.Entries[h.CurrentIndex-1].ID}); err != nil {
		return err
	}
	return s.rest(ctx)
}

// rest waits until the shown page has loaded and its requests have ended, which some never do.
func (s *session) rest(ctx context.Context) error {
	end := time.Now().Add(loadTime)
	settled := time.Time{} // time since which only requests are in progress
	for {
		s.mu.Lock()
		var t *tab
		if len(s.tabs) > 0 {
			t = s.tabs[len(s.tabs)-1]
		}
		changed, now := s.changed, time.Now()
		wait := time.Duration(0)
		switch {
		case t == nil && s.opening == 0:
		case t == nil || s.opening > 0 || t.loading || s.saving():
			wait, settled = end.Sub(now), time.Time{}
		case len(t.asked) > 0:
			if settled.IsZero() {
				settled = now
			}
			wait = settled.Add(settleTime).Sub(now)
		default:
			wait = t.moved.Add(quietTime).Sub(now)
		}
		s.mu.Unlock()
		if wait <= 0 || !now.Before(end) {
			return nil
		}
		timer := time.NewTimer(min(wait, end.Sub(now)))
		select {
		case <-changed:
		case <-timer.C:
		case <-s.ended:
			timer.Stop()
			return ErrNoSession
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
		timer.Stop()
	}
}

// find returns the element with a number or name.
func (s *session) find(ctx context.Context, t *tab, element string) (id cdp.BackendNodeID, name string, err error) {
	element = strings.TrimSpace(element)
	bare := strings.TrimSuffix(strings.TrimPrefix(element, "["), "]")
	if n, err := strconv.Atoi(bare); err == nil {
		s.mu.Lock()
		id, ok := t.numbers.node[n]
		s.mu.Unlock()
		if ok {
			name, err := s.nameOf(ctx, t, id)
			if err == nil {
				return id, name, nil
			}
		}
		if bare != element || !ok {
			tr, err := capture(ctx, t)
			if err != nil {
				return 0, "", err
			}
			if found := tr.named(element); len(found) == 1 { // the name may consist of digits
				return found[0].BackendDOMNodeID, oneLine(text(found[0].Name)), nil
			}
		}
		return 0, "", refuse("There is no element [%d] on the page any more. Choose one of the page as it is now.", n)
	}
	if element == "" {
		return 0, "", refuse("Name an element: its number, or its visible name.")
	}
	tr, err := capture(ctx, t)
	if err != nil {
		return 0, "", err
	}
	found := tr.named(element)
	switch len(found) {
	case 1:
		return found[0].BackendDOMNodeID, oneLine(text(found[0].Name)), nil
	case 0:
		return 0, "", refuse("No element is called %q. Choose one of the page by its number.", clip(element, 200))
	}
	return 0, "", refuse("%d elements are called %q. Choose one by its number.", len(found), clip(element, 200))
}

// nameOf returns the name of an element, or an error if it is gone.
func (s *session) nameOf(ctx context.Context, t *tab, id cdp.BackendNodeID) (string, error) {
	var got struct {
		There bool
		Name  string
	}
	err := s.call(ctx, t, id, `function() {
		const n = this.nodeType === 3 ? this.parentElement : this
		const l = n.labels && n.labels[0]
		return {There: n.isConnected, Name: n.getAttribute("aria-label") || (l ? l.innerText : "") ||
			(n.innerText || "").trim() || n.placeholder || n.title || n.alt || n.name || ""}}`, &got)
	if err == nil && !got.There {
		err = refuse("The element is gone.")
	}
	return clip(oneLine(got.Name), 200), err
}

// call runs a function of ours on an element. out may be nil.
func (s *session) call(ctx context.Context, t *tab, id cdp.BackendNodeID, function string, out any, args ...any) error {
	node, err := cdp.Call(ctx, t.t, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: id, ObjectGroup: "fawn"})
	if err != nil {
		return err
	}
	list := make([]*runtime.CallArgument, len(args))
	for i, a := range args {
		raw, err := json.Marshal(a)
		if err != nil {
			return err
		}
		list[i] = &runtime.CallArgument{Value: raw}
	}
	res, err := cdp.Call(ctx, t.t, runtime.CallFunctionOn, runtime.CallFunctionOnParams{FunctionDeclaration: function,
		ObjectID: node.Object.ObjectID, Arguments: list, ReturnByValue: yes(), UserGesture: yes(), AwaitPromise: yes()})
	if err != nil {
		return err
	}
	if res.ExceptionDetails != nil {
		return fmt.Errorf("the page broke an action: %.200s", res.ExceptionDetails.Text)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(res.Result.Value, out)
}

// reach returns the type of an element and the element on top of it.
const reach = `function() {
	const n = this.nodeType === 3 ? this.parentElement : this
	n.scrollIntoView({block: "center", inline: "center", behavior: "instant"})
	const r = n.getClientRects()[0]
	const out = {Tag: n.tagName, Kind: (n.type || "") + "", Disabled: !!n.disabled, Shown: !!r && r.width > 0 && r.height > 0,
		Editable: n.isContentEditable, Over: "", Href: n.href ? n.href + "" : "", Many: !!n.multiple}
	if (!out.Shown) return out
	const x = r.x + r.width / 2, y = r.y + r.height / 2
	let e = n.getRootNode().elementFromPoint ? n.getRootNode().elementFromPoint(x, y) : null
	const mine = e && (e === n || n.contains(e) || e.contains(n) || (e.shadowRoot && e.shadowRoot.contains(n)) ||
		(e.closest && e.closest("label") && (e.closest("label").control === n || e.closest("label").contains(n))))
	if (e && !mine) out.Over = (e.getAttribute("aria-label") || e.innerText || e.tagName.toLowerCase()).trim().slice(0, 80)
	return out }`

type reached struct {
	Tag, Kind, Over, Href           string
	Disabled, Shown, Editable, Many bool
}

// click presses an element with the mouse.
func (s *session) click(ctx context.Context, t *tab, element string) (string, error) {
	id, name, err := s.find(ctx, t, element)
	if err != nil {
		return "", err
	}
	var at reached
	if err := s.call(ctx, t, id, reach, &at); err != nil {
		return name, gone(err)
	}
	switch {
	case at.Disabled:
		return name, refuse("The element %q is disabled.", name)
	case at.Tag == "OPTION":
		return name, s.call(ctx, t, id, `function() { const l = this.closest("select"); this.selected = true
			for (const e of ["input", "change"]) l.dispatchEvent(new Event(e, {bubbles: true})) }`, nil)
	case at.Tag == "SELECT":
		return name, refuse("%q is a list: choose an option of it with browser_type.", name)
	case at.Tag == "INPUT" && at.Kind == "file":
		return name, refuse("%q takes a file: give the path of one with browser_type.", name)
	case !at.Shown:
		return name, s.call(ctx, t, id, `function() { (this.nodeType === 3 ? this.parentElement : this).click() }`, nil)
	case at.Over != "":
		return name, refuse("Something lies over the element %q: %q. Close that first.", name, oneLine(at.Over))
	}
	box, err := cdp.Call(ctx, t.t, dom.GetContentQuads, dom.GetContentQuadsParams{BackendNodeID: id})
	if err != nil || len(box.Quads) == 0 || len(box.Quads[0]) < 8 {
		return name, s.call(ctx, t, id, `function() { (this.nodeType === 3 ? this.parentElement : this).click() }`, nil)
	}
	q := box.Quads[0]
	x, y := (q[0]+q[2]+q[4]+q[6])/4, (q[1]+q[3]+q[5]+q[7])/4
	return name, s.press(ctx, t, x, y)
}

// press clicks on a position of the page. The result of the click, such as a dialog, may keep the browser from
// answering; then it doesn't wait.
func (s *session) press(ctx context.Context, t *tab, x, y float64) error {
	s.mu.Lock()
	t.moved = time.Now()
	s.mu.Unlock()
	for _, kind := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMouseMoved,
		input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased} {
		p := input.DispatchMouseEventParams{Type: kind, X: x, Y: y}
		if kind != input.DispatchMouseEventTypeMouseMoved {
			p.Button, p.ClickCount = input.MouseButtonLeft, 1
		}
		short, cancel := context.WithTimeout(ctx, closeTime)
		_, err := cdp.Call(short, t.t, input.DispatchMouseEvent, p)
		late := short.Err() != nil
		cancel()
		if err != nil && !(late && ctx.Err() == nil) && !errors.Is(err, chromedp.ErrTargetDetached) {
			return gone(err)
		}
	}
	return nil
}

// gone turns the error about a missing element into a refusal.
func gone(err error) error {
	var told *cdproto.Error
	if errors.As(err, &told) {
		return refuse("The element is gone, or can't be used. Choose one of the page as it is now.")
	}
	return err
}

// write puts text into an element, chooses an option, or uploads a file.
func (s *session) write(ctx context.Context, t *tab, a Action) (string, error) {
	id, name, err := s.find(ctx, t, a.Element)
	if err != nil {
		return "", err
	}
	if len(a.Text) > maxTyped {
		return name, refuse("The text is too long.")
	}
	var at reached
	if err := s.call(ctx, t, id, reach, &at); err != nil {
		return name, gone(err)
	}
	s.mu.Lock()
	t.moved = time.Now()
	s.mu.Unlock()
	switch kind := strings.ToLower(at.Kind); {
	case at.Disabled:
		return name, refuse("The element %q is disabled.", name)
	case at.Tag == "INPUT" && kind == "file":
		return name, s.upload(ctx, t, id, a)
	case at.Tag == "SELECT":
		if err := s.choose(ctx, t, id, a.Text); err != nil {
			return name, err
		}
	case at.Tag == "INPUT" && (kind == "checkbox" || kind == "radio" || kind == "button" || kind == "submit"):
		return name, refuse("%q takes no text: click it.", name)
	case at.Tag == "INPUT" && (kind == "date" || kind == "time" || kind == "datetime-local" || kind == "month" ||
		kind == "week" || kind == "color" || kind == "range"):
		var took string
		if err := s.call(ctx, t, id, `function(v) {
			Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(this, v)
			for (const e of ["input", "change"]) this.dispatchEvent(new Event(e, {bubbles: true}))
			return this.value }`, &took, a.Text); err != nil {
			return name, gone(err)
		}
		if took == "" && a.Text != "" {
			return name, refuse("%q does not take %q: a field of the type %s wants a form such as 2026-03-31, 14:30 or #ff0000.",
				name, clip(a.Text, 80), kind)
		}
	case at.Tag == "INPUT" || at.Tag == "TEXTAREA" || at.Editable:
		if err := s.fill(ctx, t, id, a.Text); err != nil {
			return name, err
		}
	default:
		return name, refuse("%q takes no text.", name)
	}
	if a.Submit {
		return name, s.key(ctx, t, "Enter")
	}
	return name, nil
}

// fill replaces the content of a text field.
func (s *session) fill(ctx context.Context, t *tab, id cdp.BackendNodeID, text string) error {
	if _, err := cdp.Call(ctx, t.t, dom.Focus, dom.FocusParams{BackendNodeID: id}); err != nil {
		return gone(err)
	}
	if err := s.call(ctx, t, id, `function() {
		if (this.select) return this.select()
		const r = document.createRange(); r.selectNodeContents(this)
		const s = getSelection(); s.removeAllRanges(); s.addRange(r) }`, nil); err != nil {
		return gone(err)
	}
	if text == "" {
		return s.key(ctx, t, "Delete")
	}
	_, err := cdp.Call(ctx, t.t, input.InsertText, input.InsertTextParams{Text: text})
	return err
}

// choose selects an option of a list by its name or value.
func (s *session) choose(ctx context.Context, t *tab, id cdp.BackendNodeID, option string) error {
	var got struct {
		Found   bool
		Options []string
	}
	if err := s.call(ctx, t, id, `function(want) {
		const clean = x => (x || "").replace(/\s+/g, " ").trim().toLowerCase()
		const all = [...this.options]
		const one = all.find(o => clean(o.label) === clean(want)) || all.find(o => o.value === want) ||
			(all.filter(o => clean(o.label).includes(clean(want))).length === 1 && clean(want) &&
			all.find(o => clean(o.label).includes(clean(want))))
		if (!one || one.disabled) return {Found: false, Options: all.slice(0, 30).map(o => o.label)}
		one.selected = true
		for (const e of ["input", "change"]) this.dispatchEvent(new Event(e, {bubbles: true}))
		return {Found: true, Options: []} }`, &got, option); err != nil {
		return gone(err)
	}
	if !got.Found {
		return refuse("The list has no option %q. It has: %s.", clip(option, 80), clip(strings.Join(got.Options, ", "), 1000))
	}
	return nil
}

// upload adds a file to a file field.
func (s *session) upload(ctx context.Context, t *tab, id cdp.BackendNodeID, a Action) error {
	switch {
	case a.File == nil:
		return refuse("The field takes a file: the text must be the path of one below /mnt/user-data.")
	case s.ups == "":
		return refuse("Files can't be uploaded with a browser that Fawn didn't start itself (web.browser).")
	}
	dir := rand.Text()
	if err := s.upRoot.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if err := s.upRoot.Chmod(dir, 0o755); err != nil { // the browser's user reads it, and the profile around it is closed
		return err
	}
	name := filepath.Join(dir, cleanName(a.FileName))
	f, err := s.upRoot.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(a.File, maxUpload+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if n > maxUpload {
		return errors.Join(refuse("The file is larger than %d MB.", maxUpload>>20), s.upRoot.Remove(name))
	}
	_, err = cdp.Call(ctx, t.t, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: []string{filepath.Join(s.ups, name)},
		BackendNodeID: id})
	return err
}

// keyOf returns the code of a named key and the text it types.
func keyOf(name string) (code int64, typed string) {
	switch name {
	case "Enter":
		return 13, "\r"
	case "Tab":
		return 9, ""
	case "Backspace":
		return 8, ""
	case "Delete":
		return 46, ""
	case "Escape":
		return 27, ""
	case "ArrowLeft":
		return 37, ""
	case "ArrowUp":
		return 38, ""
	case "ArrowRight":
		return 39, ""
	case "ArrowDown":
		return 40, ""
	case "Home":
		return 36, ""
	case "End":
		return 35, ""
	case "PageUp":
		return 33, ""
	case "PageDown":
		return 34, ""
	}
	return 0, ""
}

// key presses a key with a name.
func (s *session) key(ctx context.Context, t *tab, name string) error {
	code, typed := keyOf(name)
	if code == 0 {
		return refuse("There is no key %q.", clip(name, 40))
	}
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
		p := input.DispatchKeyEventParams{Type: kind, Key: name, Code: name, WindowsVirtualKeyCode: code,
			NativeVirtualKeyCode: code}
		if kind == input.DispatchKeyEventTypeKeyDown {
			p.Text, p.UnmodifiedText = typed, typed
		}
		short, cancel := context.WithTimeout(ctx, closeTime)
		_, err := cdp.Call(short, t.t, input.DispatchKeyEvent, p)
		late := short.Err() != nil
		cancel()
		if err != nil && !(late && ctx.Err() == nil) && !errors.Is(err, chromedp.ErrTargetDetached) {
			return err
		}
	}
	return nil
}

// shoot takes a screenshot of a page's visible part, or of all of it.
func shoot(ctx context.Context, t *tab, p page.CaptureScreenshotParams, whole bool) ([]byte, error) {
	if whole {
		m, err := cdp.Call(ctx, t.t, page.GetLayoutMetrics, cdp.Empty{})
		if err != nil {
			return nil, err
		}
		if m.CSSContentSize != nil {
			p.Clip = &page.Viewport{Width: Width, Height: min(max(m.CSSContentSize.Height, 1), 10_000), Scale: 1}
			p.CaptureBeyondViewport = yes()
		}
	}
	got, err := cdp.Call(ctx, t.t, page.CaptureScreenshot, p)
	return got.Data, err
}

// small takes a screenshot to show beside a step.
func small(ctx context.Context, t *tab) []byte {
	for _, quality := range []int64{60, 35, 15} {
		ctx, cancel := context.WithTimeout(ctx, closeTime)
		data, err := shoot(ctx, t, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatJpeg,
			Quality: &quality, Clip: &page.Viewport{Width: Width, Height: Height, Scale: 0.5}}, false)
		cancel()
		if err != nil {
			return nil
		}
		if len(data) <= maxPicture {
			return data
		}
	}
	return nil
}

// view reads the page after an action.
func (s *session) view(ctx context.Context, a Action, v *View) error {
	t, err := s.staying(ctx)
	if err != nil {
		v.Text = err.Error()
		v.Notes = s.took()
		v.Saved = s.got()
		return nil //nolint:nilerr // there is no page to read, which the text says
	}
	tr, err := capture(ctx, t)
	if err != nil {
		return err
	}
	var number func(cdp.BackendNodeID) int
	if !a.Words {
		number = func(id cdp.BackendNodeID) int {
			s.mu.Lock()
			defer s.mu.Unlock()
			return t.numbers.take(id)
		}
	}
	v.Text = pageOf(tr.write(number), a.From)
	root := tr.nodes[tr.roots[tr.top]]
	if root != nil {
		v.Title = clip(oneLine(text(root.Name)), 300)
	}
	if !a.Quiet {
		v.Picture = small(ctx, t)
	}
	s.mu.Lock()
	v.Address, v.Status = t.address, int(t.status)
	s.mu.Unlock()
	v.Notes, v.Saved = s.took(), s.got()
	return nil
}

// staying returns the shown tab, after waiting for one that is about to close itself.
func (s *session) staying(ctx context.Context) (*tab, error) {
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	for {
		t, err := s.current()
		if err != nil {
			return nil, err
		}
		got, err := cdp.Call(ctx, t.t, runtime.Evaluate, runtime.EvaluateParams{Expression: "window.closed",
			ReturnByValue: yes()})
		if err == nil && got.Result != nil && string(got.Result.Value) != "true" ||
			err != nil && !errors.Is(err, chromedp.ErrTargetDetached) || ctx.Err() != nil {
			return t, nil //nolint:nilerr // whoever reads the page sees what is wrong with it
		}
		s.mu.Lock()
		changed, there := s.changed, slices.Contains(s.tabs, t)
		s.mu.Unlock()
		if !there {
			continue
		}
		select {
		case <-changed:
		case <-s.ended:
			return t, nil
		case <-ctx.Done():
			return t, nil
		}
	}
}

// took returns the notes since the last call.
func (s *session) took() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.notes
	s.notes = nil
	return n
}
