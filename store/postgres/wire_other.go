//go:build !linux

package postgres

import "syscall"

// limitWire does nothing: keep-alives and the lease end a broken connection.
func limitWire(string, string, syscall.RawConn) error { return nil }
