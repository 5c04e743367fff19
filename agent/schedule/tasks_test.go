package schedule_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/schedule"
	"fawn/store"
)

func TestTasksAreRefusedByPart(t *testing.T) {
	w, _ := open(t, t.TempDir(), says())
	tasks := schedule.NewTasks(schedule.TasksConfig{DB: w.db, Scheduler: w.s,
		Rules: func() schedule.Rules { return schedule.Rules{MinOnceDelay: time.Minute, MaxPrompt: 10} }})
	at := func(d time.Duration) func(*time.Location) (time.Time, error) {
		return func(*time.Location) (time.Time, error) { return begin.Add(d), nil }
	}
	for _, c := range []struct {
		name, kind string
		edit       schedule.Edit
		part       string
		reason     error
	}{
		{"a kind", "weekly", schedule.Edit{}, schedule.PartKind, schedule.ErrKind},
		{"an empty title", store.CronRepeats, schedule.Edit{Title: new(" ")}, schedule.PartTitle, schedule.ErrLength},
		{"a long title", store.CronRepeats, schedule.Edit{Title: new(strings.Repeat("x", 257))}, schedule.PartTitle,
			schedule.ErrLength},
		{"a long prompt", store.CronRepeats, schedule.Edit{Prompt: new("eleven char")}, schedule.PartPrompt,
			schedule.ErrLength},
		{"a zone", store.CronRepeats, schedule.Edit{Timezone: new("Mars")}, schedule.PartZone, schedule.ErrSchedule},
		{"no schedule", store.CronRepeats, schedule.Edit{}, schedule.PartSchedule, schedule.ErrSchedule},
		{"a schedule for once", store.CronOnce, schedule.Edit{Schedule: new("* * * * *")}, schedule.PartSchedule,
			schedule.ErrSingle},
		{"past", store.CronOnce, schedule.Edit{Once: at(0)}, schedule.PartOnce, schedule.ErrPast},
		{"soon", store.CronOnce, schedule.Edit{Once: at(59 * time.Second)}, schedule.PartOnce, schedule.ErrSoon},
		{"a thread", store.CronRepeats, schedule.Edit{Thread: new("nope")}, schedule.PartThread, store.ErrNotFound},
		{"a chat", store.CronRepeats, schedule.Edit{Deliver: new("{}")}, schedule.PartDeliver, store.ErrNotFound},
		{"what follows", store.CronRepeats, schedule.Edit{After: new("burn")}, schedule.PartAfter, schedule.ErrAfter},
	} {
		_, err := tasks.Create(t.Context(), "ann", schedule.Task(c.kind), c.edit)
		var r *schedule.Refusal
		if !errors.As(err, &r) || r.Part != c.part || !errors.Is(err, c.reason) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	once, err := tasks.Create(t.Context(), "ann", schedule.Task(store.CronOnce),
		schedule.Edit{Title: new("T"), Prompt: new("P"), Once: at(time.Minute), NewThread: true})
	if err != nil || !once.NextAt.Equal(begin.Add(time.Minute)) {
		t.Fatal(once, err)
	}
	if th, err := w.db.ThreadOf(t.Context(), "ann", once.Thread); err != nil || th.Title != "T" {
		t.Error("the thread of all its runs:", th, err)
	}
	if _, err := tasks.Pause(t.Context(), "eve", once.ID); !errors.Is(err, store.ErrNotFound) {
		t.Error("somebody else pauses it:", err)
	}
	if c, err := tasks.Pause(t.Context(), "ann", once.ID); err != nil || c.Enabled || !c.NextAt.IsZero() {
		t.Error(c, err)
	}
	w.set(begin.Add(time.Hour))
	if _, err := tasks.Resume(t.Context(), "ann", once.ID); !errors.Is(err, schedule.ErrPast) {
		t.Error("resumed after its time:", err)
	}
	if err := tasks.Delete(t.Context(), "eve", once.ID); !errors.Is(err, store.ErrNotFound) {
		t.Error("somebody else deletes it:", err)
	}
	must.Report(t, tasks.Delete(t.Context(), "ann", once.ID))
}

// TestARenamedTaskKeepsItsTime: one that is due and waits for its turn isn't put off by a change of its title.
func TestARenamedTaskKeepsItsTime(t *testing.T) {
	w, _ := open(t, t.TempDir(), says())
	tasks := schedule.NewTasks(schedule.TasksConfig{DB: w.db, Scheduler: w.s})
	c := must.Get(tasks.Create(t.Context(), "ann", schedule.Task(store.CronRepeats),
		schedule.Edit{Title: new("T"), Prompt: new("P"), Schedule: new("0 * * * *")}))(t)
	w.set(begin.Add(90 * time.Minute))
	if now, err := tasks.Change(t.Context(), "ann", c.ID, schedule.Edit{Title: new("U")}); err != nil ||
		!now.NextAt.Equal(c.NextAt) || now.Title != "U" {
		t.Error(now, err)
	}
}
