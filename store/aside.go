package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"fawn/store/folder"
	"fawn/store/sqlite"
)

// OpenCopy opens a copy of a read-only folder's database. The copy is in the temporary folder and is deleted by
// [DB.Close]. A folder used by another process returns a *LockedError.
func OpenCopy(ctx context.Context, cfg Config) (*DB, error) {
	release, err := folder.Share(cfg.Dir)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := sqlite.CheckPresent(cfg.Dir); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "fawn-copy-*")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{FileName, FileName + "-wal"} {
		err := copyFile(filepath.Join(dir, name), filepath.Join(cfg.Dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
	}
	cfg.Dir = dir
	db, err := Open(ctx, cfg)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	db.copied = true
	return db, nil
}

func copyFile(to, from string) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}
