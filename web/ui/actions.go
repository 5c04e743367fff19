package ui

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/views/layout"
	"fawn/web/ui/chats"
	"fawn/web/ui/conversation"
	"fawn/web/ui/page"
)

// rename handles POST /ui/threads/:id/rename.
func (u *UI) rename(c echo.Context, t store.Thread) error {
	ctx, id := c.Request().Context(), t.ID
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	title := page.OneLine(page.Head(page.PlainText(form.Get("title")), page.MaxTitle))
	if title == "" {
		return page.Frame(c, views.Frame{}, chats.Back(c, id, views.ThreadURL(id)))
	}
	if err := u.setTitle(ctx, t, title); err != nil {
		return err
	}
	if t, err = u.OwnThread(ctx, id); err != nil {
		return err
	}
	f := views.Frame{Title: views.Safe(title)}
	if page.Scripted(c.Request()) {
		if f, err = u.renamed(c, t, title); err != nil {
			return err
		}
	}
	return page.Frame(c, f, chats.Back(c, id, views.ThreadURL(id)))
}

// renamed returns the effect of a new title: on the thread's page everything that names it, on other pages the row in
// the list.
func (u *UI) renamed(c echo.Context, t store.Thread, title string) (f views.Frame, err error) {
	rows, err := u.Rows(c.Request().Context(), []store.Thread{t})
	if err != nil {
		return f, err
	}
	if current := c.QueryParam("current"); current != "" && current != t.ID {
		err = f.Put(page.Localized(c), views.SwapOuter, "tl-"+t.ID, layout.ThreadRow(rows[0], false))
		return f, err
	}
	page.AtHand(rows, t.ID)
	was := conversation.Scene{Thread: t.ID, Row: rows[0]}
	now := was
	now.Title, now.Row.Title = title, title
	_, f, err = conversation.NewScreen(page.Localized(c), was).Show(now)
	return f, err
}

// menu handles GET /ui/threads/:id/menu: the actions for a thread of the side bar.
func (u *UI) menu(c echo.Context, t store.Thread) error {
	var err error
	p := views.MenuPage{Alone: page.WantsFragment(c.Request()), Restart: u.runsCommands()}
	if p.Shell, err = u.Shell(c, views.NavNone, t.ID); err != nil {
		return err
	}
	rows, err := u.Rows(c.Request().Context(), []store.Thread{t})
	if err != nil {
		return err
	}
	p.Row = rows[0]
	return page.HTML(c, http.StatusOK, chat.MenuPage(p))
}

// setTitle writes a title to the state. While a run has the state, only the row the lists
// show takes it.
func (u *UI) setTitle(ctx context.Context, t store.Thread, title string) error {
	if t.Head != "" {
		values, err := agent.Encode(map[string]any{"title": title})
		if err != nil {
			return err
		}
		next := agent.NodeEnd
		_, err = u.Runs.UpdateState(ctx, t.ID, runs.Update{Values: values, AsNode: next})
		if err != nil && !errors.Is(err, runs.ErrBusy) {
			return err
		}
	}
	return u.DB.Commit(ctx, store.Batch{ThreadID: t.ID, Patch: &store.ThreadPatch{Title: &title}})
}

// confirm handles GET /ui/threads/:id/delete.
func (u *UI) confirm(c echo.Context, t store.Thread) error {
	v, err := u.Load(c.Request().Context(), t.ID, "", conversation.Everything, "")
	if err != nil {
		return err
	}
	shell, err := u.Shell(c, views.NavNone, v.Thread.ID)
	if err != nil {
		return err
	}
	return page.HTML(c, http.StatusOK, chat.ConfirmPage(views.ConfirmPage{Shell: shell, ThreadID: v.Thread.ID,
		Title: v.Heading(), Files: len(v.Artifacts)}))
}

// remove handles POST /ui/threads/:id/delete.
func (u *UI) remove(c echo.Context, t store.Thread) error {
	return u.chats.Removed(c, chats.Back(c, t.ID, views.NewChatURL), t.ID)
}

// pin handles POST /ui/threads/:id/pin. It doesn't count as an update: the thread keeps its place among the
// recent ones.
func (u *UI) pin(c echo.Context, t store.Thread) error {
	ctx, id := c.Request().Context(), t.ID
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	merge, err := agent.Encode(map[string]bool{page.PinKey: form.Get("pinned") == "true"})
	if err != nil {
		return err
	}
	if err := u.DB.Commit(ctx, store.Batch{ThreadID: id, Patch: &store.ThreadPatch{Merge: merge}}); err != nil {
		return err
	}
	where := chats.Back(c, id, views.ThreadURL(id))
	return page.Frame(c, views.Frame{Location: where}, where)
}

// Outcomes of a sandbox restart, in the address of the page that shows them.
const (
	didRestart = "restarted"
	didIdle    = "idle"
)

// restart handles POST /ui/threads/:id/sandbox: it ends every process of the chat's commands and reports the result in
// the chat.
func (u *UI) restart(c echo.Context, t store.Thread) error {
	if !u.runsCommands() {
		return echo.NewHTTPError(http.StatusNotFound, page.Say(c, "sandbox.is.off"))
	}
	ran, err := u.Restart(c.Request().Context(), t.ID)
	if err != nil {
		return err
	}
	did := didIdle
	if ran {
		did = didRestart
	}
	where := views.ThreadURL(t.ID) + "?did=" + did
	return page.Frame(c, views.Frame{Location: where}, where)
}

// runsCommands reports whether models can run any here.
func (u *UI) runsCommands() bool { return u.Restart != nil && u.Box().State != views.SandboxOff }

// backToBox returns to the page of the form's message box, with the box's text.
func (u *UI) backToBox(c echo.Context, thread, text string) error {
	_, err := u.OwnThread(c.Request().Context(), thread)
	if !errors.Is(err, store.ErrNotFound) {
		if err != nil {
			return err
		}
		return u.keepDraft(c, thread, text)
	}
	if len(text) > page.MaxDraft {
		return u.welcomePage(c, thread, boxDraft{text: text})
	}
	return c.Redirect(http.StatusSeeOther, views.NewChatURL+"?thread="+queryEscape(thread)+"&q="+queryEscape(text))
}
