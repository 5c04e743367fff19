package documents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"fawn/uploads"
	"fawn/uploads/convert"
)

// notedEvery is the interval of storing a long document's progress.
const notedEvery = time.Second

// Run converts documents one after the other until ctx ends, beginning with pending ones. It also updates the index and
// converts documents requested for viewing.
func (s *Service) Run(ctx context.Context) {
	var beside sync.WaitGroup
	beside.Go(func() { s.keepIndex(ctx) })
	beside.Go(func() { s.keepShown(ctx) })
	defer beside.Wait()
	if s.cfg.Server == 0 {
		s.Resume(ctx, nil)
	}
	for ctx.Err() == nil {
		s.mu.Lock()
		changed, next := s.changed, ""
		if len(s.queue) > 0 {
			next, s.queue = s.queue[0], s.queue[1:]
		}
		s.mu.Unlock()
		if next == "" {
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		thread, name, _ := strings.Cut(next, " ")
		if err := s.convert(ctx, thread, name); err != nil {
			s.cfg.Log.Warn("couldn't convert a document", "thread", thread, "file", name, "err", err)
		}
	}
}

// Resume queues pending documents, except those of other running servers.
func (s *Service) Resume(ctx context.Context, servers []int64) {
	if err := s.resume(ctx, servers); err != nil && ctx.Err() == nil {
		s.cfg.Log.Error("couldn't list unconverted documents", "err", err)
	}
}

// resume queues them in order of their arrival.
func (s *Service) resume(ctx context.Context, servers []int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	values, err := s.cfg.Store.Values(ctx, "")
	if err != nil {
		return err
	}
	pending := map[string]int64{}
	for k, body := range values {
		var r record
		if err := json.Unmarshal(body, &r); err != nil {
			return fmt.Errorf("document %s: %w", k, err)
		}
		if r.State == uploads.Pending && !slices.Contains(servers, r.Server) && !slices.Contains(s.queue, k) {
			pending[k] = r.Asked
			s.queue = append(s.queue, k)
		}
	}
	if len(pending) > 0 {
		close(s.changed)
		s.changed = make(chan struct{})
	}
	slices.SortStableFunc(s.queue, func(a, b string) int { return int(min(max(pending[a]-pending[b], -1), 1)) })
	return nil
}

// change rewrites a record unless its file was replaced or deleted meanwhile.
func (s *Service) change(ctx context.Context, thread, name string, asked int64, do func(r *record) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.records(ctx, thread)
	if err != nil {
		return err
	}
	r, known := all[name]
	if !known || r.State != uploads.Pending || asked != 0 && r.Asked != asked {
		return errStale
	}
	if err := do(&r); err != nil {
		return err
	}
	return s.put(ctx, key(thread, name), &r)
}

// errStale ends the conversion of a file that changed.
var errStale = errors.New("the upload was replaced")

func (s *Service) convert(ctx context.Context, thread, name string) error {
	var began record
	chosen := ""
	err := s.change(ctx, thread, name, 0, func(r *record) error {
		began = *r
		r.Starts++
		r.Server = s.cfg.Server
		if r.Chosen {
			chosen = r.Encoding
		}
		// The name is stored before the text, so that after a crash the next server writes to the same
		// place.
		if r.Markdown != "" {
			return nil
		}
		dir, err := s.cfg.Open(thread)
		if err != nil {
			return err
		}
		defer dir.Close()
		r.Markdown, err = uploads.Beside(dir, name)
		return err
	})
	if errors.Is(err, errStale) {
		return nil
	}
	if err != nil {
		return err
	}
	out := Outcome{Reason: convert.Crashed}
	if began.Tries < maxTries && began.Again < maxAgain && began.Starts < maxStarts {
		out, err = s.try(ctx, thread, name, chosen, began.Asked)
	}
	if ctx.Err() != nil {
		// The next server continues. A stopping server isn't the document's fault.
		err := s.change(context.WithoutCancel(ctx), thread, name, began.Asked, func(r *record) error {
			r.Starts, r.Tries, r.Again = began.Starts, began.Tries, began.Again
			return nil
		})
		if errors.Is(err, errStale) {
			return nil
		}
		return err
	}
	if err != nil {
		s.cfg.Log.Warn("couldn't convert a document", "thread", thread, "file", name, "err", err)
		out = Outcome{Reason: convert.Crashed}
	}
	defer s.Refresh(thread)
	err = s.change(ctx, thread, name, began.Asked, func(r *record) error {
		text := r.Markdown
		r.Conversion, r.Markdown = uploads.Conversion{State: uploads.Failed, Reason: string(out.Reason),
			Encoding: out.Encoding, Chosen: chosen != ""}, ""
		dir, err := s.cfg.Open(thread)
		if err != nil {
			return err
		}
		defer dir.Close()
		if len(out.Text) == 0 { // an earlier conversion in another encoding may have a text
			if err := uploads.Delete(dir, text); err != nil && !errors.Is(err, uploads.ErrNotFound) {
				return err
			}
			return nil
		}
		err = uploads.Write(ctx, dir, text, out.Text)
		if err == nil && s.cfg.Save != nil {
			err = s.cfg.Save(ctx, thread)
		}
		if err != nil {
			r.Reason = "storage"
			s.cfg.Log.Warn("couldn't store a document's text", "thread", thread, "file", name, "err", err)
			return nil
		}
		r.Markdown, r.State = text, uploads.Converted
		if out.Reason != "" {
			r.State = uploads.Partial
		}
		return nil
	})
	if errors.Is(err, errStale) {
		return nil
	}
	return err
}

// try converts a document once.
func (s *Service) try(ctx context.Context, thread, name, encoding string, asked int64) (Outcome, error) {
	dir, err := s.cfg.Open(thread)
	if err != nil {
		return Outcome{}, err
	}
	defer dir.Close()
	f, _, err := dir.Open(path.Join(uploads.Folder, name))
	if errors.Is(err, fs.ErrNotExist) {
		return Outcome{Reason: convert.Damaged}, nil
	}
	if err != nil {
		return Outcome{}, err
	}
	defer f.Close()
	var noted time.Time
	reading, alive := false, false
	return s.cfg.Convert(ctx, Job{Name: name, File: f, Encoding: encoding, Progress: func(done, of int) {
		if reading && (done == 0 || time.Since(noted) < notedEvery) {
			return
		}
		if done > 0 {
			noted = time.Now()
		}
		err := s.change(ctx, thread, name, asked, func(r *record) error {
			if !reading { // from here on the document may crash the server
				reading = true
				r.Starts, r.Tries = 0, r.Tries+1
			}
			if done > 0 {
				r.Done, r.Pages = done, of
			}
			if done > 0 && !alive { // a crash now is hardly the document's fault
				alive = true
				r.Tries, r.Again = 0, r.Again+1
			}
			if done > r.Most {
				r.Most, r.Again = done, 0
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStale) && ctx.Err() == nil {
			s.cfg.Log.Warn("couldn't store a document's progress", "thread", thread, "file", name, "err", err)
		}
	}})
}
