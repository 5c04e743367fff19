package sqlite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fawn/store/folder"
)

// DamagedError means that the database file can't be opened. It is left unchanged.
type DamagedError struct {
	Path   string
	Backup string    // the newest copy or backup next to it, "" for none
	At     time.Time // time of the copy
	Err    error
}

// Error reports how the file is damaged and how to repair it.
func (e *DamagedError) Error() string {
	kept := "It is left as it is"
	if errors.Is(e.Err, errMissing) {
		kept = "Nothing was changed"
	}
	return fmt.Sprintf("the database %s cannot be opened: %v. %s. `fawn fsck --data %s` looks into it. %s",
		e.Path, e.Err, kept, filepath.Dir(e.Path), e.Remedy())
}

// Remedy reports how to go back to the newest copy.
func (e *DamagedError) Remedy() string {
	if e.Backup == "" {
		return "There is no copy next to it; restore one from your backups"
	}
	when := e.At.Format("2006-01-02 15:04")
	if filepath.Ext(e.Backup) == ".gz" {
		return fmt.Sprintf("The last backup is %s of %s: to go back to it, run `fawn restore %[1]s --force --data %[3]s`, "+
			"which keeps what is there", e.Backup, when, filepath.Dir(e.Path))
	}
	return fmt.Sprintf("The last copy is %s of %s: to go back to it, "+
		"move %[3]s, %[3]s-wal and %[3]s-shm away and copy it to %[3]s",
		e.Backup, when, filepath.Base(e.Path))
}

// Unwrap returns the cause.
func (e *DamagedError) Unwrap() error { return e.Err }

// errEmpty means that the database is an empty file although threads have files.
var errEmpty = errors.New("the file is empty although thread folders exist beside it; " +
	"it was probably truncated or replaced. " +
	"To start over, move the folder threads away")

// errMissing means that the database is missing although threads have files.
var errMissing = errors.New("the file is missing although thread folders exist beside it; " +
	"it was probably deleted or moved. " +
	"To start over, move the folder threads away")

// CheckPresent refuses to create a new database in a data folder that had one.
func CheckPresent(dir string) error {
	info, err := os.Stat(filepath.Join(dir, folder.FileName))
	lost := errEmpty
	switch {
	case errors.Is(err, fs.ErrNotExist):
		lost = errMissing
	case err != nil || info.Size() > 0:
		return nil // opening it reports the error
	}
	used, err := hasThreads(dir)
	if err == nil && used {
		err = damaged(dir, lost)
	}
	return err
}

// damaged adds advice to an error of opening the database. Other failures, such as a too new schema or a missing
// permission, explain themselves.
func damaged(dir string, err error) error {
	switch code(err) {
	case codeCorrupt, codeNotADB, codeCantOpen, codeIOErr:
	default:
		if !errors.Is(err, errEmpty) && !errors.Is(err, errMissing) && !errors.Is(err, errLog) {
			return err
		}
	}
	d := &DamagedError{Path: filepath.Join(dir, folder.FileName), Err: err}
	var copies []string
	for _, pattern := range []string{"fawn-*.db", "fawn-*.tar.gz", filepath.Join("backups", "fawn-*.tar.gz")} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return d
		}
		copies = append(copies, found...)
	}
	for _, path := range copies {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() > 0 &&
			info.ModTime().After(d.At) {
			d.Backup, d.At = path, info.ModTime()
		}
	}
	return d
}

// probePrefix begins the names of temporary threads for testing the sandbox. A crash leaves their folders behind.
const probePrefix = "probe-"

// hasThreads reports whether threads have files in a data folder.
func hasThreads(dir string) (bool, error) {
	f, err := os.Open(filepath.Join(dir, "threads"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	for {
		names, err := f.Readdirnames(64)
		for _, name := range names {
			if !strings.HasPrefix(name, probePrefix) {
				return true, nil
			}
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
}
