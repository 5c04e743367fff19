//go:build !linux

package files

import (
	"io/fs"
	"time"
)

// identity returns the only available attribute on other systems: the time of the last content change.
func identity(info fs.FileInfo) (inode uint64, changed time.Time) { return 0, info.ModTime() }
