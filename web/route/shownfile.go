package route

import (
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"

	"fawn/sandbox/files"
	"fawn/web/httpx"
)

// artifactPolicy is the policy for files displayed on their own: nothing active.
const artifactPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data: blob:; media-src 'self'; frame-ancestors 'self'"

// OpenFile opens a file, with errors worded for clients.
func OpenFile(dir *files.Files, p string) (*os.File, fs.FileInfo, error) {
	file, info, err := dir.Open(p)
	switch {
	case errors.Is(err, files.ErrEscape):
		return nil, nil, Traversal()
	case errors.Is(err, files.ErrNotRegular):
		return nil, nil, httpx.Errorf(http.StatusBadRequest, "Path is not a file: %s", p)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR),
		errors.Is(err, syscall.EINVAL): // the last: the name became another kind of file meanwhile
		return nil, nil, NoFile(p)
	case errors.Is(err, fs.ErrPermission):
		return nil, nil, httpx.Errorf(http.StatusForbidden, "Access denied: %s", p)
	}
	return file, info, err
}

// NoFile reports that a file doesn't exist.
func NoFile(p string) error {
	return httpx.Errorf(http.StatusNotFound, "Artifact not found: %s", p)
}

// Traversal refuses a path that leads out of a thread.
func Traversal() error {
	return httpx.Errorf(http.StatusForbidden, "Access denied: path traversal detected")
}

// FileHeaders describes a file and prevents browsers from executing it. Browsers' PDF viewers don't start inside a
// sandbox, but have their own.
func FileHeaders(h http.Header, name, kind string, attachment bool) {
	how, policy := "inline", "sandbox; "+artifactPolicy
	if attachment {
		how = "attachment"
	}
	if kind == "application/pdf" {
		policy = artifactPolicy
	}
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", how+"; filename*=UTF-8''"+strings.ReplaceAll(url.QueryEscape(name), "+", "%20"))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "private, no-cache")
}
