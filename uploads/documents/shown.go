package documents

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"fawn/uploads"
	"fawn/uploads/convert"
)

// Limits of cached documents outside the uploads, and of their size.
const (
	shownBytes   = 64 << 20 // of texts
	shownEntries = 1024
	shownPending = 16
	shownInput   = 64 << 20
)

// shown caches viewed documents outside the uploads, such as those created by an agent. They are converted on request,
// and their texts are cached by the document's hash. Requests lost with the server are repeated by the page.
type shown struct {
	mu    sync.Mutex
	open  bool     // the folder exists, empty except for list
	list  []*entry // last used at the end
	bytes int64
	wake  chan struct{} // one token: an entry was added
}

// entry is a document of shown. Fields without a comment are immutable.
type entry struct {
	thread, path string
	name         string // name of its text in the folder of the thread
	uploads.Conversion
	size int64 // size of its text; guarded by shown.mu, like Conversion
}

// Show implements [uploads.Documents].
func (s *Service) Show(ctx context.Context, dir uploads.Opener, thread,
	name string) (*uploads.Conversion, []byte, error) {
	if s.cfg.Cache == "" || !s.cfg.Enabled() {
		return nil, nil, nil
	}
	sum, err := hashOf(ctx, dir, name)
	if err != nil || sum == "" {
		return nil, nil, err
	}
	w := &s.shown
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.list, func(e *entry) bool { return e.thread == thread && e.name == sum })
	if i < 0 {
		return w.ask(&entry{thread: thread, path: name, name: sum,
			Conversion: uploads.Conversion{State: uploads.Pending}}), nil, nil
	}
	e := w.list[i]
	w.list = append(slices.Delete(w.list, i, i+1), e)
	c, size := e.Conversion, e.size
	if size == 0 {
		return &c, nil, nil
	}
	w.mu.Unlock()
	text, err := os.ReadFile(s.shownPath(e))
	w.mu.Lock()
	if err != nil { // just evicted, or the folder was cleared
		w.drop(e)
		return w.ask(&entry{thread: thread, path: name, name: sum,
			Conversion: uploads.Conversion{State: uploads.Pending}}), nil, nil
	}
	return &c, text, nil
}

// ask queues a document unless the queue is full; then the caller asks again. mu must be held.
func (w *shown) ask(e *entry) *uploads.Conversion {
	pending := 0
	for _, other := range w.list {
		if other.thread == e.thread && other.name == e.name { // requested by another caller meanwhile
			c := other.Conversion
			return &c
		}
		if other.State == uploads.Pending {
			pending++
		}
	}
	if pending < shownPending {
		w.list = append(w.list, e)
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
	c := e.Conversion
	return &c
}

// drop forgets an entry, once. Called with mu held.
func (w *shown) drop(e *entry) {
	if i := slices.Index(w.list, e); i >= 0 {
		w.list = slices.Delete(w.list, i, i+1)
		w.bytes -= e.size
	}
}

func (s *Service) shownPath(e *entry) string { return filepath.Join(s.cfg.Cache, e.thread, e.name) }

// hashOf returns the cache key of a document: its content and kind, which determines the reader. It is empty for other
// files and oversized documents.
func hashOf(ctx context.Context, dir uploads.Opener, name string) (string, error) {
	f, info, err := dir.Open(name)
	if err != nil {
		return "", fmt.Errorf("open document: %w", err)
	}
	defer f.Close()
	if info.Size() > shownInput {
		return "", nil
	}
	head := make([]byte, uploads.HeadBytes)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read document: %w", err)
	}
	if !convert.Wants(path.Base(name), head[:n]) {
		return "", nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(f, shownInput)); err != nil {
		return "", fmt.Errorf("read document: %w", err)
	}
	return hex.EncodeToString(sum.Sum([]byte(strings.ToLower(path.Ext(name))))), ctx.Err()
}

