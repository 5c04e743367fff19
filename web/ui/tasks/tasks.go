// Package tasks serves the page of scheduled tasks. It parses forms and words responses; schedule.Tasks has the rules.
// Begin with tasks.go.
package tasks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent/access"
	"fawn/agent/profile"
	"fawn/agent/schedule"
	"fawn/store"
	"fawn/views"
	"fawn/views/tasks"
	"fawn/web/bots"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/ui/page"
)

// Handlers serve the scheduled-tasks page.
type Handlers struct {
	*page.Site
	Tasks  *schedule.Tasks  // nil means no such page
	Agents *profile.Library // nil means none
	Bots   *bots.Service    // bots of chat apps; nil means none
}

// Routes returns the page of scheduled tasks and its actions.
func (h *Handlers) Routes() []page.Route {
	return []page.Route{
		page.Get("/workspace/scheduled-tasks", page.User, h.tasks),
		page.Post("/ui/tasks", page.User, h.addTask),
		page.Post("/ui/tasks/:id/:action", page.User, h.changeTask),
	}
}

const (
	maxTasks    = 200 // limit of shown tasks
	maxTaskRuns = 5   // starts of each
)

// tasks handles GET /workspace/scheduled-tasks.
func (h *Handlers) tasks(c echo.Context) error {
	p := views.TasksPage{Form: h.newTask()}
	if id := c.QueryParam("started"); id != "" {
		if cron, err := h.task(c, id); err == nil {
			p.Chat = c.QueryParam("chat")
			p.Notice = &views.Notice{Kind: views.NoticeGood, Text: page.Say(c, "tasks.started", views.Safe(cron.Title))}
		}
	}
	if id := c.QueryParam("edit"); id != "" {
		cron, err := h.DB.Cron(c.Request().Context(), principal.Owner(c.Request().Context()), id)
		if err != nil {
			return err
		}
		if p.Form, err = h.formOf(c.Request().Context(), cron); err != nil {
			return err
		}
	}
	return h.tasksPage(c, http.StatusOK, p)
}

func (h *Handlers) tasksPage(c echo.Context, status int, p views.TasksPage) (err error) {
	if h.Tasks == nil {
		return store.ErrNotFound
	}
	ctx := c.Request().Context()
	if p.Shell, err = h.Shell(c, views.NavTasks, ""); err != nil {
		return err
	}
	if p.Form.Agents, err = h.agentNames(ctx); err != nil {
		return err
	}
	if p.Form.Chats, err = h.chats(ctx); err != nil {
		return err
	}
	p.Off = !h.Config.Current().File.Scheduler.Enabled
	var ids []string
	if err := h.DB.EachCron(ctx, principal.Owner(ctx),
		func(t store.Cron) bool { ids = append(ids, t.ID); return len(ids) < maxTasks }); err != nil {
		return err
	}
	for _, id := range ids {
		t, err := h.task(c, id)
		if errors.Is(err, store.ErrNotFound) { // deleted meanwhile
			continue
		}
		if err != nil {
			return err
		}
		p.Tasks = append(p.Tasks, t)
	}
	return page.HTML(c, status, tasks.Page(p))
}

// agentNames returns the custom agents that can run.
func (h *Handlers) agentNames(ctx context.Context) (names []string, err error) {
	if h.Agents == nil {
		return nil, nil
	}
	list, err := h.Agents.List(principal.Owner(ctx))
	may := h.Rights(ctx)
	for _, e := range list {
		if e.Err == nil && may.May(access.Agent, e.Name) {
			names = append(names, e.Name)
		}
	}
	return names, err
}

