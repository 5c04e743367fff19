package schedule

import (
	"time"

	"fawn/store"
)

// grace is the delay up to which a start is on time: the clock is polled, and other runs may be ahead.
const grace = 2 * time.Minute

// maxMissed limits how far back missed times are counted.
const maxMissed = 1000

// Missed reports how late a scheduled start was, and how many due times before it had no start: one start makes up for
// all.
func Missed(c store.Cron, r store.CronRun) (late time.Duration, times int) {
	if late = r.StartedAt.Sub(r.DueAt); r.Trigger != Scheduled || r.StartedAt.IsZero() || late < grace {
		return 0, 0
	}
	loc, err := Zone(c.Timezone)
	if err != nil || c.Kind != store.CronRepeats {
		return late, 0
	}
	for at := r.DueAt; times < maxMissed; times++ {
		next, ok := Next(c.Schedule, loc, at)
		if !ok || next.After(r.StartedAt) {
			break
		}
		at = next
	}
	return late, times
}
