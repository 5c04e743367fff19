package browser

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

const (
	maxDownload = 100 << 20       // bytes of a file
	maxLoads    = 20              // downloads between two actions
	maxLoaded   = 200 << 20       // bytes of all of them
	beginTime   = 3 * time.Second // wait for a download to begin on a loaded page
)

// targetCreate opens a page.
var targetCreate = target.CreateTarget

func targetParams(where cdp.BrowserContextID) target.CreateTargetParams {
	return target.CreateTargetParams{URL: "about:blank", BrowserContextID: where}
}

// Download is a file that a page had the browser save.
type Download struct {
	Name, URL string
	Failed    string // reason if the download failed
	root      *os.Root
	free      func() error // removes the file, once
	id        string
	over      bool
	bytes     float64 // received
}

// Open opens the file for reading, once, until the next action.
func (d *Download) Open() (*os.File, error) {
	if d.root == nil {
		return nil, errors.New("there is no file")
	}
	f, err := d.root.Open(d.id)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("it isn't a file"), f.Close())
	}
	return f, nil
}

// Close removes the file. Later calls do nothing.
func (d *Download) Close() error {
	if d.free == nil {
		return nil
	}
	return d.free()
}

// Discard removes the files of unsaved downloads.
func (v *View) Discard() error {
	if v == nil {
		return nil
	}
	return discard(v.Saved)
}

func discard(list []*Download) (err error) {
	for _, d := range list {
		err = errors.Join(err, d.Close())
	}
	return err
}

// cleanName sanitizes a file name given by a site.
func cleanName(name string) string {
	name = path.Base(strings.ReplaceAll(strings.ToValidUTF8(name, "_"), "\\", "/"))
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || !unicode.IsPrint(r) || strings.ContainsRune(`<>:"|?*`, r) {
			return '_'
		}
		return r
	}, name)
	name = strings.TrimLeft(strings.TrimSpace(name), ".")
	if len(name) > 120 {
		ext := clip(path.Ext(name), 12)
		name = strings.TrimSuffix(clip(name, 100), "…") + ext
	}
	if name == "" || name == "/" {
		return "download"
	}
	return name
}

// downloads handles the start of a download, and stops it if a page starts too many. It must not block.
func (s *session) downloads(e *cdpbrowser.EventDownloadWillBegin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.loads) >= maxLoads {
		s.tell(fmt.Sprintf("the page began more than %d downloads, of which the later ones were stopped", maxLoads))
		s.cut(e.GUID)
		return
	}
	s.loads[e.GUID] = &Download{Name: cleanName(e.SuggestedFilename), URL: clip(e.URL, maxURL), id: e.GUID}
	s.signal()
}

// downloaded records the progress of a download. It must not block.
func (s *session) downloaded(e *cdpbrowser.EventDownloadProgress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.loads[e.GUID]
	if d == nil || d.over && d.Failed != "" { // stopped, though it may have ended before
		if e.State == cdpbrowser.DownloadProgressStateCompleted && !s.given(e.GUID) {
			s.erase(e.GUID)
		}
		return
	}
	if d.over {
		return
	}
	d.bytes = max(d.bytes, e.ReceivedBytes)
	sum := 0.0
	for _, one := range s.loads {
		sum += one.bytes
	}
	switch {
	case e.State == cdpbrowser.DownloadProgressStateCanceled:
		d.over, d.Failed = true, "the download broke off"
		if s.downs == "" {
			d.Failed = "files can't be downloaded with a browser that Fawn didn't start itself (web.browser)"
		}
	case max(e.TotalBytes, e.ReceivedBytes) > maxDownload:
		d.over, d.Failed = true, "the file is larger than 100 MB"
		s.cut(e.GUID)
	case sum > maxLoaded:
		d.over, d.Failed = true, "the page downloads more than 200 MB at once"
		s.cut(e.GUID)
	case e.State == cdpbrowser.DownloadProgressStateCompleted:
		d.over = true
	}
	s.signal()
}

// cut cancels a download and removes its file. The caller holds the mutex.
func (s *session) cut(id string) {
	s.spawn(func() {
		ctx, cancel := context.WithTimeout(s.ctx, closeTime)
		defer cancel()
		_, _ = chromedp.CallBrowser(ctx, cdpbrowser.CancelDownload,
			cdpbrowser.CancelDownloadParams{GUID: id, BrowserContextID: s.where}) // it may have ended
		s.mu.Lock()
		defer s.mu.Unlock()
		s.erase(id)
	})
}

// erase removes the file of a download. The caller holds the mutex.
func (s *session) erase(id string) {
	if s.downRoot != nil {
		_ = s.downRoot.Remove(id) // the browser may have removed it
	}
}

// given reports whether a file came from the last action. The caller holds the mutex.
func (s *session) given(id string) bool {
	return slices.ContainsFunc(s.gave, func(d *Download) bool { return d.id == id })
}

