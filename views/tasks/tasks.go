package tasks

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/i18n"
	"fawn/views/part"
)

// Page renders the list of scheduled tasks with the form for a new one.
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

func nextText(ctx context.Context, t views.Task, now time.Time) string {
	if t.Paused || t.Next.IsZero() {
		return stateText(ctx, t)
	}
	return moment(ctx, now, t.Next, zone(t))
}

// chatName returns the display name of a chat app's chat.
func chatName(ctx context.Context, c views.TaskChat) string {
	switch {
	case c.Name == "":
		return part.AppName(ctx, c.App)
	case c.Group:
		return i18n.C(ctx, "tasks.deliver.group", part.AppName(ctx, c.App), views.Safe(c.Name))
	}
	return part.AppName(ctx, c.App) + " · " + views.Safe(c.Name)
}

// zone returns the time zone of a task; an unknown one is UTC.
func zone(t views.Task) *time.Location {
	if loc, err := time.LoadLocation(t.Zone); err == nil {
		return loc
	}
	return time.UTC
}

// moment formats a time for people: by weekday if near, else by date.
func moment(ctx context.Context, now, at time.Time, loc *time.Location) string {
	at, now = at.In(loc), now.In(loc)
	clock := at.Format("15:04")
	midnight := func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC) }
	switch days := int(midnight(at).Sub(midnight(now)) / (24 * time.Hour)); {
	case days == 0:
		return i18n.C(ctx, "tasks.today", clock)
	case days == 1:
		return i18n.C(ctx, "tasks.tomorrow", clock)
	case days == -1:
		return i18n.C(ctx, "tasks.yesterday", clock)
	case days > 1 && days < 7:
		return i18n.C(ctx, "tasks.on.day", i18n.C(ctx, "weekday."+strconv.Itoa(int(at.Weekday()))), clock)
	}
	return i18n.C(ctx, "tasks.on.day", at.Format("2006-01-02"), clock)
}

// scheduleText describes a schedule of the form's kinds; "" for others.
func scheduleText(ctx context.Context, cron string) string {
	f := strings.Fields(cron)
	if cron == "0 * * * *" {
		return i18n.C(ctx, "tasks.every.hour")
	}
	if len(f) != 5 || f[2] != "*" || f[3] != "*" {
		return ""
	}
	minute, err := strconv.Atoi(f[0])
	hour, wrong := strconv.Atoi(f[1])
	if err != nil || wrong != nil {
		return ""
	}
	when := ""
	switch {
	case f[4] == "*":
		when = i18n.C(ctx, "tasks.every.day")
	case f[4] == "1-5":
		when = i18n.C(ctx, "tasks.every.weekday")
	case slices.Contains(views.Weekdays(), f[4]):
		when = i18n.C(ctx, "tasks.weekly", i18n.C(ctx, "weekday."+f[4]))
	default:
		return ""
	}
	return i18n.C(ctx, "tasks.on.day", when, fmt.Sprintf("%02d:%02d", hour, minute))
}

// zones returns the selectable time zones, including own. A script adds the browser's.
func zones(own string) []string {
	list := []string{"UTC", "Africa/Cairo", "Africa/Johannesburg", "Africa/Lagos", "Africa/Nairobi",
		"America/Anchorage", "America/Bogota",
		"America/Buenos_Aires", "America/Chicago", "America/Denver", "America/Halifax", "America/Los_Angeles",
		"America/Mexico_City",
		"America/New_York", "America/Sao_Paulo", "America/Toronto", "Asia/Bangkok", "Asia/Dhaka", "Asia/Dubai",
		"Asia/Hong_Kong", "Asia/Jakarta",
		"Asia/Karachi", "Asia/Kolkata", "Asia/Manila", "Asia/Riyadh", "Asia/Seoul", "Asia/Shanghai", "Asia/Singapore",
		"Asia/Taipei", "Asia/Tehran",
		"Asia/Tokyo", "Australia/Brisbane", "Australia/Perth", "Australia/Sydney", "Europe/Amsterdam", "Europe/Athens",
		"Europe/Berlin",
		"Europe/Istanbul", "Europe/Lisbon", "Europe/London", "Europe/Madrid", "Europe/Moscow", "Europe/Paris",
		"Europe/Rome", "Europe/Stockholm",
		"Europe/Warsaw", "Europe/Zurich", "Pacific/Auckland", "Pacific/Honolulu"}
	if own != "" && !slices.Contains(list, own) {
		list = append([]string{own}, list...)
	}
	return list
}

func formURL(f views.TaskForm) templ.SafeURL {
	if f.ID == "" {
		return templ.SafeURL(views.TasksActionURL)
	}
	return templ.SafeURL(views.TaskActionURL(f.ID, "edit"))
}

// times returns the offered repetitions. A single task stays single, and a repeated one repeated.
func times(f views.TaskForm) []string {
	if f.ID == "" {
		return views.TaskTimes()
	}
	return slices.DeleteFunc(views.TaskTimes(), func(every string) bool { return (every == "once") != (f.Every == "once") })
}
