package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"fawn/agent/schedule"
	"fawn/store"
	"fawn/web/api"
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

	deliver *string // Deliver as it is stored, once it was looked up
}

func unprocessable(text string) error {
	return httpx.Errorf(http.StatusUnprocessableEntity, "%s", text)
}

// change writes what a body says into a task. soonest is the least time ahead for a single
// run.
func (b taskBody) change(c *store.Cron, now time.Time, soonest time.Duration, longest int64) error {
	for _, s := range []struct {
		field string
		value *string
		most  int64
	}{{"title", b.Title, route.MaxName}, {"prompt", b.Prompt, longest}} {
		if s.value == nil {
			continue
		}
		if strings.TrimSpace(*s.value) == "" || int64(len(*s.value)) > s.most {
			return httpx.Invalid("body", s.field, "want 1 to %d bytes", s.most)
		}
	}
	if b.Agent != nil {
		c.Assistant = *b.Agent
	}
	if b.Title != nil {
		c.Title = *b.Title
	}
	if b.Prompt != nil {
		var err error
		if c.Payload, err = schedule.Payload(*b.Prompt); err != nil {
			return err
		}
	}
	if b.Thread != nil {
		c.Thread = *b.Thread
	}
	if b.deliver != nil {
		c.Deliver = *b.deliver
	}
	if b.Mode != nil {
		switch *b.Mode {
		case freshThread:
			c.Thread = ""
		case reuseThread:
			if c.Thread == "" {
				return unprocessable("reuse_thread requires thread_id")
			}
		default:
			return unprocessable("Unsupported context_mode")
		}
	}
	if c.Deliver != "" && c.Thread == "" && c.After == "delete" {
		return httpx.Invalid("body", "deliver_to", "the threads of this cron are deleted when their runs end")
	}
	if b.Timezone != nil {
		if _, err := schedule.Zone(*b.Timezone); err != nil {
			return httpx.Invalid("body", "timezone", "%v", err)
		}
		c.Timezone = *b.Timezone
	}
	if route.Given(b.Spec) == nil && b.Timezone == nil {
		return nil
	}
	if err := b.specify(c); err != nil {
		return err
	}
	if err := api.Plan(c, now); err != nil {
		return err
	}
	if c.Kind == store.CronOnce && c.RunAt.Sub(now) < max(soonest, time.Nanosecond) {
		if c.RunAt.After(now) {
			return httpx.Errorf(http.StatusUnprocessableEntity,
				"once schedule must be at least %d seconds in the future", int(soonest.Seconds()))
		}
		return unprocessable("once schedule must be in the future")
	}
	return nil
}

// specify reads the schedule, in the zone of the task.
func (b taskBody) specify(c *store.Cron) error {
	if route.Given(b.Spec) == nil {
		return nil
	}
	var spec struct {
		Cron  *string `json:"cron"`
		RunAt *string `json:"run_at"`
	}
	if json.Unmarshal(b.Spec, &spec) != nil {
		return httpx.Invalid("body", "schedule_spec", "want an object with cron or run_at")
	}
	if c.Kind == store.CronOnce {
		if spec.RunAt == nil {
			return unprocessable("once schedule requires schedule_spec.run_at")
		}
		loc, err := schedule.Zone(c.Timezone)
		if err != nil {
			return httpx.Invalid("body", "timezone", "%v", err)
		}
		c.RunAt, err = route.ParseTime("schedule_spec.run_at", *spec.RunAt, loc)
		return err
	}
	if spec.Cron == nil {
		return unprocessable("cron schedule requires schedule_spec.cron")
	}
	expr, err := schedule.Check(*spec.Cron)
	if err != nil {
		return httpx.Invalid("body", "schedule_spec.cron", "%v", err)
	}
	c.Schedule = expr
	return nil
}
