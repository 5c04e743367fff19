package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/agent/runs/request"
	"fawn/store"
)

// Parts of a task that an [Edit] can get wrong.
const (
	PartKind      = "kind"
	PartTitle     = "title"
	PartPrompt    = "prompt"
	PartAssistant = "assistant"
	PartThread    = "thread"
	PartSchedule  = "schedule"
	PartZone      = "zone"
	PartOnce      = "once" // the time of a task that runs once
	PartAfter     = "after"
	PartDeliver   = "deliver"
)

// Reasons of a [Refusal].
var (
	ErrKind    = errors.New("a task repeats or runs once")
	ErrLength  = errors.New("the text is empty or too long")
	ErrSingle  = errors.New("this one has a single time; change it as a scheduled task")
	ErrPast    = errors.New("the time has passed")
	ErrSoon    = errors.New("the time is too soon")
	ErrAfter   = errors.New("want keep or delete")
	ErrDeleted = errors.New("threads that are deleted after their run have no result to send")
)

// ErrOff means that no scheduler runs in this process.
var ErrOff = errors.New("scheduling isn't available here")

// MaxTitle limits the title of a task, in bytes.
const MaxTitle = 256

// Refusal names the part of a task that cannot be accepted. Err is one of the reasons above, [ErrSchedule], or
// store.ErrNotFound for an assistant, a thread or a chat that the owner cannot use.
type Refusal struct {
	Part  string
	Err   error
	Limit int64 // limit of ErrLength in bytes, of ErrSoon in seconds
}

func (r *Refusal) Error() string { return r.Part + ": " + r.Err.Error() }

// Unwrap returns the reason.
func (r *Refusal) Unwrap() error { return r.Err }

// Rules are the limits of tasks that the configuration sets.
type Rules struct {
	MinOnceDelay time.Duration // least time ahead of a task that runs once
	MaxPrompt    int64         // bytes
}

// TasksConfig are the parts of Tasks.
type TasksConfig struct {
	DB        *store.DB
	Scheduler *Scheduler // nil stores tasks and starts none
	Rules     func() Rules
	// Assistant finds an assistant of owner by name or id and returns its id, or store.ErrNotFound.
	Assistant func(ctx context.Context, owner, name string) (id string, err error)
	// Chat returns the stored form of a chat that owner may send results to, or store.ErrNotFound. nil finds none.
	Chat func(ctx context.Context, owner, chat string) (stored string, err error)
}

// Tasks creates, changes, pauses, starts and deletes crons. It holds all their rules: the gateway, LangGraph's crons
// and the page only parse requests and word the responses.
//
// A scheduled task can't be changed during its run: Change, Pause, Resume and Delete return [ErrBusy]. Crons of
// LangGraph's API may overlap with themselves, and can be changed and deleted at any time.
type Tasks struct{ cfg TasksConfig }

// NewTasks returns Tasks.
func NewTasks(cfg TasksConfig) *Tasks { return &Tasks{cfg} }

// Task returns a new scheduled task: it keeps its threads, and its runs do not overlap. kind is store.CronOnce or
// store.CronRepeats.
func Task(kind string) store.Cron {
	return store.Cron{ID: "task-" + strings.ReplaceAll(uuid.Must(uuid.NewV7()).String(), "-", ""), Kind: kind,
		Assistant: request.LeadAssistant, Enabled: true, After: keep, Overlap: "skip", Task: true}
}

// Cron returns a new cron of LangGraph's API, on a thread or with one for each run, which is deleted after it.
func Cron(thread string) store.Cron {
	c := store.Cron{ID: uuid.Must(uuid.NewV7()).String(), Kind: store.CronRepeats, Thread: thread, Enabled: true,
		After: remove}
	if thread != "" {
		c.After = keep
	}
	return c
}

// What happens to a run's thread.
const (
	keep   = "keep"
	remove = "delete"
)

// Edit is a change of a task, or the content of a new one. Nil fields are unchanged.
type Edit struct {
	Title     *string
	Prompt    *string         // the message of its runs
	Payload   json.RawMessage // the whole request for a run, instead of Prompt
	Assistant *string         // by name or id
	Thread    *string         // "" creates a thread for each run
	NewThread bool            // creates one thread for all runs
	Schedule  *string         // five fields
	Timezone  *string
	// Once reads the time of a task that runs once, in the task's zone. Its error is returned as it is.
	Once     func(*time.Location) (time.Time, error)
	EndAt    *time.Time // the zero time is none
	Enabled  *bool
	After    *string // keep or delete
	Deliver  *string // the chat for results, as JSON; "" is none
	Metadata json.RawMessage
}

// Now returns the clock of schedules.
func (t *Tasks) Now() time.Time {
	if t.cfg.Scheduler == nil {
		return t.cfg.DB.Now()
	}
	return t.cfg.Scheduler.Now()
}

