// Package initbin embeds the small program that sandboxes start (package sbxinit), for the processors that Fawn is
// released for. build.sh makes the files; `make generate` runs it, and .ci/fresh fails when they are stale. They are
// committed, so that `go build` and `go install` give the same program as make. Nothing else belongs here.
package initbin

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
)

// Size returns the program's size in bytes, or fs.ErrNotExist if there is none for this processor.
func Size() (int64, error) { return size(packed) }

// Read returns the program, or fs.ErrNotExist if there is none for this processor.
func Read() ([]byte, error) {
	if keep.Load() {
		return kept()
	}
	return read(packed)
}

var (
	keep atomic.Bool
	kept = sync.OnceValues(func() ([]byte, error) { return read(packed) })
)

// Keep makes Read unpack the program once. A server reads it once in the life of a data folder and needs the memory for
// other things; tests open hundreds of data folders in one process.
func Keep() { keep.Store(true) }

// size reads the last field of a gzip file.
func size(packed []byte) (int64, error) {
	if packed == nil {
		return 0, fs.ErrNotExist
	}
	if len(packed) < 18 {
		return 0, errors.New("the packed program is cut off")
	}
	return int64(binary.LittleEndian.Uint32(packed[len(packed)-4:])), nil
}

func read(packed []byte) ([]byte, error) {
	n, err := size(packed)
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpack the program: %w", err)
	}
	out := bytes.NewBuffer(make([]byte, 0, min(n, 16<<20)))
	if _, err := io.Copy(out, r); err != nil {
		return nil, fmt.Errorf("unpack the program: %w", err)
	}
	return out.Bytes(), nil
}
