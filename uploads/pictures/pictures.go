// Package pictures prepares images for display: upright, small, and without metadata about their authors. The server
// only parses the files; decoding runs in separate processes, one after the other.
package pictures

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"fawn/uploads"
)

// MaxBytes limits the size of pictures that are read.
const MaxBytes = 50 << 20

// Limits of the cache, in bytes and files.
const (
	keptBytes = 64 << 20
	keptFiles = 4096
)

// Config configures a Service.
type Config struct {
	// Dir is the cache of drawn images.
	Dir string
	// Draw calls [Draw] in a separate process. Errors match [uploads.ErrPicture] if the image is the cause.
	Draw func(ctx context.Context, data io.Reader, side int) ([]byte, error)
	Log  *slog.Logger
}

// Service implements [uploads.Pictures].
type Service struct {
	cfg  Config
	turn chan struct{} // holds one token for each picture being drawn

	mu    sync.Mutex
	open  bool    // Dir exists, empty except for kept
	kept  []entry // last used at the end
	bytes int64
}

// entry is a cached picture.
type entry struct {
	thread, name string
	size         int64
}

// New returns a Service. Nothing is touched before the first picture.
func New(cfg Config) *Service { return &Service{cfg: cfg, turn: make(chan struct{}, 1)} }

// Clean implements [uploads.Pictures]. A picture that can't be rotated stays unchanged.
func (s *Service) Clean(ctx context.Context, thread string, data []byte) ([]byte, string, error) {
	kind := kindOf(data)
	if kind == "" {
		return nil, "", &uploads.PictureError{Unknown: true, Kind: unknownKind(data)}
	}
	if err := uploads.CheckPicture(bytes.NewReader(data)); err != nil {
		return nil, kind, err
	}
	out, orientation, err := strip(data)
	if err != nil {
		return nil, kind, &uploads.PictureError{}
	}
	if orientation == 1 {
		return out, kind, nil
	}
	sum := sha256.Sum256(data)
	turned, err := s.drawn(ctx, thread, hex.EncodeToString(sum[:]), 0, func() io.Reader {
		return bytes.NewReader(data)
	})
	if ctx.Err() != nil {
		return nil, kind, context.Cause(ctx)
	}
	if err != nil {
		s.cfg.Log.Warn("couldn't rotate a picture", "err", err)
		return out, kind, nil
	}
	return turned, kindOf(turned), nil
}

// Thumbnail implements [uploads.Pictures].
func (s *Service) Thumbnail(ctx context.Context, thread string, from io.ReaderAt, size int64,
	side int) (uploads.Thumbnail, error) {
	file := func() io.Reader { return io.NewSectionReader(from, 0, size) }
	head := make([]byte, 16)
	n, err := from.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return uploads.Thumbnail{}, fmt.Errorf("read picture: %w", err)
	}
	if kindOf(head[:n]) == "" || size > MaxBytes {
		return uploads.Thumbnail{}, uploads.ErrPicture
	}
	if err := uploads.CheckPicture(file()); err != nil {
		return uploads.Thumbnail{}, err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, file()); err != nil {
		return uploads.Thumbnail{}, fmt.Errorf("read picture: %w", err)
	}
	hash := hex.EncodeToString(sum.Sum(nil))
	data, err := s.drawn(ctx, thread, hash, side, file)
	return uploads.Thumbnail{Data: data, Type: kindOf(data), Hash: hash + "-" + strconv.Itoa(side)}, err
}

// drawn returns a picture from the cache, or draws it.
func (s *Service) drawn(ctx context.Context, thread, hash string, side int, from func() io.Reader) ([]byte, error) {
	name := hash + "-" + strconv.Itoa(side)
	if data := s.get(thread, name); data != nil {
		return data, nil
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-s.turn }()
	if data := s.get(thread, name); data != nil { // drawn for another caller meanwhile
		return data, nil
	}
	data, err := s.cfg.Draw(ctx, from(), side)
	if err != nil {
		return nil, err
	}
	if kindOf(data) == "" {
		return nil, errors.New("the thumbnail process returned no image")
	}
	if err := s.put(thread, name, data); err != nil {
		s.cfg.Log.Warn("couldn't store a picture", "err", err)
	}
	return data, nil
}

// get reads a cached image; nil for none.
func (s *Service) get(thread, name string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.kept, func(e entry) bool { return e.thread == thread && e.name == name })
	if i < 0 {
		return nil
	}
	e := s.kept[i]
	s.kept = append(slices.Delete(s.kept, i, i+1), e)
	data, err := os.ReadFile(filepath.Join(s.cfg.Dir, thread, name))
	if err != nil || kindOf(data) == "" {
		return nil
	}
	return data
}

// put caches an image, and evicts the least recently used ones.
func (s *Service) put(thread, name string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open { // files of earlier servers aren't counted yet
		if err := os.RemoveAll(s.cfg.Dir); err != nil {
			return err
		}
		s.open = true
	}
	s.kept = slices.DeleteFunc(s.kept, func(e entry) bool {
		same := e.thread == thread && e.name == name
		if same {
			s.bytes -= e.size
		}
		return same
	})
	for len(s.kept) > 0 && (len(s.kept) >= keptFiles || s.bytes+int64(len(data)) > keptBytes) {
		e := s.kept[0]
		if err := os.Remove(filepath.Join(s.cfg.Dir, e.thread, e.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		s.kept, s.bytes = s.kept[1:], s.bytes-e.size
	}
	if err := os.MkdirAll(filepath.Join(s.cfg.Dir, thread), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.cfg.Dir, thread, name), data, 0o600); err != nil {
		return err
	}
	s.kept, s.bytes = append(s.kept, entry{thread, name, int64(len(data))}), s.bytes+int64(len(data))
	return nil
}

// Forget implements [uploads.Pictures].
func (s *Service) Forget(thread string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = slices.DeleteFunc(s.kept, func(e entry) bool {
		if e.thread == thread {
			s.bytes -= e.size
		}
		return e.thread == thread
	})
	if err := os.RemoveAll(filepath.Join(s.cfg.Dir, thread)); err != nil {
		return fmt.Errorf("forget pictures: %w", err)
	}
	return nil
}