func (h *Handlers) task(c echo.Context, id string) (views.Task, error) {
	ctx := c.Request().Context()
	cron, err := h.DB.Cron(ctx, principal.Owner(ctx), id)
	if err != nil {
		return views.Task{}, err
	}
	t := views.Task{ID: id, Title: cron.Title, Prompt: page.Head(schedule.Prompt(cron.Payload), page.MaxDraft),
		Schedule: cron.Schedule, Zone: cron.Timezone,
		Next: cron.NextAt, Paused: !cron.Enabled}
	if h.Agents != nil && h.Agents.Has(principal.Owner(ctx), cron.Assistant) {
		t.Agent = cron.Assistant
	}
	if _, err := h.OwnThread(ctx, cron.Thread); err == nil {
		t.ThreadID = cron.Thread
	}
	if t.Chat, err = h.chat(ctx, cron); err != nil {
		return t, err
	}
	if t.Title == "" {
		t.Title = page.FirstWords(t.Prompt)
	}
	starts, err := h.DB.CronRuns(ctx, id, maxTaskRuns, 0)
	for _, r := range starts {
		run := views.TaskRun{Status: r.Status, At: r.DueAt, Manual: r.Trigger == schedule.Manual,
			Error: page.Head(r.Error, page.MaxTitle)}
		if late, times := schedule.Missed(cron, r); late > 0 {
			run.Began, run.Missed = r.StartedAt, times
		}
		if _, err := h.OwnThread(ctx, r.Thread); err == nil {
			run.ThreadID = r.Thread
		}
		if err := h.sent(c, &run, r.Run); err != nil {
			return t, err
		}
		t.Runs = append(t.Runs, run)
	}
	return t, err
}

// zone returns the form's initial time zone; a browser inserts its own.
func (h *Handlers) zone() string {
	if z := h.Config.Current().File.Timezone; z != "" {
		return z
	}
	return "UTC"
}

// newTask returns the initial content of the form.
func (h *Handlers) newTask() views.TaskForm {
	return views.TaskForm{Every: "day", At: "08:00", Weekday: "1", Zone: h.zone()}
}

// formOf returns the form for an existing task.
func (h *Handlers) formOf(ctx context.Context, cron store.Cron) (views.TaskForm, error) {
	f := views.TaskForm{ID: cron.ID, Title: cron.Title, Prompt: schedule.Prompt(cron.Payload), At: "08:00", Weekday: "1",
		Zone: cron.Timezone}
	if h.Agents != nil && h.Agents.Has(cron.Owner, cron.Assistant) {
		f.Agent = cron.Assistant
	}
	to, err := h.chat(ctx, cron)
	if to != nil {
		f.Chat = to.Value
	}
	if cron.Kind == store.CronOnce {
		at := cron.RunAt
		if zone, err := time.LoadLocation(cron.Timezone); err == nil {
			at = at.In(zone)
		}
		f.Every, f.Day, f.At = "once", at.Format("2006-01-02"), at.Format("15:04")
		return f, err
	}
	f.Every, f.Cron = "cron", cron.Schedule
	var minute, hour int
	var day string
	if n, wrong := fmt.Sscanf(cron.Schedule, "%d %d * * %s", &minute, &hour, &day); n == 3 && wrong == nil {
		at := fmt.Sprintf("%02d:%02d", hour, minute)
		switch {
		case day == "*":
			f.Every, f.At = "day", at
		case day == "1-5":
			f.Every, f.At = "weekday", at
		case slices.Contains(views.Weekdays(), day):
			f.Every, f.At, f.Weekday = "week", at, day
		}
	} else if cron.Schedule == "0 * * * *" {
		f.Every = "hour"
	}
	return f, err
}

