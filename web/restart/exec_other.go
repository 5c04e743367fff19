//go:build !unix

package restart

import (
	"errors"
	"net"
)

// Handover is empty: restarting is not supported here.
type Handover struct{}

// Prepare says that this system can't execute a program in the place of another.
func Prepare(string, []net.Listener) (*Handover, error) { return nil, errors.ErrUnsupported }

// Drop has nothing to do.
func (*Handover) Drop() error { return nil }

// Execute says that it isn't possible here.
func (*Handover) Execute([]string) error { return errors.ErrUnsupported }

// Inherited is nil: nobody has kept anything.
func Inherited() (*Sockets, error) { return nil, nil }
