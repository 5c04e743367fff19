package fetch

import (
	"errors"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// Limits of a repository's objects. A pack of one megabyte can expand to terabytes.
const (
	maxObjects = 100_000
	maxObject  = 64 << 20  // bytes per object
	maxUnpack  = 512 << 20 // bytes of all
)

var errHeavy = refuse("the repository is too large: more than %d objects, one of more than %d MiB, or %d MiB in all",
	maxObjects, maxObject>>20, maxUnpack>>20)

// weigh reads a pack from its start and adds up the sizes of its objects, including deltas, without storing any.
func weigh(r io.ReadSeeker) error {
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return err
	}
	// Without Seek, the scanner reads once and keeps nothing.
	scan := packfile.NewScanner(struct{ io.Reader }{r})
	_, n, err := scan.Header()
	if err != nil {
		return refuse("the server did not send a repository: %s", shorten(err.Error()))
	}
	if n > maxObjects {
		return errHeavy
	}
	total := int64(0)
	for range n {
		h, err := scan.NextObjectHeader()
		if err != nil {
			return refuse("the repository cannot be read: %s", shorten(err.Error()))
		}
		size := h.Length
		if size > maxObject {
			return errHeavy
		}
		head := &beginning{}
		if _, _, err := scan.NextObject(head); err != nil {
			return refuse("the repository cannot be read: %s", shorten(err.Error()))
		}
		if h.Type == plumbing.OFSDeltaObject || h.Type == plumbing.REFDeltaObject {
			made, err := head.target()
			if err != nil {
				return refuse("the repository cannot be read: %s", err)
			}
			if made > maxObject {
				return errHeavy
			}
			size += made
		}
		if total += size; total > maxUnpack {
			return errHeavy
		}
	}
	return nil
}

// beginning keeps the first bytes written to it.
type beginning struct {
	b [20]byte // two numbers of at most ten bytes
	n int
}

func (b *beginning) Write(p []byte) (int, error) {
	b.n += copy(b.b[b.n:], p)
	return len(p), nil
}

var errDelta = errors.New("a delta has no size")

// target returns the size of a delta's result: the second number in it, after the size of its base.
func (b *beginning) target() (int64, error) {
	rest := b.b[:b.n]
	var size int64
	for range 2 {
		size = 0
		for shift := 0; ; shift += 7 {
			if len(rest) == 0 || shift > 56 {
				return 0, errDelta
			}
			c := rest[0]
			rest = rest[1:]
			size |= int64(c&0x7f) << shift
			if c < 0x80 {
				break
			}
		}
	}
	return size, nil
}