// Create stores a new task of owner. base comes from [Task] or [Cron].
func (t *Tasks) Create(ctx context.Context, owner string, base store.Cron, e Edit) (store.Cron, error) {
	base.Owner = owner
	if base.Kind != store.CronOnce && base.Kind != store.CronRepeats {
		return base, refuse(PartKind, ErrKind)
	}
	if err := t.resolve(ctx, owner, &e); err != nil {
		return base, err
	}
	if err := e.apply(&base, t.Now(), t.rules()); err != nil {
		return base, err
	}
	if e.NewThread {
		base.Thread = uuid.Must(uuid.NewV7()).String()
		thread := store.Thread{ID: base.Thread, Owner: owner, Status: runs.Idle, Title: base.Title, CreatedAt: t.Now()}
		if err := t.cfg.DB.Commit(ctx, store.Batch{Thread: &thread, NewThread: true}); err != nil {
			return base, fmt.Errorf("create the thread of a task: %w", err)
		}
	}
	c, err := t.cfg.DB.CreateCron(ctx, base)
	if errors.Is(err, store.ErrNotFound) {
		return c, refuse(PartThread, err)
	}
	t.changed(err)
	return c, err
}

// Change edits a task of owner. store.ErrNotFound if there is none.
func (t *Tasks) Change(ctx context.Context, owner, id string, e Edit) (store.Cron, error) {
	if c, err := t.idle(ctx, owner, id); err != nil {
		return c, err
	}
	if err := t.resolve(ctx, owner, &e); err != nil {
		return store.Cron{}, err
	}
	now, rules := t.Now(), t.rules()
	c, err := t.cfg.DB.ChangeCron(ctx, owner, id, func(c *store.Cron) error { return e.apply(c, now, rules) })
	t.changed(err)
	return c, err
}

// Pause disables the automatic starts of a task.
func (t *Tasks) Pause(ctx context.Context, owner, id string) (store.Cron, error) {
	return t.Change(ctx, owner, id, Edit{Enabled: new(false)})
}

// Resume re-enables the schedule of a task. It returns a Refusal with ErrPast if the task runs once and its time has
// passed.
func (t *Tasks) Resume(ctx context.Context, owner, id string) (store.Cron, error) {
	return t.Change(ctx, owner, id, Edit{Enabled: new(true)})
}

// Run starts a task now, regardless of its schedule, even if paused. Errors: store.ErrNotFound, [ErrBusy], [ErrFailed],
// [ErrOff].
func (t *Tasks) Run(ctx context.Context, owner, id string) (store.CronRun, error) {
	c, err := t.cfg.DB.Cron(ctx, owner, id)
	if err != nil {
		return store.CronRun{}, err
	}
	if t.cfg.Scheduler == nil {
		return store.CronRun{}, ErrOff
	}
	r, err := t.cfg.Scheduler.Trigger(ctx, c)
	t.changed(err)
	return r, err
}

// Delete removes a task; its threads and runs stay.
func (t *Tasks) Delete(ctx context.Context, owner, id string) error {
	if _, err := t.idle(ctx, owner, id); err != nil {
		return err
	}
	err := t.cfg.DB.DeleteCron(ctx, owner, id)
	t.changed(err)
	return err
}

// changed wakes the scheduler after a change that worked.
func (t *Tasks) changed(err error) {
	if err == nil && t.cfg.Scheduler != nil {
		t.cfg.Scheduler.Wake()
	}
}

func (t *Tasks) rules() Rules {
	if t.cfg.Rules == nil {
		return Rules{}
	}
	return t.cfg.Rules()
}

// idle returns a cron of owner, or ErrBusy for a task during its run.
func (t *Tasks) idle(ctx context.Context, owner, id string) (store.Cron, error) {
	c, err := t.cfg.DB.Cron(ctx, owner, id)
	if err != nil || !c.Task {
		return c, err
	}
	_, open, err := t.cfg.DB.CountCronRuns(ctx, id)
	if err == nil && open > 0 {
		err = ErrBusy
	}
	return c, err
}

// resolve replaces names in an edit with ids and refuses those that owner can't use.
func (t *Tasks) resolve(ctx context.Context, owner string, e *Edit) error {
	if e.Assistant != nil && t.cfg.Assistant != nil {
		id, err := t.cfg.Assistant(ctx, owner, *e.Assistant)
		if errors.Is(err, store.ErrNotFound) {
			return refuse(PartAssistant, err)
		}
		if err != nil {
			return err
		}
		e.Assistant = &id
	}
	if e.Deliver != nil && *e.Deliver != "" {
		if t.cfg.Chat == nil {
			return refuse(PartDeliver, store.ErrNotFound)
		}
		chat, err := t.cfg.Chat(ctx, owner, *e.Deliver)
		if errors.Is(err, store.ErrNotFound) {
			return refuse(PartDeliver, err)
		}
		if err != nil {
			return err
		}
		e.Deliver = &chat
	}
	if e.Thread != nil && *e.Thread != "" {
		_, err := t.cfg.DB.ThreadOf(ctx, owner, *e.Thread)
		if errors.Is(err, store.ErrNotFound) {
			return refuse(PartThread, err)
		}
		return err
	}
	return nil
}

