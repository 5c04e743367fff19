//go:build !linux

package load

import "context"

// sandboxes measures nothing: namespaces exist on Linux only.
func (b *bench) sandboxes(context.Context) error { return nil }
