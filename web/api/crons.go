package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/schedule"
	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/httpx"
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
	After     *string         `json:"on_run_completed"` // null on a thread of its own
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

// cronBody is what a cron is besides the request for its runs.
type cronBody struct {
	Schedule  *string         `json:"schedule"`
	Timezone  *string         `json:"timezone"`
	EndTime   json.RawMessage `json:"end_time"`
	Enabled   *bool           `json:"enabled"`
	After     *string         `json:"on_run_completed"`
	Assistant string          `json:"assistant_id"`
	Metadata  json.RawMessage `json:"metadata"`
}

// change writes what a body says into a cron and plans it anew.
func (b cronBody) change(c *store.Cron, now time.Time) error {
	if b.Schedule != nil {
		expr, err := schedule.Check(*b.Schedule)
		if err != nil {
			return httpx.Invalid("body", "schedule", "%v", err)
		}
		c.Schedule = expr
	}
	if b.Timezone != nil {
		if _, err := schedule.Zone(*b.Timezone); err != nil {
			return httpx.Invalid("body", "timezone", "%v", err)
		}
		c.Timezone = *b.Timezone
	}
	switch {
	case string(b.EndTime) == "null":
		c.EndAt = time.Time{}
	case b.EndTime != nil:
		var text string
		if json.Unmarshal(b.EndTime, &text) != nil {
			return httpx.Invalid("body", "end_time", "want a time such as 2026-12-31T23:59:00Z")
		}
		at, err := route.ParseTime("end_time", text, time.UTC)
		if err != nil {
			return err
		}
		c.EndAt = at
	}
	if b.After != nil {
		if *b.After != "keep" && *b.After != "delete" {
			return httpx.Invalid("body", "on_run_completed", "want keep or delete, got %q", route.Cut(*b.After, 40))
		}
		if c.After = *b.After; c.After == "delete" && c.Deliver != "" {
			return httpx.Invalid("body", "on_run_completed", "results are sent to a chat; set deliver_to to null")
		}
	}
	if b.Enabled != nil {
		c.Enabled = *b.Enabled
	}
	if route.Given(b.Metadata) != nil {
		c.Metadata = b.Metadata
	}
	return Plan(c, now)
}

// Plan sets when a cron is due next.
func Plan(c *store.Cron, now time.Time) (err error) {
	c.NextAt = time.Time{}
	if c.Enabled {
		c.NextAt, err = schedule.Plan(*c, now)
	}
	return err
}

// cronPayload checks a body as a request for a run and returns what is stored of it.
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

// createCron makes a cron, on the thread of the path or with a new one for each run.
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
	cron := store.Cron{ID: uuid.Must(uuid.NewV7()).String(), Owner: m.Owner(c), Kind: store.CronRepeats, Enabled: true,
		After: "delete"}
	if thread != "" {
		cron.After, cron.Thread = "keep", thread
	}
	if cron.Assistant, cron.Payload, err = m.cronPayload(c, thread, body); err != nil {
		return err
	}
	if err := b.change(&cron, m.Now()); err != nil {
		return err
	}
	cron, err = m.DB.CreateCron(c.Request().Context(), cron)
	if errors.Is(err, store.ErrNotFound) {
		return route.NoThread(cron.Thread)
	}
	if err != nil {
		return err
	}
	m.Planned()
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

// patchCron changes the parts a body gives, of the cron and of its runs' request.
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
	if old.Kind != store.CronRepeats && b.Schedule != nil {
		return httpx.Invalid("body", "schedule", "this one has a single time; change it as a scheduled task")
	}
	merged, err := overlay(old.Payload, body)
	if err != nil {
		return err
	}
	assistant, payload, err := m.cronPayload(c, "", merged)
	if err != nil {
		return err
	}
	cron, err := m.DB.ChangeCron(ctx, m.Owner(c), id, func(cron *store.Cron) error {
		cron.Assistant, cron.Payload = assistant, payload
		return b.change(cron, m.Now())
	})
	if err != nil {
		return noCron(err, id)
	}
	m.Planned()
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
	if err := m.DB.DeleteCron(c.Request().Context(), m.Owner(c), id); err != nil {
		return noCron(err, id)
	}
	m.Planned()
	return c.NoContent(http.StatusNoContent)
}
