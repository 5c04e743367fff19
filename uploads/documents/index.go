package documents

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"fawn/uploads"
)

// Index finds passages of files by words. It can be rebuilt from the files at any time.
type Index interface {
	// Files returns a thread's indexed files with the stamps of their texts, and their size in bytes. Partially indexed
	// files have an empty stamp.
	Files(ctx context.Context, thread string) (stamps map[string]string, size int64, err error)
	// Threads returns the threads with indexed files.
	Threads(ctx context.Context) ([]string, error)
	// Add adds passages of a file; the last call has the stamp.
	Add(ctx context.Context, thread, file, stamp string, list []uploads.Passage) error
	Remove(ctx context.Context, thread, file string) error
	Find(ctx context.Context, thread string, q uploads.Query) ([]uploads.Passage, error)
}

// Limits of the index.
const (
	maxIndexed    = 64 << 20 // bytes of a thread's texts
	maxPlain      = 8 << 20  // byte limit of a text upload, as of a converted one
	addedTogether = 16       // passages

	forgetTime = time.Minute // a thread whose removal takes longer is retried at the next start
)

// Refresh schedules comparing the index of threads with their files. A thread may be gone.
func (s *Service) Refresh(threads ...string) {
	if s.cfg.Index == nil {
		return
	}
	s.mu.Lock()
	for _, t := range threads {
		if !slices.Contains(s.behind, t) {
			s.behind = append(s.behind, t)
		}
	}
	s.mu.Unlock()
	select {
	case s.stale <- struct{}{}:
	default:
	}
}

// Forget drops the data derived from a deleted thread's files.
func (s *Service) Forget(thread string) error {
	return errors.Join(s.forgetShown(thread), s.forgetIndex(thread))
}

func (s *Service) forgetIndex(thread string) error {
	if s.cfg.Index == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), forgetTime)
	defer cancel()
	_, err := s.refresh(ctx, thread)
	return err
}

// keepIndex refreshes threads on request, at first all in the index: a killed server may have left
// their files partially indexed.
func (s *Service) keepIndex(ctx context.Context) {
	if s.cfg.Index == nil {
		return
	}
	if s.cfg.Server != 0 { // each is updated before a search anyway
		s.cfg.Log.Debug("document index updates on use")
	} else if threads, err := s.cfg.Index.Threads(ctx); err == nil {
		s.Refresh(threads...)
	} else if ctx.Err() == nil {
		s.cfg.Log.Error("couldn't read the document index", "err", err)
	}
	for {
		select {
		case <-s.stale:
		case <-ctx.Done():
			return
		}
		for ctx.Err() == nil {
			s.mu.Lock()
			if len(s.behind) == 0 {
				s.mu.Unlock()
				break
			}
			thread := s.behind[0]
			s.behind = s.behind[1:]
			s.mu.Unlock()
			if _, err := s.refresh(ctx, thread); err != nil && ctx.Err() == nil {
				s.cfg.Log.Warn("couldn't update the document index", "thread", thread, "err", err)
			}
		}
	}
}

// Search finds passages in the texts of a thread's uploads as they are now.
func (s *Service) Search(ctx context.Context, thread string, q uploads.Query) (uploads.Found, error) {
	if s.cfg.Index == nil {
		return uploads.Found{}, nil
	}
	found, err := s.refresh(ctx, thread)
	if err != nil {
		return found, err
	}
	for i, name := range q.Files {
		q.Files[i] = norm.NFC.String(name)
	}
	if len(q.Files) > 0 {
		found.Left = slices.DeleteFunc(found.Left, func(l uploads.Left) bool {
			return !slices.Contains(q.Files, l.File)
		})
		found.Searched = min(found.Searched, len(q.Files))
	}
	found.Passages, err = s.cfg.Index.Find(ctx, thread, q)
	return found, err
}

// text is the searchable text of an upload.
type text struct {
	file, path, stamp string
	size              int64
}

// refresh updates a thread's index and returns the files missing from it.
func (s *Service) refresh(ctx context.Context, thread string) (found uploads.Found, err error) {
	s.indexing.Lock()
	defer s.indexing.Unlock()
	stamps, size, err := s.cfg.Index.Files(ctx, thread)
	if err != nil {
		return found, err
	}
	dir, err := s.cfg.Open(thread)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return found, err
	}
	var texts []text
	if err == nil {
		defer dir.Close()
		if texts, found.Left, err = s.texts(ctx, dir, thread); err != nil {
			return found, err
		}
	}
	removed := false
	for file, stamp := range stamps {
		if slices.ContainsFunc(texts, func(t text) bool { return t.file == file && t.stamp == stamp }) {
			continue
		}
		if err := s.cfg.Index.Remove(ctx, thread, file); err != nil {
			return found, err
		}
		delete(stamps, file)
		removed = true
	}
	if removed {
		if _, size, err = s.cfg.Index.Files(ctx, thread); err != nil {
			return found, err
		}
	}
	for _, t := range texts {
		if stamps[t.file] == "" {
			if size += t.size; size > maxIndexed {
				size -= t.size
				found.Left = append(found.Left,
					uploads.Left{File: t.file, Why: "the files of this conversation have more text than is indexed"})
				continue
			}
			if err := s.index(ctx, dir, thread, t); err != nil {
				return found, err
			}
		}
		found.Searched++
	}
	return found, nil
}

// texts returns the texts of a thread's uploads, and the uploads that should have one.
func (s *Service) texts(ctx context.Context, dir Dir, thread string) (texts []text, left []uploads.Left, err error) {
	list, err := s.Files(ctx, dir, thread)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range list.Files {
		at := f.MarkdownVirtualPath
		switch {
		case f.Conversion == nil && f.Size <= maxPlain && isText(dir, f.VirtualPath):
			at = f.VirtualPath
		case f.Conversion == nil:
			continue
		case f.Conversion.State == uploads.Pending:
			left = append(left, uploads.Left{File: f.Filename, Why: "it is still being converted"})
			continue
		case at == "":
			left = append(left, uploads.Left{File: f.Filename, Why: f.Conversion.Why()})
			continue
		}
		info, err := dir.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		stamp := fmt.Sprintf("%s %d %d", path.Base(at), info.Size(), info.ModTime().UnixNano())
		texts = append(texts, text{file: f.Filename, path: at, stamp: stamp, size: info.Size()})
	}
	return texts, left, nil
}

// isText reports whether a file begins as text; an unreadable one doesn't.
func isText(dir Dir, name string) bool {
	f, _, err := dir.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, uploads.HeadBytes)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false
	}
	head = head[:n]
	for i := 0; i < utf8.UTFMax-1 && n == uploads.HeadBytes && !utf8.Valid(head); i++ {
		head = head[:len(head)-1] // the last character may be cut in half
	}
	return utf8.Valid(head) && !slices.Contains(head, 0)
}

// index adds a text.
func (s *Service) index(ctx context.Context, dir Dir, thread string, t text) error {
	f, _, err := dir.Open(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // just deleted
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var some []uploads.Passage
	c := cutter{file: t.file, take: func(p uploads.Passage) error {
		if some = append(some, p); len(some) < addedTogether {
			return nil
		}
		err := s.cfg.Index.Add(ctx, thread, t.file, "", some)
		some = some[:0]
		return err
	}}
	if err := c.read(bufio.NewReaderSize(io.LimitReader(f, t.size), 64<<10)); err != nil {
		return fmt.Errorf("index %s: %w", t.file, err)
	}
	return s.cfg.Index.Add(ctx, thread, t.file, t.stamp, some)
}
