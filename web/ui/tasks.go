package ui

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

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/agent/runs"
	"fawn/agent/schedule"
	"fawn/store"
	"fawn/views"
	"fawn/views/tasks"
	"fawn/web/httpx"
	"fawn/web/principal"
)

const (
	maxTasks    = 200 // that the page shows
	maxTaskRuns = 5   // starts of each
)

// tasks is GET /workspace/scheduled-tasks.
func (u *UI) tasks(c echo.Context) error {
	p := views.TasksPage{Form: u.newTask()}
	return u.tasksPage(c, http.StatusOK, p)
}

func (u *UI) tasksPage(c echo.Context, status int, p views.TasksPage) (err error) {
	if u.Schedule == nil {
		return store.ErrNotFound
	}
	ctx := c.Request().Context()
	if p.Shell, err = u.shell(c, views.NavTasks, ""); err != nil {
		return err
	}
	if p.Form.Agents, err = u.agentNames(ctx); err != nil {
		return err
	}
	p.Off = !u.Config.Current().File.Scheduler.Enabled
	var ids []string
	if err := u.DB.EachCron(ctx, principal.Owner(ctx),
		func(t store.Cron) bool { ids = append(ids, t.ID); return len(ids) < maxTasks }); err != nil {
		return err
	}
	for _, id := range ids {
		t, err := u.task(ctx, id)
		if errors.Is(err, store.ErrNotFound) { // deleted meanwhile
			continue
		}
		if err != nil {
			return err
		}
		p.Tasks = append(p.Tasks, t)
	}
	return html(c, status, tasks.Page(p))
}

// agentNames are the custom agents that can be run.
func (u *UI) agentNames(ctx context.Context) (names []string, err error) {
	if u.Agents == nil {
		return nil, nil
	}
	list, err := u.Agents.List(principal.Owner(ctx))
	for _, e := range list {
		if e.Err == nil {
			names = append(names, e.Name)
		}
	}
	return names, err
}

func (u *UI) task(ctx context.Context, id string) (views.Task, error) {
	cron, err := u.DB.Cron(ctx, principal.Owner(ctx), id)
	if err != nil {
		return views.Task{}, err
	}
	t := views.Task{ID: id, Title: cron.Title, Prompt: head(schedule.Prompt(cron.Payload), maxDraft),
		Schedule: cron.Schedule, Zone: cron.Timezone,
		Next: cron.NextAt, Paused: !cron.Enabled}
	if u.Agents != nil && u.Agents.Has(principal.Owner(ctx), cron.Assistant) {
		t.Agent = cron.Assistant
	}
	if _, err := u.mine(ctx, cron.Thread); err == nil {
		t.ThreadID = cron.Thread
	}
	if t.Title == "" {
		t.Title = firstWords(t.Prompt)
	}
	starts, err := u.DB.CronRuns(ctx, id, maxTaskRuns, 0)
	for _, r := range starts {
		run := views.TaskRun{Status: r.Status, At: r.DueAt, Manual: r.Trigger == schedule.Manual,
			Error: head(r.Error, maxTitle)}
		if late, times := schedule.Missed(cron, r); late > 0 {
			run.Began, run.Missed = r.StartedAt, times
		}
		if _, err := u.mine(ctx, r.Thread); err == nil {
			run.ThreadID = r.Thread
		}
		t.Runs = append(t.Runs, run)
	}
	return t, err
}

// zone is the name of the time zone that the form begins with; a browser puts its own there.
func (u *UI) zone() string {
	if z := u.Config.Current().File.Timezone; z != "" {
		return z
	}
	return "UTC"
}

// newTask is what the form begins with.
func (u *UI) newTask() views.TaskForm {
	return views.TaskForm{Every: "day", At: "08:00", Weekday: "1", Zone: u.zone()}
}

// addTask is POST /ui/tasks.
func (u *UI) addTask(c echo.Context) error {
	if u.Schedule == nil {
		return store.ErrNotFound
	}
	form, err := readForm(c.Request(), maxTaskForm)
	if err != nil {
		return err
	}
	cron, f, err := u.readTask(principal.Owner(c.Request().Context()), form)
	if err == nil && cron.NextAt.IsZero() {
		err = &taskProblem{"every", "tasks.never", nil}
	}
	var wrong *taskProblem
	if errors.As(err, &wrong) {
		f.Wrong, f.Problem = wrong.field, say(c, wrong.key, wrong.args...)
		return u.tasksPage(c, http.StatusUnprocessableEntity, views.TasksPage{Form: f})
	}
	if err != nil {
		f.Problem = err.Error()
		return u.tasksPage(c, http.StatusUnprocessableEntity, views.TasksPage{Form: f})
	}
	if err := u.createTask(c.Request().Context(), cron, f.Same); err != nil {
		return err
	}
	u.Schedule.Wake()
	return c.Redirect(http.StatusSeeOther, views.TasksURL)
}

// createTask stores a task, with a chat for all its runs if they share one.
func (u *UI) createTask(ctx context.Context, cron store.Cron, same bool) error {
	if same {
		cron.Thread = uuid.Must(uuid.NewV7()).String()
		t := store.Thread{ID: cron.Thread, Owner: cron.Owner, Status: runs.Idle, Title: cron.Title,
			CreatedAt: u.Schedule.Now()}
		if err := u.DB.Commit(ctx, store.Batch{Thread: &t, NewThread: true}); err != nil {
			return fmt.Errorf("begin the chat of a task: %w", err)
		}
	}
	_, err := u.DB.CreateCron(ctx, cron)
	return err
}