// editTask handles POST /ui/tasks/:id/edit. Unchanged fields keep their values, including parts of the request and
// times that the form can't show.
func (h *Handlers) editTask(c echo.Context, owner, id string) error {
	form, err := page.ReadForm(c.Request(), maxTaskForm)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	cron, err := h.DB.Cron(ctx, owner, id)
	if err != nil {
		return err
	}
	was, err := h.formOf(ctx, cron)
	if err != nil {
		return err
	}
	base, e, f, err := readTask(form)
	f.ID = id
	if err == nil && base.Kind != cron.Kind {
		err = &taskProblem{"every", "tasks.wrong.kind", nil}
	}
	if err == nil {
		e.NewThread = false
		if f.Prompt == was.Prompt {
			e.Prompt = nil
		}
		if f.Chat == was.Chat {
			e.Deliver = nil
		}
		if f.Zone == cron.Timezone && f.expr == cron.Schedule && (cron.Kind != store.CronOnce || f.Day == was.Day && f.At == was.At) {
			e.Schedule, e.Once, e.Timezone = nil, nil, nil
		}
		switch lead := schedule.Task(cron.Kind).Assistant; {
		case f.Agent == was.Agent:
			e.Assistant = nil
		case f.Agent == "":
			e.Assistant = &lead
		}
		_, err = h.Tasks.Change(ctx, owner, id, e)
	}
	if err == nil {
		return c.Redirect(http.StatusSeeOther, views.TasksURL)
	}
	p := views.TasksPage{Form: f.TaskForm}
	if errors.Is(err, schedule.ErrBusy) {
		p.Notice = &views.Notice{Kind: views.NoticeError, Text: page.Say(c, "tasks.busy")}
		return h.tasksPage(c, http.StatusConflict, p)
	}
	wrong := f.problem(err)
	if wrong == nil {
		return err
	}
	p.Form.Wrong, p.Form.Problem = wrong.field, page.Say(c, wrong.key, wrong.args...)
	return h.tasksPage(c, http.StatusUnprocessableEntity, p)
}

// addTask handles POST /ui/tasks.
func (h *Handlers) addTask(c echo.Context) error {
	if h.Tasks == nil {
		return store.ErrNotFound
	}
	form, err := page.ReadForm(c.Request(), maxTaskForm)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	base, e, f, err := readTask(form)
	if err == nil {
		_, err = h.Tasks.Create(ctx, principal.Owner(ctx), base, e)
	}
	if err == nil {
		return c.Redirect(http.StatusSeeOther, views.TasksURL)
	}
	if wrong := f.problem(err); wrong != nil {
		f.Wrong, f.Problem = wrong.field, page.Say(c, wrong.key, wrong.args...)
		return h.tasksPage(c, http.StatusUnprocessableEntity, views.TasksPage{Form: f.TaskForm})
	}
	return err
}

// maxTaskForm limits the form of a task, in bytes.
const maxTaskForm = 1 << 20

// taskProblem is a wrong field of the form and the sentence of the catalogue about it.
type taskProblem struct {
	field, key string
	args       []any
}

func (p *taskProblem) Error() string { return p.field + ": " + p.key }

// taskForm is a filled-in form with its cron expression.
type taskForm struct {
	views.TaskForm
	expr string
}

// problem returns the message for an error of the service, nil for one that isn't about the form.
func (f taskForm) problem(err error) *taskProblem {
	var wrong *taskProblem
	if errors.As(err, &wrong) {
		return wrong
	}
	var r *schedule.Refusal
	if !errors.As(err, &r) {
		return nil
	}
	named := func(text string) []any { return []any{views.Safe(page.Head(text, page.MaxTitle))} }
	switch r.Part {
	case schedule.PartTitle, schedule.PartPrompt:
		if r.Part == schedule.PartTitle && f.Title == "" || r.Part == schedule.PartPrompt && f.Prompt == "" {
			return &taskProblem{r.Part, "tasks.wrong." + r.Part, nil}
		}
		return &taskProblem{r.Part, "tasks.wrong.long", []any{r.Limit}}
	case schedule.PartAssistant:
		return &taskProblem{"agent", "tasks.wrong.agent", nil}
	case schedule.PartDeliver:
		return &taskProblem{"deliver", "tasks.wrong.deliver", nil}
	case schedule.PartZone:
		return &taskProblem{"zone", "tasks.wrong.zone", named(f.Zone)}
	case schedule.PartSchedule:
		return &taskProblem{"cron", "tasks.wrong.cron", named(f.expr)}
	case schedule.PartOnce:
		if errors.Is(r.Err, schedule.ErrSoon) {
			return &taskProblem{"every", "tasks.soon", []any{r.Limit}}
		}
		return &taskProblem{"every", "tasks.never", nil}
	}
	return nil
}

