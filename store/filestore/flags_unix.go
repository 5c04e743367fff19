//go:build unix

package filestore

import "syscall"

// A pipe put in the place of a file must not hang the server.
const readFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY | syscall.O_NOFOLLOW
