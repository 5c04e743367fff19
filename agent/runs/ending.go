package runs

import (
	"fawn/store"
)

// Ending is what somebody wants stored in the commit that ends a run, and what to call after
// that commit.
type Ending func(run string) (list []store.KV, stored func())

// ending is what is wanted stored with the end of a run. The caller calls stored after that.
func (m *Manager) ending(run string) (list []store.KV, stored func()) {
	if m.atEnd == nil {
		return nil, func() {}
	}
	return m.atEnd(run)
}
