//go:build !unix

package restart

import (
	"errors"
	"net"
)

// Handover is empty: restarting is not supported here.
type Handover struct{}

// Prepare reports that this system can't replace a process's program.
func Prepare(string, []net.Listener) (*Handover, error) { return nil, errors.ErrUnsupported }

// Drop does nothing.
func (*Handover) Drop() error { return nil }

// Execute reports that it isn't possible here.
func (*Handover) Execute([]string) error { return errors.ErrUnsupported }

// Inherited returns nil: nothing was inherited.
func Inherited() (*Sockets, error) { return nil, nil }
