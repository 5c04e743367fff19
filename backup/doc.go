// Package backup packs a data folder into one file, verifies such a file, and restores it.
//
// A backup is a gzipped tar: the files below data/, beginning with a compact snapshot of the database, then SHA256SUMS
// with a line for each of them, and manifest.json. It is written while a server runs: the database is copied before the
// files, so a file that a row mentions is included unless it was deleted in between, and folders of threads missing
// from the copy are left out. A restore verifies all checksums and the manifest before it changes anything.
package backup

import (
	"errors"
	"time"
)

const (
	format       = 1 // version of the archive format
	dataPrefix   = "data/"
	sumsName     = "SHA256SUMS"
	manifestName = "manifest.json"
	maxManifest  = 1 << 20 // bytes
	maxEntries   = 5_000_000
	maxName      = 4096 // bytes
)

// Manifest describes a backup.
type Manifest struct {
	Format  int       `json:"format"`
	Program string    `json:"program"` // version that made it
	Created time.Time `json:"created"`
	Schema  int       `json:"schema"` // schema number of the database
	Threads int       `json:"threads"`
	Files   int       `json:"files"` // besides the database
	Bytes   int64     `json:"bytes"` // total unpacked size
	Secrets bool      `json:"secrets"`
}

// ErrInvalid means that a file isn't a backup, or was damaged.
var ErrInvalid = errors.New("not a valid backup")

// ErrNotEmpty means that the target of a restore isn't empty.
var ErrNotEmpty = errors.New("the data folder isn't empty")
