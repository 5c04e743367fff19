package profile

import (
	"fmt"
	"strings"
)

// Remove deletes an owner's agents, profile and folder.
func (l *Library) Remove(owner string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var gone []string
	for _, unit := range l.units() {
		for _, at := range append(l.shelves(owner), l.userFile(owner), home(owner)) {
			if unit == at || strings.HasPrefix(unit, at+"/") {
				gone = append(gone, unit)
				break
			}
		}
	}
	for _, at := range append(l.shelves(owner), l.userFile(owner), home(owner)) {
		if err := l.root.RemoveAll(at); err != nil {
			return fmt.Errorf("delete the folder of a user: %w", err)
		}
	}
	return l.changed(gone...)
}