// maxTaskForm bounds the form of a task, in bytes.
const maxTaskForm = 1 << 20

// taskProblem is what is wrong with a field of the form, as a sentence of the catalogue.
type taskProblem struct {
	field, key string
	args       []any
}

func (p *taskProblem) Error() string { return p.field + ": " + p.key }

// readTask makes a task of a form. Fields that the choice of when does not show count for
// nothing. The error is for the person who filled it in.
func (u *UI) readTask(owner string, form url.Values) (store.Cron, views.TaskForm, error) {
	text := func(key string) string { return oneLine(plainText(form.Get(key))) }
	f := views.TaskForm{Title: head(text("title"), maxTitle), Prompt: strings.TrimSpace(plainText(form.Get("prompt"))),
		Every: form.Get("every"),
		At:    text("at"), Day: text("day"), Weekday: text("dow"), Cron: text("cron"), Zone: text("zone"),
		Agent: text("agent"), Same: form.Get("chat") == "same"}
	if !slices.Contains(views.Weekdays(), f.Weekday) {
		f.Weekday = "1"
	}
	cron := store.Cron{ID: "task-" + strings.ReplaceAll(uuid.Must(uuid.NewV7()).String(), "-", ""), Owner: owner,
		Kind:    store.CronRepeats,
		Enabled: true, After: "keep", Overlap: "skip", Task: true, Title: f.Title, Timezone: f.Zone, Assistant: f.Agent}
	switch {
	case f.Title == "":
		return cron, f, &taskProblem{"title", "tasks.wrong.title", nil}
	case f.Prompt == "":
		return cron, f, &taskProblem{"prompt", "tasks.wrong.prompt", nil}
	}
	if f.Agent != "" && (u.Agents == nil || !u.Agents.Has(owner, f.Agent)) {
		return cron, f, &taskProblem{"agent", "tasks.wrong.agent", nil}
	}
	loc, err := schedule.Zone(f.Zone)
	if err != nil {
		return cron, f, &taskProblem{"zone", "tasks.wrong.zone", []any{views.Safe(head(f.Zone, maxTitle))}}
	}
	at, err := time.Parse("15:04", f.At)
	if err != nil && f.Every != "cron" && f.Every != "hour" {
		return cron, f, &taskProblem{"at", "tasks.wrong.time", nil}
	}
	clock := strconv.Itoa(at.Minute()) + " " + strconv.Itoa(at.Hour())
	expr := ""
	switch f.Every {
	case "hour":
		expr = "0 * * * *"
	case "day":
		expr = clock + " * * *"
	case "weekday":
		expr = clock + " * * 1-5"
	case "week":
		expr = clock + " * * " + f.Weekday
	case "once":
		cron.Kind = store.CronOnce
		if cron.RunAt, err = time.ParseInLocation("2006-01-02 15:04", f.Day+" "+f.At, loc); err != nil {
			return cron, f, &taskProblem{"day", "tasks.wrong.day", nil}
		}
	default:
		f.Every, expr = "cron", f.Cron
	}
	if cron.Kind == store.CronRepeats {
		if cron.Schedule, err = schedule.Check(expr); err != nil {
			return cron, f, &taskProblem{"cron", "tasks.wrong.cron", []any{views.Safe(head(expr, maxTitle))}}
		}
	}
	if cron.Payload, err = schedule.Payload(f.Prompt); err != nil {
		return cron, f, err
	}
	cron.NextAt, err = schedule.Plan(cron, u.Schedule.Now())
	return cron, f, err
}

// changeTask is POST /ui/tasks/:id/:action.
func (u *UI) changeTask(c echo.Context) error {
	if u.Schedule == nil {
		return store.ErrNotFound
	}
	ctx, id := c.Request().Context(), param(c, "id")
	cron, err := u.DB.Cron(ctx, principal.Owner(ctx), id)
	if err != nil {
		return err
	}
	switch action := param(c, "action"); action {
	case "run":
		_, err = u.Schedule.Trigger(ctx, cron)
		if errors.Is(err, schedule.ErrBusy) || errors.Is(err, schedule.ErrFailed) {
			p := views.TasksPage{Form: u.newTask(), Notice: &views.Notice{Kind: views.NoticeError, Text: say(c, "tasks.busy")}}
			if errors.Is(err, schedule.ErrFailed) {
				p.Notice.Text = say(c, "tasks.failed", views.Safe(strings.TrimPrefix(err.Error(), schedule.ErrFailed.Error()+": ")))
			}
			return u.tasksPage(c, http.StatusConflict, p)
		}
	case "pause", "resume":
		_, err = u.DB.ChangeCron(ctx, principal.Owner(ctx), id, func(cron *store.Cron) (err error) {
			cron.Enabled, cron.NextAt = action == "resume", time.Time{}
			if cron.Enabled {
				cron.NextAt, err = schedule.Plan(*cron, u.Schedule.Now())
			}
			return err
		})
	case "delete":
		err = u.DB.DeleteCron(ctx, principal.Owner(ctx), id)
	default:
		return httpx.Errorf(http.StatusNotFound, "there is no such action")
	}
	if err != nil {
		return err
	}
	u.Schedule.Wake()
	return c.Redirect(http.StatusSeeOther, views.TasksURL)
}
