// Package folder locks a data folder for one process, and reports the process that has it.
//
// Begin with [Take]. The lock is the system's; the file lock names its holder, the folder, and whether the database file
// was open, so that a folder that was copied, or left by a killed process, is recognised. What else is in the folder
// belongs to its writers.
package folder

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// FileName is the name of the database in a data folder.
const FileName = "fawn.db"

// LockedError means that another process uses the data folder.
type LockedError struct {
	Dir  string
	PID  int    // 0 if unreadable
	Addr string // "" if the holder serves no address or it is unreadable
}

// Error names the holder of the folder and the remedy.
func (e *LockedError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	if e.Addr != "" {
		who += " serving " + e.Addr
	}
	return fmt.Sprintf("the data folder %s is in use by %s; stop it or choose another folder", e.Dir, who)
}

// Lock is the hold on a data folder. The file stays, the hold is the system's.
type Lock struct {
	f       *os.File
	Folder  string // id of the folder, stable but different for a copy of it
	Unclean bool   // the last user of the existing database file didn't close it
	holder  lockHolder
}

type lockHolder struct {
	PID    int    `json:"pid"`
	Addr   string `json:"addr"`
	Folder string `json:"folder,omitempty"`
	File   uint64 `json:"file,omitempty"` // file number in its file system, which differs for a copy
	Open   bool   `json:"open,omitempty"` // the database file is open, or was when its process ended
	DB     uint64 `json:"db,omitempty"`   // file number of the database, which differs for a replacement
}

// Take locks a folder, which exists, for this process that serves addr. A folder used by another process returns a
// *LockedError.
func Take(dir, addr string) (*Lock, error) {
	path := filepath.Join(dir, "lock")
	f, held, err := lockFile(path)
	if held {
		h := readHolder(path)
		return nil, &LockedError{Dir: dir, PID: h.PID, Addr: h.Addr}
	}
	if err != nil {
		return nil, fmt.Errorf("lock data folder: %w", err)
	}
	h := readHolder(path)
	db := databaseNumber(dir)
	if n := fileNumber(f); h.Folder == "" || h.File != n {
		h.Folder, h.File, h.DB = rand.Text(), n, db
	}
	h.PID, h.Addr = os.Getpid(), addr
	l := &Lock{f: f, Folder: h.Folder, Unclean: h.Open && h.DB == db, holder: h}
	if err := l.write(); err != nil {
		l.Release()
		return nil, fmt.Errorf("lock data folder: %w", err)
	}
	return l, nil
}

// write stores the holder of the lock.
func (l *Lock) write() error {
	b, err := json.Marshal(l.holder)
	if err == nil {
		err = l.f.Truncate(0)
	}
	if err == nil {
		_, err = l.f.WriteAt(append(b, '\n'), 0)
	}
	return err
}

// Mark records whether the database file of a folder is open.
func (l *Lock) Mark(dir string, open bool) error {
	l.holder.Open, l.holder.DB = open, databaseNumber(dir)
	return l.write()
}

// databaseNumber returns the file number of the database file, 0 if unknown. On Unix it doesn't open the file: closing it
// would end the locks that SQLite has on it in this process, and another process that reads the database meanwhile would
// delete the log at its end.
func databaseNumber(dir string) uint64 { return numberAt(filepath.Join(dir, FileName)) }

// readHolder reads the holder of the lock, as far as it is readable.
func readHolder(path string) (h lockHolder) {
	f, err := os.Open(path)
	if err != nil {
		return h
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil || json.Unmarshal(b, &h) != nil {
		return lockHolder{}
	}
	return h
}

// Release ends the lock.
func (l *Lock) Release() error {
	unlock(l.f)
	return l.f.Close()
}

// MarkClosed records that the database file of the folder was closed, if it was open.
func (l *Lock) MarkClosed(dir string) error {
	if !l.holder.Open {
		return nil
	}
	return l.Mark(dir, false)
}

// Hold locks a data folder without opening its database, until release. A folder used by another process returns a
// *LockedError.
func Hold(dir string) (release func() error, err error) {
	l, err := Take(dir, "")
	if err != nil {
		return nil, err
	}
	return l.Release, nil
}

// Holder returns the process that has a data folder, if one has.
func Holder(dir string) (*LockedError, error) {
	f, held, err := holdForReading(filepath.Join(dir, "lock"))
	switch {
	case held:
		h := readHolder(filepath.Join(dir, "lock"))
		return &LockedError{Dir: dir, PID: h.PID, Addr: h.Addr}, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return nil, f.Close()
}

// Share keeps others from using a folder that can't be written to, until release. A folder used by another process
// returns a *LockedError.
func Share(dir string) (release func(), err error) {
	f, held, err := holdForReading(filepath.Join(dir, "lock"))
	switch {
	case held:
		h := readHolder(filepath.Join(dir, "lock"))
		return nil, &LockedError{Dir: dir, PID: h.PID, Addr: h.Addr}
	case errors.Is(err, fs.ErrNotExist): // it was never used
		return func() {}, nil
	case err != nil:
		return nil, err
	}
	return func() { f.Close() }, nil
}
