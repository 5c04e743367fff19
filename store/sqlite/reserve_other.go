//go:build !linux

package sqlite

import (
	"errors"
	"os"
)

// allocate isn't known for this system: the file is written instead.
func allocate(*os.File, int64) error { return errors.ErrUnsupported }
