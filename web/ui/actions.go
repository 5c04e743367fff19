package ui

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
)

// maxTitle bounds a title that a person writes, in bytes.
const maxTitle = 800

// rename is POST /ui/threads/:id/rename.
func (u *UI) rename(c echo.Context) error {
	ctx, id := c.Request().Context(), param(c, "id")
	form, err := readForm(c.Request(), maxSmallForm)
	if err != nil {
		return err
	}
	title := oneLine(head(plainText(form.Get("title")), maxTitle))
	if title == "" {
		return frame(c, views.Frame{}, back(c, views.ThreadURL(id)))
	}
	if err := u.setTitle(c, id, title); err != nil {
		return err
	}
	t, err := u.mine(ctx, id)
	if err != nil {
		return err
	}
	f := views.Frame{Title: views.Safe(title)}
	if scripted(c.Request()) {
		was := scene{thread: id, row: rowOf(t)}
		now := was
		now.title, now.row.Title = title, title
		if _, f, err = newScreen(localized(c), was).show(now); err != nil {
			return err
		}
	}
	return frame(c, f, back(c, views.ThreadURL(id)))
}

// setTitle writes a title to the state. While a run has the state, only the row the lists
// show takes it.
func (u *UI) setTitle(c echo.Context, id, title string) error {
	ctx := c.Request().Context()
	t, err := u.mine(ctx, id)
	if err != nil {
		return err
	}
	if t.Head != "" {
		values, err := agent.Encode(map[string]any{"title": title})
		if err != nil {
			return err
		}
		next := agent.NodeEnd
		_, err = u.Runs.UpdateState(ctx, id, runs.Update{Values: values, AsNode: next})
		if err != nil && !errors.Is(err, runs.ErrBusy) {
			return err
		}
	}
	return u.DB.Commit(ctx, store.Batch{ThreadID: id, Patch: &store.ThreadPatch{Title: &title}})
}

// confirm is GET /ui/threads/:id/delete.
func (u *UI) confirm(c echo.Context) error {
	v, err := u.load(c.Request().Context(), param(c, "id"), "", everything, "")
	if err != nil {
		return err
	}
	shell, err := u.shell(c, views.NavNone, v.thread.ID)
	if err != nil {
		return err
	}
	return html(c, http.StatusOK, chat.ConfirmPage(views.ConfirmPage{Shell: shell, ThreadID: v.thread.ID, Title: v.heading(), Files: len(v.artifacts)}))
}

// remove is POST /ui/threads/:id/delete.
func (u *UI) remove(c echo.Context) error {
	id := param(c, "id")
	where := back(c, views.NewChatURL)
	if where == views.ThreadURL(id) {
		where = views.NewChatURL
	}
	return u.removed(c, where, id)
}

// pinKey is the member of a thread's metadata that keeps it above the others.
const pinKey = "deerflow_pinned"

// pin is POST /ui/threads/:id/pin. It is no news: the thread keeps its place among the
// recent ones.
func (u *UI) pin(c echo.Context) error {
	ctx, id := c.Request().Context(), param(c, "id")
	form, err := readForm(c.Request(), maxSmallForm)
	if err != nil {
		return err
	}
	merge, err := agent.Encode(map[string]bool{pinKey: form.Get("pinned") == "true"})
	if err != nil {
		return err
	}
	if err := u.DB.Commit(ctx, store.Batch{ThreadID: id, Patch: &store.ThreadPatch{Merge: merge}}); err != nil {
		return err
	}
	where := back(c, views.ThreadURL(id))
	return frame(c, views.Frame{Location: where}, where)
}

func pinned(t store.Thread) bool {
	var meta struct {
		Pinned any `json:"deerflow_pinned"`
	}
	return json.Unmarshal(t.Metadata, &meta) == nil && meta.Pinned == true
}
