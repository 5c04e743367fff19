package runs

import (
	"fawn/store"
)

// Ending returns rows to store in the commit that ends a run, and a function to call after it.
type Ending func(run string) (list []store.KV, stored func())

// ending collects the rows to store with the end of a run. The caller calls stored after that.
func (m *Manager) ending(run string) (list []store.KV, stored func()) {
	if m.atEnd == nil {
		return nil, func() {}
	}
	return m.atEnd(run)
}
