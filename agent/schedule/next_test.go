package schedule_test

import (
	"errors"
	"testing"
	"time"
	_ "time/tzdata"

	"fawn/agent/agenttest/must"
	"fawn/agent/schedule"
)

func TestNextFollowsTheClocksOfTheZone(t *testing.T) {
	for _, c := range []struct{ name, expr, zone, after, want string }{
		{"next minute", "* * * * *", "", "2026-03-01T10:00:00Z", "2026-03-01T10:01:00Z"},
		{"within a minute", "* * * * *", "", "2026-03-01T10:00:30.5Z", "2026-03-01T10:01:00Z"},
		{"not the minute itself", "0 10 * * *", "", "2026-03-01T10:00:00Z", "2026-03-02T10:00:00Z"},
		{"the minute before", "0 10 * * *", "", "2026-03-01T09:59:59.999Z", "2026-03-01T10:00:00Z"},
		{"every five minutes", "*/5 * * * *", "", "2026-03-01T10:01:00Z", "2026-03-01T10:05:00Z"},
		{"weekdays", "30 9 * * 1-5", "", "2026-03-06T10:00:00Z", "2026-03-09T09:30:00Z"},
		{"leap day", "0 0 29 2 *", "", "2026-03-01T00:00:00Z", "2028-02-29T00:00:00Z"},
		{"the 31st", "0 0 31 * *", "", "2026-04-01T00:00:00Z", "2026-05-31T00:00:00Z"},
		{"a zone", "0 9 * * *", "Asia/Shanghai", "2026-03-01T00:30:00Z", "2026-03-01T01:00:00Z"},
		{"a zone with half an hour", "0 9 * * *", "Asia/Kolkata", "2026-03-01T00:00:00Z", "2026-03-01T03:30:00Z"},
		{"across a change", "0 9 * * *", "Europe/Berlin", "2026-03-28T08:00:00Z", "2026-03-29T07:00:00Z"},
		// Berlin: 2026-03-29 02:00 becomes 03:00, 2026-10-25 03:00 becomes 02:00.
		{"a skipped time is at the change", "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"},
		{"only once", "30 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"},
		{"every ten minutes of a skipped hour is once", "*/10 2 * * *", "Europe/Berlin", "2026-03-29T00:59:00Z", "2026-03-29T01:00:00Z"},
		{"hourly skips what is not there", "30 * * * *", "Europe/Berlin", "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"},
		{"every other hour skips it too", "0 */2 * * *", "Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-29T02:00:00Z"},
		{"the change itself", "0 3 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z"},
		{"a time that comes twice is the first", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"},
		{"not again", "30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		{"hourly comes twice", "30 * * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
		{"and goes on", "30 * * * *", "Europe/Berlin", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z"},
		{"the hour after the change back", "0 3 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T02:00:00Z"},
		{"two o'clock is not three", "0 2 * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-26T01:00:00Z"},
		{"half an hour back", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"},
		{"a day that is skipped", "0 12 30 12 *", "Pacific/Apia", "2011-12-29T12:00:00Z", "2011-12-30T10:00:00Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			loc := must.Get(schedule.Zone(c.zone))(t)
			after := must.Get(time.Parse(time.RFC3339Nano, c.after))(t)
			got, ok := schedule.Next(c.expr, loc, after)
			if !ok || got.Format(time.RFC3339) != c.want {
				t.Errorf("%s after %s in %s: %s %v, want %s", c.expr, c.after, c.zone, got.Format(time.RFC3339),
					ok, c.want)
			}
		})
	}
	if at, ok := schedule.Next("0 0 30 2 *", time.UTC, time.Now()); ok {
		t.Errorf("the 30th of February: %s", at)
	}
}

func TestSchedulesAndZonesAreChecked(t *testing.T) {
	if got, err := schedule.Check("  0   9 * *  1 "); err != nil || got != "0 9 * * 1" {
		t.Errorf("%q %v", got, err)
	}
	for _, bad := range []string{"", "* * * *", "* * * * * *", "@daily", "60 * * * *", "* 24 * * *", "x * * * *",
		"*/0 * * * *", "5-1 * * * *", "* * 32 * *", "0 9 31 2 *", "0 0 30 2 *", "0 0 30,31 2 *",
		"0 0 31 4 *", "0 0 31 6 *", "0 0 31 9,11 *", "0 0 31 2,4,6,9,11 *", "*/5 * 31 apr *", "0 0 30-31 2 *", "0 12 31 11 *", string(make([]byte, 400))} {
		if _, err := schedule.Check(bad); !errors.Is(err, schedule.ErrSchedule) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, good := range []string{"0 0 29 2 *", "0 0 31 1,2 *", "0 0 30,31 4 *", "0 0 */2 2 *", "0 0 28-31 2 *"} {
		if _, err := schedule.Check(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"Local", "Mars/Olympus", "../etc/passwd", "/etc/localtime"} {
		if _, err := schedule.Zone(bad); !errors.Is(err, schedule.ErrSchedule) {
			t.Errorf("zone %q: %v", bad, err)
		}
	}
}

func FuzzNext(f *testing.F) {
	f.Add("30 2 * * *", "Europe/Berlin", int64(1774700000))
	f.Add("*/7 */3 1,15 * 1-5", "America/New_York", int64(1793000000))
	f.Add("0 0 29 2 *", "Australia/Lord_Howe", int64(0))
	f.Fuzz(func(t *testing.T, expr, zone string, sec int64) {
		loc, err := schedule.Zone(zone)
		if err != nil || sec < 0 || sec > 4e9 {
			return
		}
		after := time.Unix(sec, 0)
		at, ok := schedule.Next(expr, loc, after)
		if ok && !at.After(after) {
			t.Errorf("%q in %s after %s is %s", expr, zone, after, at)
		}
	})
}
