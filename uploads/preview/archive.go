package preview

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strings"
	"time"
)

// Limits of an archive.
const (
	MaxEntries   = 1000     // limit of listed entries
	maxCounted   = 20_000   // limit of examined entries
	maxDirectory = 2 << 20  // bytes of a zip's directory
	maxUnpacked  = 64 << 20 // bytes unpacked from a compressed tar, and not kept
	maxName      = 500      // bytes of a name
)

// Why an archive is not listed.
var (
	ErrDamaged = errors.New("the archive is damaged or its content doesn't match its name")
	ErrMany    = errors.New("the archive has too many files to be listed")
)

// Entry is a file in an archive, as declared by the archive.
type Entry struct {
	Name     string
	Bytes    int64
	Modified time.Time // zero if unknown
}

// Archive is a list of the files in an archive.
type Archive struct {
	Entries []Entry // by name, at most MaxEntries
	Files   int     // number of files, total or seen
	Bytes   int64   // total unpacked size
	Cut     bool    // there are more, which weren't read
	Outside bool    // a name leads outside the target folder
}

// File is an archive to list.
type File interface {
	io.ReaderAt
	io.ReadSeeker
}

// ReadArchive lists an archive of the type given by its extension: .zip, .skill, .tar, .tar.gz or .tgz. Only the
// headers of a compressed tar are unpacked.
func ReadArchive(ctx context.Context, name string, f File, size int64) (Archive, error) {
	name = strings.ToLower(name)
	switch {
	case strings.HasSuffix(name, ".tar"):
		return readTar(ctx, f)
	case strings.HasSuffix(name, ".gz"), strings.HasSuffix(name, ".tgz"):
		z, err := gzip.NewReader(f)
		if err != nil {
			return Archive{}, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		return readTar(ctx, &budget{r: z, left: maxUnpacked})
	}
	z, err := openZip(f, size)
	if err != nil {
		return Archive{}, err
	}
	return listZip(z), nil
}

func openZip(f io.ReaderAt, size int64) (*zip.Reader, error) {
	directory := &directoryReader{r: f, left: maxDirectory}
	z, err := zip.NewReader(directory, size)
	switch {
	case errors.Is(err, errSpent):
		return nil, ErrMany
	case err != nil && !errors.Is(err, zip.ErrInsecurePath):
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	directory.left = math.MaxInt64 // reading files has separate limits
	return z, nil
}

func listZip(z *zip.Reader) Archive {
	var a Archive
	for _, f := range z.File {
		if f.Mode().IsDir() {
			continue
		}
		a.add(Entry{Name: f.Name, Bytes: int64(min(f.UncompressedSize64, math.MaxInt64)), Modified: f.Modified})
	}
	a.sort()
	return a
}

func readTar(ctx context.Context, r io.Reader) (Archive, error) {
	var a Archive
	t := tar.NewReader(r)
	for n := 0; ; n++ {
		if err := context.Cause(ctx); err != nil {
			return a, err
		}
		h, err := t.Next()
		switch {
		case err == nil, errors.Is(err, tar.ErrInsecurePath):
		case errors.Is(err, io.EOF) && n > 0:
			a.sort()
			return a, nil
		case errors.Is(err, errSpent) || n > 0:
			// Too long, or damaged after this point.
			a.Cut = true
			a.sort()
			return a, nil
		default:
			return a, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		if n == maxCounted {
			a.Cut = true
			a.sort()
			return a, nil
		}
		if h.Typeflag != tar.TypeDir && h.Typeflag != tar.TypeXGlobalHeader {
			a.add(Entry{Name: h.Name, Bytes: h.Size, Modified: h.ModTime})
		}
	}
}

func (a *Archive) add(e Entry) {
	a.Files++
	e.Bytes = max(e.Bytes, 0)
	if a.Bytes += e.Bytes; a.Bytes < 0 {
		a.Bytes = math.MaxInt64
	}
	a.Outside = a.Outside || outside(e.Name)
	e.Name = cut(e.Name, maxName)
	if e.Modified.Year() < 1980 || e.Modified.Year() > 9999 {
		e.Modified = time.Time{}
	}
	// A few more than are shown are kept, so that the first by name are shown.
	if len(a.Entries) < maxCounted {
		a.Entries = append(a.Entries, e)
	}
}

func (a *Archive) sort() {
	slices.SortStableFunc(a.Entries, func(x, y Entry) int { return strings.Compare(x.Name, y.Name) })
	if len(a.Entries) > MaxEntries {
		a.Entries = slices.Clone(a.Entries[:MaxEntries])
	}
}

// outside reports whether a name leads out of the folder it is unpacked to, on any system.
func outside(name string) bool {
	name = strings.ReplaceAll(name, `\`, "/")
	clean := path.Clean(name)
	return path.IsAbs(name) || clean == ".." || strings.HasPrefix(clean, "../") || len(name) > 1 && name[1] == ':'
}

var errSpent = errors.New("over the limit for listings")

// budget limits reading and reports when the limit is exceeded.
type budget struct {
	r    io.Reader
	left int64
}

func (b *budget) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errSpent
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// directoryReader does the same for reads at places.
type directoryReader struct {
	r    io.ReaderAt
	left int64
}

func (d *directoryReader) ReadAt(p []byte, at int64) (int, error) {
	if d.left -= int64(len(p)); d.left < 0 {
		return 0, errSpent
	}
	return d.r.ReadAt(p, at)
}
