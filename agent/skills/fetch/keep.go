package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Archive is an archive in a private file, unchanged while it is inspected.
type Archive struct {
	*os.File
	Size int64  // bytes
	Sum  string // SHA-256 in hex
}

// Keep creates an empty archive in a folder.
func Keep(dir string) (*Archive, error) {
	f, err := os.CreateTemp(dir, ".skill-*")
	if err != nil {
		return nil, fmt.Errorf("keep an archive: %w", err)
	}
	return &Archive{File: f}, nil
}

// Take fills the archive.
func (a *Archive) Take(from io.Reader) (err error) {
	return a.Fill(func(to io.Writer) error {
		_, err := io.Copy(to, from)
		return err
	})
}

// Fill lets write fill the archive.
func (a *Archive) Fill(write func(io.Writer) error) error {
	h := sha256.New()
	err := write(io.MultiWriter(a.File, h))
	if err == nil {
		a.Size, err = a.Seek(0, io.SeekCurrent)
	}
	a.Sum = hex.EncodeToString(h.Sum(nil))
	return err
}

// Drop removes the file.
func (a *Archive) Drop() error {
	err := os.Remove(a.Name())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // it is kept elsewhere
	}
	return errors.Join(a.Close(), err)
}

// Limits of pending archives.
const (
	maxWaiting  = 4 // archives
	waitingTime = time.Hour
)

// Waiting is a folder of archives pending a person's decision.
type Waiting string

// Put stores a pending archive under its checksum. The oldest ones, and those without a decision for an hour, are
// removed.
func (w Waiting) Put(a *Archive) error {
	if err := os.MkdirAll(string(w), 0o700); err != nil {
		return fmt.Errorf("keep an archive: %w", err)
	}
	if err := os.Rename(a.Name(), w.file(a.Sum)); err != nil {
		return fmt.Errorf("keep an archive: %w", err)
	}
	return w.sweep()
}

func (w Waiting) sweep() error {
	entries, err := os.ReadDir(string(w))
	if err != nil {
		return fmt.Errorf("look at archives: %w", err)
	}
	var list []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			list = append(list, info)
		}
	}
	slices.SortFunc(list, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for i, info := range list {
		if i >= maxWaiting || time.Since(info.ModTime()) > waitingTime {
			err = errors.Join(err, os.RemoveAll(filepath.Join(string(w), info.Name())))
		}
	}
	return err
}

// Open returns the archive with a checksum. A missing or removed one is fs.ErrNotExist.
func (w Waiting) Open(sum string) (*Archive, error) {
	if b, err := hex.DecodeString(sum); err != nil || len(b) != sha256.Size {
		return nil, fs.ErrNotExist
	}
	f, err := os.Open(w.file(sum))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Archive{File: f, Size: info.Size(), Sum: sum}, nil
}

func (w Waiting) file(sum string) string { return filepath.Join(string(w), sum) }
