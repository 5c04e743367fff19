package ui

import (
	"fawn/store"
)

// delayed returns a run that waits for its time.
func (u *UI) delayed(thread, run string) (store.Run, bool) {
	for _, d := range u.Runs.Delayed(thread) {
		if d.Run.ID == run {
			return d.Run, true
		}
	}
	return store.Run{}, false
}
