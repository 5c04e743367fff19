//go:build !linux

package load

import "context"

// sandboxes has nothing to measure: namespaces are Linux's.
func (b *bench) sandboxes(context.Context) error { return nil }
