// Package initbin holds the small program that sandboxes start (package sbxinit), where the build
// made it. Nothing else belongs here.
package initbin

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// name is that of the program. `make build` packs it; plain, it is there for tests, and counts first.
const name, packed = "sbxinit", "sbxinit.gz"

//go:embed *
var files embed.FS

// Size is the program's in bytes. A build without it has an error that is fs.ErrNotExist.
func Size() (int64, error) { return size(files) }

// Read gives the program.
func Read() ([]byte, error) { return read(files) }

func size(files fs.FS) (int64, error) {
	info, err := fs.Stat(files, name)
	if err == nil {
		return info.Size(), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	f, err := files.Open(packed)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var tail [4]byte // the last field of gzip
	end, ok := f.(io.Seeker)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	if _, err := end.Seek(-int64(len(tail)), io.SeekEnd); err != nil {
		return 0, fmt.Errorf("%s is cut off: %w", packed, err)
	}
	if _, err := io.ReadFull(f, tail[:]); err != nil {
		return 0, err
	}
	return int64(binary.LittleEndian.Uint32(tail[:])), nil
}

func read(files fs.FS) ([]byte, error) {
	if b, err := fs.ReadFile(files, name); !errors.Is(err, fs.ErrNotExist) {
		return b, err
	}
	n, err := size(files)
	if err != nil {
		return nil, err
	}
	b, err := fs.ReadFile(files, packed)
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", packed, err)
	}
	out := bytes.NewBuffer(make([]byte, 0, n))
	if _, err := io.Copy(out, r); err != nil {
		return nil, fmt.Errorf("unpack %s: %w", packed, err)
	}
	return out.Bytes(), nil
}
