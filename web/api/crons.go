package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/schedule"
	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	o "fawn/web/openapi"
	"fawn/web/principal"
	"fawn/web/route"
)

const cronsPage = 10

type cronJSON struct {
	ID        string          `json:"cron_id"`
	Assistant string          `json:"assistant_id"`
	Thread    *string         `json:"thread_id"`
	Schedule  string          `json:"schedule"`
	Timezone  *string         `json:"timezone"`
	EndTime   *string         `json:"end_time"`
	NextRun   *string         `json:"next_run_date"`
	Payload   json.RawMessage `json:"payload"`
	Metadata  json.RawMessage `json:"metadata"`
	User      *string         `json:"user_id"`
	Enabled   bool            `json:"enabled"`
	After     *string         `json:"on_run_completed"` // null for a cron on a thread
	CreatedAt string          `json:"created_at"`
	UpdatedAt string          `json:"updated_at"`
}

func cronOf(c store.Cron) (cronJSON, error) {
	out := cronJSON{ID: c.ID, Assistant: c.Assistant, Thread: route.TextOrNull(c.Thread), Schedule: c.Schedule,
		Timezone: route.TextOrNull(c.Timezone),
		EndTime:  route.StampOrNull(c.EndAt), NextRun: route.StampOrNull(c.NextAt), Payload: route.Object(c.Payload),
		Metadata: route.Object(c.Metadata),
		Enabled:  c.Enabled, CreatedAt: wire.Stamp(c.CreatedAt), UpdatedAt: wire.Stamp(c.UpdatedAt)}
	if c.Owner != principal.Default {
		out.User = &c.Owner
	}
	if c.Thread == "" {
		out.After = &c.After
	}
	payload := map[string]json.RawMessage{}
	if err := json.Unmarshal(out.Payload, &payload); err != nil {
		return out, err
	}
	for _, name := range []string{"config", "context"} {
		if err := redacted(payload, name); err != nil {
			return out, err
		}
	}
	var err error
	out.Payload, err = agent.Encode(payload)
	return out, err
}

func answerCron(c echo.Context, cron store.Cron) error {
	out, err := cronOf(cron)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, out)
}

// cronBody holds a cron's fields besides its runs' request.
type cronBody struct {
	Schedule  *string         `json:"schedule"`
	Timezone  *string         `json:"timezone"`
	EndTime   json.RawMessage `json:"end_time"`
	Enabled   *bool           `json:"enabled"`
	After     *string         `json:"on_run_completed"`
	Assistant string          `json:"assistant_id"`
	Metadata  json.RawMessage `json:"metadata"`
}

// edit returns the change that a body asks for, besides the request for runs.
func (b cronBody) edit() (schedule.Edit, error) {
	e := schedule.Edit{Schedule: b.Schedule, Timezone: b.Timezone, Enabled: b.Enabled, After: b.After,
		Metadata: route.Given(b.Metadata)}
	switch {
	case string(b.EndTime) == "null":
		e.EndAt = new(time.Time)
	case b.EndTime != nil:
		var text string
		if json.Unmarshal(b.EndTime, &text) != nil {
			return e, httpx.Invalid("body", "end_time", "want a time such as 2026-12-31T23:59:00Z")
		}
		at, err := route.ParseTime("end_time", text, time.UTC)
		if err != nil {
			return e, err
		}
		e.EndAt = &at
	}
	return e, nil
}

// cronProblem converts an error of the task service for a cron.
func cronProblem(err error, cron, thread string) error {
	var r *schedule.Refusal
	switch {
	case errors.As(err, &r):
	case errors.Is(err, schedule.ErrBusy):
		return httpx.Errorf(http.StatusConflict, "%v; try again when it has ended", schedule.ErrBusy)
	default:
		return noCron(err, cron)
	}
	switch r.Part {
	case schedule.PartThread:
		return route.NoThread(thread)
	case schedule.PartZone:
		return httpx.Invalid("body", "timezone", "%v", r.Err)
	case schedule.PartAfter:
		if errors.Is(r.Err, schedule.ErrDeleted) {
			return httpx.Invalid("body", "on_run_completed", "results are sent to a chat; set deliver_to to null")
		}
		return httpx.Invalid("body", "on_run_completed", "%v", r.Err)
	case schedule.PartOnce:
		return httpx.Invalid("body", "enabled", "%v", r.Err)
	}
	return httpx.Invalid("body", r.Part, "%v", r.Err)
}

