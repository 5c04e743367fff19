//go:build !linux

package files

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
)

// FreeSpace returns false: it is unknown on this system.
func FreeSpace(string) (int64, bool) { return 0, false }

func diskUsage(ctx context.Context, dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}
