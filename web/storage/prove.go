package storage

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fawn/sandbox/files"
	"fawn/store"
)

const (
	markName  = ".fawn-files" // identifies a shared folder
	markTime  = 2 * time.Second
	markSpace = "files"
	markKey   = "folder"
)

// Prove checks that a shared folder has the properties that servers rely on, and belongs to this database. It does
// nothing if the threads' files are in the data folder.
func Prove(ctx context.Context, db *store.DB, d files.Dirs) error {
	if d.Shared == "" {
		return nil
	}
	if err := left(d); err != nil {
		return err
	}
	if err := try(d.Shared); err != nil {
		return fmt.Errorf("files.dir %s cannot be used: %w", d.Shared, err)
	}
	stored, err := db.KV(ctx, "", markSpace, markKey)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	there, err := mark(d.Shared, len(stored) == 0)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && len(stored) > 0 && there != string(stored):
		return fmt.Errorf("files.dir %s is not the folder that has the files of this database: mount that one. A copy "+
			"of it is good as well, if it has %s", d.Shared, markName)
	case err != nil:
		return fmt.Errorf("files.dir %s cannot be used: %w", d.Shared, err)
	case len(stored) == 0:
		return db.Commit(ctx, store.Batch{KV: []store.KV{{Space: markSpace, Key: markKey, Body: []byte(there)}}})
	}
	return nil
}

// left refuses to leave files after that were in the data folder so far.
func left(d files.Dirs) error {
	own := files.Dirs{Root: d.Root}
	return own.Threads(func(thread string) error {
		if strings.HasPrefix(thread, "probe-") { // of a sandbox that was tried out
			return nil
		}
		return fmt.Errorf("the files of threads are in %s: move that folder into files.dir, %s",
			filepath.Join(d.Root, "threads"), d.Shared)
	})
}

// mark reads the identity of the folder. With anew, a folder without one gets one.
func mark(dir string, anew bool) (string, error) {
	name := filepath.Join(dir, markName)
	if anew {
		id := rand.Text()
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			_, err = f.WriteString(id)
			return id, errors.Join(err, f.Sync(), f.Close())
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) { // another server may be writing it
		b, err := os.ReadFile(name)
		if err != nil || len(b) == len(rand.Text()) {
			return string(b), err
		}
		if time.Since(began) > markTime {
			return "", fmt.Errorf("the content of %s isn't what was written", name)
		}
	}
}

// try performs the operations on threads' files in a folder.
func try(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "threads"), 0o700); err != nil {
		return err
	}
	probe, err := os.MkdirTemp(dir, ".probe-*")
	if err != nil {
		return err
	}
	return errors.Join(tryIn(probe), os.RemoveAll(probe))
}

func tryIn(dir string) error {
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	for _, name := range []string{one, two} {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = f.WriteString(name)
		if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	if f, err := os.OpenFile(two, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		return errors.Join(errors.New("a file can be made twice (O_EXCL)"), f.Close())
	}
	open, err := os.Open(two)
	if err != nil {
		return err
	}
	defer open.Close()
	if err := os.Rename(one, two); err != nil {
		return fmt.Errorf("a file can't replace another: %w", err)
	}
	b, err := os.ReadFile(two)
	if err != nil {
		return err
	}
	if _, err := os.Stat(one); !errors.Is(err, fs.ErrNotExist) || !bytes.Equal(b, []byte(one)) {
		return errors.New("a file that replaces another isn't visible at once (rename)")
	}
	was := make([]byte, len(two))
	if n, err := open.Read(was); err != nil || string(was[:n]) != two {
		return errors.New("an open file changes when another one replaces it")
	}
	return owned(two)
}
