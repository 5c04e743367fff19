package gateway

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"fawn/agent/schedule"
	"fawn/store"
	"fawn/web/httpx"
	"fawn/web/route"
)

type taskBody struct {
	Thread   *string         `json:"thread_id"`
	Mode     *string         `json:"context_mode"`
	Agent    *string         `json:"assistant_id"`
	Title    *string         `json:"title"`
	Prompt   *string         `json:"prompt"`
	Type     *string         `json:"schedule_type"`
	Spec     json.RawMessage `json:"schedule_spec"`
	Timezone *string         `json:"timezone"`
	Deliver  json.RawMessage `json:"deliver_to"`
}

func unprocessable(text string) error {
	return httpx.Errorf(http.StatusUnprocessableEntity, "%s", text)
}

// taskEdit reads a body as a change of a task. Of the task only its kind and its thread matter.
func (g *Gateway) taskEdit(b taskBody, task store.Cron) (e schedule.Edit, err error) {
	e = schedule.Edit{Title: b.Title, Prompt: b.Prompt, Assistant: b.Agent, Timezone: b.Timezone}
	if e.Thread, err = g.taskThread(b, task.Thread); err != nil {
		return e, err
	}
	if e.Deliver, err = b.destination(); err != nil {
		return e, err
	}
	return e, b.specify(&e, task.Kind)
}

// taskThread returns the thread for a task, "" for a new one in each run, or nil to keep the current one.
func (g *Gateway) taskThread(b taskBody, now string) (*string, error) {
	if b.Mode == nil && b.Thread == nil {
		return nil, nil
	}
	thread := now
	if b.Thread != nil {
		thread = *b.Thread
	}
	if b.Mode != nil {
		switch *b.Mode {
		case freshThread:
			thread = ""
		case reuseThread:
			if thread == "" {
				return nil, unprocessable("reuse_thread requires thread_id")
			}
		default:
			return nil, unprocessable("Unsupported context_mode")
		}
	}
	if thread != "" && !g.ValidID(thread) {
		return nil, g.BadID("body", thread)
	}
	if thread == now {
		return nil, nil
	}
	return &thread, nil
}

// specify reads the schedule.
func (b taskBody) specify(e *schedule.Edit, kind string) error {
	if route.Given(b.Spec) == nil {
		return nil
	}
	var spec struct {
		Cron  *string `json:"cron"`
		RunAt *string `json:"run_at"`
	}
	switch {
	case json.Unmarshal(b.Spec, &spec) != nil:
		return httpx.Invalid("body", "schedule_spec", "want an object with cron or run_at")
	case kind != store.CronOnce && spec.Cron == nil:
		return unprocessable("cron schedule requires schedule_spec.cron")
	case kind != store.CronOnce:
		e.Schedule = spec.Cron
	case spec.RunAt == nil:
		return unprocessable("once schedule requires schedule_spec.run_at")
	default:
		e.Once = func(zone *time.Location) (time.Time, error) {
			return route.ParseTime("schedule_spec.run_at", *spec.RunAt, zone)
		}
	}
	return nil
}

// taskProblem words an error of the service of tasks.
func taskProblem(err error, b taskBody) error {
	var r *schedule.Refusal
	switch {
	case errors.As(err, &r):
	case errors.Is(err, schedule.ErrBusy):
		return httpx.Errorf(http.StatusConflict,
			"Scheduled task is currently running; retry after the active execution finishes")
	default:
		return noTask(err)
	}
	switch r.Part {
	case schedule.PartKind:
		return unprocessable("Unsupported schedule_type")
	case schedule.PartTitle, schedule.PartPrompt:
		return httpx.Invalid("body", r.Part, "want 1 to %d bytes", r.Limit)
	case schedule.PartAssistant:
		return route.NoAssistant(*b.Agent)
	case schedule.PartThread:
		if b.Thread == nil {
			return noTask(r.Err)
		}
		return route.NoThread(*b.Thread)
	case schedule.PartDeliver:
		if errors.Is(r.Err, schedule.ErrDeleted) {
			return httpx.Invalid("body", "deliver_to", "the threads of this cron are deleted when their runs end")
		}
		return httpx.Invalid("body", "deliver_to",
			"isn't a chat of an account that you connected, or a group that you let the bot into")
	case schedule.PartZone:
		return httpx.Invalid("body", "timezone", "%v", r.Err)
	case schedule.PartSchedule:
		return httpx.Invalid("body", "schedule_spec.cron", "%v", r.Err)
	case schedule.PartOnce:
		if errors.Is(r.Err, schedule.ErrSoon) {
			return httpx.Errorf(http.StatusUnprocessableEntity,
				"once schedule must be at least %d seconds in the future", r.Limit)
		}
		return unprocessable("once schedule must be in the future")
	}
	return httpx.Invalid("body", r.Part, "%v", r.Err)
}
