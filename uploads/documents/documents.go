// Package documents converts uploaded documents to Markdown. It stores the state of each, converts one after the other
// in separate processes, and resumes after a restart. Package convert reads the formats.
package documents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/unicode/norm"

	"fawn/uploads"
	"fawn/uploads/charset"
	"fawn/uploads/convert"
)

// Store keeps values by keys, which begin with a thread's id and a space.
type Store interface {
	// Values returns the values with a key prefix, by key.
	Values(ctx context.Context, prefix string) (map[string][]byte, error)
	// Put stores a value; a nil one deletes the key.
	Put(ctx context.Context, key string, body []byte) error
}

// Dir is one thread's files.
type Dir interface {
	uploads.Dir
	Open(path string) (*os.File, fs.FileInfo, error)
	io.Closer
}

// Job is one document to convert.
type Job struct {
	Name string
	File *os.File
	// Progress is called with the pages done and the total. 0 of 0 means that reading is about to
	// begin.
	Progress func(done, of int)
	// Encoding is the encoding chosen by a person, empty if none was.
	Encoding string
}

// Outcome is the result of a job: Text, or the Reason for its absence; both for an incomplete one.
type Outcome struct {
	Text   []byte
	Reason convert.Reason
	// Encoding is the detected encoding of a text, empty if unambiguous.
	Encoding string
}

// Config configures a Service.
type Config struct {
	Store Store
	// Index is the search index; without one nothing is found.
	Index Index
	// Cache is a folder for the texts of documents outside the uploads; without it they aren't shown.
	Cache string
	// Open opens the files of a thread.
	Open func(thread string) (Dir, error)
	// Save saves changes of a thread's files; nil if unnecessary.
	Save func(ctx context.Context, thread string) error
	// Convert converts one document outside this process. An error means that it couldn't be tried.
	Convert func(ctx context.Context, j Job) (Outcome, error)
	// Server is this server's id among several that share the documents, 0 for a single one.
	Server int64
	// Enabled reports whether new documents are converted; nil means always.
	Enabled func() bool
	Log     *slog.Logger
}

// A document that is started repeatedly without ending may crash the server. maxTries limits consecutive attempts
// without any text, maxAgain those without more text than before, and maxStarts those that ended before the reading began,
// hardly by the document's fault.
const (
	maxTries  = 3
	maxAgain  = 10
	maxStarts = 10
)

// record is the stored state of a document.
type record struct {
	uploads.Conversion
	Markdown string `json:"markdown,omitempty"` // name of the upload with its text
	Starts   int    `json:"starts,omitempty"`   // consecutive attempts that ended before reading, including the current one
	Tries    int    `json:"tries,omitempty"`    // consecutive attempts that read no page, including the current one once it reads
	Again    int    `json:"again,omitempty"`    // consecutive attempts that read pages but none beyond Most
	Most     int    `json:"most,omitempty"`     // most pages read by any attempt
	Asked    int64  `json:"asked"`              // distinguishes files with the same name
	Server   int64  `json:"server,omitempty"`   // converting server, if there are several
}

// Service converts documents.
type Service struct {
	cfg Config

	mu      sync.Mutex    // around changes of records
	queue   []string      // keys of pending ones; guarded by mu
	changed chan struct{} // closed and replaced at each change; guarded by mu
	last    int64         // newest Asked; guarded by mu

	shown shown

	indexing sync.Mutex    // around changes of the index
	stale    chan struct{} // one token: threads were added to behind
	behind   []string      // threads whose index may be outdated; guarded by mu
}

// New returns a Service. Run does its work.
func New(cfg Config) *Service {
	if cfg.Enabled == nil {
		cfg.Enabled = func() bool { return true }
	}
	return &Service{cfg: cfg, changed: make(chan struct{}), stale: make(chan struct{}, 1),
		shown: shown{wake: make(chan struct{}, 1)}}
}

func key(thread, name string) string { return thread + " " + name }

// records returns the documents of a thread by name.
func (s *Service) records(ctx context.Context, thread string) (map[string]record, error) {
	values, err := s.cfg.Store.Values(ctx, thread+" ")
	if err != nil {
		return nil, fmt.Errorf("documents of thread %s: %w", thread, err)
	}
	all := make(map[string]record, len(values))
	for k, body := range values {
		var r record
		if err := json.Unmarshal(body, &r); err != nil {
			return nil, fmt.Errorf("document %s: %w", k, err)
		}
		all[strings.TrimPrefix(k, thread+" ")] = r
	}
	return all, nil
}

// put writes a record; the caller holds mu.
func (s *Service) put(ctx context.Context, k string, r *record) error {
	var body []byte
	if r != nil {
		var err error
		if body, err = json.Marshal(r); err != nil {
			return err
		}
	}
	if err := s.cfg.Store.Put(ctx, k, body); err != nil {
		return fmt.Errorf("document %s: %w", k, err)
	}
	close(s.changed)
	s.changed = make(chan struct{})
	return nil
}

