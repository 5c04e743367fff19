package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/schedule"
	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/httpx"
)

// How a task's runs relate to threads.
const (
	freshThread = "fresh_thread_per_run"
	reuseThread = "reuse_thread"
)

// scheduledJSON is a cron the way DeerFlow shows scheduled tasks.
type scheduledJSON struct {
	ID         string          `json:"id"`
	User       string          `json:"user_id"`
	Thread     *string         `json:"thread_id"`
	Mode       string          `json:"context_mode"`
	Assistant  string          `json:"assistant_id"`
	Title      string          `json:"title"`
	Prompt     string          `json:"prompt"`
	Type       string          `json:"schedule_type"`
	Spec       json.RawMessage `json:"schedule_spec"`
	Timezone   string          `json:"timezone"`
	Status     string          `json:"status"` // enabled, paused, running, completed, failed
	Overlap    string          `json:"overlap_policy"`
	NextRun    *string         `json:"next_run_at"`
	LastRun    *string         `json:"last_run_at"`
	LastRunID  *string         `json:"last_run_id"`
	LastThread *string         `json:"last_thread_id"`
	LastError  *string         `json:"last_error"`
	Runs       int             `json:"run_count"`
	CreatedAt  string          `json:"created_at"`
	UpdatedAt  string          `json:"updated_at"`
}

// taskOf adds to a cron what its last starts were.
func (m mount) taskOf(c echo.Context, cron store.Cron) (scheduledJSON, error) {
	out := scheduledJSON{ID: cron.ID, User: cron.Owner, Thread: textOrNull(cron.Thread), Mode: freshThread,
		Assistant: cron.Assistant, Title: cron.Title,
		Prompt: schedule.Prompt(cron.Payload), Type: cron.Kind, Timezone: cron.Timezone,
		Status: "enabled", Overlap: "enqueue", NextRun: stampOrNull(cron.NextAt),
		CreatedAt: wire.Stamp(cron.CreatedAt), UpdatedAt: wire.Stamp(cron.UpdatedAt)}
	spec := map[string]string{"cron": cron.Schedule}
	if cron.Kind == store.CronOnce {
		spec = map[string]string{"run_at": wire.Stamp(cron.RunAt)}
	}
	var err error
	if out.Spec, err = agent.Encode(spec); err != nil {
		return out, err
	}
	if cron.Thread != "" {
		out.Mode = reuseThread
	}
	if cron.Overlap != "" {
		out.Overlap = cron.Overlap
	}
	if wire.BuiltIn(out.Assistant) {
		out.Assistant = wire.GraphID
	}
	if out.Timezone == "" {
		out.Timezone = "UTC"
	}
	ctx := c.Request().Context()
	started, open, err := m.DB.CountCronRuns(ctx, cron.ID)
	if err != nil {
		return out, err
	}
	out.Runs = started
	last, err := m.DB.CronRuns(ctx, cron.ID, 1, 0)
	if err != nil {
		return out, err
	}
	failed := false
	if len(last) > 0 {
		r := last[0]
		out.LastRun, out.LastError, failed = stampOrNull(r.StartedAt), textOrNull(r.Error), r.Status == store.CronFailed
		if !r.StartedAt.IsZero() {
			out.LastRunID, out.LastThread = &r.Run, &r.Thread
		}
	}
	switch {
	case open > 0:
		out.Status = "running"
	case !cron.Enabled:
		out.Status = "paused"
	case cron.NextAt.IsZero() && failed:
		out.Status = "failed"
	case cron.NextAt.IsZero():
		out.Status = "completed"
	}
	return out, nil
}

