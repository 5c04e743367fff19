package tasks

import (
	"context"
	"time"

	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/i18n"
)

// Page is the list of scheduled tasks with the form for a new one.
func Page(p views.TasksPage) templ.Component { return i18n.In(p.Shell.Lang, page(p)) }

func name(ctx context.Context, t views.Task) string {
	if t.Title != "" {
		return views.Safe(t.Title)
	}
	return i18n.C(ctx, "tasks.untitled")
}

func stateText(ctx context.Context, t views.Task) string {
	switch {
	case t.Paused:
		return i18n.C(ctx, "tasks.paused")
	case t.Next.IsZero():
		return i18n.C(ctx, "tasks.over")
	}
	return i18n.C(ctx, "tasks.on")
}

func nextText(ctx context.Context, t views.Task) string {
	if t.Paused || t.Next.IsZero() {
		return stateText(ctx, t)
	}
	return i18n.C(ctx, "tasks.next", moment(t.Next, zone(t)))
}

// zone is where the times of a task are told; one that is not known is UTC.
func zone(t views.Task) *time.Location {
	if loc, err := time.LoadLocation(t.Zone); err == nil {
		return loc
	}
	return time.UTC
}

func moment(at time.Time, loc *time.Location) string { return at.In(loc).Format("2006-01-02 15:04") }
