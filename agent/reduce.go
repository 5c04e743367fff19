package agent

import (
	"fmt"
	"maps"
	"slices"
)

// last keeps old unless the patch writes.
func last[T any](old, patch *T) *T {
	if patch == nil {
		return old
	}
	return patch
}

func lastSlice[T any](old, patch []T) []T {
	if patch == nil {
		return old
	}
	return patch
}

// union concatenates without duplicates; an empty patch clears.
func union(old, patch []string) []string {
	if patch == nil {
		return old
	}
	if len(patch) == 0 {
		return []string{}
	}
	out := slices.Clone(old)
	for _, v := range patch {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// mergeOrClear merges key by key, new wins; an empty patch clears.
func mergeOrClear[V any](old, patch map[string]V) map[string]V {
	if patch == nil {
		return old
	}
	if len(patch) == 0 {
		return map[string]V{}
	}
	out := maps.Clone(old)
	if out == nil {
		out = make(map[string]V, len(patch))
	}
	maps.Copy(out, patch)
	return out
}

// byKey moves rewritten entries to the end and keeps the newest limit ones; of entries with the same key the last one
// counts. An empty list clears.
func byKey[T any](old, patch []T, limit int, key func(T) string) []T {
	if patch == nil {
		return old
	}
	if len(patch) == 0 {
		return []T{}
	}
	all, at := slices.Concat(old, patch), make(map[string]int, len(old)+len(patch))
	for i, v := range all {
		at[key(v)] = i
	}
	out := make([]T, 0, len(at))
	for i, v := range all {
		if at[key(v)] == i {
			out = append(out, v)
		}
	}
	return out[max(0, len(out)-limit):]
}

// sameSandbox refuses a second sandbox for a thread: files would silently move.
func sameSandbox(old, patch *SandboxRef) error {
	if old == nil || patch == nil || old.ID == "" || patch.ID == "" || old.ID == patch.ID {
		return nil
	}
	return fmt.Errorf("sandbox %s to %s: %w", old.ID, patch.ID, ErrSandboxChanged)
}

// keepSandbox writes the first sandbox; an empty patch never forgets it.
func keepSandbox(old, patch *SandboxRef) *SandboxRef {
	if patch == nil || patch.ID == "" && old != nil {
		return old
	}
	return patch
}

// promote unites names of the same catalogue and starts over with another one.
func promote(old, patch *Promoted) *Promoted {
	if patch == nil || (patch.Catalog == "" && len(patch.Names) == 0) {
		return old
	}
	if old == nil || old.Catalog != patch.Catalog {
		return patch
	}
	if len(patch.Names) == 0 {
		return old
	}
	return &Promoted{Catalog: old.Catalog, Names: union(old.Names, patch.Names)}
}

// delegate merges by id: the newest entry wins, except that a finished one stays finished; order, creation time and run
// stay those of the first entry. An empty list clears.
func delegate(old, patch []Delegation) []Delegation {
	if patch == nil {
		return old
	}
	if len(patch) == 0 {
		return []Delegation{}
	}
	out := slices.Clone(old)
	for _, p := range patch {
		i := slices.IndexFunc(out, func(o Delegation) bool { return o.ID == p.ID })
		if i < 0 {
			out = append(out, p)
			continue
		}
		if out[i].Done() && !p.Done() {
			continue
		}
		p.CreatedAt, p.RunID = out[i].CreatedAt, out[i].RunID
		out[i] = p
	}
	return out[max(0, len(out)-MaxDelegations):]
}

// addNotes appends notes with new ids and replaces known ones; an empty list clears.
func addNotes(old, patch []Note) []Note {
	if patch == nil {
		return old
	}
	if len(patch) == 0 {
		return []Note{}
	}
	out := slices.Clone(old)
	for _, p := range patch {
		if i := slices.IndexFunc(out, func(o Note) bool { return o.ID == p.ID }); i >= 0 {
			out[i] = p
			continue
		}
		out = append(out, p)
	}
	return out
}