func (m mount) createTask(c echo.Context) error {
	var b taskBody
	if err := m.strict(c, &b); err != nil {
		return err
	}
	for _, s := range []struct {
		field string
		given bool
	}{{"title", b.Title != nil}, {"prompt", b.Prompt != nil}, {"schedule_type", b.Type != nil},
		{"schedule_spec", given(b.Spec) != nil}, {"timezone", b.Timezone != nil}} {
		if !s.given {
			return httpx.Invalid("body", s.field, "is required")
		}
	}
	cron := store.Cron{ID: "task-" + strings.ReplaceAll(uuid.Must(uuid.NewV7()).String(), "-", ""), Owner: m.owner(c),
		Kind:      *b.Type,
		Assistant: wire.LeadAssistant(), Enabled: true, After: "keep", Overlap: "skip", Task: true}
	if cron.Kind != store.CronOnce && cron.Kind != store.CronRepeats {
		return unprocessable("Unsupported schedule_type")
	}
	if b.Mode == nil {
		fresh := freshThread
		b.Mode = &fresh
	}
	if err := m.taskParts(c, &b); err != nil {
		return err
	}
	if err := b.change(&cron, m.now(), m.soonest(), m.limits().MaxMessageBytes); err != nil {
		return err
	}
	cron, err := m.DB.CreateCron(c.Request().Context(), cron)
	if errors.Is(err, store.ErrNotFound) {
		return noThread(cron.Thread)
	}
	if err != nil {
		return err
	}
	m.planned()
	return m.answerTask(c, cron)
}

// taskParts looks up what a task names: its assistant, which is known by its id then, and its thread.
func (m mount) taskParts(c echo.Context, b *taskBody) error {
	if b.Agent != nil {
		found, err := m.assistantByID(c, *b.Agent)
		if err != nil {
			return err
		}
		b.Agent = &found.ID
	}
	return m.taskThread(c, *b)
}

// taskThread refuses a thread that is not the asker's.
func (m mount) taskThread(c echo.Context, b taskBody) error {
	if b.Thread == nil || *b.Thread == "" || b.Mode != nil && *b.Mode == freshThread {
		return nil
	}
	if !m.validID(*b.Thread) {
		return m.badID("body", *b.Thread)
	}
	_, err := m.threadByID(c, *b.Thread)
	return err
}

func (a *API) soonest() time.Duration { return a.snapshotNow().File.Scheduler.MinOnceDelay }

func (m mount) answerTask(c echo.Context, cron store.Cron) error {
	out, err := m.taskOf(c, cron)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, out)
}

// answerTasks sends the crons that keep says yes to, newest first.
func (m mount) answerTasks(c echo.Context, keep func(store.Cron) bool) error {
	var ids []string
	err := m.DB.EachCron(c.Request().Context(), m.owner(c), func(cron store.Cron) bool {
		if keep(cron) {
			ids = append(ids, cron.ID)
		}
		return true
	})
	if err != nil {
		return err
	}
	out := []scheduledJSON{}
	for _, id := range ids {
		cron, err := m.DB.Cron(c.Request().Context(), m.owner(c), id)
		if errors.Is(err, store.ErrNotFound) { // deleted meanwhile
			continue
		}
		if err != nil {
			return err
		}
		one, err := m.taskOf(c, cron)
		if err != nil {
			return err
		}
		out = append(out, one)
	}
	return httpx.JSON(c, http.StatusOK, out)
}

func (m mount) listTasks(c echo.Context) error {
	return m.answerTasks(c, func(store.Cron) bool { return true })
}

func (m mount) threadTasks(c echo.Context, thread string) error {
	return m.answerTasks(c, func(cron store.Cron) bool { return cron.Thread == thread })
}

// taskParam finds the task of the path.
func (m mount) taskParam(c echo.Context) (store.Cron, error) {
	cron, err := m.DB.Cron(c.Request().Context(), m.owner(c), pathParam(c, "cid"))
	return cron, noTask(err)
}

func noTask(err error) error {
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return httpx.Errorf(http.StatusNotFound, "Scheduled task not found")
}

func (m mount) task(c echo.Context) error {
	cron, err := m.taskParam(c)
	if err != nil {
		return err
	}
	return m.answerTask(c, cron)
}

// idleTask refuses to touch a task whose run goes on.
func (m mount) idleTask(c echo.Context) (store.Cron, error) {
	cron, err := m.taskParam(c)
	if err != nil {
		return cron, err
	}
	_, open, err := m.DB.CountCronRuns(c.Request().Context(), cron.ID)
	if err == nil && open > 0 {
		err = httpx.Errorf(http.StatusConflict,
			"Scheduled task is currently running; retry after the active execution finishes")
	}
	return cron, err
}

// changeTask stores a change of a task and answers with the result.
func (m mount) changeTask(c echo.Context, id string, change func(*store.Cron) error) error {
	cron, err := m.DB.ChangeCron(c.Request().Context(), m.owner(c), id, change)
	if err != nil {
		return noTask(err)
	}
	m.planned()
	return m.answerTask(c, cron)
}

