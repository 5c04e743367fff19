package metrics

import (
	"sync"
	"unicode/utf8"
)

// Limits of a label: the number of its values, and their length.
const (
	maxNames = 200
	maxName  = 64
)

// Labels for missing names, and for names beyond the limit.
const (
	unnamed = "unknown"
	others  = "other"
)

// names are the values of a label. The zero value is ready.
type names struct {
	mu   sync.RWMutex
	seen map[string]bool
}

// bounded returns a name as the label may have it.
func (n *names) bounded(name string) string {
	if name == "" {
		return unnamed
	}
	if len(name) > maxName || !utf8.ValidString(name) {
		return others
	}
	n.mu.RLock()
	known := n.seen[name]
	n.mu.RUnlock()
	if known {
		return name
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.seen) >= maxNames && !n.seen[name] {
		return others
	}
	if n.seen == nil {
		n.seen = map[string]bool{}
	}
	n.seen[name] = true
	return name
}
