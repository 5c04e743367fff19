package changes

import "path"

// Limits of examined and stored data.
const (
	// MaxFiles limits the files of a record.
	MaxFiles = 200
	// MaxText limits the texts of which versions are kept, in bytes.
	MaxText = 256 << 10
	// MaxDiff limits the total size of differences in one answer, in bytes.
	MaxDiff = 1 << 20

	maxHashed  = 8 << 20  // larger files are compared by size and times only
	maxReading = 64 << 20 // bytes read for one comparison
	maxKept    = 64 << 20 // bytes of versions kept per thread
	maxCount   = 2000     // versions kept per thread
	maxPath    = 1024     // longer paths are left out
)

// Status is the kind of a file's change.
type Status string

// Kinds of changes.
const (
	Created  Status = "created"
	Modified Status = "modified"
	Deleted  Status = "deleted"
	Linked   Status = "symlink_created"
)

// Reason explains why no difference can be shown.
type Reason string

// Reasons for missing lines: the file isn't text, is too large, has a secret's name, or its version isn't stored (any
// more).
const (
	Binary    Reason = "binary"
	Large     Reason = "large"
	Sensitive Reason = "sensitive"
	Lost      Reason = "truncated"
	Link      Reason = "symlink"
)

// Record lists a run's changes to its thread's files.
type Record struct {
	Version int     `json:"version"`
	Summary Summary `json:"summary"`
	Files   []File  `json:"files"`
}

// Summary counts a record's changes. Truncated means that the record is incomplete.
type Summary struct {
	Created   int  `json:"created"`
	Modified  int  `json:"modified"`
	Deleted   int  `json:"deleted"`
	Linked    int  `json:"symlink_created"`
	Additions int  `json:"additions"`
	Deletions int  `json:"deletions"`
	Truncated bool `json:"truncated"`
}

// Files returns the number of files in a summary.
func (s Summary) Files() int { return s.Created + s.Modified + s.Deleted + s.Linked }

// File is a changed file. Sizes and hashes are nil for a missing file, hashes also for one too large to read.
type File struct {
	Path      string  `json:"path"` // virtual
	Root      string  `json:"root"` // workspace, outputs or project
	Status    Status  `json:"status"`
	Binary    bool    `json:"binary"`
	Sensitive bool    `json:"sensitive"`
	Symlink   bool    `json:"symlink"`
	Before    *int64  `json:"size_before"`
	After     *int64  `json:"size_after"`
	OldHash   *string `json:"sha256_before"`
	NewHash   *string `json:"sha256_after"`
	Additions int     `json:"additions"`
	Deletions int     `json:"deletions"`
	Why       *Reason `json:"diff_unavailable_reason"`
}

// Name returns the last part of the path.
func (f File) Name() string { return path.Base(f.Path) }