func refuse(part string, reason error) *Refusal { return &Refusal{Part: part, Err: reason} }

// apply applies an edit to a cron and reschedules it if its times changed.
func (e Edit) apply(c *store.Cron, now time.Time, r Rules) error {
	if err := e.applyTexts(c, r); err != nil {
		return err
	}
	if e.Assistant != nil {
		c.Assistant = *e.Assistant
	}
	if e.Thread != nil {
		c.Thread = *e.Thread
	}
	if len(e.Metadata) > 0 {
		c.Metadata = e.Metadata
	}
	if err := e.applyEnd(c); err != nil {
		return err
	}
	return e.applyTimes(c, now, r)
}

// applyTexts sets the title and the request for runs.
func (e Edit) applyTexts(c *store.Cron, r Rules) (err error) {
	fits := func(text string, most int64) bool {
		return strings.TrimSpace(text) != "" && (most <= 0 || int64(len(text)) <= most)
	}
	if e.Title != nil {
		if c.Title = *e.Title; !fits(c.Title, MaxTitle) {
			return &Refusal{PartTitle, ErrLength, MaxTitle}
		}
	}
	if len(e.Payload) > 0 {
		c.Payload = e.Payload
	}
	if e.Prompt != nil {
		if !fits(*e.Prompt, r.MaxPrompt) {
			return &Refusal{PartPrompt, ErrLength, r.MaxPrompt}
		}
		c.Payload, err = Payload(*e.Prompt)
	}
	return err
}

// applyEnd sets the handling of the thread and the result after a run.
func (e Edit) applyEnd(c *store.Cron) error {
	part := PartDeliver
	if e.Deliver != nil {
		c.Deliver = *e.Deliver
	}
	if e.After != nil {
		if part, c.After = PartAfter, *e.After; c.After != keep && c.After != remove {
			return refuse(PartAfter, fmt.Errorf("%w, got %.40q", ErrAfter, c.After))
		}
	}
	if c.Deliver != "" && c.Thread == "" && !e.NewThread && c.After == remove {
		return refuse(part, ErrDeleted)
	}
	return nil
}

// applyTimes sets the schedule and computes when the cron is due next.
func (e Edit) applyTimes(c *store.Cron, now time.Time, r Rules) (err error) {
	if e.Timezone != nil {
		if _, err := Zone(*e.Timezone); err != nil {
			return refuse(PartZone, err)
		}
		c.Timezone = *e.Timezone
	}
	if e.Schedule != nil {
		if c.Kind != store.CronRepeats {
			return refuse(PartSchedule, ErrSingle)
		}
		if c.Schedule, err = Check(*e.Schedule); err != nil {
			return refuse(PartSchedule, err)
		}
	}
	if e.Once != nil && c.Kind == store.CronOnce {
		loc, err := Zone(c.Timezone)
		if err != nil {
			return refuse(PartZone, err)
		}
		if c.RunAt, err = e.Once(loc); err != nil {
			return err
		}
	}
	if e.EndAt != nil {
		c.EndAt = *e.EndAt
	}
	if e.Enabled != nil {
		c.Enabled = *e.Enabled
	}
	retimed := e.Timezone != nil || e.Schedule != nil || e.Once != nil || c.CreatedAt.IsZero()
	if !retimed && e.EndAt == nil && e.Enabled == nil { // its times are unchanged
		return nil
	}
	c.NextAt = time.Time{}
	if c.Enabled {
		if c.NextAt, err = Plan(*c, now); err != nil {
			return refuse(PartSchedule, err)
		}
	}
	return onceAhead(*c, retimed, e.Enabled != nil && *e.Enabled, now, r.MinOnceDelay)
}

// onceAhead rejects a single time that has passed, and a new one less than soonest ahead.
func onceAhead(c store.Cron, retimed, resumed bool, now time.Time, soonest time.Duration) error {
	if c.Kind != store.CronOnce || !retimed && !resumed {
		return nil
	}
	switch {
	case !c.RunAt.After(now):
		return refuse(PartOnce, ErrPast)
	case retimed && c.RunAt.Sub(now) < soonest:
		return &Refusal{PartOnce, ErrSoon, int64(soonest.Seconds())}
	}
	return nil
}

// Payload returns the request for runs that are asked one text.
func Payload(prompt string) (json.RawMessage, error) {
	return agent.Encode(map[string]any{"multitask_strategy": "reject",
		"input": map[string]any{"messages": []map[string]string{{"type": agent.TypeHuman, "content": prompt}}}})
}

// Prompt returns the message in a payload, if it is a single text.
func Prompt(payload json.RawMessage) string {
	var p struct {
		Input struct {
			Messages []struct {
				Content string `json:"content"`
			} `json:"messages"`
		} `json:"input"`
	}
	if json.Unmarshal(payload, &p) != nil || len(p.Input.Messages) == 0 {
		return ""
	}
	return p.Input.Messages[0].Content
}
