package backup

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"fawn/store"
)

// Verify reads a whole backup and checks that it is one: each file against its sum, and no entry that
// would land outside. It writes nothing but a list in the folder of temporary files.
func Verify(ctx context.Context, file string) (Manifest, error) {
	m, _, err := read(ctx, file, nil)
	return m, err
}

// read reads a backup and passes its entries to take; nil only verifies them. digest is a hash of all checksums, to
// detect a changed file when it's read again.
func read(ctx context.Context, file string, take func(h *tar.Header, body io.Reader) error) (m Manifest, digest string,
	err error) {
	f, err := os.Open(file)
	if err != nil {
		return m, "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return m, "", err
	}
	if !info.Mode().IsRegular() {
		return m, "", fmt.Errorf("%s: %w: it isn't a regular file", file, ErrInvalid)
	}
	sums, err := os.CreateTemp("", "fawn-sums-*")
	if err != nil {
		return m, "", err
	}
	defer func() { err = errors.Join(err, sums.Close(), os.Remove(sums.Name())) }()
	r := &reader{ctx: ctx, take: take, sums: sums, all: sha256.New()}
	if err := r.archive(bufio.NewReaderSize(f, 1<<16)); err != nil {
		if r.at != "" {
			err = fmt.Errorf("at %q: %w", r.at, err)
		}
		return m, "", fmt.Errorf("%s: %w", file, err)
	}
	return r.Manifest, fmt.Sprintf("%x", r.all.Sum(nil)), nil
}

// reader is a backup being read.
type reader struct {
	Manifest // as stored
	ctx      context.Context
	take     func(h *tar.Header, body io.Reader) error
	sums     *os.File // a line for each file that was read
	all      hash.Hash
	at       string // entry being read
	entries  int
	count    int // files among them
	bytes    int64
	listed   bool // SHA256SUMS came
	done     bool // manifest.json came
}

// invalid returns an error that describes a backup's defect.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

func (r *reader) archive(from io.Reader) error {
	zip, err := gzip.NewReader(from)
	if err != nil {
		return invalid("%v", err)
	}
	entries := tar.NewReader(zip)
	for {
		if err := context.Cause(r.ctx); err != nil {
			return err
		}
		h, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return invalid("%v", err)
		}
		r.at = h.Name
		if err := r.entry(h, entries); err != nil {
			return err
		}
	}
	r.at = ""
	// The compression's checksum follows the data that tar reads.
	if n, err := io.Copy(io.Discard, io.LimitReader(zip, 1<<20)); err != nil || n == 1<<20 {
		return invalid("there is something behind its end: %v", err)
	}
	switch {
	case !r.listed || !r.done:
		return invalid("its end is missing")
	case r.Files != r.count-1 || r.Bytes != r.bytes:
		return invalid("it says that it has %d files of %d bytes, and has %d of %d", r.Files, r.Bytes,
			r.count-1, r.bytes)
	}
	return nil
}

func (r *reader) entry(h *tar.Header, body io.Reader) error {
	switch {
	case r.done:
		return invalid("there is something behind its manifest")
	case h.Name == manifestName && r.listed:
		r.done = true
		return r.manifest(h, body)
	case r.listed:
		return invalid("there is something behind its sums")
	case h.Name == sumsName:
		r.listed = true
		return r.compare(body)
	}
	if r.entries++; r.entries > maxEntries || len(h.Name) > maxName {
		return invalid("it has too many files, or a name that is too long")
	}
	name, ok := strings.CutPrefix(h.Name, dataPrefix)
	if h.Typeflag == tar.TypeDir {
		name = strings.TrimSuffix(name, "/")
	}
	if !ok || name == "." || !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name ||
		strings.Contains(name, "\x00") {
		return invalid("it leads out of the data folder")
	}
	if kind(name, h.Typeflag == tar.TypeDir) == passing && name != store.FileName {
		return invalid("it is nothing that a backup has")
	}
	h.Name = name
	switch h.Typeflag {
	case tar.TypeDir:
	case tar.TypeSymlink:
		if !inThread(name) {
			return invalid("it is a link, which may only be among the files of a chat")
		}
	case tar.TypeReg:
		return r.file(h, body)
	default:
		return invalid("it is neither a file nor a folder")
	}
	if r.take != nil {
		return r.take(h, nil)
	}
	return nil
}

func (r *reader) file(h *tar.Header, body io.Reader) error {
	if (r.count == 0) != (h.Name == store.FileName) {
		return invalid("the database must be the first file")
	}
	sum := sha256.New()
	body = io.TeeReader(body, sum)
	if r.take != nil {
		if err := r.take(h, body); err != nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, body); err != nil {
		return invalid("%v", err)
	}
	r.count++
	r.bytes += h.Size
	line := sumLine(dataPrefix+h.Name, sum.Sum(nil))
	r.all.Write([]byte(line))
	_, err := io.WriteString(r.sums, line)
	return err
}

// compare reads the sums which the backup has, and names the first file that has another.
func (r *reader) compare(body io.Reader) error {
	if _, err := r.sums.Seek(0, io.SeekStart); err != nil {
		return err
	}
	have, want := bufio.NewReader(r.sums), bufio.NewReaderSize(body, 1<<14)
	for {
		line, haveErr := have.ReadString('\n')
		if haveErr != nil && !errors.Is(haveErr, io.EOF) {
			return haveErr
		}
		other := make([]byte, max(len(line), 1))
		n, err := io.ReadFull(want, other)
		if line == "" {
			if n != 0 {
				return invalid("a file is missing")
			}
			return nil
		}
		if err != nil || string(other) != line {
			_, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
			return invalid("the content of %s isn't what was written", strings.TrimPrefix(name, dataPrefix))
		}
	}
}

func (r *reader) manifest(h *tar.Header, body io.Reader) error {
	if h.Size > maxManifest {
		return invalid("it is too large")
	}
	b, err := io.ReadAll(body)
	if err != nil {
		return invalid("%v", err)
	}
	if err := json.Unmarshal(b, &r.Manifest); err != nil {
		return invalid("%v", err)
	}
	if r.Format > format {
		return invalid("a newer program (%s) made it", r.Program)
	}
	if r.Format < 1 {
		return invalid("it has no format")
	}
	return nil
}
