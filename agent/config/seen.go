package config

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"fawn/agent/config/syntax"
)

// seen is the last observed state of a file.
type seen struct {
	path   string
	exists bool
	mtime  time.Time
	size   int64
	sum    [sha256.Size]byte
	recent bool // written so shortly before that a second write could show the same time
}

// clockGrain is longer than the coarsest time stamps of file systems in use.
const clockGrain = 2 * time.Second

var errNotFile = errors.New("it is not a regular file")

// readSeen reads a file up to one byte over the limit, enough to reject it.
func readSeen(path string) (seen, []byte, error) {
	s := seen{path: path}
	info, err := os.Stat(path) // before opening, which would block on a pipe
	if err != nil {
		return s, nil, err
	}
	if !info.Mode().IsRegular() {
		return s, nil, &fs.PathError{Op: "read", Path: path, Err: errNotFile}
	}
	f, err := os.Open(path)
	if err != nil {
		return s, nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, syntax.MaxBytes+1))
	if err != nil {
		return s, nil, err
	}
	s.stamp(info)
	s.exists, s.sum = true, sha256.Sum256(data)
	return s, data, nil
}

func (s *seen) stamp(info fs.FileInfo) {
	s.mtime, s.size = info.ModTime(), info.Size()
	s.recent = time.Since(s.mtime) < clockGrain
}

// changed reports whether the content has changed. A temporarily unreadable file counts as unchanged.
func (s *seen) changed() bool {
	info, err := os.Stat(s.path)
	if err != nil {
		return s.exists && errors.Is(err, fs.ErrNotExist)
	}
	if s.exists && !s.recent && info.ModTime().Equal(s.mtime) && info.Size() == s.size {
		return false
	}
	now, _, err := readSeen(s.path)
	if err != nil {
		return false
	}
	if s.exists && now.sum == s.sum {
		s.stamp(info)
		return false
	}
	return true
}