// dropGiven removes the last action's unsaved files.
func (s *session) dropGiven() {
	s.mu.Lock()
	list := s.gave
	s.gave = nil
	s.mu.Unlock()
	if err := discard(list); err != nil {
		s.b.cfg.Log.Warn("couldn't remove a download", "thread", s.thread, "err", err)
	}
}

// saving reports whether a download is in progress. The caller holds the mutex.
func (s *session) saving() bool {
	for _, d := range s.loads {
		if !d.over {
			return true
		}
	}
	return false
}

// got returns the downloads that have ended since the last time.
func (s *session) got() (list []*Download) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, d := range s.loads {
		if !d.over {
			continue
		}
		delete(s.loads, id)
		if d.Failed == "" {
			if root, err := s.downRoot.OpenRoot("."); err != nil {
				d.Failed = "it can't be read"
				s.erase(id)
			} else {
				d.root = root
				d.free = sync.OnceValue(func() error {
					err := root.Remove(id)
					if errors.Is(err, fs.ErrNotExist) {
						err = nil
					}
					return errors.Join(err, root.Close())
				})
			}
		}
		list = append(list, d)
	}
	s.gave = append(s.gave, list...)
	slices.SortFunc(list, func(a, b *Download) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// save downloads the target of an address or element, even if the browser would display it.
func (s *session) save(ctx context.Context, t *tab, a Action, v *View) error {
	if s.downs == "" {
		return refuse("Files can't be downloaded with a browser that Fawn didn't start itself (web.browser).")
	}
	address := a.URL
	if address == "" {
		id, name, err := s.find(ctx, t, a.Element)
		if err != nil {
			return err
		}
		v.Target = name
		var at reached
		if err := s.call(ctx, t, id, reach, &at); err != nil {
			return gone(err)
		}
		if _, err := Address(at.Href); err == nil && !strings.Contains(at.Href, "#") {
			address = at.Href
		}
	}
	if _, err := cdp.Call(ctx, t.t, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{
		URLPattern: "*", ResourceType: network.ResourceTypeDocument, RequestStage: fetch.RequestStageResponse}}}); err != nil {
		return err
	}
	s.mu.Lock()
	s.forced = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.forced = false
		s.mu.Unlock()
		_, _ = cdp.Call(t.ctx, t.t, fetch.Disable, cdp.Empty{}) // the page's end ends it anyway
	}()
	var err error
	if address != "" {
		if address, err = Address(address); err != nil {
			return err
		}
		var gone page.NavigateResult
		if gone, err = cdp.Call(ctx, t.t, page.Navigate, page.NavigateParams{URL: address}); err == nil &&
			gone.ErrorText != "" && gone.ErrorText != "net::ERR_ABORTED" && !gone.IsDownload {
			return s.unreachable(address, gone.ErrorText)
		}
		err = s.unopened(address, err)
	} else {
		_, err = s.click(ctx, t, a.Element)
	}
	if err != nil {
		return err
	}
	if err := s.began(ctx); err != nil {
		return err
	}
	return s.rest(ctx)
}

// began waits until a download has begun, or the page rests without one.
func (s *session) began(ctx context.Context) error {
	if err := s.rest(ctx); err != nil {
		return err
	}
	late := time.NewTimer(beginTime)
	defer late.Stop()
	for {
		s.mu.Lock()
		begun, changed := len(s.loads) > 0, s.changed
		s.mu.Unlock()
		if begun {
			return nil
		}
		select {
		case <-changed:
		case <-late.C:
			return refuse("Nothing was downloaded.")
		case <-s.ended:
			return ErrNoSession
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// paused makes the browser save a page instead of showing it. The caller holds the mutex.
func (s *session) paused(t *tab, e *fetch.EventRequestPaused) {
	forced := s.forced
	s.spawn(func() {
		p := fetch.ContinueResponseParams{RequestID: e.RequestID}
		if forced && e.ResponseStatusCode >= 200 && e.ResponseStatusCode < 300 && e.FrameID == cdp.FrameID(t.id) {
			p.ResponseCode = e.ResponseStatusCode
			for _, h := range e.ResponseHeaders {
				if !strings.EqualFold(h.Name, "Content-Disposition") ||
					strings.HasPrefix(strings.ToLower(strings.TrimSpace(h.Value)), "attachment") {
					p.ResponseHeaders = append(p.ResponseHeaders, h)
				}
			}
			if !slices.ContainsFunc(p.ResponseHeaders,
				func(h *fetch.HeaderEntry) bool { return strings.EqualFold(h.Name, "Content-Disposition") }) {
				p.ResponseHeaders = append(p.ResponseHeaders, &fetch.HeaderEntry{Name: "Content-Disposition",
					Value: "attachment"})
			}
		}
		_, _ = cdp.Call(t.ctx, t.t, fetch.ContinueResponse, p) // the page may be gone
	})
}