// cronPayload validates a body as a run request and returns the stored form.
func (m mount) cronPayload(c echo.Context, thread string,
	body []byte) (assistant string, payload json.RawMessage, err error) {
	var kept struct {
		Config  json.RawMessage `json:"config"`
		Context json.RawMessage `json:"context"`
	}
	if err := httpx.Decode(body, &kept); err != nil {
		return "", nil, err
	}
	if err := m.storable(route.Given(kept.Config), route.Given(kept.Context)); err != nil {
		return "", nil, err
	}
	req, err := m.decodeRun(c, thread, body)
	if err != nil {
		return "", nil, err
	}
	r := req.Request
	r.Origin, r.HeaderModel, r.Hold = "", "", false
	payload, err = agent.Encode(r)
	return req.AssistantID, payload, err
}

// createCron creates a cron, on the thread of the path or with a new one for each run.
func (m mount) createCron(c echo.Context, thread string) error {
	body, err := httpx.Body(c.Request(), m.BodyLimit())
	if err != nil {
		return err
	}
	var b cronBody
	if err := httpx.Decode(body, &b); err != nil {
		return err
	}
	if b.Schedule == nil {
		return httpx.Invalid("body", "schedule", "is required: minute hour day month weekday")
	}
	base := schedule.Cron(thread)
	var payload json.RawMessage
	if base.Assistant, payload, err = m.cronPayload(c, thread, body); err != nil {
		return err
	}
	e, err := b.edit()
	if err != nil {
		return err
	}
	e.Payload = payload
	cron, err := m.Tasks.Create(c.Request().Context(), m.Owner(c), base, e)
	if err != nil {
		return cronProblem(err, base.ID, thread)
	}
	return answerCron(c, cron)
}

func noCron(err error, id string) error {
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return httpx.Errorf(http.StatusNotFound, "Cron %s not found", route.Cut(id, 80))
}

func (m mount) cron(c echo.Context) error {
	id := route.Param(c, "cid")
	cron, err := m.DB.Cron(c.Request().Context(), m.Owner(c), id)
	if err != nil {
		return noCron(err, id)
	}
	return answerCron(c, cron)
}

// patchCron changes the parts given in a body, of the cron and of its runs' request.
func (m mount) patchCron(c echo.Context) error {
	id := route.Param(c, "cid")
	body, err := httpx.Body(c.Request(), m.BodyLimit())
	if err != nil {
		return err
	}
	var b cronBody
	if err := httpx.Decode(body, &b); err != nil {
		return err
	}
	ctx := c.Request().Context()
	old, err := m.DB.Cron(ctx, m.Owner(c), id)
	if err != nil {
		return noCron(err, id)
	}
	assistantOnly, err := agent.Encode(map[string]string{"assistant_id": wire.Canonical(old.Assistant)})
	if err != nil {
		return err
	}
	base, err := overlay(assistantOnly, old.Payload) // a scheduled task's context doesn't name its assistant
	if err != nil {
		return err
	}
	merged, err := overlay(base, body)
	if err != nil {
		return err
	}
	assistant, payload, err := m.cronPayload(c, "", merged)
	if err != nil {
		return err
	}
	e, err := b.edit()
	if err != nil {
		return err
	}
	e.Assistant, e.Payload = &assistant, payload
	cron, err := m.Tasks.Change(ctx, m.Owner(c), id, e)
	if err != nil {
		return cronProblem(err, id, old.Thread)
	}
	return answerCron(c, cron)
}

