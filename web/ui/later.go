package ui

import (
	"context"
	"time"

	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/ui/input"
)

// later are the runs of a thread that wait for their time.
func (u *UI) later(thread string) []views.Later {
	var out []views.Later
	for _, d := range u.Runs.Delayed(thread) {
		out = append(out, views.Later{Run: d.Run.ID, Text: input.Text(d.Run), At: d.At})
	}
	return out
}

// putLater brings up to date on a page what waits for its time.
func (u *UI) putLater(ctx context.Context, f *views.Frame, thread string) error {
	return f.Put(ctx, views.SwapOuter, "later", chat.Later(thread, u.later(thread), time.Now()))
}

// delayed is a run that waits for its time.
func (u *UI) delayed(thread, run string) (store.Run, bool) {
	for _, d := range u.Runs.Delayed(thread) {
		if d.Run.ID == run {
			return d.Run, true
		}
	}
	return store.Run{}, false
}
