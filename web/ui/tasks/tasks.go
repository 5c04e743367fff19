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

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/agent/access"
	"fawn/agent/runs"
	"fawn/agent/schedule"
	"fawn/store"
	"fawn/views"
	"fawn/views/tasks"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/ui/page"
)

const (
	maxTasks    = 200 // that the page shows
	maxTaskRuns = 5   // starts of each
)

// tasks is GET /workspace/scheduled-tasks.
func (h *Handlers) tasks(c echo.Context) error {
	p := views.TasksPage{Form: h.newTask()}
	if id := c.QueryParam("started"); id != "" {
		if cron, err := h.task(c, id); err == nil {
			p.Chat = c.QueryParam("chat")
			p.Notice = &views.Notice{Kind: views.NoticeGood, Text: page.Say(c, "tasks.started", views.Safe(cron.Title))}
		}
	}
	return h.tasksPage(c, http.StatusOK, p)
}

func (h *Handlers) tasksPage(c echo.Context, status int, p views.TasksPage) (err error) {
	if h.Schedule == nil {
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

// agentNames are the custom agents that can be run.
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

// zone is the name of the time zone that the form begins with; a browser puts its own there.
func (h *Handlers) zone() string {
	if z := h.Config.Current().File.Timezone; z != "" {
		return z
	}
	return "UTC"
}

// newTask is what the form begins with.
func (h *Handlers) newTask() views.TaskForm {
	return views.TaskForm{Every: "day", At: "08:00", Weekday: "1", Zone: h.zone()}
}

// addTask is POST /ui/tasks.
func (h *Handlers) addTask(c echo.Context) error {
	if h.Schedule == nil {
		return store.ErrNotFound
	}
	form, err := page.ReadForm(c.Request(), maxTaskForm)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	cron, f, err := h.readTask(principal.Owner(ctx), form)
	if err == nil {
		cron.Deliver, err = h.chosenChat(ctx, f.Chat)
	}
	if err == nil && cron.NextAt.IsZero() {
		err = &taskProblem{"every", "tasks.never", nil}
	}
	var wrong *taskProblem
	if errors.As(err, &wrong) {
		f.Wrong, f.Problem = wrong.field, page.Say(c, wrong.key, wrong.args...)
		return h.tasksPage(c, http.StatusUnprocessableEntity, views.TasksPage{Form: f})
	}
	if err != nil {
		f.Problem = err.Error()
		return h.tasksPage(c, http.StatusUnprocessableEntity, views.TasksPage{Form: f})
	}
	if err := h.createTask(ctx, cron, f.Same); err != nil {
		return err
	}
	h.Schedule.Wake()
	return c.Redirect(http.StatusSeeOther, views.TasksURL)
}

// createTask stores a task, with a chat for all its runs if they share one.
func (h *Handlers) createTask(ctx context.Context, cron store.Cron, same bool) error {
	if same {
		cron.Thread = uuid.Must(uuid.NewV7()).String()
		t := store.Thread{ID: cron.Thread, Owner: cron.Owner, Status: runs.Idle, Title: cron.Title,
			CreatedAt: h.Schedule.Now()}
		if err := h.DB.Commit(ctx, store.Batch{Thread: &t, NewThread: true}); err != nil {
			return fmt.Errorf("begin the chat of a task: %w", err)
		}
	}
	_, err := h.DB.CreateCron(ctx, cron)
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
func (h *Handlers) readTask(owner string, form url.Values) (store.Cron, views.TaskForm, error) {
	text := func(key string) string { return page.OneLine(page.PlainText(form.Get(key))) }
	f := views.TaskForm{Title: page.Head(text("title"), page.MaxTitle),
		Prompt: strings.TrimSpace(page.PlainText(form.Get("prompt"))), Every: form.Get("every"),
		At: text("at"), Day: text("day"), Weekday: text("dow"), Cron: text("cron"), Zone: text("zone"),
		Agent: text("agent"), Same: form.Get("chat") == "same",
		Chat: form.Get("deliver")}
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
	if f.Agent != "" && (h.Agents == nil || !h.Agents.Has(owner, f.Agent)) {
		return cron, f, &taskProblem{"agent", "tasks.wrong.agent", nil}
	}
	loc, err := schedule.Zone(f.Zone)
	if err != nil {
		return cron, f, &taskProblem{"zone", "tasks.wrong.zone", []any{views.Safe(page.Head(f.Zone, page.MaxTitle))}}
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
			return cron, f, &taskProblem{"cron", "tasks.wrong.cron", []any{views.Safe(page.Head(expr, page.MaxTitle))}}
		}
	}
	if cron.Payload, err = schedule.Payload(f.Prompt); err != nil {
		return cron, f, err
	}
	cron.NextAt, err = schedule.Plan(cron, h.Schedule.Now())
	return cron, f, err
}

// changeTask is POST /ui/tasks/:id/:action.
func (h *Handlers) changeTask(c echo.Context) error {
	if h.Schedule == nil {
		return store.ErrNotFound
	}
	ctx, id := c.Request().Context(), page.Param(c, "id")
	cron, err := h.DB.Cron(ctx, principal.Owner(ctx), id)
	if err != nil {
		return err
	}
	switch action := page.Param(c, "action"); action {
	case "run":
		var began store.CronRun
		began, err = h.Schedule.Trigger(ctx, cron)
		if err == nil {
			h.Schedule.Wake()
			return c.Redirect(http.StatusSeeOther, views.TasksURL+"?started="+url.QueryEscape(id)+"&chat="+
				url.QueryEscape(began.Thread))
		}
		if errors.Is(err, schedule.ErrBusy) || errors.Is(err, schedule.ErrFailed) {
			p := views.TasksPage{Form: h.newTask(),
				Notice: &views.Notice{Kind: views.NoticeError, Text: page.Say(c, "tasks.busy")}}
			if errors.Is(err, schedule.ErrFailed) {
				p.Notice.Text = page.Say(c, "tasks.failed",
					views.Safe(strings.TrimPrefix(err.Error(), schedule.ErrFailed.Error()+": ")))
			}
			return h.tasksPage(c, http.StatusConflict, p)
		}
	case "pause", "resume":
		_, err = h.DB.ChangeCron(ctx, principal.Owner(ctx), id, func(cron *store.Cron) (err error) {
			cron.Enabled, cron.NextAt = action == "resume", time.Time{}
			if cron.Enabled {
				cron.NextAt, err = schedule.Plan(*cron, h.Schedule.Now())
			}
			return err
		})
	case "delete":
		err = h.DB.DeleteCron(ctx, principal.Owner(ctx), id)
	default:
		return httpx.Errorf(http.StatusNotFound, "there is no such action")
	}
	if err != nil {
		return err
	}
	h.Schedule.Wake()
	return c.Redirect(http.StatusSeeOther, views.TasksURL)
}
