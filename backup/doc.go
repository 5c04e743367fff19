// Package backup puts everything a data folder holds into one file, checks such a file, and puts it back.
//
// A backup is a gzipped tar: the files below data/, the database first as a compact copy of one moment,
// then SHA256SUMS with a line for each of them, and manifest.json. It is written while a server works:
// the database is copied before the files, so that a file which a row speaks of is there unless it was
// deleted in between, and folders of threads that the copy does not know are left out. Whatever a backup
// says about itself is checked before anything of it is put in place.
package backup

import (
	"errors"
	"time"
)

const (
	format       = 1 // of the archive
	dataPrefix   = "data/"
	sumsName     = "SHA256SUMS"
	manifestName = "manifest.json"
	maxManifest  = 1 << 20 // bytes
	maxEntries   = 5_000_000
	maxName      = 4096 // bytes
)

// Manifest says what a backup is.
type Manifest struct {
	Format  int       `json:"format"`
	Program string    `json:"program"` // version that made it
	Created time.Time `json:"created"`
	Schema  int       `json:"schema"` // of the database
	Threads int       `json:"threads"`
	Files   int       `json:"files"` // beside the database
	Bytes   int64     `json:"bytes"` // of all, unpacked
	Secrets bool      `json:"secrets"`
}

// ErrInvalid means that a file is no backup, or not as it was written.
var ErrInvalid = errors.New("not a valid backup")

// ErrNotEmpty means that there is something where a backup would be restored.
var ErrNotEmpty = errors.New("the data folder isn't empty")
