//go:build !unix

package web

import (
	"errors"
	"syscall"
)

// wsaeaddrinuse is Windows' number for an address that is taken.
const wsaeaddrinuse = syscall.Errno(10048)

func portTaken(err error) bool { return errors.Is(err, wsaeaddrinuse) }
