package clusterstate

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// Alone implements notes for a single server. The zero value is empty.
type Alone struct {
	mu    sync.Mutex
	notes map[string]Note
	heard []*func()
}

// Swap implements [Notes].
func (a *Alone) Swap(_ context.Context, take []string, leave ...Note) error {
	a.mu.Lock()
	for name, n := range a.notes {
		if !n.Until.After(time.Now()) && !slices.Contains(take, name) {
			delete(a.notes, name)
		}
	}
	if !a.fits(take, leave) {
		a.mu.Unlock()
		return ErrChanged
	}
	for _, name := range take {
		delete(a.notes, name)
	}
	if a.notes == nil {
		a.notes = map[string]Note{}
	}
	for _, n := range leave {
		a.notes[n.Name] = Note{Name: n.Name, Body: slices.Clone(n.Body), Until: n.Until}
	}
	heard := slices.Clone(a.heard)
	a.mu.Unlock()
	for _, f := range heard {
		(*f)()
	}
	return nil
}

// fits reports whether all notes to take exist and no name to write is in use. a.mu is held.
func (a *Alone) fits(take []string, leave []Note) bool {
	for _, name := range take {
		if _, ok := a.notes[name]; !ok {
			return false
		}
	}
	for _, n := range leave {
		if _, ok := a.notes[n.Name]; ok && !n.Over && !slices.Contains(take, n.Name) {
			return false
		}
	}
	return true
}

// Notes implements [Notes].
func (a *Alone) Notes(_ context.Context, prefix string) ([]Note, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []Note
	for name, n := range a.notes {
		if strings.HasPrefix(name, prefix) && n.Until.After(time.Now()) {
			n.Body = slices.Clone(n.Body)
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b Note) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// HearNotes implements [Notes].
func (a *Alone) HearNotes(f func()) (stop func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.heard = append(a.heard, &f)
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.heard = slices.DeleteFunc(a.heard, func(o *func()) bool { return o == &f })
	}
}

// Now implements [Notes].
func (a *Alone) Now() time.Time { return time.Now() }

// Self implements [Notes].
func (a *Alone) Self() int64 { return 0 }

// Servers implements [Notes].
func (a *Alone) Servers(context.Context) ([]int64, error) { return []int64{0}, nil }