// Add registers files that were just stored and schedules converting the documents among them.
func (s *Service) Add(ctx context.Context, thread string, names ...string) error {
	defer s.Refresh(thread)
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.records(ctx, thread)
	if err != nil {
		return err
	}
	dir, err := s.cfg.Open(thread)
	if err != nil {
		return err
	}
	defer dir.Close()
	for _, name := range names {
		// A file with the name of an older document's text replaces that text.
		for other, r := range all {
			if r.Markdown == name && !slices.Contains(names, other) {
				names = append(names, other)
			}
		}
	}
	for _, name := range names {
		old, known := all[name]
		wanted := s.cfg.Enabled() && wants(dir, name)
		if !known && !wanted {
			continue
		}
		if old.Markdown != "" && !slices.Contains(names, old.Markdown) {
			if err := uploads.Delete(dir, old.Markdown); err != nil && !errors.Is(err, uploads.ErrNotFound) {
				return err
			}
		}
		if !wanted {
			if err := s.put(ctx, key(thread, name), nil); err != nil {
				return err
			}
			continue
		}
		s.last = max(s.last+1, time.Now().UnixNano())
		r := &record{Conversion: uploads.Conversion{State: uploads.Pending}, Asked: s.last, Server: s.cfg.Server}
		if err := s.put(ctx, key(thread, name), r); err != nil {
			return err
		}
		s.queue = append(s.queue, key(thread, name))
	}
	return nil
}

// ReadAs schedules reading a text in the given encoding; without one, in the detected encoding.
func (s *Service) ReadAs(ctx context.Context, thread, name, encoding string) error {
	name = norm.NFC.String(name)
	known := charset.Known(encoding)
	if encoding != "" && known == "" {
		return &uploads.EncodingError{Name: encoding}
	}
	defer s.Refresh(thread)
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.records(ctx, thread)
	if err != nil {
		return err
	}
	r, ok := all[name]
	if !ok {
		return &uploads.NotFoundError{Name: name}
	}
	s.last = max(s.last+1, time.Now().UnixNano())
	r.Conversion = uploads.Conversion{State: uploads.Pending, Encoding: known, Chosen: known != ""}
	r.Tries, r.Again, r.Most = 0, 0, 0
	r.Asked, r.Server = s.last, s.cfg.Server
	if err := s.put(ctx, key(thread, name), &r); err != nil {
		return err
	}
	s.queue = append(s.queue, key(thread, name))
	return nil
}

// wants inspects the beginning of an upload and reports whether to convert it; unreadable ones aren't.
func wants(dir Dir, name string) bool {
	f, _, err := dir.Open(path.Join(uploads.Folder, name))
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, uploads.HeadBytes)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return false
	}
	return convert.Wants(name, head[:n])
}

// Adopt adds unregistered documents of a thread: those of older versions, and those missed in a crash.
func (s *Service) Adopt(ctx context.Context, thread string) error {
	defer s.Refresh(thread)
	dir, err := s.cfg.Open(thread)
	if err != nil {
		return err
	}
	defer dir.Close()
	list, err := s.Files(ctx, dir, thread)
	if err != nil {
		return err
	}
	var names []string
	for _, f := range list.Files {
		if f.Conversion == nil && wants(dir, f.Filename) {
			names = append(names, f.Filename)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return s.Add(ctx, thread, names...)
}

// Remove forgets a deleted upload and deletes its Markdown.
func (s *Service) Remove(ctx context.Context, dir uploads.Dir, thread, name string) error {
	defer s.Refresh(thread)
	name = norm.NFC.String(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.records(ctx, thread)
	r, known := all[name]
	if err != nil || !known {
		return err
	}
	if r.Markdown != "" {
		if err := uploads.Delete(dir, r.Markdown); err != nil && !errors.Is(err, uploads.ErrNotFound) {
			return err
		}
	}
	return s.put(ctx, key(thread, name), nil)
}

// Files lists the uploads of a thread. Documents include their state and the path of their Markdown, which isn't listed
// separately.
func (s *Service) Files(ctx context.Context, dir uploads.Dir, thread string) (uploads.List, error) {
	list, err := uploads.Files(dir, thread)
	if err != nil {
		return list, err
	}
	all, err := s.records(ctx, thread)
	if err != nil {
		return list, err
	}
	texts, there := map[string]bool{}, map[string]bool{}
	for _, f := range list.Files {
		there[f.Filename] = true
	}
	for name, r := range all {
		texts[r.Markdown] = r.Markdown != "" && there[name]
	}
	kept := list.Files[:0]
	for _, f := range list.Files {
		if texts[f.Filename] {
			continue
		}
		if r, known := all[f.Filename]; known {
			c := r.Conversion
			f.Conversion = &c
			if r.Markdown != "" && there[r.Markdown] {
				f = f.WithMarkdown(thread, r.Markdown)
			}
		}
		kept = append(kept, f)
	}
	list.Files, list.Count = kept, len(kept)
	return list, nil
}

// Copy copies the documents' state to a copy of a thread.
func (s *Service) Copy(ctx context.Context, from, to string) error {
	defer s.Refresh(to)
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.records(ctx, from)
	if err != nil {
		return err
	}
	for name, r := range all {
		if err := s.put(ctx, key(to, name), &r); err != nil {
			return err
		}
		if r.State == uploads.Pending {
			s.queue = append(s.queue, key(to, name))
		}
	}
	return nil
}

// Await waits until no document among the named uploads of a thread is pending, or until ctx ends.
// Without names it waits for all.
func (s *Service) Await(ctx context.Context, thread string, names ...string) error {
	for {
		s.mu.Lock()
		changed := s.changed
		all, err := s.records(ctx, thread)
		s.mu.Unlock()
		if err != nil {
			return err
		}
		busy := false
		for name, r := range all {
			busy = busy || r.State == uploads.Pending && (len(names) == 0 || slices.Contains(names, name))
		}
		if !busy {
			return nil
		}
		var again <-chan time.Time
		if s.cfg.Server != 0 { // other servers don't notify
			again = time.After(awaitLook)
		}
		select {
		case <-changed:
		case <-again:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// awaitLook is the interval of checking for another server's conversion.
const awaitLook = 500 * time.Millisecond