// keepShown converts requested documents one after the other until ctx ends.
func (s *Service) keepShown(ctx context.Context) {
	w := &s.shown
	for {
		select {
		case <-w.wake:
		case <-ctx.Done():
			return
		}
		for ctx.Err() == nil {
			w.mu.Lock()
			i := slices.IndexFunc(w.list, func(e *entry) bool { return e.State == uploads.Pending })
			if i < 0 {
				w.mu.Unlock()
				break
			}
			e := w.list[i]
			w.mu.Unlock()
			out, err := s.read(ctx, e)
			if ctx.Err() != nil {
				return
			}
			if errors.Is(err, errChanged) || errors.Is(err, fs.ErrNotExist) {
				w.mu.Lock()
				w.drop(e)
				w.mu.Unlock()
				continue
			}
			if err != nil {
				s.cfg.Log.Warn("couldn't convert a document to show it", "thread", e.thread, "file", e.path, "err", err)
				out = Outcome{Reason: convert.Crashed}
			}
			if err := s.keep(e, out); err != nil {
				s.cfg.Log.Warn("couldn't store a document's text", "thread", e.thread, "file", e.path, "err", err)
			}
		}
	}
}

// read converts a document if it is unchanged since the request.
func (s *Service) read(ctx context.Context, e *entry) (Outcome, error) {
	dir, err := s.cfg.Open(e.thread)
	if err != nil {
		return Outcome{}, err
	}
	defer dir.Close()
	f, _, err := dir.Open(e.path)
	if err != nil {
		return Outcome{}, err
	}
	defer f.Close()
	out, err := s.cfg.Convert(ctx, Job{Name: path.Base(e.path), File: f, Progress: func(done, of int) {
		s.shown.mu.Lock()
		defer s.shown.mu.Unlock()
		e.Done, e.Pages = done, of
	}})
	if err != nil {
		return out, err
	}
	if sum, err := hashOf(ctx, dir, e.path); err != nil || sum != e.name {
		return Outcome{}, errChanged // the text may belong to the file's new content
	}
	return out, nil
}

var errChanged = errors.New("the file changed meanwhile")

// keep stores the result of a conversion.
func (s *Service) keep(e *entry, out Outcome) error {
	w := &s.shown
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.list, e) { // its thread was deleted
		return nil
	}
	e.Conversion = uploads.Conversion{State: uploads.Failed, Reason: string(out.Reason), Encoding: out.Encoding}
	if len(out.Text) == 0 {
		return nil
	}
	err := s.write(e, out.Text)
	if err != nil {
		e.Reason = "storage"
		return err
	}
	e.State = uploads.Converted
	if out.Reason != "" {
		e.State = uploads.Partial
	}
	e.size = int64(len(out.Text))
	w.bytes += e.size
	for w.bytes > shownBytes || len(w.list) > shownEntries {
		i := slices.IndexFunc(w.list, func(old *entry) bool { return old.State != uploads.Pending && old != e })
		if i < 0 {
			break
		}
		old := w.list[i]
		w.drop(old)
		err = errors.Join(err, os.RemoveAll(s.shownPath(old)))
	}
	return err
}

// write stores a text. Called with mu held.
func (s *Service) write(e *entry, text []byte) error {
	if w := &s.shown; !w.open { // files of earlier servers aren't counted yet
		if err := os.RemoveAll(s.cfg.Cache); err != nil {
			return err
		}
		w.open = true
	}
	if err := os.MkdirAll(filepath.Dir(s.shownPath(e)), 0o700); err != nil {
		return err
	}
	return os.WriteFile(s.shownPath(e), text, 0o600)
}

// forgetShown drops a thread's cached documents.
func (s *Service) forgetShown(thread string) error {
	if s.cfg.Cache == "" {
		return nil
	}
	w := &s.shown
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range slices.Clone(w.list) {
		if e.thread == thread {
			w.drop(e)
		}
	}
	if err := os.RemoveAll(filepath.Join(s.cfg.Cache, thread)); err != nil {
		return fmt.Errorf("forget texts of documents: %w", err)
	}
	return nil
}
