//go:build unix

package web

import (
	"errors"
	"syscall"
)

func portTaken(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }
