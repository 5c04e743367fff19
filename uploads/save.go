package uploads

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/url"
	"path"
	"strings"
	"time"
)

// File is a stored upload as shown to clients. Path and VirtualPath are equal, since host paths aren't exposed.
type File struct {
	Filename    string `json:"filename"`
	Size        int64  `json:"size"`
	Path        string `json:"path"`
	VirtualPath string `json:"virtual_path"`
	ArtifactURL string `json:"artifact_url"`
	Extension   string `json:"extension,omitempty"`
	// Modified is RFC 3339 with milliseconds, UTC.
	Modified string `json:"modified,omitempty"`
	// OriginalFilename is the name as sent, when the stored one differs.
	OriginalFilename string `json:"original_filename,omitempty"`
	// Fields of the Markdown converted from a document.
	MarkdownFile        string `json:"markdown_file,omitempty"`
	MarkdownPath        string `json:"markdown_path,omitempty"`
	MarkdownVirtualPath string `json:"markdown_virtual_path,omitempty"`
	MarkdownArtifactURL string `json:"markdown_artifact_url,omitempty"`
	// Conversion is nil for a file that needs none.
	Conversion *Conversion `json:"conversion,omitempty"`
}

// Result answers one upload request.
type Result struct {
	// Success is false when a file was skipped.
	Success bool   `json:"success"`
	Files   []File `json:"files"`
	Message string `json:"message"`
	// SkippedFiles are the names, as sent, of files that were not stored.
	SkippedFiles []string `json:"skipped_files"`
}

// maxFields limits the other form fields, which are read and ignored.
const maxFields = 100

// Save stores the files of a form in the uploads of a thread. They are written under staging names and renamed when all
// of them are complete, replacing older files of the same name: a request that is canceled, cut off or over a limit
// leaves nothing behind. Repeated names in one request get _1, _2 added. Unsafe names are skipped and reported. At most
// one block of the body is in memory.
//
// Errors: ErrTooLarge and its types, ErrNoFiles, ErrForm, the context's, those of dir.
func Save(ctx context.Context, dir Dir, thread string, form *multipart.Reader, cfg Config) (Result, error) {
	s := &saving{ctx: ctx, dir: dir, cfg: cfg, names: map[string]bool{}}
	err := s.receive(form)
	if err == nil {
		err = s.publish()
	}
	if err != nil {
		return Result{}, errors.Join(err, s.discard())
	}
	return s.result(thread)
}

// saving is one request in progress.
type saving struct {
	ctx     context.Context
	dir     Dir
	cfg     Config
	files   []incoming
	names   map[string]bool // claimed by this request
	skipped []string
	total   int64
	buf     []byte
}

// incoming is a file of the request; at is its current location.
type incoming struct {
	sent, name, at string
	size           int64
}

func (s *saving) receive(form *multipart.Reader) error {
	seen, fields := 0, 0
	for {
		if err := context.Cause(s.ctx); err != nil {
			return err
		}
		part, err := form.NextRawPart()
		// A body cut off between parts wraps io.EOF; only the bare one is the end.
		if err == io.EOF {
			break
		}
		if err != nil {
			return formError(err)
		}
		sent, file := sentName(part.Header)
		if !file || sent == "" {
			// A form field, or a file input that was left empty.
			if fields++; fields > maxFields {
				return fmt.Errorf("%w: too many fields", ErrForm)
			}
			if _, err := s.copy(io.Discard, part, "", s.cfg.MaxTotalSize); err != nil {
				return err
			}
			continue
		}
		if seen++; seen > s.cfg.MaxFiles {
			return &TooManyError{s.cfg.MaxFiles}
		}
		if err := s.take(part, sent); err != nil {
			return err
		}
	}
	if seen == 0 {
		return ErrNoFiles
	}
	return nil
}

func (s *saving) take(part io.Reader, sent string) error {
	name, ok := safeName(sent)
	if !ok {
		s.skipped = append(s.skipped, sent)
		_, err := s.copy(io.Discard, part, sent, s.cfg.MaxFileSize)
		return err
	}
	at := stagingName()
	w, err := s.dir.Create(at)
	if err != nil {
		return fmt.Errorf("store upload: %w", err)
	}
	s.files = append(s.files, incoming{sent: sent, name: name, at: at})
	size, err := s.copy(w, part, name, s.cfg.MaxFileSize)
	s.files[len(s.files)-1].size = size
	if cerr := w.Close(); err == nil && cerr != nil {
		err = diskError(cerr)
	}
	return err
}