// overlay writes the members of body which are not null over an object.
func overlay(base, body json.RawMessage) (json.RawMessage, error) {
	all, over := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if err := json.Unmarshal(route.Object(base), &all); err != nil {
		return nil, err
	}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &over); err != nil {
			return nil, err
		}
	}
	for name, v := range over {
		if route.Given(v) != nil {
			all[name] = v
		}
	}
	return agent.Encode(all)
}

func (m mount) deleteCron(c echo.Context) error {
	id := route.Param(c, "cid")
	if err := m.Tasks.Delete(c.Request().Context(), m.Owner(c), id); err != nil {
		return cronProblem(err, id, "")
	}
	return c.NoContent(http.StatusNoContent)
}

func describeCrons() []o.Op {
	const tag = "Crons"
	object := o.Map(nil)
	request := o.And([]o.Prop{o.Is("config", object), o.Is("context", object), o.Is("metadata", object),
		o.Is("end_time", o.String()), o.Is("on_run_completed", o.Enum("keep", "delete")),
		o.Is("multitask_strategy", o.Enum("reject", "enqueue", "interrupt"))},
		o.Without("hold", "header_model", "origin", "traceparent", "secret_names", "command", "checkpoint", "checkpoint_id", "stream_mode",
			"stream_subgraphs", "on_disconnect", "if_not_exists", "on_completion", "after_seconds", "interrupt_before", "interrupt_after",
			"durability", "checkpoint_during", "project_id"))
	create := o.Reads[cronRequest](append(request, o.Req("schedule", o.String()))...)
	return []o.Op{
		{ID: "createCron", Example: `{"assistant_id": "lead_agent", "schedule": "0 7 * * 1", "timezone": "Europe/Berlin", "input": {"messages": [{"role": "user", "content": "What is new?"}]}}`, Tag: tag, Text: "Schedule runs, each on a new thread", Need: true,
			More: "The body of a run, plus a five-field cron schedule.", Body: create,
			Out: route.Answered("The cron", o.Ref("Cron")), Fail: []int{404}},
		{ID: "createThreadCron", Tag: tag, Text: "Schedule runs on a thread", Need: true,
			Body: create, Out: route.Answered("The cron", o.Ref("Cron"))},
		{ID: "searchCrons", Tag: tag, Text: "Find crons",
			Body: o.Reads[cronQuery](o.Is("metadata", object), o.Is("limit", o.Range(1, route.MaxPage)), o.Is("offset", o.Int(0)),
				o.Is("sort_by", o.Enum("cron_id", "assistant_id", "thread_id", "created_at", "updated_at",
					"next_run_date", "end_time")), o.Is("sort_order", sortOrder().Schema)),
			Out: route.Answered("A page of crons", o.List(o.Ref("CronPart")))},
		{ID: "countCrons", Tag: tag, Text: "Count crons", Out: route.Answered("The count", o.Int(0)),
			Body: o.Reads[cronQuery](append(o.Without("limit", "offset", "sort_by", "sort_order", "select"), o.Is("metadata", object))...)},
		{ID: "getCron", Tag: tag, Text: "Get a cron", Out: route.Answered("The cron", o.Ref("Cron"))},
		{ID: "patchCron", Tag: tag, Text: "Change a cron: its schedule or its run",
			Body: o.Reads[cronRequest](request...),
			Out:  route.Answered("The cron", o.Ref("Cron")), Fail: []int{409}},
		{ID: "deleteCron", Tag: tag, Text: "Delete a cron, keeping its runs", Out: route.Emptied("Deleted"),
			Fail: []int{409}},
	}
}

func describedCron() o.Schema {
	return o.Of[cronJSON](o.Is("end_time", o.Nullable(o.Time())), o.Is("next_run_date", o.Nullable(o.Time())),
		o.Is("payload", o.Map(nil)), o.Is("metadata", o.Map(nil)))
}

// cronRequest is the body for creating or changing a cron: its schedule, and its runs' request.
type cronRequest struct {
	cronBody
	runBody
}
