package schedule_test

import (
	"testing"
	"time"

	"fawn/agent/schedule"
	"fawn/store"
)

func TestALateStartSaysWhatItMissed(t *testing.T) {
	due := time.Date(2025, 3, 3, 8, 0, 0, 0, time.UTC)
	hourly := store.Cron{Kind: store.CronRepeats, Schedule: "0 * * * *"}
	for _, c := range []struct {
		name    string
		cron    store.Cron
		trigger string
		after   time.Duration
		late    bool
		times   int
	}{
		{"on time", hourly, schedule.Scheduled, 7 * time.Second, false, 0},
		{"late", hourly, schedule.Scheduled, 10 * time.Minute, true, 0},
		{"after a downtime", hourly, schedule.Scheduled, 5*time.Hour + time.Minute, true, 5},
		{"after years", hourly, schedule.Scheduled, 20000 * time.Hour, true, 1000},
		{"by hand", hourly, schedule.Manual, 5 * time.Hour, false, 0},
		{"once", store.Cron{Kind: store.CronOnce}, schedule.Scheduled, 5 * time.Hour, true, 0},
	} {
		late, times := schedule.Missed(c.cron,
			store.CronRun{Trigger: c.trigger, DueAt: due, StartedAt: due.Add(c.after)})
		if late > 0 != c.late || times != c.times {
			t.Errorf("%s: %v late, %d missed", c.name, late, times)
		}
	}
	if late, times := schedule.Missed(hourly, store.CronRun{Trigger: schedule.Scheduled, DueAt: due}); late != 0 ||
		times != 0 {
		t.Error("what never started is not late")
	}
}