// copy moves one part in blocks and counts it against both limits.
func (s *saving) copy(w io.Writer, r io.Reader, name string, limit int64) (int64, error) {
	if s.buf == nil {
		s.buf = make([]byte, 64<<10)
	}
	var size int64
	for {
		if err := context.Cause(s.ctx); err != nil {
			return size, err
		}
		n, rerr := fill(r, s.buf)
		size += int64(n)
		s.total += int64(n)
		switch {
		case size > limit:
			return size, &FileTooLargeError{name, limit}
		case s.total > s.cfg.MaxTotalSize:
			return size, &TotalTooLargeError{s.cfg.MaxTotalSize}
		}
		if w != io.Discard {
			if err := s.dir.Spend(s.ctx, int64(n)); err != nil {
				return size, fmt.Errorf("store upload: %w", err)
			}
		}
		if _, err := w.Write(s.buf[:n]); err != nil {
			return size, diskError(err)
		}
		if errors.Is(rerr, io.EOF) {
			return size, nil
		}
		if rerr != nil {
			return size, formError(rerr)
		}
	}
}

// fill reads until buf is full or an error occurs: a form is read in small pieces, and each block is
// counted and written once.
func fill(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var more int
		more, err = r.Read(buf[n:])
		n += more
	}
	return n, err
}

// publish renames the complete files to their final names.
func (s *saving) publish() error {
	kept := s.files[:0]
	for i, f := range s.files {
		name, err := s.claim(f.name)
		if err != nil {
			s.files = append(kept, s.files[i:]...)
			return err
		}
		if name == "" {
			s.skipped = append(s.skipped, f.sent)
			if err := s.dir.Remove(f.at); err != nil {
				s.files = append(kept, s.files[i:]...)
				return err
			}
			continue
		}
		if err := s.dir.Rename(f.at, path.Join(Folder, name)); err != nil {
			s.files = append(kept, s.files[i:]...)
			return fmt.Errorf("store upload %s: %w", name, err)
		}
		f.name, f.at = name, path.Join(Folder, name)
		kept = append(kept, f)
	}
	s.files = kept
	return nil
}

// claim returns the name for a file: its own, which may replace an older file, or an unused one if this request used it
// already. It is empty if another kind of file has the name.
func (s *saving) claim(name string) (string, error) {
	var failed error
	first := true
	got := unused(name, func(n string) bool {
		replace := first
		first = false
		if s.names[n] {
			return true
		}
		if replace {
			return false
		}
		_, err := s.dir.Lstat(path.Join(Folder, n))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = err
		}
		return err == nil
	})
	if failed != nil {
		return "", fmt.Errorf("store upload %s: %w", name, failed)
	}
	switch info, err := s.dir.Lstat(path.Join(Folder, got)); {
	case err == nil && !info.Mode().IsRegular():
		return "", nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("store upload %s: %w", name, err)
	}
	s.names[got] = true
	return got, nil
}

// discard removes everything this request wrote.
func (s *saving) discard() error {
	var all error
	for _, f := range s.files {
		if err := s.dir.Remove(f.at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = errors.Join(all, err)
		}
	}
	return all
}

func (s *saving) result(thread string) (Result, error) {
	r := Result{Success: len(s.skipped) == 0, Files: []File{}, SkippedFiles: []string{}}
	for _, f := range s.files {
		v := describe(thread, f.name, f.size, time.Time{})
		if f.sent != f.name {
			v.OriginalFilename = f.sent
		}
		r.Files = append(r.Files, v)
	}
	r.Message = fmt.Sprintf("Successfully uploaded %d file(s)", len(r.Files))
	if n := len(s.skipped); n > 0 {
		r.SkippedFiles = s.skipped
		r.Message += fmt.Sprintf("; skipped %d unsafe file(s)", n)
	}
	return r, nil
}

func describe(thread, name string, size int64, modified time.Time) File {
	p := Folder + "/" + name
	f := File{
		Filename:    name,
		Size:        size,
		Path:        p,
		VirtualPath: p,
		ArtifactURL: artifactURL(thread, name),
		Extension:   strings.ToLower(path.Ext(name)),
	}
	if !modified.IsZero() {
		f.Modified = modified.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	return f
}

func artifactURL(thread, name string) string {
	return "/api/threads/" + url.PathEscape(thread) + "/artifacts" + Folder + "/" + url.PathEscape(name)
}

// diskError drops the path of the host that an open file puts into its errors.
func diskError(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("store upload: %w", err)
}

// formError keeps errors of the body's reader, such as the server's body limit, and marks others as the client's fault.
func formError(err error) error {
	return fmt.Errorf("%w: %w", ErrForm, err)
}
