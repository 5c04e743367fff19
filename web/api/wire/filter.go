package wire

import (
	"slices"
	"strings"
)

// Filter selects the events for one reader of a thread.
type Filter struct {
	Channels   []string   `json:"channels"`
	Namespaces [][]string `json:"namespaces"`
	Depth      *int       `json:"depth"`
	Since      *int64     `json:"since"`
}

// wants reports whether events of a channel at a place in the tree are requested.
func (f *Filter) wants(channel string, ns []string) bool {
	group, _, _ := strings.Cut(channel, ":")
	if !slices.Contains(f.Channels, channel) && !slices.Contains(f.Channels, group) {
		return false
	}
	if len(f.Namespaces) == 0 {
		return true
	}
	return slices.ContainsFunc(f.Namespaces, func(prefix []string) bool {
		return below(ns, prefix) && (f.Depth == nil || len(ns)-len(prefix) <= *f.Depth)
	})
}

// below reports whether ns begins with prefix. A segment of the prefix without a colon also matches every segment of that
// name.
func below(ns, prefix []string) bool {
	if len(prefix) > len(ns) {
		return false
	}
	for i, want := range prefix {
		name, _, _ := strings.Cut(ns[i], ":")
		if ns[i] != want && (strings.Contains(want, ":") || name != want) {
			return false
		}
	}
	return true
}