func (m mount) patchTask(c echo.Context) error {
	var b taskBody
	if err := m.strict(c, &b); err != nil {
		return err
	}
	if b.Type != nil {
		return httpx.Invalid("body", "schedule_type", "cannot be changed")
	}
	cron, err := m.idleTask(c)
	if err != nil {
		return err
	}
	if err := m.taskParts(c, &b); err != nil {
		return err
	}
	return m.changeTask(c, cron.ID, func(cron *store.Cron) error {
		return b.change(cron, m.now(), m.soonest(), m.limits().MaxMessageBytes)
	})
}

func (m mount) pauseTask(c echo.Context) error {
	cron, err := m.idleTask(c)
	if err != nil {
		return err
	}
	return m.changeTask(c, cron.ID, func(cron *store.Cron) error {
		cron.Enabled = false
		return plan(cron, m.now())
	})
}

func (m mount) resumeTask(c echo.Context) error {
	cron, err := m.idleTask(c)
	if err != nil {
		return err
	}
	return m.changeTask(c, cron.ID, func(cron *store.Cron) error {
		cron.Enabled = true
		if err := plan(cron, m.now()); err != nil {
			return err
		}
		if cron.Kind == store.CronOnce && cron.NextAt.IsZero() {
			return unprocessable("once schedule must be in the future")
		}
		return nil
	})
}

// triggerTask starts a task now.
func (m mount) triggerTask(c echo.Context) error {
	cron, err := m.taskParam(c)
	if err != nil {
		return err
	}
	if m.Schedule == nil {
		return httpx.Errorf(http.StatusServiceUnavailable, "scheduling isn't available here")
	}
	_, err = m.Schedule.Trigger(c.Request().Context(), cron)
	switch {
	case errors.Is(err, schedule.ErrBusy):
		return httpx.Errorf(http.StatusConflict, "Scheduled task trigger conflicted with an active run")
	case errors.Is(err, schedule.ErrFailed):
		return httpx.Errorf(http.StatusBadGateway, "%v", err)
	case err != nil:
		return err
	}
	return httpx.JSON(c, http.StatusOK, map[string]any{"id": cron.ID, "triggered": true})
}

func (m mount) deleteTask(c echo.Context) error {
	cron, err := m.idleTask(c)
	if err != nil {
		return err
	}
	if err := m.DB.DeleteCron(c.Request().Context(), m.owner(c), cron.ID); err != nil {
		return noTask(err)
	}
	m.planned()
	return httpx.JSON(c, http.StatusOK, map[string]any{"id": cron.ID, "deleted": true})
}

type scheduledRunJSON struct {
	ID           string  `json:"id"`
	Task         string  `json:"task_id"`
	Thread       string  `json:"thread_id"`
	Run          *string `json:"run_id"`
	ScheduledFor string  `json:"scheduled_for"`
	Trigger      string  `json:"trigger"`
	Status       string  `json:"status"`
	Error        *string `json:"error"`
	StartedAt    *string `json:"started_at"`
	FinishedAt   *string `json:"finished_at"`
	CreatedAt    string  `json:"created_at"`
}

func (m mount) taskRuns(c echo.Context) error {
	part, err := queryPage(c.QueryParams(), 50, 200)
	if err != nil {
		return err
	}
	cron, err := m.taskParam(c)
	if err != nil {
		return err
	}
	list, err := m.DB.CronRuns(c.Request().Context(), cron.ID, part.limit, part.offset)
	if err != nil {
		return err
	}
	out := make([]scheduledRunJSON, len(list))
	for i, r := range list {
		out[i] = scheduledRunJSON{ID: r.ID, Task: r.Cron, Thread: r.Thread, ScheduledFor: wire.Stamp(r.DueAt),
			Trigger: r.Trigger, Status: r.Status,
			Error: textOrNull(r.Error), StartedAt: stampOrNull(r.StartedAt), FinishedAt: stampOrNull(r.FinishedAt),
			CreatedAt: wire.Stamp(r.DueAt)}
		if !r.StartedAt.IsZero() {
			out[i].Run = &r.Run
		}
	}
	return httpx.JSON(c, http.StatusOK, out)
}
