//go:build !unix

package successor

import (
	"errors"
	"net"
)

// Will is what is kept for a successor: nothing here.
type Will struct{}

// Keep says that this system can't execute a program in the place of another.
func Keep(string, []net.Listener) (*Will, error) { return nil, errors.ErrUnsupported }

// Drop has nothing to do.
func (*Will) Drop() error { return nil }

// Execute says that it isn't possible here.
func (*Will) Execute([]string) error { return errors.ErrUnsupported }

// Inherited is nil: nobody has kept anything.
func Inherited() (*Legacy, error) { return nil, nil }
