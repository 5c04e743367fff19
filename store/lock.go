package store

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// LockedError says that another process has the data folder.
type LockedError struct {
	Dir  string
	PID  int    // 0 when it could not be read
	Addr string // "" when the holder serves no address or it could not be read
}

// Error says who has the folder and what to do.
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

// dirLock is the hold on a data folder. The file stays, the hold is the system's.
type dirLock struct {
	f      *os.File
	folder string // an id of the folder, always the same, and another one for a copy of it
}

type lockHolder struct {
	PID    int    `json:"pid"`
	Addr   string `json:"addr"`
	Folder string `json:"folder,omitempty"`
	File   uint64 `json:"file,omitempty"` // number of this file in its file system, which a copy's is not
}

func lockDir(dir, addr string) (*dirLock, error) {
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
	if n := fileNumber(f); h.Folder == "" || h.File != n {
		h.Folder, h.File = rand.Text(), n
	}
	l := &dirLock{f, h.Folder}
	h.PID, h.Addr = os.Getpid(), addr
	b, err := json.Marshal(h)
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(append(b, '\n'), 0)
	}
	if err != nil {
		l.release()
		return nil, fmt.Errorf("lock data folder: %w", err)
	}
	return l, nil
}

// readHolder reads who has the lock, as far as it can be read.
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

func (l *dirLock) release() error {
	unlock(l.f)
	return l.f.Close()
}
