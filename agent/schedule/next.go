package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/adhocore/gronx"
)

// ErrSchedule means that a schedule or a time zone cannot be used.
var ErrSchedule = errors.New("invalid schedule")

// maxExpression limits the length of a schedule, in bytes.
const maxExpression = 256

// Check reads a schedule of exactly five fields (minute, hour, day of the month, month, day
// of the week) and returns it with single spaces, or ErrSchedule.
func Check(expr string) (string, error) {
	fields := strings.Fields(expr)
	expr = strings.Join(fields, " ")
	switch {
	case len(expr) > maxExpression:
		return "", fmt.Errorf("%w: a schedule has at most %d characters", ErrSchedule, maxExpression)
	case len(fields) != 5:
		return "", fmt.Errorf("%w: a schedule has exactly 5 fields (minute hour day month weekday), got %d",
			ErrSchedule, len(fields))
	case !gronx.IsValid(expr):
		return "", fmt.Errorf("%w: %q cannot be read", ErrSchedule, expr)
	case fields[2] != "*" && fields[3] != "*" && !comes(expr):
		return "", fmt.Errorf("%w: %q never occurs: none of its months has such a day", ErrSchedule, expr)
	}
	return expr, nil
}

// comes reports whether a date matches a schedule within the eight years from a leap year on.
func comes(expr string) bool {
	from := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	at, err := gronx.NextTickAfter(expr, from, true)
	return err == nil && at.Before(from.Add(horizon))
}

// Zone finds a time zone by its IANA name; "" is UTC. Errors are ErrSchedule.
func Zone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	if name == "Local" { // the machine's, which would change with the machine
		return nil, fmt.Errorf("%w: unknown time zone %q", ErrSchedule, name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%w: unknown time zone %.60q", ErrSchedule, name)
	}
	return loc, nil
}

// horizon limits the search for the next time: leap days are up to 8 years apart.
const horizon = 9 * 366 * 24 * time.Hour

// Next returns the first time after t at which a schedule is due by the clocks of loc, or false if there is none
// within nine years.
//
// Where clocks are put forward, times that are skipped become the moment of the change. Where they are put back, a time
// that comes twice counts the first time. Schedules whose hour begins with "*" mean intervals instead: skipped times
// don't occur, and repeated times count twice.
func Next(expr string, loc *time.Location, t time.Time) (time.Time, bool) {
	expr, err := Check(expr)
	if err != nil {
		return time.Time{}, false
	}
	hourly := strings.HasPrefix(strings.Fields(expr)[1], "*")
	end := t.Add(horizon)
	from, inclusive := t, false
	// Between two changes of the clocks, wall time is plain arithmetic: look in one such
	// stretch after the other.
	for from.Before(end) {
		_, until := from.In(loc).ZoneBounds()
		due, ok := tick(expr, wall(from, loc), inclusive)
		if !ok {
			return time.Time{}, false
		}
		// Times shown before the clocks went back were already due.
		if !hourly && inclusive {
			if shown := wall(from.Add(-time.Second), loc); !due.After(shown) {
				if due, ok = tick(expr, shown, false); !ok {
					return time.Time{}, false
				}
			}
		}
		at := from.Add(due.Sub(wall(from, loc)))
		if until.IsZero() || at.Before(until) {
			return at.UTC(), at.Before(end)
		}
		// due lies beyond the change: does the change skip it?
		if !hourly && due.Before(wall(until, loc)) {
			return until.UTC(), true
		}
		from, inclusive = until, true
	}
	return time.Time{}, false
}

// wall returns the wall-clock time in loc at t, as if it were UTC.
func wall(t time.Time, loc *time.Location) time.Time {
	t = t.In(loc)
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// tick returns the first due whole minute after t, or at t itself when inclusive.
func tick(expr string, t time.Time, inclusive bool) (time.Time, bool) {
	start := t.Truncate(time.Minute)
	if !start.Equal(t) { // within a minute only the next one can be due
		start, inclusive = start.Add(time.Minute), true
	}
	if !inclusive {
		start = start.Add(time.Minute)
	}
	at, err := gronx.NextTickAfter(expr, start, true)
	return at, err == nil && !at.Before(start)
}