// readTask reads the form of a new task. Fields that the chosen repetition doesn't show are ignored. The error is a
// *taskProblem.
func readTask(form url.Values) (base store.Cron, e schedule.Edit, f taskForm, err error) {
	text := func(key string) string { return page.OneLine(page.PlainText(form.Get(key))) }
	f.TaskForm = views.TaskForm{Title: page.Head(text("title"), page.MaxTitle),
		Prompt: strings.TrimSpace(page.PlainText(form.Get("prompt"))), Every: form.Get("every"),
		At: text("at"), Day: text("day"), Weekday: text("dow"), Cron: text("cron"), Zone: text("zone"),
		Agent: text("agent"), Same: form.Get("chat") == "same",
		Chat: form.Get("deliver")}
	if !slices.Contains(views.Weekdays(), f.Weekday) {
		f.Weekday = "1"
	}
	base = schedule.Task(store.CronRepeats)
	e = schedule.Edit{Title: &f.Title, Prompt: &f.Prompt, Timezone: &f.Zone, NewThread: f.Same, Deliver: &f.Chat}
	if f.Agent != "" {
		e.Assistant = &f.Agent
	}
	at, err := time.Parse("15:04", f.At)
	if err != nil && f.Every != "cron" && f.Every != "hour" {
		return base, e, f, &taskProblem{"at", "tasks.wrong.time", nil}
	}
	clock := strconv.Itoa(at.Minute()) + " " + strconv.Itoa(at.Hour())
	e.Schedule = &f.expr
	switch f.Every {
	case "hour":
		f.expr = "0 * * * *"
	case "day":
		f.expr = clock + " * * *"
	case "weekday":
		f.expr = clock + " * * 1-5"
	case "week":
		f.expr = clock + " * * " + f.Weekday
	case "once":
		base, e.Schedule = schedule.Task(store.CronOnce), nil
		day := f.Day + " " + f.At
		e.Once = func(zone *time.Location) (time.Time, error) {
			at, err := time.ParseInLocation("2006-01-02 15:04", day, zone)
			if err != nil {
				return at, &taskProblem{"day", "tasks.wrong.day", nil}
			}
			return at, nil
		}
	default:
		f.Every, f.expr = "cron", f.Cron
	}
	return base, e, f, nil
}

// changeTask handles POST /ui/tasks/:id/:action.
func (h *Handlers) changeTask(c echo.Context) error {
	if h.Tasks == nil {
		return store.ErrNotFound
	}
	ctx, id := c.Request().Context(), page.Param(c, "id")
	owner, back := principal.Owner(ctx), views.TasksURL
	var err error
	switch action := page.Param(c, "action"); action {
	case "edit":
		return h.editTask(c, owner, id)
	case "run":
		var began store.CronRun
		began, err = h.Tasks.Run(ctx, owner, id)
		back += "?started=" + url.QueryEscape(id) + "&chat=" + url.QueryEscape(began.Thread)
	case "pause":
		_, err = h.Tasks.Pause(ctx, owner, id)
	case "resume":
		_, err = h.Tasks.Resume(ctx, owner, id)
	case "delete":
		err = h.Tasks.Delete(ctx, owner, id)
	default:
		return httpx.Errorf(http.StatusNotFound, "there is no such action")
	}
	said := ""
	switch {
	case err == nil:
		return c.Redirect(http.StatusSeeOther, back)
	case errors.Is(err, schedule.ErrBusy):
		said = page.Say(c, "tasks.busy")
	case errors.Is(err, schedule.ErrPast):
		said = page.Say(c, "tasks.never")
	case errors.Is(err, schedule.ErrFailed):
		said = page.Say(c, "tasks.failed", views.Safe(strings.TrimPrefix(err.Error(), schedule.ErrFailed.Error()+": ")))
	default:
		return err
	}
	return h.tasksPage(c, http.StatusConflict, views.TasksPage{Form: h.newTask(),
		Notice: &views.Notice{Kind: views.NoticeError, Text: said}})
}
