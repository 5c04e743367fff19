package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/channels"
	"fawn/agent/schedule"
	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	o "fawn/web/openapi"
	"fawn/web/route"
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

	Deliver *channels.Destination `json:"deliver_to"`
}

// taskOf returns a cron in DeerFlow's form, with the outcome of its last starts.
func (g *Gateway) taskOf(c echo.Context, cron store.Cron) (scheduledJSON, error) {
	out := scheduledJSON{ID: cron.ID, User: cron.Owner, Thread: route.TextOrNull(cron.Thread), Mode: freshThread,
		Assistant: cron.Assistant, Title: cron.Title,
		Prompt: schedule.Prompt(cron.Payload), Type: cron.Kind, Timezone: cron.Timezone,
		Status: "enabled", Overlap: "enqueue", Deliver: destination(cron), NextRun: route.StampOrNull(cron.NextAt),
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
	started, open, err := g.DB.CountCronRuns(ctx, cron.ID)
	if err != nil {
		return out, err
	}
	out.Runs = started
	last, err := g.DB.CronRuns(ctx, cron.ID, 1, 0)
	if err != nil {
		return out, err
	}
	failed := false
	if len(last) > 0 {
		r := last[0]
		out.LastRun, out.LastError, failed = route.StampOrNull(r.StartedAt), route.TextOrNull(r.Error),
			r.Status == store.CronFailed
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

func (g *Gateway) createTask(c echo.Context) error {
	var b taskBody
	if err := g.BindStrict(c, &b); err != nil {
		return err
	}
	for _, s := range []struct {
		field string
		given bool
	}{{"title", b.Title != nil}, {"prompt", b.Prompt != nil}, {"schedule_type", b.Type != nil},
		{"schedule_spec", route.Given(b.Spec) != nil}, {"timezone", b.Timezone != nil}} {
		if !s.given {
			return httpx.Invalid("body", s.field, "is required")
		}
	}
	base := schedule.Task(*b.Type)
	e, err := g.taskEdit(b, base)
	if err != nil {
		return err
	}
	cron, err := g.Tasks.Create(c.Request().Context(), g.Owner(c), base, e)
	if err != nil {
		return taskProblem(err, b)
	}
	return g.answerTask(c, cron)
}

func (g *Gateway) answerTask(c echo.Context, cron store.Cron) error {
	out, err := g.taskOf(c, cron)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, out)
}

// answerTasks sends the crons that keep says yes to, newest first.
func (g *Gateway) answerTasks(c echo.Context, keep func(store.Cron) bool) error {
	var ids []string
	err := g.DB.EachCron(c.Request().Context(), g.Owner(c), func(cron store.Cron) bool {
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
		cron, err := g.DB.Cron(c.Request().Context(), g.Owner(c), id)
		if errors.Is(err, store.ErrNotFound) { // deleted meanwhile
			continue
		}
		if err != nil {
			return err
		}
		one, err := g.taskOf(c, cron)
		if err != nil {
			return err
		}
		out = append(out, one)
	}
	return httpx.JSON(c, http.StatusOK, out)
}

func (g *Gateway) listTasks(c echo.Context) error {
	return g.answerTasks(c, func(store.Cron) bool { return true })
}

func (g *Gateway) threadTasks(c echo.Context, thread string) error {
	return g.answerTasks(c, func(cron store.Cron) bool { return cron.Thread == thread })
}

// taskParam finds the task of the path.
func (g *Gateway) taskParam(c echo.Context) (store.Cron, error) {
	cron, err := g.DB.Cron(c.Request().Context(), g.Owner(c), route.Param(c, "cid"))
	return cron, noTask(err)
}

func noTask(err error) error {
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return httpx.Errorf(http.StatusNotFound, "Scheduled task not found")
}

func (g *Gateway) task(c echo.Context) error {
	cron, err := g.taskParam(c)
	if err != nil {
		return err
	}
	return g.answerTask(c, cron)
}

func (g *Gateway) patchTask(c echo.Context) error {
	var b taskBody
	if err := g.BindStrict(c, &b); err != nil {
		return err
	}
	if b.Type != nil {
		return httpx.Invalid("body", "schedule_type", "cannot be changed")
	}
	cron, err := g.taskParam(c)
	if err != nil {
		return err
	}
	e, err := g.taskEdit(b, cron)
	if err != nil {
		return err
	}
	if cron, err = g.Tasks.Change(c.Request().Context(), g.Owner(c), cron.ID, e); err != nil {
		return taskProblem(err, b)
	}
	return g.answerTask(c, cron)
}

func (g *Gateway) pauseTask(c echo.Context) error { return g.switchTask(c, g.Tasks.Pause) }

func (g *Gateway) resumeTask(c echo.Context) error { return g.switchTask(c, g.Tasks.Resume) }

func (g *Gateway) switchTask(c echo.Context,
	change func(ctx context.Context, owner, id string) (store.Cron, error)) error {
	cron, err := change(c.Request().Context(), g.Owner(c), route.Param(c, "cid"))
	if err != nil {
		return taskProblem(err, taskBody{})
	}
	return g.answerTask(c, cron)
}

// triggerTask starts a task now.
type triggeredTask struct {
	ID        string `json:"id"`
	Triggered bool   `json:"triggered"`
}

func (g *Gateway) triggerTask(c echo.Context) error {
	id := route.Param(c, "cid")
	_, err := g.Tasks.Run(c.Request().Context(), g.Owner(c), id)
	switch {
	case errors.Is(err, schedule.ErrOff):
		return httpx.Errorf(http.StatusServiceUnavailable, "%v", err)
	case errors.Is(err, schedule.ErrBusy):
		return httpx.Errorf(http.StatusConflict, "Scheduled task trigger conflicted with an active run")
	case errors.Is(err, schedule.ErrFailed):
		return httpx.Errorf(http.StatusBadGateway, "%v", err)
	case err != nil:
		return noTask(err)
	}
	return httpx.JSON(c, http.StatusOK, triggeredTask{id, true})
}

type deletedTask struct {
	Deleted bool   `json:"deleted"`
	ID      string `json:"id"`
}

func (g *Gateway) deleteTask(c echo.Context) error {
	id := route.Param(c, "cid")
	if err := g.Tasks.Delete(c.Request().Context(), g.Owner(c), id); err != nil {
		return taskProblem(err, taskBody{})
	}
	return httpx.JSON(c, http.StatusOK, deletedTask{true, id})
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

	Delivery *deliveryJSON `json:"delivery"`
}

func (g *Gateway) taskRuns(c echo.Context) error {
	part, err := route.QueryPage(c.QueryParams(), 50, 200)
	if err != nil {
		return err
	}
	cron, err := g.taskParam(c)
	if err != nil {
		return err
	}
	list, err := g.DB.CronRuns(c.Request().Context(), cron.ID, part.Limit, part.Offset)
	if err != nil {
		return err
	}
	out := make([]scheduledRunJSON, len(list))
	for i, r := range list {
		out[i] = scheduledRunJSON{ID: r.ID, Task: r.Cron, Thread: r.Thread, ScheduledFor: wire.Stamp(r.DueAt),
			Trigger: r.Trigger, Status: r.Status,
			Error: route.TextOrNull(r.Error), StartedAt: route.StampOrNull(r.StartedAt),
			FinishedAt: route.StampOrNull(r.FinishedAt), CreatedAt: wire.Stamp(r.DueAt)}
		if !r.StartedAt.IsZero() {
			out[i].Run = &r.Run
		}
		if out[i].Delivery, err = g.resultOf(c, r.Run); err != nil {
			return err
		}
	}
	return httpx.JSON(c, http.StatusOK, out)
}

func describeTasks() []o.Op {
	const tag = "Scheduled tasks"
	task, tasks := route.Answered("The task", o.Ref("ScheduledTask")),
		route.Answered("The tasks, newest first", o.List(o.Ref("ScheduledTask")))
	spec := o.Body(o.Opt("cron", o.String()), o.Opt("run_at", o.String()))
	parts := []o.Prop{o.Is("thread_id", o.ID()), o.Is("context_mode", o.Enum(freshThread, reuseThread)),
		o.Is("deliver_to", o.Of[channels.Destination]())}
	return []o.Op{
		{ID: "listTasks", Tag: tag, Text: "List all scheduled tasks, including crons", Out: tasks},
		{ID: "createTask", Example: `{"title": "News", "prompt": "What is new?", "schedule_type": "cron", "schedule_spec": {"cron": "0 7 * * 1"}, "timezone": "Europe/Berlin"}`, Tag: tag, Text: "Schedule a prompt, once or repeatedly", Need: true,
			More: "deliver_to names a chat that the answer of each run is sent to when it ends: one of an account that " +
				"you connected, or a group that you let the bot into. A reply there goes on in the run's thread.",
			Body: o.Reads[taskBody](append(parts[:3:3], o.Req("title", o.String()), o.Req("prompt", o.String()),
				o.Req("schedule_type", o.Enum("once", "cron")), o.Req("schedule_spec", spec), o.Req("timezone", o.String()))...), Out: task, Fail: []int{404}},
		{ID: "getTask", Tag: tag, Text: "Get a task", Out: task},
		{ID: "patchTask", Tag: tag, Text: "Change a task",
			Body: o.Reads[taskBody](o.And(parts, o.Without("schedule_type"), []o.Prop{o.Is("schedule_spec", spec)})...),
			Out:  task, Fail: []int{409}},
		{ID: "deleteTask", Tag: tag, Text: "Delete a task",
			Out:  route.Answered("Deleted", o.Of[deletedTask]()),
			Fail: []int{409}},
		{ID: "pauseTask", Tag: tag, Text: "Pause a task", Out: task, Fail: []int{409}},
		{ID: "resumeTask", Tag: tag, Text: "Resume a task", Out: task, Fail: []int{409}},
		{ID: "triggerTask", Tag: tag, Text: "Run a task now",
			Out:  route.Answered("Started", o.Of[triggeredTask]()),
			Fail: []int{409, 502, 503}},
		{ID: "listTaskRuns", Tag: tag, Text: "List the runs of a task, newest first",
			Query: []o.Param{{Name: "limit", Schema: o.Range(1, 200)}, {Name: "offset", Schema: o.Int(0)}},
			Out:   route.Answered("The runs of the task", o.List(o.Ref("ScheduledTaskRun")))},
		{ID: "listThreadTasks", Lazy: true, Tag: tag, Text: "List the scheduled tasks of a thread", Out: tasks},
	}
}

func describedTask() o.Schema {
	return o.Of[scheduledJSON](o.Is("context_mode", o.Enum(freshThread, reuseThread)), o.Is("schedule_type", o.Enum("once", "cron")),
		o.Is("schedule_spec", o.Map(nil)), o.Is("status", o.Enum("enabled", "paused", "running", "completed", "failed")),
		o.Is("overlap_policy", o.Enum("skip", "enqueue")))
}

func describedTaskRun() o.Schema {
	return o.Of[scheduledRunJSON](o.Is("scheduled_for", o.Time()), o.Is("trigger", o.Enum("scheduled", "manual")),
		o.Is("status", o.Enum("starting", "running", "success", "failed", "interrupted", "skipped")),
		o.Is("delivery", o.Nullable(o.Of[deliveryJSON](o.Is("state", o.Enum("waiting", "sent", "failed", "unknown"))))))
}
