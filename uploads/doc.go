// Package uploads stores files that a user adds to a thread: it reads a multipart stream without holding it in memory,
// decides names, keeps limits, and lists and deletes stored files. It also decides how a stored file may be served.
//
// Package documents converts documents, package pictures prepares images. Begin with save.go.
package uploads

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// Folder is the virtual folder of a thread that holds its uploads.
const Folder = "/mnt/user-data/uploads"

// Config holds the limits of one upload request.
type Config struct {
	// MaxFiles is the number of files.
	MaxFiles int `json:"max_files"`
	// MaxFileSize is the size of one file in bytes.
	MaxFileSize int64 `json:"max_file_size"`
	// MaxTotalSize is the size of all files together in bytes.
	MaxTotalSize int64 `json:"max_total_size"`
}

// Default allows 10 files, 50 MiB each and 100 MiB together.
func Default() Config {
	return Config{MaxFiles: 10, MaxFileSize: 50 << 20, MaxTotalSize: 100 << 20}
}

// Dir is one thread's files under virtual paths. Create makes a new file and fails when the name exists. Rename
// replaces a file at the new name. Lstat and ReadDir describe links themselves; ReadDir returns entries in no order and
// reports omissions. Errors match those of io/fs. Methods aren't called concurrently.
type Dir interface {
	Create(path string) (*os.File, error)
	// Spend books bytes that will be written to a created file, or refuses them.
	Spend(ctx context.Context, n int64) error
	Rename(old, to string) error
	Remove(path string) error
	Lstat(path string) (fs.FileInfo, error)
	ReadDir(path string) (all []fs.FileInfo, more bool, err error)
}

// Sentinels of this package.
var (
	// ErrNoFiles means that a request has no file.
	ErrNoFiles error = sentence("No files provided")
	// ErrForm means that a body isn't a complete multipart form.
	ErrForm = errors.New("invalid multipart form")
	// ErrTooLarge matches TooManyError, FileTooLargeError and TotalTooLargeError.
	ErrTooLarge = errors.New("upload over a limit")
	// ErrNotFound matches NotFoundError.
	ErrNotFound = errors.New("no such upload")
	// ErrName means that no upload can have the name.
	ErrName error = sentence("Invalid path")
)

// sentence is an error that clients show as it is.
type sentence string

func (s sentence) Error() string { return string(s) }

// TooManyError is a request with more files than Limit.
type TooManyError struct{ Limit int }

func (e *TooManyError) Error() string { return fmt.Sprintf("Too many files: maximum is %d", e.Limit) }

// Is matches ErrTooLarge.
func (e *TooManyError) Is(target error) bool { return target == ErrTooLarge }

// FileTooLargeError is a file with more than Limit bytes.
type FileTooLargeError struct {
	Name  string
	Limit int64
}

func (e *FileTooLargeError) Error() string { return "File too large: " + e.Name }

// Is matches ErrTooLarge.
func (e *FileTooLargeError) Is(target error) bool { return target == ErrTooLarge }

// TotalTooLargeError is a request with more than Limit bytes.
type TotalTooLargeError struct{ Limit int64 }

func (e *TotalTooLargeError) Error() string { return "Total upload size too large" }

// Is matches ErrTooLarge.
func (e *TotalTooLargeError) Is(target error) bool { return target == ErrTooLarge }

// EncodingError is an encoding in which no text can be read.
type EncodingError struct{ Name string }

func (e *EncodingError) Error() string {
	return "unknown text encoding " + strconv.Quote(e.Name) + "; known are " + strings.Join(EncodingNames(), ", ")
}

// Is matches ErrName.
func (e *EncodingError) Is(target error) bool { return target == ErrName }

// NotFoundError is a name that no upload has.
type NotFoundError struct{ Name string }

func (e *NotFoundError) Error() string { return "File not found: " + e.Name }

// Is matches ErrNotFound.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }
