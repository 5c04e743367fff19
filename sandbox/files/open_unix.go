//go:build unix

package files

import "syscall"

const (
	// A pipe or terminal put in the place of a file must neither hang the
	// server nor become its terminal.
	readFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY
	dirFlags  = readFlags | syscall.O_DIRECTORY
)
