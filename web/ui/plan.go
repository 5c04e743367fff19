package ui

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/ui/page"
	"fawn/web/ui/turns"
)

// editPlan handles POST /ui/threads/:id/plan: an item of the plan is added, rewritten, moved or struck, also while a
// run works on it. An item that is gone stays gone.
func (u *UI) editPlan(c echo.Context, t store.Thread) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	text := page.OneLine(page.Head(page.PlainText(form.Get("text")), agent.MaxTodoChars))
	now, err := u.Runs.EditPlan(c.Request().Context(), t.ID, func(was []agent.Todo) ([]agent.Todo, error) {
		return changedPlan(was, form, text), nil
	})
	if err != nil {
		return u.refuse(c, err, "")
	}
	if !page.Scripted(c.Request()) {
		return c.Redirect(http.StatusSeeOther, views.ThreadURL(t.ID)+"#todos")
	}
	f := views.Frame{Streamed: true, Running: u.Runs.Active(t.ID) != ""}
	if err := f.Put(page.Localized(c), views.SwapOuter, "todos", chat.Plan(t.ID, turns.Todos(now))); err != nil {
		return err
	}
	return page.SendFrame(c, http.StatusOK, f)
}

// changedPlan applies a form to a plan.
func changedPlan(list []agent.Todo, form url.Values, text string) []agent.Todo {
	if form.Get("do") == "add" {
		if text == "" {
			return list
		}
		id := "u" + uuid.NewString()[:8] // not a number, which the model could use
		return append(list, agent.Todo{ID: id, Content: text, Title: text, Status: "pending"})
	}
	at := slices.IndexFunc(list, func(t agent.Todo) bool { return t.ID == form.Get("item") })
	if at < 0 {
		return list
	}
	switch form.Get("do") {
	case "save":
		if text != "" {
			list[at].Content, list[at].Title = text, text
		}
	case "strike":
		list = slices.Delete(list, at, at+1)
	case "up":
		if at > 0 {
			list[at], list[at-1] = list[at-1], list[at]
		}
	case "down":
		if at < len(list)-1 {
			list[at], list[at+1] = list[at+1], list[at]
		}
	}
	return list
}
