//go:build !unix

package systemd

import "net"

// Listeners returns no sockets: this system has no service manager that passes any.
func Listeners() ([]net.Listener, error) { return nil, nil }
